"""The entries of managedFields: who owns which fields, since when, and in whose words.

In memory an entry is found by who it is about: manager, operation and subresource, and for an
Update also the version its fields are written in. On the wire the entries are a list in a fixed
order. Upstream counterpart: apimachinery's managedfields (managedfields.go, capmanagers.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from dray.errors import ParseError
from dray.server.patching.field_sets import FieldSet, ordered, parse, union
from dray.server.patching.go_text import json_string

__all__ = [
    "ANCIENT",
    "APPLY",
    "UPDATE",
    "UPDATE_MANAGERS_MAX",
    "Identity",
    "Managed",
    "Owned",
    "capped",
    "decode_entries",
    "encode_entries",
    "in_wire_order",
    "is_reset",
]

APPLY: Final = "Apply"
UPDATE: Final = "Update"

# Upstream's number. Each controller that touches an object adds an entry, and some use a name per
# process: without a bound the list would outgrow the object.
UPDATE_MANAGERS_MAX: Final = 10
# Owns what the oldest of too many updaters owned.
ANCIENT: Final = "ancient-changes"

Entry: TypeAlias = dict[str, Any]


class Identity(NamedTuple):
    """Whom an entry is about."""

    manager: str
    operation: str
    api_version: str  # empty for appliers: they stay one whichever version they speak
    subresource: str

    @property
    def text(self) -> str:
        """Its JSON, by which upstream sorts."""
        members = [
            f'"{name}":{json_string(value)}'
            for name, value in zip(_IDENTITY_NAMES, self, strict=True)
            if value
        ]
        return f"{{{','.join(members)}}}"


_IDENTITY_NAMES: Final = ("manager", "operation", "apiVersion", "subresource")


class Owned(msgspec.Struct, frozen=True):
    """What one manager owns."""

    fields: FieldSet
    api_version: str
    applied: bool
    time: str | None = None
    # Whether the set is already as it is written on the wire.
    in_order: bool = False

    @property
    def wire_fields(self) -> FieldSet:
        """The set as it is written on the wire."""
        return self.fields if self.in_order else ordered(self.fields)


Managed: TypeAlias = dict[Identity, Owned]


def decode_entries(entries: Any, *, trusted: bool = False) -> Managed:
    """The entries of an object; raises ParseError. `trusted` ones are known to be ours."""
    managed: Managed = {}
    if entries is None:
        return managed
    if not isinstance(entries, list):
        raise ParseError(str(entries), "managedFields is a list")
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise ParseError(str(entry), "an entry of managedFields is an object")
        operation, version = entry.get("operation"), entry.get("apiVersion")
        if operation not in (APPLY, UPDATE):
            raise ParseError(str(operation), "operation must be `Apply` or `Update`")
        if not isinstance(version, str) or not version:
            raise ParseError(str(version), "apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            kind = str(entry.get("fieldsType"))
            raise ParseError(kind, f"invalid fieldsType in managed fields entry {index}")
        applied = operation == APPLY
        identity = Identity(
            entry.get("manager", ""),
            operation,
            "" if applied else version,
            entry.get("subresource", ""),
        )
        fields = entry.get("fieldsV1") or {}
        managed[identity] = Owned(
            fields if trusted else parse(fields),
            version,
            applied,
            entry.get("time"),
            in_order=trusted,
        )
    return managed


def encode_entries(managed: Managed) -> list[Entry]:
    """The entries as the object shows them."""
    return [_encode(identity, owned) for identity, owned in in_wire_order(managed)]


def in_wire_order(managed: Managed) -> list[tuple[Identity, Owned]]:
    """The owners in the order of their entries."""
    owners = list(managed.items())
    if len(owners) > 1:
        owners.sort(key=_wire_order)
    return owners


def is_reset(entries: Any) -> bool:
    """Whether a client asks to forget all owners: an empty list, or a single empty entry."""
    return isinstance(entries, list) and (not entries or entries == [{}])


def capped(managed: Managed) -> Managed:
    """At most so many updaters: the oldest of each version are joined under one name."""
    updaters = [identity for identity, owned in managed.items() if not owned.applied]
    excess = len(updaters) - UPDATE_MANAGERS_MAX
    if excess <= 0:
        return managed
    updaters.sort(key=lambda identity: (managed[identity].time or "", identity.text))
    result = dict(managed)
    first_of: dict[str, Identity] = {}
    for identity in updaters:
        if excess <= 0:
            break
        owned = managed[identity]
        version = owned.api_version
        bucket = Identity(ANCIENT, UPDATE, version, "")
        if version not in first_of:
            first_of[version] = identity
            continue
        if bucket not in result:
            result[bucket] = result.pop(first_of[version])
        joined = union(owned.fields, result[bucket].fields)
        if identity != bucket:
            del result[identity]
        # The time of the newer one: buckets fill from the oldest on.
        result[bucket] = Owned(joined, version, applied=False, time=owned.time)
        excess -= 1
    return result


def _wire_order(item: tuple[Identity, Owned]) -> tuple[str, str, str, str, str]:
    identity, owned = item
    return (
        identity.operation,
        owned.time or "",
        identity.manager,
        owned.api_version,
        identity.subresource,
    )


def _encode(identity: Identity, owned: Owned) -> Entry:
    entry: Entry = {}
    if identity.manager:
        entry["manager"] = identity.manager
    entry["operation"] = identity.operation
    entry["apiVersion"] = owned.api_version
    if owned.time is not None:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.wire_fields
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry
