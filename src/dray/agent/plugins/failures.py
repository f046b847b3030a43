"""What a failed call means: gRPC's statuses as this project's errors, translated in one place.

Nobody there is a TransportError, no answer in time a TimeoutError; every other status is an answer
of the driver, a RefusedCall with the code in it. Texts are those of Go's gRPC, because they end up
in events that people search for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import grpc

from dray.errors import DriverError, TransportError
from dray.texts import shorten

__all__ = ["RefusedCall", "code_of", "gone", "status_text", "translate", "unreadable"]

# A driver's text goes on into events, conditions and logs, all of which have their own limits.
DETAILS_CHARACTERS_MAX: Final = 4096

# How Go spells the codes: labels of metrics and texts of errors are made of it.
_CODE_NAMES: Final[Mapping[grpc.StatusCode, str]] = {
    grpc.StatusCode.OK: "OK",
    grpc.StatusCode.CANCELLED: "Canceled",
    grpc.StatusCode.UNKNOWN: "Unknown",
    grpc.StatusCode.INVALID_ARGUMENT: "InvalidArgument",
    grpc.StatusCode.DEADLINE_EXCEEDED: "DeadlineExceeded",
    grpc.StatusCode.NOT_FOUND: "NotFound",
    grpc.StatusCode.ALREADY_EXISTS: "AlreadyExists",
    grpc.StatusCode.PERMISSION_DENIED: "PermissionDenied",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "ResourceExhausted",
    grpc.StatusCode.FAILED_PRECONDITION: "FailedPrecondition",
    grpc.StatusCode.ABORTED: "Aborted",
    grpc.StatusCode.OUT_OF_RANGE: "OutOfRange",
    grpc.StatusCode.UNIMPLEMENTED: "Unimplemented",
    grpc.StatusCode.INTERNAL: "Internal",
    grpc.StatusCode.UNAVAILABLE: "Unavailable",
    grpc.StatusCode.DATA_LOSS: "DataLoss",
    grpc.StatusCode.UNAUTHENTICATED: "Unauthenticated",
}


class RefusedCall(DriverError):
    """The driver answered a call with an error instead of a result."""

    def __init__(self, message: str, *, driver: str, code: str) -> None:
        super().__init__(message, driver=driver)
        self.code = code


def translate(error: grpc.aio.AioRpcError, driver: str) -> Exception:
    """The error that a status stands for."""
    text = status_text(error)
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return TransportError(f"driver {driver}: {text}")
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return TimeoutError(f"driver {driver}: {text}")
    return RefusedCall(text, driver=driver, code=_CODE_NAMES[error.code()])


def gone(driver: str) -> TransportError:
    """A call on, or interrupted by the end of, a connection that was closed from this side."""
    return TransportError(
        f"driver {driver}: rpc error: code = Canceled desc = the plugin was deregistered"
    )


def unreadable(driver: str, problem: str) -> RefusedCall:
    """An answer whose bytes are not the message they should be."""
    return RefusedCall(
        f"rpc error: code = Internal desc = the answer cannot be read: {shorten(problem)}",
        driver=driver,
        code="Internal",
    )


def status_text(error: grpc.aio.AioRpcError) -> str:
    """A status in the words of Go's gRPC."""
    details = shorten(error.details() or "", characters_max=DETAILS_CHARACTERS_MAX)
    return f"rpc error: code = {_CODE_NAMES[error.code()]} desc = {details}"


def code_of(error: BaseException | None) -> str:
    """The code under which a call counts, whichever way the driver is reached."""
    match error:
        case None:
            return "OK"
        case RefusedCall():
            return error.code
        case TransportError():
            return "Unavailable"
        case TimeoutError():
            return "DeadlineExceeded"
        case DriverError():
            return "Unknown"
        case _:
            return "Canceled"
