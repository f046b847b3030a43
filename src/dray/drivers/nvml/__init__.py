"""NVIDIA's GPUs, whole or as MIG instances, through NVIDIA's management library.

What is published has the names that NVIDIA's own driver uses, so that classes and selectors written
for one work with the other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dray.drivers.nvml.config import NvmlConfig, load_config, read_config
from dray.drivers.nvml.driver import NvmlDriver
from dray.drivers.nvml.library import load_library

__all__ = ["NvmlConfig", "NvmlDriver", "driver_factory", "load_config", "read_config"]


def driver_factory(file: Path | None) -> Callable[[], NvmlDriver]:
    """Drivers as a file has them, one for each node."""
    config = NvmlConfig() if file is None else load_config(file)
    # Whoever asked for the driver is told at once that a package is missing.
    load_library()
    return lambda: NvmlDriver(config)
