"""`python -m dray` is `dray`."""

from __future__ import annotations

from dray.cli import main

main()
