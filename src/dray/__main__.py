"""`python -m dray` is `dray`."""

from __future__ import annotations

import sys

from dray.cli import main

if __name__ == "__main__":
    sys.exit(main())
