"""Any device this machine has: found by paths or by a command, as a YAML file describes it.

For whatever has no driver of its own: cameras, serial ports, FPGA boards, disks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dray.drivers.host.config import HostConfig
from dray.drivers.host.driver import HostDriver
from dray.drivers.host.reading import load_config, read_config
from dray.sdk import ConfigurationError

__all__ = ["HostConfig", "HostDriver", "driver_factory", "load_config", "read_config"]


def driver_factory(file: Path | None) -> Callable[[], HostDriver]:
    """Drivers of the devices that a file describes, one for each node."""
    if file is None:
        raise ConfigurationError("the host driver needs a file that says which devices there are")
    config = load_config(file)
    return lambda: HostDriver(config)
