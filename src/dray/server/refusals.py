"""The refusals of a server, in the words clients match on and people search for.

Upstream counterpart: the constructors in apimachinery pkg/api/errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dray.errors import (
    AlreadyExists,
    APIError,
    BadRequest,
    Cause,
    Conflict,
    FieldError,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
    StatusDetails,
    Timeout,
    quote,
)
from dray.server.resources import Resource

__all__ = [
    "already_exists",
    "conflict",
    "forbidden",
    "generic",
    "invalid",
    "invalid_options",
    "method_not_allowed",
    "modified",
    "no_such_resource",
    "not_found",
    "precondition_failed",
    "success",
    "too_large_revision",
    "wrong_kind",
]

_MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
_META_GROUP: Final = "meta.k8s.io"

# A body has room for a hundred thousand mistakes. Nobody reads on after these, and to write all of
# them down would hold up everybody for seconds.
ERRORS_MAX: Final = 1000


def _details(resource: Resource, name: str, **others: Any) -> StatusDetails:
    return StatusDetails(name=name, group=resource.group, kind=resource.plural, **others)


def not_found(resource: Resource, name: str) -> NotFound:
    """There is no object of this name."""
    return NotFound(f"{resource.qualified} {quote(name)} not found", _details(resource, name))


def no_such_resource() -> NotFound:
    """The path names no resource."""
    return NotFound("the server could not find the requested resource", StatusDetails())


def method_not_allowed() -> MethodNotAllowed:
    told = "the server does not allow this method on the requested resource"
    return MethodNotAllowed(told, StatusDetails())


def already_exists(resource: Resource, name: str, *, terminating: bool = False) -> AlreadyExists:
    text = f"{resource.qualified} {quote(name)} already exists"
    prefix = "object is being deleted: " if terminating else ""
    return AlreadyExists(prefix + text, _details(resource, name))


def conflict(
    resource: Resource,
    name: str,
    reason: str,
    *,
    subresource: str = "",
    causes: Sequence[Cause] = (),
) -> Conflict:
    """A write that came too late, or was never possible in this state."""
    kind = f"{resource.plural}/{subresource}" if subresource else resource.plural
    qualified = f"{kind}.{resource.group}" if resource.group else kind
    return Conflict(
        f"Operation cannot be fulfilled on {qualified} {quote(name)}: {reason}",
        StatusDetails(name=name, group=resource.group, kind=kind, causes=tuple(causes)),
    )


def modified(resource: Resource, name: str) -> Conflict:
    """Somebody else wrote in between."""
    return conflict(resource, name, _MODIFIED)


def precondition_failed(resource: Resource, name: str, wanted: str, found: str) -> Conflict:
    """A writer named the uid of another object."""
    reason = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    return conflict(resource, name, reason)


def forbidden(
    resource: Resource, name: str, reason: str, *, causes: Sequence[Cause] = ()
) -> Forbidden:
    """Refused for what it is, not for who asks."""
    subject = f"{resource.qualified} {quote(name)}" if name else resource.qualified
    return Forbidden(
        f"{subject} is forbidden: {reason}", _details(resource, name, causes=tuple(causes))
    )


def invalid(resource: Resource, name: str, errors: Sequence[FieldError]) -> Invalid:
    """An object that breaks rules; of very many it is told the first."""
    # Both faces of events have the rules of the older one, and speak in its name.
    group = "" if resource.group == "events.k8s.io" else resource.group
    return Invalid(group, resource.kind, name, errors[:ERRORS_MAX])


def invalid_options(kind: str, errors: Sequence[FieldError]) -> Invalid:
    """Query parameters, or a body of options, that break their rules."""
    return Invalid(_META_GROUP, kind, "", errors)


def wrong_kind(resource: Resource, api_version: str, kind: str) -> BadRequest:
    """A body of another kind than its path."""
    return BadRequest(
        f"{kind} in version {quote(api_version.rpartition('/')[2])} cannot be handled as a "
        f"{resource.kind}: no kind {quote(kind)} is registered for version {quote(api_version)}"
    )


def too_large_revision(wanted: int, current: int) -> Timeout:
    """The client has seen the future; it may ask again in a second."""
    return Timeout(
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        StatusDetails(
            causes=(Cause(reason="ResourceVersionTooLarge", message="Too large resource version"),),
            retry_after_seconds=1,
        ),
    )


def generic(code: int, reason: str, message: str) -> APIError:
    """An error that has no class of its own."""
    error = APIError(message)
    error.code, error.reason = code, reason
    return error


def success(
    resource: Resource | None = None, name: str = "", uid: str = "", *, code: int = 0
) -> dict[str, Any]:
    """The Status of something that worked."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
    }
    if resource is not None:
        told = {"name": name, "group": resource.group, "kind": resource.plural, "uid": uid}
        status["details"] = {key: value for key, value in told.items() if value}
    if code:
        status["code"] = code
    return status
