"""What drivers answer, read and checked: devices of claims, and failures with their classes. Pure.

Every claim of a request needs its answer, and there must be none for others. Texts of failures are
upstream's. Enum numbers that are not known here mean no more than no number at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dray.agent.claims.claim_info import PREPARE, UNPREPARE, ClaimName, PreparedDevice
from dray.agent.claims.failures import ClaimFailure, DeviceFailure, ErrorClass
from dray.errors import shorten
from dray.proto.dra_v1_pb2 import (
    Device,
    DeviceError,
    NodePrepareResourceResponse,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesResponse,
)

__all__ = ["Answer", "error_class_of", "read_prepared", "read_unprepared"]

# Texts of drivers end up in events, conditions and logs. A driver may send megabytes.
ERROR_CHARACTERS_MAX: Final = 2048

# Of one claim; it has at most 32 devices.
DEVICE_ERRORS_MAX: Final = 64

# An answer may name any number of claims that nobody asked about.
UNKNOWN_CLAIMS_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of the claims of one call to one driver."""

    driver: str
    # By UID, only claims where it went well. Without meaning after an unprepare.
    devices: Mapping[str, tuple[PreparedDevice, ...]] = field(default_factory=dict)
    failures: tuple[ClaimFailure, ...] = ()


def read_prepared(
    driver: str, claims: Sequence[ClaimName], response: NodePrepareResourcesResponse
) -> Answer:
    """What a driver prepared of the claims it was asked to prepare."""
    failures: list[ClaimFailure] = []
    devices: dict[str, tuple[PreparedDevice, ...]] = {}
    for claim in claims:
        if claim.uid not in response.claims:
            continue
        result = response.claims[claim.uid]
        if result.error:
            failures.append(_failed(driver, claim, result))
        else:
            devices[claim.uid] = tuple(_prepared_device(device) for device in result.devices)
    failures += _mismatches(PREPARE, driver, claims, response.claims)
    return Answer(driver, devices, tuple(failures))


def read_unprepared(
    driver: str, claims: Sequence[ClaimName], response: NodeUnprepareResourcesResponse
) -> Answer:
    """Which of the claims a driver was asked to unprepare are so now."""
    failures: list[ClaimFailure] = []
    done: dict[str, tuple[PreparedDevice, ...]] = {}
    for claim in claims:
        if claim.uid not in response.claims:
            continue
        error = response.claims[claim.uid].error
        if error:
            failures.append(ClaimFailure(claim, _failed_text(UNPREPARE, claim, error), driver))
        else:
            done[claim.uid] = ()
    failures += _mismatches(UNPREPARE, driver, claims, response.claims)
    return Answer(driver, done, tuple(failures))


def error_class_of(number: int) -> ErrorClass:
    """The class a number on the wire stands for."""
    try:
        return ErrorClass(number)
    except ValueError:
        return ErrorClass.UNKNOWN


def _failed(driver: str, claim: ClaimName, result: NodePrepareResourceResponse) -> ClaimFailure:
    return ClaimFailure(
        claim,
        _failed_text(PREPARE, claim, result.error),
        driver,
        error_class_of(result.error_type),
        tuple(_device_failure(error) for error in result.device_errors[:DEVICE_ERRORS_MAX]),
    )


def _failed_text(operation: str, claim: ClaimName, error: str) -> str:
    text = shorten(error, characters_max=ERROR_CHARACTERS_MAX)
    return f"{operation} failed for ResourceClaim {claim.name}: {text}"


def _device_failure(error: DeviceError) -> DeviceFailure:
    return DeviceFailure(
        error.pool_name,
        error.device_name,
        shorten(error.error, characters_max=ERROR_CHARACTERS_MAX),
        error_class_of(error.error_type),
    )


def _prepared_device(device: Device) -> PreparedDevice:
    return PreparedDevice(
        pool=device.pool_name,
        device=device.device_name,
        requests=tuple(device.request_names),
        cdi_devices=tuple(device.cdi_device_ids),
        share_id=device.share_id if device.HasField("share_id") else None,
    )


def _mismatches(
    operation: str, driver: str, claims: Sequence[ClaimName], answered: Iterable[str]
) -> list[ClaimFailure]:
    found = set(answered)
    unknown = sorted(found - {claim.uid for claim in claims})[:UNKNOWN_CLAIMS_MAX]
    missing = [claim for claim in claims if claim.uid not in found]
    return [
        ClaimFailure(
            ClaimName("", "", shorten(uid)),
            f"{operation} returned result for unknown claim UID {shorten(uid)}",
            driver,
        )
        for uid in unknown
    ] + [
        ClaimFailure(claim, f"{operation} skipped {len(missing)} ResourceClaims", driver)
        for claim in missing
    ]
