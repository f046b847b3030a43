"""Who owns which field of an object, through every write: the verbs' way to dray.server.patching.

Objects are typed here and JSON there. A FieldManager is made once per resource and endpoint.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec

from dray.api import scheme
from dray.api.codec import carried_values, to_builtins
from dray.api.meta import ManagedFieldsEntry, Object, ObjectMeta
from dray.api.schema import StructOf
from dray.api.schemas import schema_of
from dray.api.shared import is_shared, remembering
from dray.api.wire import Struct, Time, blank, replace
from dray.errors import APIError, BadRequest, DrayError, InternalError
from dray.server.call import Call
from dray.server.custom.model import CustomModel
from dray.server.models.model import Model
from dray.server.options import WriteOptions
from dray.server.patching.field_manager import FieldManager
from dray.server.patching.field_sets import FieldFilter, FieldSet, excluding, including
from dray.server.patching.managers import (
    APPLY,
    UPDATE,
    Identity,
    Managed,
    Owned,
    in_wire_order,
)
from dray.server.patching.shapes import Untypable
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

# Objects of one template have the same sets of fields. One takes some ten times its length, so that
# this is a few megabytes.
FIELD_SETS_MAX: Final = 256
FIELDS_BYTES_MAX: Final = 2048


def after_create(call: Call, obj: Any, options: WriteOptions, now: Time) -> Any:
    """The new object, owned by whoever creates it."""
    # What a client says about owners of an object that does not exist yet is not so.
    if obj.metadata.managed_fields:
        obj = replace(obj, metadata=replace(obj.metadata, managed_fields=()))
    manager = _manager(call, "")
    try:
        fields = _fields_of_new(obj, manager, call.model, call.resource.version)
    except Untypable:
        return obj
    return _with_entries(obj, manager.after_create(fields, options.manager, now.text))


def after_update(
    call: Call, new: Any, old: Any, options: WriteOptions, now: Time, *, subresource: str
) -> Any:
    """The new object, its changes owned by whoever makes them."""
    traits = call.model.traits
    reset = traits.status_reset_fields if subresource == "status" else traits.reset_fields
    before, after = _without_alike(old, new, reset)
    sets = _FieldSets()
    manager = _manager(call, subresource)
    known, said = old.metadata.managed_fields, new.metadata.managed_fields
    # Through a subresource, what a client says about owners does not count.
    told_nothing = bool(subresource) or not said or said == known
    owners = _owners(known, sets) if told_nothing else {}
    if not owners:
        live, wanted = _document(call, before, sets), _document(call, after, sets)
        entries = manager.after_update(live, wanted, options.manager, now.text)
        return _with_entries(new, entries, sets)
    managed = {identity: owned for identity, (owned, _entry) in owners.items()}
    try:
        managed = manager.owners_after_update(
            _bare_document(call, before),
            _bare_document(call, after),
            managed,
            options.manager,
            now.text,
        )
    except Untypable:
        return _owned_as(new, known)
    return _owned_as(new, _entries(managed, owners, sets))


def _fields_of_new(obj: Any, manager: FieldManager, model: Model, version: str) -> FieldSet:
    spec: Any = getattr(obj, "spec", None)
    if not is_shared(spec):
        return manager.fields_of_new(model.document(obj, version))
    document = model.document(replace(obj, spec=blank(type(spec))), version)
    del document["spec"]
    fields = {**manager.fields_of_new(document), **_fields_of_spec(spec, manager, model, version)}
    return {step: fields[step] for step in sorted(fields)}


@remembering
def _fields_of_spec(spec: Any, manager: FieldManager, model: Model, version: str) -> FieldSet:
    document = model.document(replace(model.new(), spec=spec), version)
    return manager.fields_of_new({"spec": document["spec"]})


def _without_alike(old: Any, new: Any, reset: tuple[str, ...]) -> tuple[Any, Any]:
    """Both objects without parts that are the very same, or in which nobody will own anything.

    They change nothing about who owns what, and large parts take long to compare.
    """
    rest: dict[str, Any] = {}
    for name in _PARTS:
        part = getattr(new, name, None)
        if isinstance(part, Struct) and (name in reset or part is getattr(old, name)):
            rest[name] = blank(type(part))
    if "metadata" in reset or new.metadata is old.metadata:
        old, new = _with_bare_metadata(old), _with_bare_metadata(new)
    return (replace(old, **rest), replace(new, **rest)) if rest else (old, new)


def _with_bare_metadata(obj: Any) -> Any:
    metadata: ObjectMeta = obj.metadata
    bare = ObjectMeta(uid=metadata.uid, managed_fields=metadata.managed_fields)
    return replace(obj, metadata=bare)


_PARTS: Final = ("spec", "status")


class _FieldSets:
    """The sets of fields of one write: what they are as JSON, and how they were written."""

    def __init__(self) -> None:
        self._written: dict[int, msgspec.Raw] = {}

    def read(self, carried: msgspec.Raw) -> Any:
        """The set; those that repeat from object to object are not read again."""
        data = bytes(carried)
        is_short = len(data) <= FIELDS_BYTES_MAX
        fields = _remembered_values(data) if is_short else carried_values(data)
        if fields:
            self._written[id(fields)] = carried
        return fields

    def write(self, fields: FieldSet) -> msgspec.Raw:
        """What to store of it; nobody changes a set, so the very same is written the same."""
        return self._written.get(id(fields)) or msgspec.Raw(_encode(fields))


# Owners as they are compared, and as they were stored.
_Owners = dict[Identity, tuple[Owned, ManagedFieldsEntry]]


def _owners(entries: tuple[ManagedFieldsEntry, ...], sets: _FieldSets) -> _Owners:
    """The owners of a stored object; none if there is anything unusual about them."""
    found: _Owners = {}
    for entry in entries:
        operation, version, fields = entry.operation, entry.api_version, entry.fields_v1
        usual = operation in (APPLY, UPDATE) and version and entry.fields_type == _FIELDS_V1
        if not usual or fields is None:
            return {}
        applied = operation == APPLY
        identity = Identity(entry.manager, operation, "" if applied else version, entry.subresource)
        time = None if entry.time is None else entry.time.text
        owned = Owned(sets.read(fields) or {}, version, applied, time, in_order=True)
        found[identity] = (owned, entry)
    return found


def _entries(managed: Managed, before: _Owners, sets: _FieldSets) -> tuple[ManagedFieldsEntry, ...]:
    return tuple(
        _entry(identity, owned, before.get(identity), sets)
        for identity, owned in in_wire_order(managed)
    )


def _entry(
    identity: Identity,
    owned: Owned,
    before: tuple[Owned, ManagedFieldsEntry] | None,
    sets: _FieldSets,
) -> ManagedFieldsEntry:
    if before is not None and before[0] is owned:
        return before[1]
    return ManagedFieldsEntry(
        manager=identity.manager,
        operation=identity.operation,
        api_version=owned.api_version,
        time=None if owned.time is None else Time.parse(owned.time),
        fields_type=_FIELDS_V1,
        fields_v1=sets.write(owned.wire_fields),
        subresource=identity.subresource,
    )


_FIELDS_V1: Final = "FieldsV1"


def _bare_document(call: Call, obj: Any) -> dict[str, Any]:
    """The object as JSON values, without its owners."""
    if obj.metadata.managed_fields:
        obj = _owned_as(obj, ())
    return call.model.document(obj, call.resource.version)


def _document(call: Call, obj: Any, sets: _FieldSets) -> dict[str, Any]:
    """The object as JSON values."""
    entries, document = obj.metadata.managed_fields, _bare_document(call, obj)
    if entries:
        document["metadata"]["managedFields"] = [_shown(entry, sets) for entry in entries]
    return document


def _shown(entry: ManagedFieldsEntry, sets: _FieldSets) -> dict[str, Any]:
    document = to_builtins(replace(entry, fields_v1=None))
    if entry.fields_v1 is not None:
        document["fieldsV1"] = sets.read(entry.fields_v1)
    return document


_remembered_values: Final = lru_cache(maxsize=FIELD_SETS_MAX)(carried_values)


def applied_document(
    call: Call, old: Any | None, applied: dict[str, Any], options: WriteOptions, now: Time
) -> dict[str, Any]:
    """What an apply makes of the stored object, owners included. Raises Conflict."""
    live = None if old is None else call.model.document(old, call.resource.version)
    manager = _manager(call, call.route.subresource)
    try:
        return manager.apply(live, applied, options.manager, now.text, force=options.force)
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
    entries = manager.after_update(None, to_builtins(obj), options.manager, now.text)
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


def _with_entries(obj: Any, entries: list[dict[str, Any]], sets: _FieldSets | None = None) -> Any:
    return _owned_as(obj, _typed(entries, sets or _FieldSets()))


def _owned_as(obj: Any, entries: tuple[ManagedFieldsEntry, ...]) -> Any:
    return replace(obj, metadata=replace(obj.metadata, managed_fields=entries))


def _typed(entries: list[dict[str, Any]], sets: _FieldSets) -> tuple[ManagedFieldsEntry, ...]:
    return tuple(
        ManagedFieldsEntry(
            manager=entry.get("manager", ""),
            operation=entry["operation"],
            api_version=entry["apiVersion"],
            time=Time.parse(entry["time"]) if "time" in entry else None,
            fields_type=entry["fieldsType"],
            fields_v1=sets.write(entry["fieldsV1"]),
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
