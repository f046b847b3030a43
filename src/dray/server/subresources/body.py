"""The body of an action: an object of another kind than the resource it is posted to."""

from __future__ import annotations

from typing import Any, TypeVar

from dray.api.codec import decode_builtins
from dray.api.meta import Object
from dray.api.pruning import drop_unknown
from dray.errors import BadRequest, DecodeError, quote
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.bodies import body_document, judge_strictness
from dray.server.call import Call
from dray.server.options import WriteOptions

__all__ = ["admit_action", "read_action"]

O = TypeVar("O", bound=Object)  # noqa: E741


def read_action(call: Call, kind: type[O], options: WriteOptions | None = None) -> O:
    """The body as this kind, whose names it may leave out but not contradict.

    With options, unknown fields are dealt with as these say.
    """
    document: Any = body_document(call)
    name = kind.__name__
    if document is None:
        document = {}
    try:
        decoded = decode_builtins(document, kind)
    except DecodeError as error:
        raise BadRequest(f"{name} cannot be read: {error}") from error
    if options is not None:
        judge_strictness(call, options, decoded.strict_problems)
    obj = drop_unknown(decoded.value) if decoded.unknown else decoded.value
    expected = kind()
    if obj.kind != expected.kind or obj.api_version != expected.api_version:
        raise BadRequest(
            f"{obj.kind} in version {quote(obj.api_version)} cannot be handled as a {name} in "
            f"version {quote(expected.api_version)}"
        )
    return obj


def admit_action(call: Call, action: O, name: str, *, subresource: str, dry_run: bool) -> O:
    """The action as admission lets it pass. Raises what admission refuses with."""
    request = AdmissionRequest(
        operation=Operation.CREATE,
        resource=call.resource,
        user=call.user,
        namespace=call.namespace,
        name=name,
        subresource=subresource,
        dry_run=dry_run,
        object=action,
    )
    admitted: O = call.services.admission.admit(request)
    call.services.admission.validate(request.with_object(admitted))
    return admitted
