"""How fields change hands: who loses what when an object changes, and what goes with its owner.

Versions are the difficulty. Each manager's set is written in the version its manager spoke, so an
object is compared once in every version that somebody owns it in. Upstream counterpart:
structured-merge-diff's merge.Updater.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec.structs import replace

from dray.api.schema import StructOf
from dray.server.patching.comparison import Comparison, compare
from dray.server.patching.conflicts import ApplyConflicts
from dray.server.patching.conformity import misfits
from dray.server.patching.field_sets import (
    FieldFilter,
    FieldSet,
    difference,
    intersection,
    union,
)
from dray.server.patching.managers import Identity, Managed, Owned
from dray.server.patching.ownership import fields_of, with_named_fields
from dray.server.patching.reconciliation import reconcile
from dray.server.patching.removal import remove
from dray.server.patching.shapes import Untypable, shape_of

__all__ = ["Document", "Versions", "pruned", "reconciled", "transfer"]

Document: TypeAlias = dict[str, Any]


def _no_other(_document: Document, _api_version: str) -> Document | None:
    return None


def _no_schema(_api_version: str) -> StructOf | None:
    return None


@dataclass(frozen=True, slots=True)
class Versions:
    """One kind as its versions see it; `api_version` is the one a request speaks.

    `convert` and `schema_for` answer None for a version that is no more. `reset_fields` are, by
    version, the fields that nobody owns through this endpoint.
    """

    api_version: str
    schema: StructOf
    convert: Callable[[Document, str], Document | None] = _no_other
    schema_for: Callable[[str], StructOf | None] = _no_schema
    reset_fields: Mapping[str, FieldFilter] = field(default_factory=dict)

    def schema_at(self, api_version: str) -> StructOf | None:
        return self.schema if api_version == self.api_version else self.schema_for(api_version)

    def at(self, document: Document, api_version: str) -> Document | None:
        """The document in a version, itself if that is its own."""
        if document.get("apiVersion", self.api_version) == api_version:
            return document
        converted = self.convert(document, api_version)
        schema = self.schema_at(api_version)
        if converted is not None and schema is not None:
            # Duplicates are borne in the version that has them, but not carried to another.
            wrong = misfits(converted, schema)
            if wrong:
                raise Untypable(wrong)
        return converted

    def keep(self, fields: FieldSet) -> FieldSet:
        """What of a set may be owned through this endpoint."""
        only = self.reset_fields.get(self.api_version)
        return fields if only is None else only(fields)


def reconciled(managed: Managed, live: Document, versions: Versions) -> Managed:
    """The owners under today's schemas. Those of versions that are no more are gone."""
    result: Managed = {}
    for identity, owned in managed.items():
        schema = versions.schema_at(owned.api_version)
        if schema is None or versions.at(live, owned.api_version) is None:
            continue
        fields = reconcile(owned.fields, schema)
        result[identity] = owned if fields is owned.fields else replace(owned, fields=fields)
    return result


def transfer(
    old: Document,
    new: Document,
    managed: Managed,
    versions: Versions,
    *,
    to: Identity | None,
    force: bool = True,
) -> tuple[Managed, Comparison]:
    """Take from everybody but `to` what changed, and from all what is no more.

    Unforced, raises ApplyConflicts instead if anybody owns what changed.
    """
    filters = versions.reset_fields
    comparison = compare(old, new, versions.schema).filtered(filters.get(versions.api_version))
    known: dict[str, Comparison | None] = {versions.api_version: comparison}
    result: Managed = {}
    conflicts: dict[Identity, FieldSet] = {}
    for identity, owned in managed.items():
        if identity == to:
            result[identity] = owned
            continue
        version = owned.api_version
        if version not in known:
            known[version] = _compare_at(version, old, new, versions)
        seen = known[version]
        if seen is None:
            continue  # a version that is no more owns nothing
        fields = owned.fields
        if seen.modified or seen.added:
            taken = intersection(fields, union(seen.modified, seen.added))
            if taken:
                conflicts[identity] = taken
                fields = difference(fields, taken)
        if seen.removed:
            fields = difference(fields, seen.removed)
        if fields:
            result[identity] = owned if fields is owned.fields else replace(owned, fields=fields)
    if conflicts and not force:
        raise ApplyConflicts(conflicts)
    if to is not None and to in result and not result[to].fields:
        del result[to]
    return result, comparison


def pruned(
    merged: Document, managed: Managed, versions: Versions, *, last: Owned | None
) -> Document:
    """The merged object without what its applier gave up and nobody else owns.

    `managed` has the applier's new set already; `last` is what it owned before.
    """
    if last is None or not last.fields:
        return merged
    schema = versions.schema_at(last.api_version)
    converted = versions.at(merged, last.api_version)
    if schema is None or converted is None:
        return merged
    shape = shape_of(schema)
    given_up = with_named_fields(last.fields, shape)
    rest = _document(remove(converted, given_up, schema), converted)
    rest = _add_back_owned(converted, rest, managed, versions, last.api_version)
    # Only what the applier itself had goes: fields without an owner, or added meanwhile, stay.
    rest_at_last = versions.at(rest, last.api_version)
    if rest_at_last is None:
        return merged
    kept = with_named_fields(fields_of(rest_at_last, schema), shape)
    there = with_named_fields(fields_of(converted, schema), shape)
    gone = intersection(difference(there, kept), given_up)
    result = _document(remove(converted, gone, schema), converted)
    return versions.at(result, versions.api_version) or merged


def _add_back_owned(
    merged: Document, rest: Document, managed: Managed, versions: Versions, first: str
) -> Document:
    owned_at: dict[str, FieldSet] = {}
    for owned in managed.values():
        owned_at[owned.api_version] = union(owned_at.get(owned.api_version, {}), owned.fields)
    # The version the object is in comes first: another may need, to convert, what was removed.
    for version in sorted(owned_at, key=lambda name: (name != first, name)):
        schema = versions.schema_at(version)
        merged_there, rest_there = versions.at(merged, version), versions.at(rest, version)
        if schema is None or merged_there is None or rest_there is None:
            continue
        merged, rest = merged_there, rest_there
        shape = shape_of(schema)
        there = with_named_fields(fields_of(merged, schema), shape)
        kept = union(
            with_named_fields(fields_of(rest, schema), shape),
            with_named_fields(owned_at[version], shape),
        )
        rest = _document(remove(merged, difference(there, kept), schema), merged)
    return rest


def _compare_at(
    version: str, old: Document, new: Document, versions: Versions
) -> Comparison | None:
    schema = versions.schema_at(version)
    olds, news = versions.at(old, version), versions.at(new, version)
    if schema is None or olds is None or news is None:
        return None
    return compare(olds, news, schema).filtered(versions.reset_fields.get(version))


def _document(value: Any, of: Document) -> Document:
    """What removal left of a document, which can be nothing, still being of its kind."""
    left = value if isinstance(value, dict) else {}
    return {"apiVersion": of.get("apiVersion"), "kind": of.get("kind"), **left}
