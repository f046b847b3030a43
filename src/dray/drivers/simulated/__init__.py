"""Devices that are not there: any fleet a YAML file describes, failing in whatever way is asked.

For trying out claims, for tests of schedulers and policies, and for fleets of simulated nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dray.drivers.simulated.driver import SimulatedDriver
from dray.drivers.simulated.faults import Fault, FaultKind, Faults
from dray.drivers.simulated.fleet import Fleet, Stock, default_fleet, load_fleet, read_fleet

__all__ = [
    "Fault",
    "FaultKind",
    "Faults",
    "Fleet",
    "SimulatedDriver",
    "default_fleet",
    "driver_factory",
    "fleet_driver_factory",
    "load_fleet",
    "read_fleet",
]


def driver_factory(file: Path | None) -> Callable[[], SimulatedDriver]:
    """Drivers of the fleet in a file, one for each node, that spare the process they are in."""
    return fleet_driver_factory(default_fleet() if file is None else load_fleet(file))


def fleet_driver_factory(fleet: Fleet) -> Callable[[], SimulatedDriver]:
    """The same of a fleet that was read already."""
    stock = Stock(fleet)
    return lambda: SimulatedDriver(fleet, crash=None, stock=stock)
