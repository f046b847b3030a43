"""What the reference allocator works on: a case, read once, and the words its parts share.

The types of dray.api cannot say two things that upstream's answer may depend on, so they are read
from the JSON here: whether a device lists binding conditions at all (an empty list counts), and
with which text an amount was written (see reference_capacity).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from dray.api.codec import decode
from dray.api.core import Node
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceClass, ResourceClaim, ResourceSlice
from dray.api.wire import Struct
from tests.conformance.allocator.reference_capacity import Amount, Capacity

__all__ = [
    "Case",
    "DeviceKey",
    "Features",
    "Offer",
    "PoolKey",
    "Refusal",
    "Slice",
    "display_name",
    "read_case",
]

S = TypeVar("S", bound=Struct)


class Refusal(Exception):
    """Upstream answers with this error; for the node alone, or for the whole attempt."""

    def __init__(self, message: str, *, node_only: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.node_only = node_only


class DeviceKey(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


class PoolKey(NamedTuple):
    driver: str
    pool: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass(frozen=True)
class Features:
    """Which optional parts are on, from the names a case lists."""

    names: frozenset[str]

    @property
    def admin_access(self) -> bool:
        return "DRAAdminAccess" in self.names

    @property
    def binding_conditions(self) -> bool:
        # One feature to upstream's allocator, although two gates switch it; cases name the first.
        return any(name.startswith("DRADeviceBindingConditions") for name in self.names)

    @property
    def compatibility_groups(self) -> bool:
        return "DRADeviceCompatibilityGroups" in self.names

    @property
    def consumable_capacity(self) -> bool:
        return "DRAConsumableCapacity" in self.names

    @property
    def derived_attributes(self) -> bool:
        return "DRADerivedAttributes" in self.names

    @property
    def device_taints(self) -> bool:
        return "DRADeviceTaints" in self.names

    @property
    def fractional_capacity_range(self) -> bool:
        return "DRAFractionalCapacityRange" in self.names

    @property
    def list_type_attributes(self) -> bool:
        return "DRAListTypeAttributes" in self.names

    @property
    def optional_node_operations(self) -> bool:
        return "DRAOptionalNodeOperations" in self.names

    @property
    def partitionable_devices(self) -> bool:
        return "DRAPartitionableDevices" in self.names

    @property
    def prioritized_list(self) -> bool:
        return "DRAPrioritizedList" in self.names


@dataclass(frozen=True, eq=False)
class Offer:
    """One device of one slice."""

    key: DeviceKey
    device: Device
    capacity: Mapping[str, Capacity]
    slice: Slice
    lists_binding_conditions: bool

    @property
    def pool(self) -> PoolKey:
        return PoolKey(self.key.driver, self.key.pool)


@dataclass(eq=False)
class Slice:
    """A ResourceSlice with its devices."""

    api: ResourceSlice
    offers: tuple[Offer, ...] = ()

    @property
    def name(self) -> str:
        return self.api.metadata.name

    @property
    def pool(self) -> PoolKey:
        return PoolKey(self.api.spec.driver, self.api.spec.pool.name)

    @property
    def generation(self) -> int:
        return self.api.spec.pool.generation


@dataclass(frozen=True)
class Case:
    features: Features
    node: Node
    classes: Mapping[str, DeviceClass]
    slices: tuple[Slice, ...]
    claims: tuple[ResourceClaim, ...]
    # The amounts of claim i, request j, and alternative k or None.
    amounts: Mapping[tuple[int, int, int | None], Mapping[str, Amount]]
    allocated: frozenset[DeviceKey]
    shared: frozenset[DeviceKey]
    consumed: Mapping[DeviceKey, Mapping[str, Quantity]]

    def is_allocated(self, key: DeviceKey) -> bool:
        """Whether any claim elsewhere holds the device, or a share of it."""
        return key in self.allocated or key in self.shared or key in self.consumed


def read_case(raw: Mapping[str, Any]) -> Case:
    claims = tuple(_read(claim, ResourceClaim) for claim in _list(raw, "claims"))
    classes: dict[str, DeviceClass] = {}
    for each in _list(raw, "classes"):
        found = _read(each, DeviceClass)
        classes.setdefault(found.metadata.name, found)
    consumed: dict[DeviceKey, dict[str, Quantity]] = {}
    for entry in _list(raw, "consumed"):
        sums = consumed.setdefault(_key(entry), {})
        for name, text in (entry.get("capacity") or {}).items():
            amount = Amount.read(text).quantity
            sums[name] = sums[name] + amount if name in sums else amount
    return Case(
        features=Features(frozenset(_list(raw, "features"))),
        node=_read(raw.get("node") or {}, Node),
        classes=classes,
        slices=tuple(_read_slice(each) for each in _list(raw, "slices")),
        claims=claims,
        amounts=_read_amounts(raw),
        allocated=frozenset(_key(entry) for entry in _list(raw, "allocated")),
        shared=frozenset(_key(entry) for entry in _list(raw, "shared")),
        consumed=consumed,
    )


def display_name(metadata: ObjectMeta) -> str:
    """How upstream names an object in errors: with its namespace, if it has one."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def _read_slice(raw: Any) -> Slice:
    found = Slice(_read(raw, ResourceSlice))
    driver, pool = found.pool
    devices = found.api.spec.devices or ()
    found.offers = tuple(
        Offer(
            key=DeviceKey(driver, pool, device.name),
            device=device,
            capacity=Capacity.read_all(raw_device.get("capacity") or {}),
            slice=found,
            lists_binding_conditions=raw_device.get("bindingConditions") is not None,
        )
        for device, raw_device in zip(devices, _list(raw["spec"], "devices"), strict=True)
    )
    return found


def _read_amounts(raw: Mapping[str, Any]) -> dict[tuple[int, int, int | None], dict[str, Amount]]:
    amounts = {}
    for i, claim in enumerate(_list(raw, "claims")):
        devices = (claim.get("spec") or {}).get("devices") or {}
        for j, request in enumerate(_list(devices, "requests")):
            wants: list[tuple[int | None, Any]] = [(None, request.get("exactly") or {})]
            wants += enumerate(_list(request, "firstAvailable"))
            for k, want in wants:
                requests = (want.get("capacity") or {}).get("requests") or {}
                amounts[i, j, k] = {name: Amount.read(text) for name, text in requests.items()}
    return amounts


def _key(raw: Mapping[str, Any]) -> DeviceKey:
    return DeviceKey(raw.get("driver", ""), raw.get("pool", ""), raw.get("device", ""))


def _list(raw: Mapping[str, Any], member: str) -> list[Any]:
    return raw.get(member) or []


def _read(raw: Any, kind: type[S]) -> S:
    return decode(json.dumps(raw).encode(), kind)
