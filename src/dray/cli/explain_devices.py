"""Devices that requests have or would get, and what they are, in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from dray.api.resource import (
    AllocationResult,
    Device,
    DeviceAttribute,
    DeviceID,
    ResourceClaim,
    ResourceSlice,
)
from dray.cli.explain_answer import AssignedDevice
from dray.cli.snapshot import ObjectName
from dray.errors import shorten

__all__ = ["assigned", "traits"]

# What drivers call the thing that tells one model of a device from another, most telling first.
_TELLING: Final = ("productName", "model", "product", "type", "profile", "architecture", "kind")

TRAITS_MAX: Final = 3
CAPACITIES_MAX: Final = 2


def assigned(
    claims: Iterable[tuple[ResourceClaim, AllocationResult]], slices: Iterable[ResourceSlice]
) -> tuple[AssignedDevice, ...]:
    """The devices of allocations, in the order of claims and results."""
    pairs = list(claims)
    wanted = {
        DeviceID(result.driver, result.pool, result.device)
        for _, allocation in pairs
        for result in allocation.devices.results
    }
    known = _find(wanted, slices)
    found = []
    for claim, allocation in pairs:
        name = ObjectName(claim.metadata.namespace, claim.metadata.name)
        for result in allocation.devices.results:
            id_ = DeviceID(result.driver, result.pool, result.device)
            device = known.get(id_)
            found.append(
                AssignedDevice(
                    name,
                    result.request,
                    id_,
                    tuple(traits(device)) if device is not None else (),
                    tuple((key, str(value)) for key, value in result.consumed_capacity.items()),
                    bool(result.admin_access),
                )
            )
    return tuple(found)


def _find(wanted: set[DeviceID], slices: Iterable[ResourceSlice]) -> Mapping[DeviceID, Device]:
    pools = {(one.driver, one.pool) for one in wanted}
    found: dict[DeviceID, tuple[int, Device]] = {}
    for slice_ in slices:
        spec = slice_.spec
        if (spec.driver, spec.pool.name) not in pools:
            continue
        for device in spec.devices or ():
            id_ = DeviceID(spec.driver, spec.pool.name, device.name)
            if id_ in wanted and spec.pool.generation >= found.get(id_, (-1, device))[0]:
                found[id_] = (spec.pool.generation, device)
    return {id_: device for id_, (_, device) in found.items()}


def traits(device: Device) -> Iterator[tuple[str, str]]:
    """A few attributes and capacities: what tells its model, then the first others."""
    texts = {name: text for name, value in device.attributes.items() if (text := _shown(value))}
    local = {name.rpartition("/")[2]: name for name in texts}
    names = [local[name] for name in _TELLING if name in local]
    names = names or [name for name in texts if device.attributes[name].string_value][:1]
    for name in names[:TRAITS_MAX]:
        yield name, texts[name]
    for name, capacity in list(device.capacity.items())[:CAPACITIES_MAX]:
        yield name, str(capacity.value)


def _shown(value: DeviceAttribute) -> str:
    if value.string_value is not None:
        return shorten(value.string_value)
    if value.version_value is not None:
        return shorten(value.version_value)
    if value.int_value is not None:
        return str(value.int_value)
    if value.bool_value is not None:
        return "true" if value.bool_value else "false"
    return ""
