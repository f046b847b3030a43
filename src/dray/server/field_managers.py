"""Who owns which field of an object, through every write: the verbs' way to dray.server.patching.

Objects are typed here and JSON there. A FieldManager is made once per resource and endpoint.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dray.api import scheme
from dray.api.codec import to_builtins
from dray.api.meta import ManagedFieldsEntry, Object
from dray.api.schema import StructOf
from dray.api.schemas import schema_of
from dray.api.wire import Time, replace
from dray.errors import APIError, BadRequest, DrayError, InternalError
from dray.server.call import Call
from dray.server.custom.model import CustomModel
from dray.server.models.model import Model
from dray.server.options import WriteOptions
from dray.server.patching.field_manager import FieldManager
from dray.server.patching.field_sets import FieldFilter, excluding, including
from dray.server.resources import Resource

__all__ = [
    "after_create",
    "after_update",
    "applied_document",
    "differ_in_time_only",
    "owned_by_creator",
]

# One per version of a kind and endpoint.
_MANAGERS_MAX: Final = 4096


def after_create(call: Call, obj: Any, options: WriteOptions, now: Time) -> Any:
    """The new object, owned by whoever creates it."""
    # What a client says about owners of an object that does not exist yet is not so.
    if obj.metadata.managed_fields:
        obj = replace(obj, metadata=replace(obj.metadata, managed_fields=()))
    document = call.model.document(obj, call.resource.version)
    entries = _manager(call, "").after_update(None, document, options.manager, str(now))
    return _with_entries(obj, entries)


def after_update(
    call: Call, new: Any, old: Any, options: WriteOptions, now: Time, *, subresource: str
) -> Any:
    """The new object, its changes owned by whoever makes them."""
    version = call.resource.version
    live, wanted = call.model.document(old, version), call.model.document(new, version)
    manager = _manager(call, subresource)
    entries = manager.after_update(live, wanted, options.manager, str(now))
    return _with_entries(new, entries)


def applied_document(
    call: Call, old: Any | None, applied: dict[str, Any], options: WriteOptions, now: Time
) -> dict[str, Any]:
    """What an apply makes of the stored object, owners included. Raises Conflict."""
    live = None if old is None else call.model.document(old, call.resource.version)
    manager = _manager(call, call.route.subresource)
    try:
        return manager.apply(live, applied, options.manager, str(now), force=options.force)
    except APIError as error:
        if error.code != _NO_BETTER_WORD:
            raise
        # Upstream has no better word for an object that fits no schema; it is the client's mistake.
        raise BadRequest(error.message) from error


def owned_by_creator(
    obj: Object, options: WriteOptions, now: Time, *, subresource: str = ""
) -> Any:
    """An object that is answered and never stored, owned by whoever sent it."""
    group, _, version = obj.api_version.rpartition("/")
    schema = schema_of(group, version, obj.kind)
    manager = FieldManager(schema, obj.api_version, obj.kind, subresource=subresource)
    entries = manager.after_update(None, to_builtins(obj), options.manager, str(now))
    return _with_entries(obj, entries)


def differ_in_time_only(
    new: tuple[ManagedFieldsEntry, ...], old: tuple[ManagedFieldsEntry, ...]
) -> bool:
    """Whether the same managers own the same fields, only since another second.

    They stand in order of time, so another time may be another place.
    """
    return len(new) == len(old) and _timeless(new) == _timeless(old)


def _timeless(entries: tuple[ManagedFieldsEntry, ...]) -> list[tuple[str, ...]]:
    return sorted(
        (
            entry.manager,
            entry.operation,
            entry.api_version,
            entry.subresource,
            bytes(entry.fields_v1 or b"").decode(),
        )
        for entry in entries
    )


def _with_entries(obj: Any, entries: list[dict[str, Any]]) -> Any:
    return replace(obj, metadata=replace(obj.metadata, managed_fields=_typed(entries)))


def _typed(entries: list[dict[str, Any]]) -> tuple[ManagedFieldsEntry, ...]:
    return tuple(
        ManagedFieldsEntry(
            manager=entry.get("manager", ""),
            operation=entry["operation"],
            api_version=entry["apiVersion"],
            time=Time.parse(entry["time"]) if "time" in entry else None,
            fields_type=entry["fieldsType"],
            fields_v1=msgspec.Raw(_encode(entry["fieldsV1"])),
            subresource=entry.get("subresource", ""),
        )
        for entry in entries
    )


_encode = msgspec.json.Encoder().encode


_NO_BETTER_WORD: Final = 500

# A definition that changes brings a new model, and the manager of the old one goes.
_managers: dict[tuple[str, str, str, str], tuple[Model, FieldManager]] = {}


def _manager(call: Call, subresource: str) -> FieldManager:
    resource, model = call.resource, call.model
    path = (resource.group, resource.version, resource.plural, subresource)
    found = _managers.get(path)
    if found is None or found[0] is not model:
        if len(_managers) >= _MANAGERS_MAX:
            _managers.clear()
        found = _managers[path] = (model, _make_manager(model, resource, subresource))
    return found[1]


def _make_manager(model: Model, resource: Resource, subresource: str) -> FieldManager:
    traits = model.traits
    reset = traits.status_reset_fields if subresource == "status" else traits.reset_fields
    schema = model.schema(resource.version)
    if schema is None:
        raise InternalError(f"{resource.plural} have no schema at {resource.version}")

    def schema_for(api_version: str) -> StructOf | None:
        group, _, version = api_version.rpartition("/")
        return model.schema(version) if group == resource.group else None

    return FieldManager(
        schema,
        resource.api_version,
        resource.kind,
        subresource=subresource,
        reset_fields=_filters(resource, model, reset, subresource),
        convert=model.convert if isinstance(model, CustomModel) else _convert,
        schema_for=schema_for,
    )


def _filters(
    resource: Resource, model: Model, reset: tuple[str, ...], subresource: str
) -> dict[str, FieldFilter]:
    if subresource == "ephemeralcontainers":
        keep = including(("spec", "ephemeralContainers"))
    elif reset:
        keep = excluding(*(tuple(path.split(".")) for path in reset))
    else:
        return {}
    versions = model.versions()
    prefix = f"{resource.group}/" if resource.group else ""
    return {prefix + version: keep for version in versions}


def _convert(document: dict[str, Any], api_version: str) -> dict[str, Any] | None:
    """A document at another version of its kind, or None if it has none such."""
    if document.get("apiVersion") == api_version:
        return document
    try:
        _kind, _version, decoded = scheme.decode_any(document)
        hub = scheme.to_hub(decoded.value)
        return to_builtins(scheme.from_hub(hub, api_version.rpartition("/")[2]))
    except DrayError:
        return None
