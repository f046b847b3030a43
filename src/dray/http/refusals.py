"""Answers to requests that never reach the handler.

Each is an APIError, so a client sees a Status like any other. Those that errors.py has no class for
are HTTP's alone: nothing in Kubernetes raises them, and no client branches on their reasons.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dray.errors import (
    APIError,
    RequestEntityTooLarge,
    StatusDetails,
    TooManyRequests,
    error_from_status,
)
from dray.http.messages import Header, Response

__all__ = [
    "body_too_large",
    "expectation_failed",
    "head_too_large",
    "internal_error",
    "late",
    "line_too_long",
    "refuse",
    "too_much_unfinished",
    "unknown_coding",
    "unknown_version",
]

_HEADERS: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-cache, private"))


# By then those who were well have finished.
RETRY_SECONDS: Final = 1


def refuse(error: APIError) -> Response:
    """The error as an answer."""
    body = msgspec.json.encode(error.as_status()) + b"\n"
    headers: tuple[Header, ...] = _HEADERS
    if isinstance(error, TooManyRequests):
        # Without it clients take the answer for the last word, and do not come back.
        headers = (*headers, ("Retry-After", str(RETRY_SECONDS)))
    return Response(error.code, headers, body)


def body_too_large(bytes_max: int) -> APIError:
    """Upstream's words."""
    return RequestEntityTooLarge(f"Request entity too large: limit is {bytes_max}")


def line_too_long(bytes_max: int) -> APIError:
    """The request line, or where it should be, goes on and on."""
    return _error(414, "RequestURITooLong", f"the request line is longer than {bytes_max} bytes")


def head_too_large(what: str, limit: int) -> APIError:
    """The header lines are too many, or too long together."""
    message = f"the header has more than {limit} {what}"
    return _error(431, "RequestHeaderFieldsTooLarge", message)


def late(what: str) -> APIError:
    """A part of the request did not come in time."""
    return _error(408, "RequestTimeout", f"the {what} of the request did not arrive in time")


def too_much_unfinished() -> APIError:
    """Too many send too much at a time, and this one has taken the longest."""
    message = "the server holds too many unfinished requests, please try again later"
    return TooManyRequests(message, StatusDetails(retry_after_seconds=RETRY_SECONDS))


def expectation_failed() -> APIError:
    """The client expects something other than 100-continue."""
    return _error(417, "ExpectationFailed", "the only expectation that is met is 100-continue")


def unknown_coding() -> APIError:
    """The body is coded in a way we do not read."""
    return _error(501, "NotImplemented", "the only transfer coding that is read is chunked")


def unknown_version() -> APIError:
    """The request line ends in another protocol, or another version."""
    return _error(505, "HTTPVersionNotSupported", "the only versions spoken are HTTP/1.0 and 1.1")


def internal_error() -> APIError:
    """The handler failed. What happened is in the log, and is nobody else's business."""
    return _error(500, "InternalError", "Internal error occurred: the server's log says more")


def _error(code: int, reason: str, message: str) -> APIError:
    return error_from_status({"code": code, "reason": reason, "message": message})
