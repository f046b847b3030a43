"""`python -m dray.cli`: the command line where no `dray` is installed on the path."""

from __future__ import annotations

from dray.cli import main

main()
