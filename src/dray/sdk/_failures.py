"""What went wrong with a claim: as the wire says it, with its class and its devices.

Upstream has one text. A peer that knows more finds in `error_type` whether trying again can help
and who has to act, and in `device_errors` each device's own error; others skip both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from dray.errors import (
    DeviceFailed,
    DrayError,
    DriverError,
    InvalidConfig,
    PermanentError,
    TransientError,
    shorten,
)
from dray.proto import dra_v1_pb2
from dray.sdk._journal import DeviceKey

__all__ = ["ClaimFailure", "DeviceFailure", "ErrorClass", "classify", "failure_of_devices"]

# Ends up in events and conditions, which keep a few KB.
MESSAGE_CHARACTERS_MAX: Final = 4096


class ErrorClass(Enum):
    """What kind of error it is. Values are those of error_type on the wire."""

    UNKNOWN = 0
    PERMANENT = 1
    TRANSIENT = 2
    INVALID_CONFIG = 3
    DEVICE_FAILED = 4

    @property
    def reason(self) -> str:
        """The word for it in conditions."""
        return _REASONS[self]


_REASONS: Final = {
    ErrorClass.UNKNOWN: "PrepareFailed",
    ErrorClass.PERMANENT: "PermanentError",
    ErrorClass.TRANSIENT: "TransientError",
    ErrorClass.INVALID_CONFIG: "InvalidConfig",
    ErrorClass.DEVICE_FAILED: "DeviceFailed",
}

# Which class a claim has whose devices fail in different ways: what needs most attention.
_BY_WEIGHT: Final = (
    ErrorClass.DEVICE_FAILED,
    ErrorClass.INVALID_CONFIG,
    ErrorClass.PERMANENT,
    ErrorClass.UNKNOWN,
    ErrorClass.TRANSIENT,
)

_CLASSES: Final = (
    (InvalidConfig, ErrorClass.INVALID_CONFIG),
    (DeviceFailed, ErrorClass.DEVICE_FAILED),
    (PermanentError, ErrorClass.PERMANENT),
    (TransientError, ErrorClass.TRANSIENT),
    (TimeoutError, ErrorClass.TRANSIENT),
)


@dataclass(frozen=True, slots=True)
class DeviceFailure:
    """What is wrong with one device."""

    key: DeviceKey
    message: str
    error_class: ErrorClass


@dataclass(frozen=True, slots=True)
class ClaimFailure:
    """Why a claim was not prepared, or not unprepared."""

    message: str
    error_class: ErrorClass = ErrorClass.UNKNOWN
    devices: tuple[DeviceFailure, ...] = ()

    def as_prepare_response(self) -> dra_v1_pb2.NodePrepareResourceResponse:
        return dra_v1_pb2.NodePrepareResourceResponse(
            error=_text(self.message),
            error_type=_TYPES[self.error_class],
            device_errors=[
                dra_v1_pb2.DeviceError(
                    pool_name=device.key.pool,
                    device_name=device.key.device,
                    error=_text(device.message),
                    error_type=_TYPES[device.error_class],
                )
                for device in self.devices
            ],
        )

    def as_error(self) -> DriverError:
        """The error that stands for it."""
        return _ERRORS[self.error_class](self.message)

    def as_unprepare_response(self) -> dra_v1_pb2.NodeUnprepareResourceResponse:
        return dra_v1_pb2.NodeUnprepareResourceResponse(error=_text(self.message))


_ERRORS: Final[Mapping[ErrorClass, type[DriverError]]] = {
    ErrorClass.UNKNOWN: DriverError,
    ErrorClass.PERMANENT: PermanentError,
    ErrorClass.TRANSIENT: TransientError,
    ErrorClass.INVALID_CONFIG: InvalidConfig,
    ErrorClass.DEVICE_FAILED: DeviceFailed,
}

_TYPES: Final = {
    ErrorClass.UNKNOWN: dra_v1_pb2.UNKNOWN,
    ErrorClass.PERMANENT: dra_v1_pb2.PERMANENT,
    ErrorClass.TRANSIENT: dra_v1_pb2.TRANSIENT,
    ErrorClass.INVALID_CONFIG: dra_v1_pb2.INVALID_CONFIG,
    ErrorClass.DEVICE_FAILED: dra_v1_pb2.DEVICE_FAILED,
}


def classify(error: BaseException) -> tuple[ErrorClass, str]:
    """The class of what was raised, and what to tell people.

    Whatever the driver's author did not mean to raise has no class: it may be anything.
    """
    for kind, error_class in _CLASSES:
        if isinstance(error, kind):
            return error_class, _told(error)
    if isinstance(error, DrayError):
        return ErrorClass.UNKNOWN, _told(error)
    text = str(error)
    name = type(error).__name__
    return ErrorClass.UNKNOWN, f"unexpected {name}: {text}" if text else f"unexpected {name}"


def failure_of_devices(failures: Sequence[DeviceFailure]) -> ClaimFailure:
    """A claim's failure, made of those of its devices; all of them are in its text."""
    found = {failure.error_class for failure in failures}
    return ClaimFailure(
        "; ".join(f"device {failure.key}: {failure.message}" for failure in failures),
        next(each for each in _BY_WEIGHT if each in found),
        tuple(failures),
    )


def _told(error: BaseException) -> str:
    # A driver's error names driver, claim and device in its text; the claim's answer does so, too.
    text = error.message if isinstance(error, DriverError) else str(error)
    return text or type(error).__name__


def _text(message: str) -> str:
    # Protobuf takes only text that UTF-8 can say, and an error may not be empty.
    shown = shorten(message, characters_max=MESSAGE_CHARACTERS_MAX) or "unknown error"
    return shown.encode(errors="replace").decode()
