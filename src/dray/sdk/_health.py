"""What a driver says of a device's health, and how it looks on the wire.

A word holds for a while: after `timeout_seconds` without another one, nobody knows. Degraded is
dray's own: such a device still works, so peers that know three states hear that it is healthy, with
a message that begins "Degraded: ". One response stays far below the 4 MiB a gRPC peer takes, so
a report on many devices travels as several; peers take each as news of the devices in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from dray.proto import health_v1_pb2, health_v1alpha1_pb2

__all__ = [
    "DEFAULT_TIMEOUT_SECONDS",
    "DeviceHealth",
    "Health",
    "as_v1alpha1",
    "cut_message",
    "responses",
    "wire_message",
]

# What a kubelet assumes of a driver that says nothing.
DEFAULT_TIMEOUT_SECONDS: Final = 30.0

# More is not kept by any peer.
MESSAGE_BYTES_MAX: Final = 1024

# With the longest names and messages about 1.4 KB each, so 1.4 MB: a third of what gRPC takes.
DEVICES_PER_RESPONSE: Final = 1000

_DEGRADED_PREFIX: Final = "Degraded: "
_ELLIPSIS: Final = "…"


class Health(Enum):
    """How a device is. The values are the wire's, except for Degraded, which the wire lacks."""

    HEALTHY = "Healthy"
    DEGRADED = "Degraded"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """The driver's word on one device; without a pool, on the device of that name.

    `timeout_seconds` is how long the word holds: a driver that has not spoken again by then is
    taken to know nothing. The message is for people, and cut to 1024 bytes on its way.
    """

    device: str
    health: Health
    message: str = ""
    pool: str = ""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        if not self.timeout_seconds > 0 or math.isinf(self.timeout_seconds):
            raise ValueError(
                f"device {self.device}: timeout_seconds is {self.timeout_seconds!r},"
                " but a word on health holds for some time, and not for ever"
            )


def responses(
    words: Sequence[DeviceHealth], *, now: datetime
) -> Iterator[health_v1_pb2.NodeWatchResourcesResponse]:
    """These words as v1 responses; one without devices if there are none."""
    for start in range(0, len(words) or 1, DEVICES_PER_RESPONSE):
        part = words[start : start + DEVICES_PER_RESPONSE]
        yield health_v1_pb2.NodeWatchResourcesResponse(devices=[_as_v1(word, now) for word in part])


def as_v1alpha1(
    response: health_v1_pb2.NodeWatchResourcesResponse,
) -> health_v1alpha1_pb2.NodeWatchResourcesResponse:
    """The same for peers of the older version: it has the same fields."""
    return health_v1alpha1_pb2.NodeWatchResourcesResponse.FromString(response.SerializeToString())


def _as_v1(word: DeviceHealth, now: datetime) -> health_v1_pb2.DeviceHealth:
    return health_v1_pb2.DeviceHealth(
        device=health_v1_pb2.DeviceIdentifier(pool_name=word.pool, device_name=word.device),
        health=_STATUSES[word.health],
        last_updated_time=int(now.timestamp()),
        # Whole seconds, and zero would mean the peer's default.
        health_check_timeout_seconds=math.ceil(word.timeout_seconds),
        message=wire_message(word),
    )


_STATUSES: Final = {
    Health.HEALTHY: health_v1_pb2.HEALTHY,
    Health.DEGRADED: health_v1_pb2.HEALTHY,
    Health.UNHEALTHY: health_v1_pb2.UNHEALTHY,
    Health.UNKNOWN: health_v1_pb2.UNKNOWN,
}


def wire_message(word: DeviceHealth) -> str:
    """The message as peers get it."""
    if word.health is Health.DEGRADED:
        return cut_message(f"{_DEGRADED_PREFIX}{word.message or 'the driver did not say how'}")
    return cut_message(word.message)


def cut_message(message: str) -> str:
    """At most so many bytes of it, none of its characters in part."""
    # What a driver read from hardware may hold anything, and protobuf takes only text.
    raw = message.encode(errors="replace")
    if len(raw) <= MESSAGE_BYTES_MAX:
        return raw.decode()
    kept = raw[: MESSAGE_BYTES_MAX - len(_ELLIPSIS.encode())]
    return kept.decode(errors="ignore") + _ELLIPSIS
