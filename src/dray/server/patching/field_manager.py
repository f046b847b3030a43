"""Server-side apply, and the bookkeeping of who owns which field through every other write.

One FieldManager serves one kind in one version at one endpoint (the object itself, or a
subresource) and keeps nothing between calls: objects are JSON, owners come from and go to their
metadata.managedFields. Objects in and out are in the version of the request; neither is changed,
though results share parts with them. Upstream counterpart: apimachinery's managedfields.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from dray.api.schema import StructOf
from dray.errors import APIError, BadRequest, ParseError
from dray.server.patching.comparison import compare, same
from dray.server.patching.conflicts import ApplyConflicts
from dray.server.patching.conformity import misfits
from dray.server.patching.field_sets import (
    FieldFilter,
    FieldSet,
    difference,
    field_set,
    ordered,
    union,
)
from dray.server.patching.last_applied import KUBECTL, fields_last_applied, with_last_applied
from dray.server.patching.managers import (
    APPLY,
    UPDATE,
    Identity,
    Managed,
    Owned,
    capped,
    decode_entries,
    encode_entries,
    is_reset,
)
from dray.server.patching.merging import merge
from dray.server.patching.ownership import everything, fields_of
from dray.server.patching.shapes import Untypable, shape_of, zero_document
from dray.server.patching.transfers import (
    Document,
    Versions,
    pruned,
    reconciled,
    transfer,
)

__all__ = ["FieldManager"]

# Identity and what the server alone writes: nobody owns these.
_NEVER_OWNED: Final = field_set(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("metadata", "creationTimestamp"),
    ("metadata", "selfLink"),
    ("metadata", "uid"),
    ("metadata", "clusterName"),
    ("metadata", "generation"),
    ("metadata", "managedFields"),
    ("metadata", "resourceVersion"),
)

# Which an object has for itself alone.
_METADATA: Final = "f:metadata"
_OWNERS: Final = "ownerReferences"

# Owns whatever an object had before anybody was tracked.
_BEFORE_FIRST_APPLY: Final = "before-first-apply"

# Objects of a kind are made alike by whoever makes them: these are half a megabyte of each kind. An
# object that has much of its own, such as a hundred labels, is not remembered.
SKELETONS_MAX: Final = 64
SKELETON_PARTS_MAX: Final = 128
SKELETON_NAME_MAX: Final = 256

# A client that does not say who it is.
_UNKNOWN: Final = "unknown"


class FieldManager:
    """Keeps managedFields of one kind, at one version and endpoint.

    `convert(document, api_version)` and `schema_for(api_version)` answer None for versions that are
    not, or no longer, known; without them there is one version only. `reset_fields` says by version
    what nobody may own through this endpoint (see field_sets.excluding and including).
    """

    def __init__(
        self,
        schema: StructOf,
        api_version: str,
        kind: str,
        *,
        subresource: str = "",
        reset_fields: Mapping[str, FieldFilter] | None = None,
        convert: Callable[[Document, str], Document | None] | None = None,
        schema_for: Callable[[str], StructOf | None] | None = None,
    ) -> None:
        more: dict[str, Any] = {"reset_fields": dict(reset_fields or {})}
        if convert is not None:
            more["convert"] = convert
        if schema_for is not None:
            more["schema_for"] = schema_for
        self._versions = Versions(api_version, schema, **more)
        self._kind = kind
        self._subresource = subresource
        self._fields_of_new: dict[Hashable, FieldSet] = {}
        metadata = shape_of(schema).steps.get(_METADATA)
        self._owners = None if metadata is None else metadata.fields.get(_OWNERS)
        self._zero: Document = {
            **zero_document(schema),
            "apiVersion": api_version,
            "kind": kind,
        }

    def after_update(
        self, live: Document | None, new: Document, manager: str, time: str
    ) -> list[dict[str, Any]]:
        """The managedFields of `new`, which replaces `live` by other means than apply.

        Both are defaulted objects in the request's version; a create has no live one. Empty means
        that the object has none. `new` still has the managedFields the client sent: an absent
        or unreadable list keeps what is known, `[]` and `[{}]` forget it.
        """
        known = _entries(live) if live is not None else None
        managed = self._managed_before(known, _entries(new))
        if not managed and live is not None and live.get("metadata", {}).get("uid"):
            return []  # not tracked, and only apply begins to
        before = self._zero if live is None else _bare(live)
        try:
            managed = self._update(before, _bare(new), managed, manager or _UNKNOWN, time)
        except Untypable:
            # The object has a place for the owners it had, whatever is wrong with the rest.
            return known or []
        return encode_entries(managed)

    def owners_after_update(
        self, live: Document, new: Document, managed: Managed, manager: str, time: str
    ) -> Managed:
        """The same for documents without managedFields, of whose owners the client says nothing.

        Those whose part does not change come back as the very same. Raises Untypable.
        """
        return self._update(live, new, managed, manager or _UNKNOWN, time)

    def fields_of_new(self, document: Document) -> FieldSet:
        """What whoever creates an object owns of it; of a part of one, its share in that.

        Parts at the top of an object do not depend on each other. Raises Untypable.
        """
        metadata: Any = document.get("metadata")
        owners = metadata.get(_OWNERS) if isinstance(metadata, dict) else None
        if not owners or self._owners is None:
            return self._fields_by_skeleton(document)
        # Each object has its own; all the rest may be as that of others.
        rest = {name: value for name, value in metadata.items() if name != _OWNERS}
        fields = self._fields_by_skeleton({**document, "metadata": rest})
        step, shape = self._owners
        added = self._versions.keep({_METADATA: {step: everything(shape, owners)}})
        return _joined_in_metadata(fields, added)

    def _fields_by_skeleton(self, document: Document) -> FieldSet:
        skeleton = _skeleton(document)
        fields = None if skeleton is None else self._fields_of_new.get(skeleton)
        if fields is None:
            fields = self._compared(document)
            if skeleton is not None:
                if len(self._fields_of_new) >= SKELETONS_MAX:
                    self._fields_of_new.clear()
                self._fields_of_new[skeleton] = fields
        return fields

    def _compared(self, document: Document) -> FieldSet:
        versions = self._versions
        added = compare(self._zero, document, versions.schema)
        added = added.filtered(versions.reset_fields.get(versions.api_version))
        return ordered(difference(union(added.modified, added.added), _NEVER_OWNED))

    def after_create(self, fields: FieldSet, manager: str, time: str) -> list[dict[str, Any]]:
        """The managedFields of a new object, of which its creator owns these fields, in order."""
        if not fields:
            return []
        version = self._versions.api_version
        identity = Identity(manager or _UNKNOWN, UPDATE, version, self._subresource)
        return encode_entries({identity: Owned(fields, version, False, time, in_order=True)})

    def apply(
        self,
        live: Document | None,
        applied: Document,
        manager: str,
        time: str,
        *,
        force: bool = False,
    ) -> Document:
        """The live object with `applied` merged into it, managedFields included.

        The result is not defaulted, and may have nulls where fields were given up: decode it. If
        nothing changed it equals the live object. Raises Conflict, BadRequest, or for objects that
        do not fit the schema a plain APIError, as upstream does.
        """
        self._check(applied)
        try:
            managed = decode_entries(_entries(live) if live is not None else None)
        except ParseError as error:
            raise _failure(f"failed to decode managed fields: {error}") from error
        before = self._zero if live is None else _bare(live)
        try:
            if not managed and live is not None:
                managed = self._update(self._zero, before, managed, _BEFORE_FIRST_APPLY, time)
            merged, managed = self._apply_as(before, applied, managed, manager, time, force=force)
        except Untypable as error:
            raise _failure(str(error)) from error
        if manager == KUBECTL:
            merged = with_last_applied(merged, applied)
        return _with_entries(merged, encode_entries(managed))

    def _check(self, applied: Document) -> None:
        version, kind = applied.get("apiVersion") or "", applied.get("kind") or ""
        if version != self._versions.api_version or kind != self._kind:
            raise BadRequest(f"invalid object type: {_show_kind(version, kind)}")
        metadata = applied.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
            raise BadRequest("metadata.managedFields must be nil")
        wrong = misfits(applied, self._versions.schema)
        if wrong:
            named = metadata if isinstance(metadata, dict) else {}
            whose = "/".join(_text(named.get(name)) for name in ("namespace", "name"))
            raise _failure(
                f"failed to create typed patch object ({whose}; {_show_kind(version, kind)}): "
                f"{wrong}"
            )

    def _managed_before(self, known: Any, sent: Any) -> Managed:
        """Who owned the object before this write, as far as the client has a say in it."""
        if not self._subresource and sent is not None and sent != known:
            if is_reset(sent):
                return {}
            try:
                managed = decode_entries(sent)
            except ParseError:
                managed = {}
            if managed:
                return managed
        try:
            # What is stored was written by us.
            return decode_entries(known, trusted=True)
        except ParseError:
            return {}

    def _update(
        self, live: Document, new: Document, managed: Managed, manager: str, time: str
    ) -> Managed:
        versions = self._versions
        if managed:
            managed = reconciled(managed, live, versions)
        managed, changes = transfer(live, new, managed, versions, to=None)
        fields = difference(union(changes.modified, changes.added), _NEVER_OWNED)
        if fields:
            version = versions.api_version
            identity = Identity(manager, UPDATE, version, self._subresource)
            # Each comes in order, but not two of them together.
            in_order = not (changes.modified and changes.added)
            previous = managed.get(identity)
            if previous is not None:
                fields = union(fields, previous.fields)
                in_order = False
            managed[identity] = Owned(fields, version, applied=False, time=time, in_order=in_order)
        return capped(managed)

    def _apply_as(
        self,
        live: Document,
        applied: Document,
        managed: Managed,
        manager: str,
        time: str,
        *,
        force: bool,
    ) -> tuple[Document, Managed]:
        try:
            return self._apply(live, applied, managed, manager, time, force=force)
        except ApplyConflicts as conflicts:
            if manager != KUBECTL:
                raise
            allowed = fields_last_applied(live, self._versions.schema, self._versions.api_version)
            if allowed is None:
                raise
            left = conflicts.without(allowed)
            if left is not None:
                raise left from conflicts
        return self._apply(live, applied, managed, manager, time, force=True)

    def _apply(
        self,
        live: Document,
        applied: Document,
        managed: Managed,
        manager: str,
        time: str,
        *,
        force: bool,
    ) -> tuple[Document, Managed]:
        versions = self._versions
        managed = reconciled(managed, live, versions)
        merged = merge(live, applied, versions.schema)
        identity = Identity(manager or _UNKNOWN, APPLY, "", self._subresource)
        last = managed.get(identity)
        fields = versions.keep(fields_of(applied, versions.schema))
        mine = Owned(fields, versions.api_version, applied=True, time=last.time if last else None)
        managed[identity] = mine
        merged = pruned(merged, managed, versions, last=last)
        managed, _ = transfer(live, merged, managed, versions, to=identity, force=force)
        changed = not same(live, merged)
        owned: FieldSet = difference(fields, _NEVER_OWNED)
        if owned:
            managed[identity] = replace(mine, fields=owned, time=time if changed else mine.time)
        else:
            managed.pop(identity, None)
        return (merged if changed else live), managed


def _skeleton(document: Document) -> Hashable | None:
    """All that decides which fields a new object has; None if it is too much to remember.

    Of a value it matters whether it is a zero of its type, as those of an empty object are.
    """
    parts: list[Any] = []
    return tuple(parts) if _collect(document, parts) else None


def _collect(document: Document, parts: list[Any]) -> bool:
    for name, value in document.items():
        if len(parts) >= SKELETON_PARTS_MAX or len(name) > SKELETON_NAME_MAX:
            return False
        if not value or not isinstance(value, (dict, list)):
            parts += (name, True if value else type(value))
        elif isinstance(value, list):
            # Fields go by what the items say.
            if len(value) > SKELETON_PARTS_MAX or not all(map(_is_short_text, value)):
                return False
            parts += (name, "[", *value, None)
        else:
            parts += (name, "{")
            if not _collect(value, parts):
                return False
            parts.append(None)
    return True


def _is_short_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= SKELETON_NAME_MAX


def _joined_in_metadata(fields: FieldSet, more: FieldSet) -> FieldSet:
    """Both sets, in order; of metadata they have different members, and the second only such."""
    if not more:
        return fields
    metadata = {**fields.get(_METADATA, {}), **more[_METADATA]}
    joined = {**fields, _METADATA: {step: metadata[step] for step in sorted(metadata)}}
    return {step: joined[step] for step in sorted(joined)}


def _entries(document: Document) -> Any:
    metadata = document.get("metadata")
    return metadata.get("managedFields") if metadata else None


def _bare(document: Document) -> Document:
    """The document without its owners, who do not own themselves."""
    metadata = document.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return document
    rest = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**document, "metadata": rest}


def _with_entries(document: Document, entries: list[dict[str, Any]]) -> Document:
    if not entries:
        return document
    metadata = document.get("metadata") or {}
    return {**document, "metadata": {**metadata, "managedFields": entries}}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _show_kind(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _failure(message: str) -> APIError:
    """What upstream answers with when it has no better word: 500, and no reason."""
    error = APIError(message)
    error.reason = ""
    return error
