"""The tree of failures, shared by every part of dray and by both sides of the wire.

    DrayError
    ├── ParseError          a text that is not the value it should be (quantity, selector, version)
    ├── ConfigurationError  dray itself was set up wrongly (feature gates, flags)
    ├── APIError            code, reason, message, details; becomes a Status and back again
    │   ├── BadRequest
    │   │   └── DecodeError     bytes that are not the object they claim to be, with the JSON path
    │   ├── Unauthorized · Forbidden · NotFound · AlreadyExists · Conflict · Expired
    │   ├── MethodNotAllowed · NotAcceptable · UnsupportedMediaType · RequestEntityTooLarge
    │   ├── Invalid         every FieldError at once, each with path, value and rule
    │   └── TooManyRequests · Unavailable · Timeout        carry retry_after_seconds
    ├── StoreError          the store cannot do what it was asked to; nothing was changed
    │   ├── RevisionConflict    the key is not at the revision the writer expected
    │   ├── RevisionCompacted   history that is no longer kept
    │   ├── StoreUnavailable    disk full, read-only, held by another process, closed
    │   └── StoreCorrupt        what is on disk is not what was written
    ├── TransportError      never arrived, or never answered
    ├── LeadershipLost      somebody else may lead now: whatever needed the lease has stopped
    ├── DriverError         names driver, claim and device
    │   ├── TransientError
    │   └── PermanentError · InvalidConfig · DeviceFailed      why a claim was not prepared
    ├── CELError            source, position, caret
    ├── AllocationError     claims that cannot be judged: names claim, request or device
    ├── SchedulingError     what was decided for a pod can no longer be done: names claim or node
    └── InternalError       an invariant broke: log everything, stop the component

A message names the thing, the value and the rule. What does not fit ("no device matches") is an
answer, not an exception, and has no place here. Upstream counterparts: apimachinery's
api/errors and util/validation/field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from dray.texts import quote, shorten, show

__all__ = [
    "CAUSE_DEVICES_TAKEN",
    "OMITTED",
    "APIError",
    "AllocationError",
    "AlreadyExists",
    "BadRequest",
    "CELError",
    "Cause",
    "ConfigurationError",
    "Conflict",
    "DecodeError",
    "DeviceFailed",
    "DrayError",
    "DriverError",
    "Expired",
    "FieldError",
    "FieldErrorType",
    "Forbidden",
    "InternalError",
    "Invalid",
    "InvalidConfig",
    "LeadershipLost",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "ParseError",
    "PermanentError",
    "RequestEntityTooLarge",
    "RevisionCompacted",
    "RevisionConflict",
    "SchedulingError",
    "StatusDetails",
    "StoreCorrupt",
    "StoreError",
    "StoreUnavailable",
    "Timeout",
    "TooManyRequests",
    "TransientError",
    "TransportError",
    "Unauthorized",
    "Unavailable",
    "UnsupportedMediaType",
    "error_from_status",
    "quote",
    "shorten",
]


class DrayError(Exception):
    """Anything dray raises on purpose."""


class ParseError(DrayError, ValueError):
    """A text is not the value it should be.

    The decoder adds the JSON path and raises DecodeError; elsewhere the message stands alone.
    """

    def __init__(self, text: str, rule: str) -> None:
        super().__init__(f"{quote(shorten(text))}: {rule}")
        self.text = text
        self.rule = rule


class ConfigurationError(DrayError):
    """dray was told to run in a way it cannot: the message names the setting and the rule."""


class TransportError(DrayError):
    """A request never arrived, or was never answered: whether it took effect is unknown."""


class LeadershipLost(DrayError):
    """A leader could not renew its lease, or found it in other hands; its work was cancelled."""


class DriverError(DrayError):
    """A driver failed, or refused, an operation on a claim's device."""

    def __init__(
        self, message: str, *, driver: str = "", claim: str = "", device: str = ""
    ) -> None:
        named = ", ".join(
            f"{noun} {value}"
            for noun, value in (("driver", driver), ("claim", claim), ("device", device))
            if value
        )
        super().__init__(f"{named}: {message}" if named else message)
        self.message = message
        self.driver = driver
        self.claim = claim
        self.device = device


class TransientError(DriverError):
    """Trying again soon may help."""


class PermanentError(DriverError):
    """The same request will fail in the same way, wherever the fault is."""


class InvalidConfig(PermanentError):
    """The opaque configuration of the claim or its class is wrong; the device is not at fault."""


class DeviceFailed(PermanentError):
    """The device is broken, and nobody should get it."""


class CELError(DrayError):
    """An expression does not compile, or fails on a device; says where with a caret."""

    def __init__(self, message: str, *, source: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.line = line
        self.column = column


class AllocationError(DrayError):
    """Claims cannot be judged at all: a selector fails, a class is missing, a pool is in flux.

    Trying other nodes does not help, so it ends the whole attempt. Claims that merely do not fit
    get an answer instead.
    """


class SchedulingError(DrayError):
    """What was decided for a pod can no longer be done, because something changed meanwhile.

    The pod is tried again.
    """


class InternalError(DrayError):
    """An invariant broke. Nobody recovers from this: log everything and stop the component."""


# What a client may branch on ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of a Status' details.causes."""

    reason: str = ""
    message: str = ""
    field: str = ""


# Why a Conflict is none that another try could resolve: other claims have the devices.
CAUSE_DEVICES_TAKEN: Final = "DevicesTaken"


@dataclass(frozen=True, slots=True)
class StatusDetails:
    """What a Status says beyond its sentence, for programs to read."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class APIError(DrayError):
    """A refused request. Subclasses fix code and reason; the wire form is a v1 Status."""

    code: int = 500
    reason: str = "InternalError"

    def __init__(self, message: str, details: StatusDetails | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or StatusDetails()
        # Some refusals have details that say nothing, and clients can tell those from none.
        self.is_detailed = details is not None

    def as_status(self) -> dict[str, Any]:
        """The body a server answers with, as plain JSON values."""
        told = self.details
        details = _present(
            name=told.name,
            group=told.group,
            kind=told.kind,
            uid=told.uid,
            causes=[
                _present(reason=cause.reason, message=cause.message, field=cause.field)
                for cause in told.causes
            ],
            retryAfterSeconds=told.retry_after_seconds,
        )
        token = getattr(self, "continue_token", "")
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": token} if token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if details or self.is_detailed:
            status["details"] = details
        status["code"] = self.code
        return status


class BadRequest(APIError):
    """The request itself makes no sense; repeating it unchanged never helps."""

    code = 400
    reason = "BadRequest"


class DecodeError(BadRequest):
    """Bytes that are not the object they claim to be.

    `path` is where, in JSON path form (`spec.devices[3].name`, empty for the document itself);
    `rule` is what was expected there. Where a decoder could go on, `others` are the places after
    the first, and `unknown` and `duplicate` are what strict field validation would add.
    """

    def __init__(
        self,
        rule: str,
        *,
        path: str = "",
        others: Sequence[DecodeError] = (),
        unknown: Sequence[str] = (),
        duplicate: Sequence[str] = (),
    ) -> None:
        super().__init__(f"{path}: {rule}" if path else rule)
        self.rule = rule
        self.path = path
        self.others = tuple(others)
        self.unknown = tuple(unknown)
        self.duplicate = tuple(duplicate)


class Unauthorized(APIError):
    """Nobody knows who is asking."""

    code = 401
    reason = "Unauthorized"


class Forbidden(APIError):
    """We know who is asking, and they may not."""

    code = 403
    reason = "Forbidden"


class NotFound(APIError):
    """There is no such object, or no such resource."""

    code = 404
    reason = "NotFound"


class AlreadyExists(APIError):
    """The name is taken."""

    code = 409
    reason = "AlreadyExists"


class Conflict(APIError):
    """The object changed since the caller read it: read again, then try again."""

    code = 409
    reason = "Conflict"


class Expired(APIError):
    """The revision asked for is no longer kept: list again, or go on with the token."""

    code = 410
    reason = "Expired"
    continue_token = ""


class MethodNotAllowed(APIError):
    """The resource exists but does not do this."""

    code = 405
    reason = "MethodNotAllowed"


class NotAcceptable(APIError):
    """None of the forms the client accepts is one we can answer in."""

    code = 406
    reason = "NotAcceptable"


class RequestEntityTooLarge(APIError):
    """The body is larger than the server reads."""

    code = 413
    reason = "RequestEntityTooLarge"


class UnsupportedMediaType(APIError):
    """The body is in a form we do not read."""

    code = 415
    reason = "UnsupportedMediaType"


class TooManyRequests(APIError):
    """The caller asks too often; `details.retry_after_seconds` says when to come back."""

    code = 429
    reason = "TooManyRequests"


class Unavailable(APIError):
    """The server cannot answer now; `details.retry_after_seconds` says when to come back."""

    code = 503
    reason = "ServiceUnavailable"


class Timeout(APIError):
    """The answer did not come in time; `details.retry_after_seconds` says when to come back."""

    code = 504
    reason = "Timeout"


# The store -------------------------------------------------------------------------------------


class StoreError(DrayError):
    """The store cannot do what it was asked to. Nothing was changed."""


class RevisionConflict(StoreError):
    """A key is not at the revision its writer expected: somebody else was there first."""

    def __init__(self, key: str, *, expected: int, found: int) -> None:
        super().__init__(f"{key} is at revision {found}, not at {expected}")
        self.key = key
        self.expected = expected
        self.found = found


class RevisionCompacted(StoreError):
    """A revision is older than the history that is kept."""

    def __init__(self, revision: int, *, oldest: int) -> None:
        super().__init__(f"revision {revision} is no longer kept, the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class StoreUnavailable(StoreError):
    """The store cannot be used now: the message names the file and what is wrong with it."""


class StoreCorrupt(StoreError):
    """What is on disk is not what was written: the message names the file and the place."""


# Field errors ----------------------------------------------------------------------------------


class FieldErrorType(Enum):
    """Why a field was refused. The value is the reason a Status' cause carries."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    NOT_FOUND = "FieldValueNotFound"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


_TITLES: Final[Mapping[FieldErrorType, str]] = {
    FieldErrorType.REQUIRED: "Required value",
    FieldErrorType.INVALID: "Invalid value",
    FieldErrorType.NOT_SUPPORTED: "Unsupported value",
    FieldErrorType.DUPLICATE: "Duplicate value",
    FieldErrorType.FORBIDDEN: "Forbidden",
    FieldErrorType.TOO_LONG: "Too long",
    FieldErrorType.TOO_MANY: "Too many",
    FieldErrorType.NOT_FOUND: "Not found",
    FieldErrorType.TYPE_INVALID: "Invalid value",
    FieldErrorType.INTERNAL: "Internal error",
}

# For these the value says nothing, or is too big to repeat.
_WITHOUT_VALUE: Final = frozenset(
    {
        FieldErrorType.REQUIRED,
        FieldErrorType.FORBIDDEN,
        FieldErrorType.TOO_LONG,
        FieldErrorType.INTERNAL,
    }
)

# Stands for a value that the text leaves out although its type would show one.
OMITTED: Final = object()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule: where, which value, which rule. Its text is upstream's, word for word."""

    type: FieldErrorType
    field: str
    value: Any = None
    detail: str = ""

    @property
    def body(self) -> str:
        """The text without the field, as a Status' cause shows it."""
        title = _TITLES[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            title = f"{title}: {show(self.value)}"
        return f"{title}: {self.detail}" if self.detail else title

    def __str__(self) -> str:
        return f"{self.field}: {self.body}" if self.field else f"<nil>: {self.body}"


class Invalid(APIError):
    """An object breaks rules: all of them are listed, each with path, value and rule."""

    code = 422
    reason = "Invalid"

    def __init__(self, group: str, kind: str, name: str, errors: Sequence[FieldError]) -> None:
        texts = list(dict.fromkeys(str(error) for error in errors))
        listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        subject = f"{kind}.{group}" if group else kind
        super().__init__(
            f"{subject} {quote(name)} is invalid: {listed}",
            StatusDetails(
                name=name,
                group=group,
                kind=kind,
                causes=tuple(
                    Cause(reason=error.type.value, message=error.body, field=error.field)
                    for error in errors
                ),
            ),
        )
        self.errors = tuple(errors)


# From the wire back to the class ---------------------------------------------------------------


def error_from_status(status: Mapping[str, Any]) -> APIError:
    """The error a Status stands for: the class its reason names, else the one its code names.

    A Status of a reason that has no class comes back as an APIError with that code and reason. One
    that is malformed is read as far as it goes: whoever sent it, an error is what it was. An
    Invalid has its causes but no FieldErrors: values do not travel.
    """
    code, reason = _whole(status.get("code")) or 500, _text(status.get("reason"))
    found = _BY_REASON.get(reason) or (None if reason else _BY_CODE.get(code)) or APIError
    error = found.__new__(found)
    APIError.__init__(error, _text(status.get("message")), _details(status.get("details")))
    if found is APIError:
        error.code = code
        error.reason = reason or APIError.reason
    if isinstance(error, Invalid):
        error.errors = ()
    return error


def _details(value: Any) -> StatusDetails:
    told = value if isinstance(value, Mapping) else {}
    causes = told.get("causes")
    return StatusDetails(
        name=_text(told.get("name")),
        group=_text(told.get("group")),
        kind=_text(told.get("kind")),
        uid=_text(told.get("uid")),
        causes=tuple(
            Cause(
                reason=_text(cause.get("reason")),
                message=_text(cause.get("message")),
                field=_text(cause.get("field")),
            )
            for cause in (causes if isinstance(causes, list) else ())
            if isinstance(cause, Mapping)
        ),
        retry_after_seconds=_whole(told.get("retryAfterSeconds")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


# DecodeError is not here: on the wire it is a BadRequest like any other.
_ON_THE_WIRE: Final = (
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Expired,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    TooManyRequests,
    Unavailable,
    Timeout,
)
_BY_REASON: Final = {kind.reason: kind for kind in _ON_THE_WIRE}
# AlreadyExists and Conflict share a code; without a reason it is a conflict.
_BY_CODE: Final = {kind.code: kind for kind in _ON_THE_WIRE}


def _present(**members: Any) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value}
