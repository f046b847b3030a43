"""What a claim may be given, who may use it, and what drivers may report about its devices.

An allocation is checked when it is set and never again: rules for new ones are tighter than those
for stored ones were. It may go, but not change. `check_claim_status` applies the hand-written
rules, `declare_claim_status` the ones upstream's schema declares (see `findings`). Whether the
caller may do what the update does is for the server to find out; for admin access,
`results_with_admin_access` says what to ask. The allocation itself is in `allocation_result`.
Upstream counterpart: pkg/apis/resource/validation.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Final

from dray.api.equality import semantically_equal
from dray.api.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceRequestAllocationResult,
    NetworkDeviceData,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dray.api.wire import is_null
from dray.errors import quote
from dray.validation.allocation_result import check_allocation_result, declare_allocation_result
from dray.validation.conditions import check_conditions
from dray.validation.findings import Findings
from dray.validation.opaque import check_raw_object
from dray.validation.resource_claim_spec import RequestNames
from dray.validation.rules import (
    IMMUTABLE,
    byte_length,
    check_dns_label,
    check_driver_name,
    check_pool_name,
    check_size,
    check_unique,
    check_uuid,
    declare_unique,
    declare_uuid,
)

__all__ = [
    "check_claim_status",
    "declare_claim_status",
    "results_with_admin_access",
]

CONSUMERS_MAX: Final = 256
DEVICE_CONDITIONS_MAX: Final = 8
DEVICE_DATA_BYTES_MAX: Final = 10 * 1024
ADDRESSES_MAX: Final = 16
INTERFACE_NAME_BYTES_MAX: Final = 256
HARDWARE_ADDRESS_BYTES_MAX: Final = 128

MAX_BYTES: Final = "maxBytes"
UPDATE: Final = "update"

SharedDevice = tuple[str, str, str, str]


# Hand-written rules ----------------------------------------------------------------------------


def check_claim_status(found: Findings, new: ResourceClaim, old: ResourceClaim) -> None:
    status = new.status
    _check_consumers(found, status.reserved_for, "status.reservedFor")
    allocated = {_identity(result) for result in _results(status.allocation)}
    for index, device in enumerate(status.devices):
        _check_device_status(found, device, f"status.devices[{index}]", allocated)
    _check_unique_devices(found, status.devices, "status.devices")
    _check_reservation(found, new, old)
    if status.allocation is None:
        return
    if old.status.allocation is None:
        names = RequestNames(new.spec.devices.requests or ())
        check_allocation_result(found, status.allocation, "status.allocation", names)
    elif not semantically_equal(status.allocation, old.status.allocation):
        found.invalid("status.allocation", None, IMMUTABLE, origin=UPDATE, shared=True)


def _check_consumers(
    found: Findings, consumers: Sequence[ResourceClaimConsumerReference], path: str
) -> None:
    if not check_size(found, consumers, CONSUMERS_MAX, path, shared=True):
        return
    for index, consumer in enumerate(consumers):
        for name, value in (
            ("resource", consumer.resource),
            ("name", consumer.name),
            ("uid", consumer.uid),
        ):
            if not value:
                found.required(f"{path}[{index}].{name}")
    check_unique(found, [consumer.uid for consumer in consumers], path, shared=True)


def _check_reservation(found: Findings, new: ResourceClaim, old: ResourceClaim) -> None:
    """Only what is allocated can be reserved, and what is to go is not reserved any more."""
    if not new.status.reserved_for:
        return
    if new.status.allocation is None:
        detail = "may not be specified when `allocated` is not set"
        found.forbidden("status.reservedFor", detail)
    elif new.metadata.deletion_timestamp is not None and any(
        consumer not in old.status.reserved_for for consumer in new.status.reserved_for
    ):
        detail = (
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp` "
            "are set"
        )
        found.forbidden("status.reservedFor", detail)


def _results(allocation: AllocationResult | None) -> tuple[DeviceRequestAllocationResult, ...]:
    return () if allocation is None else allocation.devices.results


def _identity(device: AllocatedDeviceStatus | DeviceRequestAllocationResult) -> SharedDevice:
    # An empty share ID names no share, just like none.
    return (device.driver, device.pool, device.device, device.share_id or "")


def _shown(identity: SharedDevice) -> dict[str, str]:
    return dict(zip(("Driver", "Pool", "Device", "ShareID"), identity, strict=True))


def _check_device_status(
    found: Findings, device: AllocatedDeviceStatus, path: str, allocated: set[SharedDevice]
) -> None:
    check_driver_name(found, device.driver, f"{path}.driver")
    check_pool_name(found, device.pool, f"{path}.pool")
    check_dns_label(found, device.device, f"{path}.device")
    if device.share_id is not None:
        check_uuid(found, device.share_id, f"{path}.shareID", shared=True)
    identity = _identity(device)
    if identity not in allocated:
        found.invalid(path, _shown(identity), "must be an allocated device in the claim")
    conditions = device.conditions or ()
    where = f"{path}.conditions"
    if len(conditions) > DEVICE_CONDITIONS_MAX:
        found.too_many(where, len(conditions), DEVICE_CONDITIONS_MAX)
    check_conditions(found, conditions, where)
    if not is_null(device.data):
        where = f"{path}.data"
        check_raw_object(found, device.data, where, bytes_max=DEVICE_DATA_BYTES_MAX)
    if device.network_data is not None:
        _check_network_data(found, device.network_data, f"{path}.networkData")


def _check_unique_devices(
    found: Findings, devices: Sequence[AllocatedDeviceStatus], path: str
) -> None:
    seen: set[SharedDevice] = set()
    for index, device in enumerate(devices):
        identity = _identity(device)
        if identity in seen:
            found.duplicate(f"{path}[{index}]", _shown(identity), shared=True)
        seen.add(identity)


def _check_network_data(found: Findings, data: NetworkDeviceData, path: str) -> None:
    _check_interface_name(found, data, path, shared=True)
    _check_hardware_address(found, data, path, shared=True)
    path = f"{path}.ips"
    if not check_size(found, data.ips, ADDRESSES_MAX, path, shared=True):
        return
    for index, address in enumerate(data.ips):
        _check_interface_address(found, address, f"{path}[{index}]")
    check_unique(found, data.ips, path, shared=True)


def _check_interface_name(
    found: Findings, data: NetworkDeviceData, path: str, *, shared: bool | None
) -> None:
    if byte_length(data.interface_name) > INTERFACE_NAME_BYTES_MAX:
        path = f"{path}.interfaceName"
        found.too_long(path, INTERFACE_NAME_BYTES_MAX, origin=MAX_BYTES, shared=shared)


def _check_hardware_address(
    found: Findings, data: NetworkDeviceData, path: str, *, shared: bool | None
) -> None:
    if byte_length(data.hardware_address) > HARDWARE_ADDRESS_BYTES_MAX:
        path = f"{path}.hardwareAddress"
        found.too_long(path, HARDWARE_ADDRESS_BYTES_MAX, origin=MAX_BYTES, shared=shared)


def _check_interface_address(found: Findings, address: str, path: str) -> None:
    canonical = _canonical_address(address)
    if canonical is None:
        detail = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        found.invalid(path, address, detail)
    elif address != canonical:
        found.invalid(path, address, f"must be in canonical form ({quote(canonical)})")


# A number with zeros before it; Kubernetes reads such addresses, only to ask for the short form.
_PADDED: Final = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")
_PREFIX_LENGTH: Final = re.compile("0*([0-9]{1,3})", re.ASCII)
_MAPPED_BITS: Final = 96


def _canonical_address(text: str) -> str | None:
    """An address with its prefix length in the one form that is accepted; None if it has none."""
    address, _, length = text.partition("/")
    digits = _PREFIX_LENGTH.fullmatch(length)
    if digits is None or "%" in address:
        return None
    try:
        parsed = ipaddress.ip_address(_PADDED.sub("", address))
    except ValueError:
        return None
    size = int(digits[1])
    if size > parsed.max_prefixlen:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
        size = size - _MAPPED_BITS if size > parsed.max_prefixlen else size
    return f"{parsed}/{size}"


# Declared rules --------------------------------------------------------------------------------


def declare_claim_status(
    found: Findings,
    new: ResourceClaimStatus,
    old: ResourceClaimStatus | None,
    *,
    version: str | None,
) -> None:
    """What is as it was in the old status is not looked at again."""
    # Nothing can be wrong with an empty status: having had none is having had an empty one.
    former = old or ResourceClaimStatus()
    path = "status.allocation"
    _declare_allocation(found, new.allocation, former.allocation, path, version=version)
    consumers = new.reserved_for
    path = "status.reservedFor"
    if not semantically_equal(consumers, former.reserved_for) and check_size(
        found, consumers, CONSUMERS_MAX, path
    ):
        declare_unique(found, consumers, [consumer.uid for consumer in consumers], path)
    if not semantically_equal(new.devices, former.devices):
        _declare_devices(found, new.devices, former.devices, "status.devices")


def _declare_allocation(
    found: Findings,
    new: AllocationResult | None,
    old: AllocationResult | None,
    path: str,
    *,
    version: str | None,
) -> None:
    if new is None or semantically_equal(new, old):
        return
    if old is not None:
        found.invalid(path, None, "field cannot be modified once set", origin=UPDATE)
    else:
        declare_allocation_result(found, new, path, version=version)


def _declare_devices(
    found: Findings,
    devices: Sequence[AllocatedDeviceStatus],
    old: Sequence[AllocatedDeviceStatus],
    path: str,
) -> None:
    former = {_key(device): device for device in reversed(old)}
    declare_unique(found, devices, map(_key, devices), path)
    for index, device in enumerate(devices):
        known = former.get(_key(device))
        if known is not None and semantically_equal(device, known):
            continue
        where = f"{path}[{index}]"
        # A device that was known had the same share ID: it is part of the key.
        if known is None and device.share_id is not None:
            declare_uuid(found, device.share_id, f"{where}.shareID")
        if device.network_data is not None:
            data, before = device.network_data, known.network_data if known else None
            _declare_network_data(found, data, before, f"{where}.networkData")


def _key(device: AllocatedDeviceStatus) -> tuple[str, str, str, str | None]:
    return (device.driver, device.pool, device.device, device.share_id)


def _declare_network_data(
    found: Findings, data: NetworkDeviceData, old: NetworkDeviceData | None, path: str
) -> None:
    if old is None or old.interface_name != data.interface_name:
        _check_interface_name(found, data, path, shared=None)
    if (old is None or old.ips != data.ips) and check_size(
        found, data.ips, ADDRESSES_MAX, f"{path}.ips"
    ):
        declare_unique(found, data.ips, data.ips, f"{path}.ips")
    if old is None or old.hardware_address != data.hardware_address:
        _check_hardware_address(found, data, path, shared=None)


# Admin access ----------------------------------------------------------------------------------


def results_with_admin_access(
    new: ResourceClaimStatus, old: ResourceClaimStatus
) -> tuple[str, ...]:
    """Where a status newly gives admin access; the namespace must allow it if there is any."""
    if any(result.admin_access for result in _results(old.allocation)):
        return ()
    return tuple(
        f"status.allocation.devices.results[{index}].adminAccess"
        for index, result in enumerate(_results(new.allocation))
        if result.admin_access
    )
