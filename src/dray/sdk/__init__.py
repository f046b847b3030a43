"""All a driver author imports: a driver is a class that finds devices and makes them usable.

May live here: registration and services, claims, the journal, CDI files, slices, health. May not:
anything of the agent or the server; a driver talks to any kubelet and any API server. Importing it
needs gRPC, protobuf, msgspec and an HTTP parser, and nothing else.
"""

from __future__ import annotations

from dray.api.cdi import ContainerEdits as Edits
from dray.api.cdi import DeviceNode, Hook, IntelRdt, Mount, NetDevice, environment
from dray.api.resource import Device, DeviceCapacity, DeviceTaint
from dray.clock import within
from dray.errors import (
    ConfigurationError,
    DeviceFailed,
    DriverError,
    InvalidConfig,
    PermanentError,
    TransientError,
)
from dray.sdk._configuration import OpaqueConfig
from dray.sdk._context import Context
from dray.sdk._devices import ClaimedDevice, PreparedDevice
from dray.sdk._driver import Driver
from dray.sdk._health import DeviceHealth, Health
from dray.sdk._inventory import Inventory, InventoryError, Pool, Version, capacity_of, device
from dray.sdk._process import run
from dray.sdk._registration import RegistrationStatus
from dray.sdk._runner import RunningDriver, serve
from dray.sdk._services import DriverService
from dray.sdk._settings import Settings
from dray.sdk._steps import Step
from dray.sdk._taints import TaintPolicy, Taints

__all__ = [
    "ClaimedDevice",
    "ConfigurationError",
    "Context",
    "Device",
    "DeviceCapacity",
    "DeviceFailed",
    "DeviceHealth",
    "DeviceNode",
    "DeviceTaint",
    "Driver",
    "DriverError",
    "DriverService",
    "Edits",
    "Health",
    "Hook",
    "IntelRdt",
    "InvalidConfig",
    "Inventory",
    "InventoryError",
    "Mount",
    "NetDevice",
    "OpaqueConfig",
    "PermanentError",
    "Pool",
    "PreparedDevice",
    "RegistrationStatus",
    "RunningDriver",
    "Settings",
    "Step",
    "TaintPolicy",
    "Taints",
    "TransientError",
    "Version",
    "capacity_of",
    "device",
    "environment",
    "run",
    "serve",
    "within",
]
