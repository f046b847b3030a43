"""Bundled drivers on the command line: `--driver simulated=fleet.yaml`, and so on."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dray.cli.errors import CommandError
from dray.sdk import Driver

__all__ = ["BUNDLED", "DEFAULT_ROOT", "driver_factory"]

# Where a node and its drivers find each other, unless told otherwise.
DEFAULT_ROOT: Final = Path("~/.local/share/dray/node")

# By name: the module, and whether it needs a file that says what there is.
BUNDLED: Final = {
    "host": ("dray.drivers.host", True),
    "nvml": ("dray.drivers.nvml", False),
    "simulated": ("dray.drivers.simulated", False),
}


def driver_factory(text: str) -> Callable[[], Driver]:
    """What makes a driver, one for each node, of NAME or NAME=FILE."""
    name, _, file = text.partition("=")
    if name not in BUNDLED:
        raise CommandError(
            f"--driver {text}: there is no driver {name}, only {', '.join(sorted(BUNDLED))}"
        )
    module, needs_file = BUNDLED[name]
    if needs_file and not file:
        raise CommandError(f"--driver {name}: say which devices there are: {name}=FILE")
    make: Callable[[Path | None], Callable[[], Driver]]
    make = importlib.import_module(module).driver_factory
    return make(Path(file) if file else None)
