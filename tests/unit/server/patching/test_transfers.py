from __future__ import annotations

from typing import Any

import pytest

from dray.api.schema import MapOf, StructOf
from dray.server.patching.conflicts import ApplyConflicts
from dray.server.patching.field_sets import FieldSet, excluding
from dray.server.patching.managers import APPLY, UPDATE, Identity, Managed, Owned
from dray.server.patching.shapes import Untypable
from dray.server.patching.transfers import Versions, pruned, reconciled, transfer
from tests.unit.server.patching.schemas import STRING, THING, struct

V1, V2 = "example/v1", "example/v2"

# The second version calls `text` by another name.
RENAMED = struct(
    "example.v2.Thing", apiVersion=STRING, kind=STRING, title=STRING, data=MapOf(STRING)
)

ME = Identity("me", APPLY, "", "")
OTHER = Identity("other", UPDATE, V1, "")
NEWER = Identity("newer", UPDATE, V2, "")


def convert(document: dict[str, Any], api_version: str) -> dict[str, Any] | None:
    if api_version not in (V1, V2):
        return None
    names = {"text": "title"} if api_version == V2 else {"title": "text"}
    renamed = {names.get(name, name): value for name, value in document.items()}
    return {**renamed, "apiVersion": api_version}


def schema_for(api_version: str) -> StructOf | None:
    return {V1: THING, V2: RENAMED}.get(api_version)


VERSIONS = Versions(V1, THING, convert=convert, schema_for=schema_for)


def thing(**members: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "Thing", **members}


def owned(fields: FieldSet, version: str = V1, *, applied: bool = False) -> Owned:
    return Owned(fields, version, applied=applied)


def test_a_change_takes_a_field_from_its_owner() -> None:
    managed: Managed = {OTHER: owned({"f:text": {}, "f:number": {}})}
    left, changes = transfer(
        thing(text="a", number=1), thing(text="b", number=1), managed, VERSIONS, to=ME
    )
    assert left == {OTHER: owned({"f:number": {}})}
    assert changes.modified == {"f:text": {}}


def test_owners_in_another_version_lose_it_under_its_name_there() -> None:
    managed: Managed = {NEWER: owned({"f:title": {}, "f:data": {"f:a": {}}}, V2)}
    left, _ = transfer(thing(text="a"), thing(text="b"), managed, VERSIONS, to=ME)
    assert left == {NEWER: owned({"f:data": {"f:a": {}}}, V2)}


def test_what_is_removed_leaves_every_owner_and_empty_owners_vanish() -> None:
    managed: Managed = {OTHER: owned({"f:text": {}}), NEWER: owned({"f:title": {}}, V2)}
    left, _ = transfer(thing(text="a"), thing(), managed, VERSIONS, to=ME)
    assert left == {}


def test_unforced_a_change_of_anothers_field_is_a_conflict() -> None:
    managed: Managed = {OTHER: owned({"f:text": {}}), ME: owned({"f:text": {}}, applied=True)}
    with pytest.raises(ApplyConflicts) as refused:
        transfer(thing(text="a"), thing(text="b"), managed, VERSIONS, to=ME, force=False)
    assert refused.value.owners == {OTHER: {"f:text": {}}}


def test_reset_fields_change_no_hands() -> None:
    versions = Versions(V1, THING, reset_fields={V1: excluding(("text",))})
    managed: Managed = {OTHER: owned({"f:text": {}})}
    left, changes = transfer(thing(text="a"), thing(text="b"), managed, versions, to=ME)
    assert left == managed
    assert not changes.modified
    assert versions.keep({"f:text": {}, "f:number": {}}) == {"f:number": {}}


def test_a_version_that_is_no_more_owns_nothing() -> None:
    gone = Identity("old", UPDATE, "example/v0", "")
    managed: Managed = {gone: owned({"f:text": {}}, "example/v0"), OTHER: owned({"f:text": {}})}
    assert reconciled(managed, thing(), VERSIONS) == {OTHER: owned({"f:text": {}})}
    left, _ = transfer(thing(text="a"), thing(text="a"), managed, VERSIONS, to=ME)
    assert left == {OTHER: owned({"f:text": {}})}


def test_duplicates_are_not_carried_to_another_version() -> None:
    def doubling(document: dict[str, Any], api_version: str) -> dict[str, Any]:
        return {**document, "apiVersion": api_version, "tags": ["a", "a"]}

    versions = Versions(V1, THING, convert=doubling, schema_for=lambda _: THING)
    with pytest.raises(Untypable):
        versions.at(thing(), V2)


def test_what_an_applier_gave_up_is_pruned() -> None:
    merged = thing(text="a", number=1, data={"x": "1", "y": "1"})
    last = owned({"f:text": {}, "f:data": {"f:x": {}}}, applied=True)
    managed: Managed = {
        ME: owned({"f:number": {}}, applied=True),
        OTHER: owned({"f:data": {"f:y": {}}}),
    }
    left = pruned(merged, managed, VERSIONS, last=last)
    assert left == thing(number=1, data={"y": "1"})


def test_what_another_owns_stays() -> None:
    merged = thing(text="a", data={"x": "1"})
    last = owned({"f:text": {}, "f:data": {"f:x": {}}}, applied=True)
    managed: Managed = {NEWER: owned({"f:title": {}}, V2), OTHER: owned({"f:data": {"f:x": {}}})}
    assert pruned(merged, managed, VERSIONS, last=last) == merged


def test_an_item_goes_with_its_owner_though_it_has_fields_of_nobody() -> None:
    merged = thing(items=[{"name": "a", "value": 1}, {"name": "b"}])
    last = owned({"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}, applied=True)
    managed: Managed = {OTHER: owned({"f:items": {'k:{"name":"b"}': {".": {}, "f:name": {}}}})}
    assert pruned(merged, managed, VERSIONS, last=last) == thing(items=[{"name": "b"}])


def test_a_declared_field_goes_with_its_owner_though_keys_in_it_are_nobodys() -> None:
    last = owned({"f:data": {"f:x": {}}}, applied=True)
    assert pruned(thing(data={"x": "1", "y": "1"}), {}, VERSIONS, last=last) == thing()


def test_what_was_last_applied_in_another_version_is_pruned_there() -> None:
    last = owned({"f:title": {}}, V2, applied=True)
    assert pruned(thing(text="a", data={"x": "1"}), {}, VERSIONS, last=last) == thing(
        data={"x": "1"}
    )


def test_nothing_is_pruned_for_a_version_that_is_no_more_or_a_first_apply() -> None:
    merged = thing(text="a")
    assert pruned(merged, {}, VERSIONS, last=owned({"f:text": {}}, "example/v0")) is merged
    assert pruned(merged, {}, VERSIONS, last=None) is merged
