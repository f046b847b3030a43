"""What is wrong with simulated devices, on command.

Facts only: what a fault does to health and to calls is the driver's part. A fault holds until its
device recovers, or until it has struck as often as it was told to.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Final

import msgspec

from dray.sdk import ConfigurationError

__all__ = ["ALL_DEVICES", "ErrorClass", "Fault", "FaultKind", "Faults", "Operation"]

ALL_DEVICES: Final = "*"

# Whoever injects more is looking for another tool.
FAULTS_MAX: Final = 10_000
MESSAGE_BYTES_MAX: Final = 1024
# A day: whoever wants longer means for ever, and has `hanging`.
SECONDS_MAX: Final = 86_400.0
# Reports go out a hundred times a second at most.
FLAP_SECONDS_MIN: Final = 0.01

_DEVICE: Final = re.compile(r"\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class FaultKind(Enum):
    """Ways to fail."""

    UNHEALTHY = "unhealthy"  # reported as such
    DEGRADED = "degraded"  # works, but not well
    UNKNOWN = "unknown"  # the driver cannot tell
    FLAPPING = "flapping"  # unhealthy and healthy in turn
    VANISHED = "vanished"  # no longer published, nor reported
    SILENT = "silent"  # published, but nothing is reported any more
    SLOW = "slow"  # calls take so many seconds
    HANGING = "hanging"  # calls are never answered
    FAILING = "failing"  # calls fail, with an error of some class
    CRASHING = "crashing"  # calls kill the driver

    @property
    def is_of_calls(self) -> bool:
        """Whether it is calls that meet it; the others are seen in what is reported."""
        return self in OF_CALLS


class Operation(Enum):
    """What a fault of calls strikes."""

    PREPARE = "prepare"
    UNPREPARE = "unprepare"
    BOTH = "both"


class ErrorClass(Enum):
    """What a failing call fails with."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    INVALID_CONFIG = "invalid-config"
    DEVICE_FAILED = "device-failed"
    UNKNOWN = "unknown"


OF_CALLS: Final = frozenset(
    {FaultKind.SLOW, FaultKind.HANGING, FaultKind.FAILING, FaultKind.CRASHING}
)


class Fault(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One thing wrong with one device, or with all of them."""

    kind: FaultKind
    device: str = ALL_DEVICES
    message: str = ""
    seconds: float = 0.0  # how slow, or how long each half of flapping lasts
    error_class: ErrorClass = ErrorClass.TRANSIENT
    operation: Operation = Operation.PREPARE
    times: int = 0  # after so many calls it is over; 0 is never

    def __post_init__(self) -> None:
        where = f"fault {self.kind.value}"
        if not _DEVICE.fullmatch(self.device):
            raise ConfigurationError(
                f"{where}: device {self.device[:80]!r}: must be {ALL_DEVICES} for all, or a name "
                "of at most 63 lower-case letters, digits and hyphens"
            )
        if not 0 <= self.seconds <= SECONDS_MAX:
            raise ConfigurationError(
                f"{where}: {self.seconds} seconds: must be between 0 and {SECONDS_MAX:g}"
            )
        if self.kind is FaultKind.SLOW and not self.seconds:
            raise ConfigurationError(f"{where}: say how many seconds")
        if self.kind is FaultKind.FLAPPING and self.seconds < FLAP_SECONDS_MIN:
            raise ConfigurationError(
                f"{where}: {self.seconds} seconds: each half must last {FLAP_SECONDS_MIN} or more"
            )
        if self.times < 0:
            raise ConfigurationError(f"{where}: {self.times} times: must not be negative")
        if len(self.message.encode()) > MESSAGE_BYTES_MAX:
            raise ConfigurationError(f"{where}: a message of more than {MESSAGE_BYTES_MAX} bytes")

    def concerns(self, device: str) -> bool:
        return self.device in (ALL_DEVICES, device)

    def strikes(self, operation: Operation) -> bool:
        return self.kind.is_of_calls and self.operation in (operation, Operation.BOTH)


class Faults:
    """All faults there are now. Listeners hear of every change."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        # By device, made when it is asked for: a driver of a thousand devices asks for each of
        # them in every report.
        self._by_device: dict[str, list[Fault]] | None = None
        self._struck: dict[int, int] = {}  # by identity: equal faults are still two
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this on every change from now on."""
        self._listeners.append(listener)

    def inject(self, fault: Fault) -> None:
        """Make something go wrong. It takes the place of the same kind on the same device."""
        same = [old for old in self._faults if _same(old, fault)]
        if len(self._faults) - len(same) >= FAULTS_MAX:
            raise ConfigurationError(f"there are {FAULTS_MAX} faults already")
        self._forget(same)
        self._faults.append(fault)
        self._by_device = None
        self._tell()

    def recover(self, device: str = ALL_DEVICES) -> int:
        """Make a device well again, or all of them; returns how many faults that ended."""
        ended = [fault for fault in self._faults if device == ALL_DEVICES or fault.device == device]
        self._forget(ended)
        if ended:
            self._tell()
        return len(ended)

    def of(self, device: str) -> tuple[Fault, ...]:
        """What is wrong with a device, the latest last."""
        if self._by_device is None:
            self._by_device = {}
            for fault in self._faults:
                self._by_device.setdefault(fault.device, []).append(fault)
        general, own = self._by_device.get(ALL_DEVICES, ()), self._by_device.get(device, ())
        if general and own and device != ALL_DEVICES:
            return tuple(fault for fault in self._faults if fault.concerns(device))
        return tuple(own or general)

    def all(self) -> tuple[Fault, ...]:
        return tuple(self._faults)

    def strike(self, device: str, operation: Operation, *, parent: str = "") -> tuple[Fault, ...]:
        """The faults that a call meets, each of them counted once, those of a parent first."""
        own = self.of(device)
        inherited = [fault for fault in self.of(parent) if fault.device == parent] if parent else []
        met = tuple(fault for fault in (*inherited, *own) if fault.strikes(operation))
        for fault in met:
            if fault.times:
                count = self._struck.get(id(fault), 0) + 1
                self._struck[id(fault)] = count
                if count >= fault.times:
                    self._forget([fault])
        return met

    def _forget(self, faults: list[Fault]) -> None:
        gone = {id(fault) for fault in faults}
        self._faults = [fault for fault in self._faults if id(fault) not in gone]
        self._by_device = None
        for number in gone:
            self._struck.pop(number, None)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


def _same(one: Fault, other: Fault) -> bool:
    return (one.kind, one.device, one.operation) == (other.kind, other.device, other.operation)
