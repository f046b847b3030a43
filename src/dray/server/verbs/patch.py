"""Patching an object, or its status: four ways to say what is to change.

Three of them are instructions on the stored object; the fourth, server-side apply, says what the
client wants the object to be as far as it cares, and who it is. Whatever the patch makes of the
object then goes the way of any update. A patch without a revision is made of what is stored at this
moment, so it never conflicts. Upstream counterpart: apiserver pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

from dray.api.codec import encode, parse_plain
from dray.api.meta import ObjectMeta
from dray.api.wire import Struct, Time, blank, replace
from dray.errors import (
    AlreadyExists,
    APIError,
    BadRequest,
    DecodeError,
    FieldError,
    FieldErrorType,
    Invalid,
    shorten,
)
from dray.http.messages import Answer
from dray.server.bodies import judge_strictness
from dray.server.call import Call
from dray.server.field_managers import applied_document
from dray.server.negotiation import PatchType, patch_type
from dray.server.options import WriteOptions, write_options
from dray.server.patching.carried_texts import with_texts_of
from dray.server.patching.json_patch import apply_json_patch
from dray.server.patching.merge_patch import apply_merge_patch
from dray.server.patching.strategic import apply_strategic_merge
from dray.server.refusals import conflict, not_found
from dray.server.rights import require_create
from dray.server.verbs.create import placed, written_answer
from dray.server.verbs.update import check_name
from dray.server.writing import create_object, replace_object
from dray.server.yaml_bodies import duplicates_in, parse_yaml, plain

__all__ = ["patch"]


async def patch(call: Call) -> Answer:
    """Change an object as the body says."""
    builtin = call.served.kind is not None
    kind = patch_type(call.request.headers.get("content-type", ""), strategic=builtin)
    is_apply = kind is PatchType.APPLY
    options = write_options(
        call.request.query, "PatchOptions", user_agent=call.user_agent, is_apply=is_apply
    )
    if is_apply:
        return await _apply(call, options)
    if call.services.store.head(call.key()) is None:
        raise not_found(call.resource, call.route.name)
    body = await call.aside(0, _parse, call)
    record = call.services.store.head(call.key())
    if record is None:  # gone while the body was read
        raise not_found(call.resource, call.route.name)
    now = call.now()

    def changed(old: Any, kept: dict[str, Any]) -> Any:
        document = _patched(call, kind, _document(call, old, kept), body)
        return with_texts_of(old, replace(_read(call, document, options, now), **kept))

    def change(old: Any) -> Any:
        kept = {} if kind is PatchType.JSON else _untouched(call, body, old)
        if kept:
            with suppress(APIError):  # which would not show the whole object
                return changed(old, kept)
        return changed(old, {})

    written = await replace_object(
        call, record, change, options, now, subresource=call.route.subresource
    )
    return await written_answer(call, written)


def _untouched(call: Call, body: Any, old: Any) -> dict[str, Any]:
    """The parts of an object that stay as they are whatever a patch of its status does.

    Its spec, if nobody could change that here anyway; and its metadata, if all that is said of it
    is which object is meant, and it is the one.
    """
    resets = call.route.subresource == "status" and "spec" in call.model.traits.status_reset_fields
    spec = getattr(old, "spec", None)
    if not resets or not isinstance(spec, Struct) or not isinstance(body, dict) or "spec" in body:
        return {}
    if any(name.startswith("$") for name in body):
        return {}  # a directive may be about all of the object
    metadata: ObjectMeta = old.metadata
    said = body.get("metadata", {})
    this = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
    if isinstance(said, dict) and said.items() <= this.items():
        return {"spec": spec, "metadata": metadata}
    return {"spec": spec}


def _document(call: Call, old: Any, kept: dict[str, Any]) -> dict[str, Any]:
    """The object as JSON, of the parts that are kept no more than every object has."""
    rest: dict[str, Any] = {name: blank(type(part)) for name, part in kept.items()}
    if "metadata" in rest:
        metadata = old.metadata
        rest["metadata"] = ObjectMeta(name=metadata.name, namespace=metadata.namespace)
    return call.model.document(replace(old, **rest), call.resource.version)


def _parse(call: Call) -> Any:
    try:
        return parse_plain(call.request.body)
    except DecodeError as error:
        raise BadRequest(f"error decoding patch: {error}") from error


def _patched(call: Call, kind: PatchType, document: dict[str, Any], body: Any) -> Any:
    if kind is PatchType.JSON:
        return apply_json_patch(document, body)
    if not isinstance(body, dict):
        raise BadRequest("error decoding patch: expected an object")
    if kind is PatchType.MERGE:
        return apply_merge_patch(document, body)
    schema = call.model.schema(call.resource.version)
    assert schema is not None
    return apply_strategic_merge(document, body, schema)


def _read(call: Call, document: Any, options: WriteOptions, now: Time) -> Any:
    """The object a patch made, under the name of its path."""
    if not isinstance(document, dict):
        raise BadRequest("the patch leaves no object")
    try:
        # As bytes, numbers mean what they mean in any body, and the decoder is quickest.
        reading = call.model.read(encode(document), call.resource, now, encoded=True)
    except BadRequest as error:
        raise _unusable(document, str(error)) from error
    if reading.problems and options.strictness == "Strict":
        raise _unusable(document, f"strict decoding error: {', '.join(reading.problems)}")
    judge_strictness(call, options, reading.problems)
    obj = placed(call, reading.object)
    check_name(call, obj)
    return obj


def _unusable(document: dict[str, Any], why: str) -> Invalid:
    """A patch whose result is no object: it is the patch that is wrong, whatever it is of."""
    if document.get("kind") == "Secret":
        # Messages end up in logs, and what was stored is not the patch's author's to show.
        document = {name: document.get(name) for name in ("apiVersion", "kind")}
    shown = json.dumps(document, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    error = FieldError(FieldErrorType.INVALID, "patch", shorten(shown, characters_max=_SHOWN), why)
    return Invalid("", "", "", [error])


# Enough to recognise the object by; what is wrong comes after it.
_SHOWN: Final = 200


# Server-side apply -----------------------------------------------------------------------------


async def _apply(call: Call, options: WriteOptions) -> Answer:
    now = call.now()
    applied = await call.aside(0, _applied, call, options)
    record = call.services.store.head(call.key())
    subresource = call.route.subresource
    if record is None:
        if subresource:
            raise not_found(call.resource, call.route.name)
        require_create(call)
        metadata = applied.get("metadata")
        uid = metadata.get("uid") if isinstance(metadata, dict) else None
        if uid:
            told = f"uid mismatch: the provided object specified uid {uid}, and no existing object"
            raise conflict(call.resource, call.route.name, f"{told} was found")

        def create() -> Any:
            document = applied_document(call, None, applied, options, now)
            return _read(call, document, options, now)

        obj = await call.aside(0, create)
        try:
            written = await create_object(call, obj, options, now, tracked=False)
        except AlreadyExists:
            record = call.services.store.head(call.key())
            if record is None:
                raise  # and gone again: whoever applies may try once more
        else:
            return await written_answer(call, written)

    def changed(old: Any, kept: dict[str, Any]) -> Any:
        before = replace(old, **{name: blank(type(part)) for name, part in kept.items()})
        document = applied_document(call, before, applied, options, now)
        return with_texts_of(old, replace(_read(call, document, options, now), **kept))

    def change(old: Any) -> Any:
        kept = _untouched(call, applied, old)
        kept.pop("metadata", None)  # which has the owners of what is applied
        if kept:
            with suppress(APIError):  # which would not show the whole object
                return changed(old, kept)
        return changed(old, {})

    written = await replace_object(
        call, record, change, options, now, subresource=subresource, tracked=False
    )
    return await written_answer(call, written)


def _applied(call: Call, options: WriteOptions) -> dict[str, Any]:
    """The body of an apply, which names its kind and is otherwise as partial as it likes."""
    body = parse_yaml(call.request.body)
    judge_strictness(call, options, duplicates_in(body))
    if not isinstance(body, dict):
        raise BadRequest("error decoding YAML: expected an object")
    document: dict[str, Any] = plain(body)
    resource = call.resource
    said = (document.get("apiVersion", ""), document.get("kind", ""))
    if said != (resource.api_version, resource.kind):
        group, _, version = str(said[0]).rpartition("/")
        found = f"{group}/{version}, Kind={said[1]}"
        raise BadRequest(f"invalid object type: {found}")
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return document  # which fits no schema, and is told so
    metadata = dict(metadata or {})
    if metadata.get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    name = metadata.setdefault("name", call.route.name)
    if name is None:
        raise BadRequest(
            f"the name of the object ({call.route.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != call.route.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({call.route.name})"
        )
    namespace = metadata.get("namespace")
    if call.namespace and namespace not in (None, call.namespace):
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return {**document, "metadata": metadata}
