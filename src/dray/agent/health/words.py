"""What a driver says of a device, and the reading of its reports.

A report comes from another process and may hold anything: names that no device has, values of an
enumeration nobody knows, a hundred thousand entries. Reading one never fails; what makes no sense
is counted and left out. Upstream counterpart: the loop over a report in
pkg/kubelet/cm/dra/manager.go.
"""

from __future__ import annotations

from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

from dray.proto.health_v1_pb2 import HealthStatus, NodeWatchResourcesResponse

__all__ = [
    "DEFAULT_TIMEOUT_SECONDS",
    "DEVICES_PER_DRIVER_MAX",
    "MESSAGE_BYTES_MAX",
    "DeviceID",
    "Health",
    "Report",
    "Word",
    "cut_text",
    "read_report",
]

# What holds for devices whose driver does not say.
DEFAULT_TIMEOUT_SECONDS: Final = 30.0

# The API refuses a pod's status with a longer message.
MESSAGE_BYTES_MAX: Final = 1024

# Reports are not checked against published slices, so a faulty driver could grow what is kept
# without end by inventing names. Real nodes stay in the low thousands.
DEVICES_PER_DRIVER_MAX: Final = 16_384

# The longest name a pool may have in a ResourceSlice; no claim can ever name a longer one.
_NAME_BYTES_MAX: Final = 253

# A file that a kubelet can read counts nanoseconds in 64 bits. A device nobody has heard of for a
# year is not known to be healthy anyway.
_TIMEOUT_SECONDS_MAX: Final = 365 * 24 * 3600.0


class Health(Enum):
    """What is known of a device. Values are those of a pod's status."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


class DeviceID(NamedTuple):
    """Which device."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class Word(NamedTuple):
    """What a driver says of a device, and how long it stands."""

    health: Health = Health.UNKNOWN
    message: str = ""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS


class Report(NamedTuple):
    """A driver's words, one per device: the last where it said several."""

    words: dict[DeviceID, Word]
    ignored_count: int  # entries that name no device, or are beyond the limit


_HEALTH: Final = {
    HealthStatus.HEALTHY: Health.HEALTHY,
    HealthStatus.UNHEALTHY: Health.UNHEALTHY,
}


def read_report(driver: str, response: NodeWatchResourcesResponse) -> Report:
    """What a driver's message says, as far as it makes sense."""
    words: dict[DeviceID, Word] = {}
    ignored_count = max(len(response.devices) - DEVICES_PER_DRIVER_MAX, 0)
    for said in islice(response.devices, DEVICES_PER_DRIVER_MAX):
        named = said.device
        pool, device = named.pool_name, named.device_name
        if not _is_name(pool) or not _is_name(device):
            ignored_count += 1
            continue
        timeout_seconds = said.health_check_timeout_seconds
        words[DeviceID(driver, pool, device)] = Word(
            _HEALTH.get(said.health, Health.UNKNOWN),
            cut_text(said.message, MESSAGE_BYTES_MAX),
            min(float(timeout_seconds), _TIMEOUT_SECONDS_MAX)
            if timeout_seconds > 0
            else DEFAULT_TIMEOUT_SECONDS,
        )
    return Report(words, ignored_count)


def cut_text(text: str, bytes_max: int) -> str:
    """As much of the text as fits into so many bytes of UTF-8, never a part of a character."""
    # No character takes more than four bytes.
    if len(text) * 4 <= bytes_max:
        return text
    encoded = text.encode("utf-8", "replace")
    return encoded[:bytes_max].decode("utf-8", "ignore")


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _NAME_BYTES_MAX
