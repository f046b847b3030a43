"""How admission says no: errors whose texts name the object the way clients know them.

Upstream counterparts: apiserver pkg/admission/errors.go, apimachinery pkg/api/errors.
"""

from __future__ import annotations

from collections.abc import Iterable

from dray.errors import APIError, Cause, Forbidden, NotFound, StatusDetails, quote
from dray.server.admission.request import AdmissionRequest

__all__ = ["aggregate", "forbidden", "name_of", "not_found", "plain"]


def forbidden(request: AdmissionRequest, why: str, *, causes: tuple[Cause, ...] = ()) -> Forbidden:
    """The refusal of a request, for a reason."""
    resource, name = request.resource, name_of(request)
    return Forbidden(
        f"{resource.qualified} {quote(name)} is forbidden: {why}",
        StatusDetails(name=name, group=resource.group, kind=resource.plural, causes=causes),
    )


def name_of(request: AdmissionRequest) -> str:
    """What to call the object: it may not have been given its name yet."""
    if request.name:
        return request.name
    if request.object is None:
        return "Unknown"
    metadata = request.object.metadata
    return metadata.name or metadata.generate_name or "Unknown"


def not_found(kind: str, name: str) -> NotFound:
    """Some other object of the core group is missing; `kind` is what details and text call it."""
    return NotFound(f"{kind} {quote(name)} not found", StatusDetails(name=name, kind=kind))


def plain(message: str) -> APIError:
    """A refusal upstream did not dress up: code 500, no reason, no details."""
    error = APIError(message)
    error.reason = ""
    return error


def aggregate(messages: Iterable[str]) -> str:
    """Several messages as one: each once, in brackets if more than one is left."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
