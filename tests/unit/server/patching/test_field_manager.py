from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from dray.api.schemas import schema_of
from dray.errors import APIError, BadRequest, Conflict
from dray.server.patching.field_manager import FieldManager
from dray.server.patching.field_sets import excluding
from dray.server.patching.last_applied import LAST_APPLIED
from dray.server.patching.managers import decode_entries
from tests.unit.server.patching.schemas import THING

V1 = "example/v1"
NOW, LATER = "2020-01-01T00:00:00Z", "2020-01-01T00:00:05Z"
MANAGER = FieldManager(THING, V1, "Thing")
STATUS = FieldManager(THING, V1, "Thing", subresource="status")


def thing(**members: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "Thing", "metadata": {"name": "x"}, **members}


def stored(document: dict[str, Any], entries: Any) -> dict[str, Any]:
    metadata = {**document["metadata"], "uid": "u", "managedFields": entries}
    return {**document, "metadata": metadata}


def entry(manager: str, fields: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": V1,
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **members,
    }


def created(**members: Any) -> dict[str, Any]:
    document = thing(**members)
    return stored(document, MANAGER.after_update(None, document, "creator", NOW))


def owners(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {one["manager"]: one["fieldsV1"] for one in entries}


def test_who_creates_owns_all_but_identity() -> None:
    entries = MANAGER.after_update(None, thing(text="a", data={"k": "v"}), "me", NOW)
    assert entries == [entry("me", {"f:data": {".": {}, "f:k": {}}, "f:text": {}})]


def test_owners_whose_part_stays_come_back_as_they_were() -> None:
    before = decode_entries([entry("one", {"f:text": {}}), entry("two", {"f:number": {}})])
    old, new = thing(text="a", number=1), thing(text="a", number=2)
    after = MANAGER.owners_after_update(old, new, before, "three", LATER)
    assert {each.manager for each in after} == {"one", "three"}
    (kept,) = [each for each in after if each.manager == "one"]
    assert after[kept] is before[kept]


def test_a_client_without_a_name_is_unknown() -> None:
    assert owners(MANAGER.after_update(None, thing(text="a"), "", NOW)) == {
        "unknown": {"f:text": {}}
    }


def test_an_object_without_anything_to_own_has_no_owners() -> None:
    assert MANAGER.after_update(None, thing(), "me", NOW) == []


def test_fields_that_are_always_written_are_not_added_by_a_create() -> None:
    manager = FieldManager(schema_of("", "v1", "Pod"), "v1", "Pod")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x"},
        "spec": {"containers": [{"name": "a", "resources": {}}]},
        "status": {},
    }
    assert owners(manager.after_update(None, pod, "me", NOW)) == {
        "me": {
            "f:spec": {
                "f:containers": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:resources": {}}}
            }
        }
    }


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([{"data": {"a": "1"}}, {"data": {"a": "2"}}], id="another-value"),
        pytest.param([{"data": {"a": "1"}}, {"data": {"b": "1"}}], id="another-name"),
        pytest.param([{"data": {"a": "1"}}, {"data": {}}, {"data": None}], id="less"),
        pytest.param([{"data": {"a": ""}}, {"data": {"a": "x"}}], id="zero"),
        pytest.param([{"immutable": False}, {"immutable": True}], id="flag"),
        pytest.param(
            [{"metadata": {"finalizers": ["a"]}}, {"metadata": {"finalizers": ["b"]}}], id="list"
        ),
        pytest.param(
            [{"metadata": {"labels": {"a": "b"}}}, {"metadata": {}, "data": {"labels": "b"}}],
            id="another-place",
        ),
        pytest.param(
            [{"data": {}, "binaryData": {"a": "1"}}, {"data": {"binaryData": {}, "a": "1"}}],
            id="empty-or-not",
        ),
        pytest.param(
            [
                {"metadata": {"finalizers": ["a", "b"]}},
                {"metadata": {"finalizers": ["a"], "b": "x"}},
                {"metadata": {"finalizers": [], "a": "x", "b": "x"}},
            ],
            id="end-of-list",
        ),
        pytest.param(
            [
                {"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}]}},
                {"metadata": {"ownerReferences": [{"uid": "2"}, {"uid": "1"}]}, "data": {"a": ""}},
                {"metadata": {"labels": {"a": "b"}, "ownerReferences": [{"uid": "3"}], "z": 1}},
                {"metadata": {"labels": {"a": "b"}, "ownerReferences": []}},
                {"metadata": {"labels": {"a": "b"}}, "data": {"a": ""}},
            ],
            id="owners",
        ),
        pytest.param([{"data": {f"n{n}": "" for n in range(200)}}] * 2, id="many"),
        pytest.param([{"metadata": {"finalizers": ["a"] * 200}}] * 2, id="many-items"),
    ],
)
def test_what_is_remembered_of_one_new_object_holds_for_others_like_it(documents: Any) -> None:
    mindful = FieldManager(schema_of("", "v1", "ConfigMap"), "v1", "ConfigMap")
    for document in documents:
        forgetful = FieldManager(schema_of("", "v1", "ConfigMap"), "v1", "ConfigMap")
        expected = forgetful.after_update(None, deepcopy(document), "m", "t")
        for _again in range(2):
            fields = mindful.fields_of_new(document)
            written = mindful.after_create(fields, "m", "t")
            assert json.dumps(written) == json.dumps(expected)


def test_who_changes_a_field_owns_it_now() -> None:
    live = created(text="a", number=1)
    entries = MANAGER.after_update(live, {**live, "text": "b"}, "other", LATER)
    assert entries == [
        entry("creator", {"f:number": {}}),
        entry("other", {"f:text": {}}, time=LATER),
    ]


def test_a_write_that_changes_nothing_changes_no_time() -> None:
    live = created(text="a")
    assert (
        MANAGER.after_update(live, deepcopy(live), "other", LATER)
        == live["metadata"]["managedFields"]
    )


def test_a_removed_field_is_nobodys_and_is_no_reason_for_a_new_time() -> None:
    live = created(text="a", number=1)
    new = {name: value for name, value in live.items() if name != "text"}
    assert MANAGER.after_update(live, new, "creator", LATER) == [entry("creator", {"f:number": {}})]


def test_one_manager_has_an_entry_per_endpoint() -> None:
    live = created(text="a")
    entries = STATUS.after_update(live, {**live, "number": 1}, "creator", LATER)
    assert entries == [
        entry("creator", {"f:text": {}}),
        entry("creator", {"f:number": {}}, time=LATER, subresource="status"),
    ]


def test_reset_fields_are_owned_by_nobody() -> None:
    manager = FieldManager(THING, V1, "Thing", reset_fields={V1: excluding(("number",))})
    assert owners(manager.after_update(None, thing(text="a", number=1), "me", NOW)) == {
        "me": {"f:text": {}}
    }


@pytest.mark.parametrize("cleared", [[], [{}]])
def test_a_client_can_end_the_tracking_until_the_next_apply(cleared: list[Any]) -> None:
    live = created(text="a")
    assert MANAGER.after_update(live, stored(live, cleared), "me", NOW) == []
    untracked = stored(thing(text="a"), None)
    assert MANAGER.after_update(untracked, {**untracked, "text": "b"}, "me", NOW) == []
    assert (
        STATUS.after_update(live, stored(live, cleared), "me", NOW)
        == (live["metadata"]["managedFields"])
    )


def test_owners_that_a_client_writes_replace_the_known_ones() -> None:
    live = created(text="a", number=1)
    given = [entry("given", {"f:text": {}})]
    assert MANAGER.after_update(live, stored(live, given), "me", LATER) == given
    assert owners(STATUS.after_update(live, stored(live, given), "me", LATER)).keys() == {"creator"}


@pytest.mark.parametrize("given", [None, [{"manager": "x"}], "nonsense", [entry("x", {"bad": {}})]])
def test_owners_that_are_absent_or_unreadable_stay_as_known(given: Any) -> None:
    live = created(text="a")
    assert (
        MANAGER.after_update(live, stored(live, given), "me", LATER)
        == (live["metadata"]["managedFields"])
    )


def test_an_object_that_its_schema_cannot_place_keeps_its_owners() -> None:
    live = created(text="a")
    assert (
        MANAGER.after_update(live, {**live, "items": [{"value": 1}]}, "me", LATER)
        == (live["metadata"]["managedFields"])
    )


# Apply ----------------------------------------------------------------------------------------


def test_applying_creates_what_is_not_there() -> None:
    made = MANAGER.apply(None, thing(text="a", data={"k": "v"}), "me", NOW)
    assert made["text"] == "a"
    assert made["metadata"]["managedFields"] == [
        entry("me", {"f:data": {"f:k": {}}, "f:text": {}}, operation="Apply")
    ]


def test_what_is_no_longer_applied_goes() -> None:
    live = stored(*applied_first())
    made = MANAGER.apply(live, thing(text="a"), "me", LATER)
    assert made.get("data") is None
    assert owners(made["metadata"]["managedFields"]) == {"me": {"f:text": {}}}


def applied_first() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    made = MANAGER.apply(None, thing(text="a", data={"k": "v"}), "me", NOW)
    return made, made["metadata"]["managedFields"]


def test_applying_the_same_again_changes_nothing() -> None:
    live = stored(*applied_first())
    assert MANAGER.apply(live, thing(text="a", data={"k": "v"}), "me", LATER) == live


def test_a_second_applier_shares_what_it_agrees_with() -> None:
    live = stored(*applied_first())
    made = MANAGER.apply(live, thing(text="a"), "you", LATER)
    entries = made["metadata"]["managedFields"]
    assert owners(entries)["you"] == {"f:text": {}}
    # The object did not change, so there is no time at which it did.
    assert "time" not in next(one for one in entries if one["manager"] == "you")


def test_a_disagreement_is_a_conflict_unless_forced() -> None:
    live = stored(*applied_first())
    with pytest.raises(Conflict) as refused:
        MANAGER.apply(live, thing(text="b"), "you", LATER)
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "me": .text'
    made = MANAGER.apply(live, thing(text="b"), "you", LATER, force=True)
    assert owners(made["metadata"]["managedFields"]) == {
        "me": {"f:data": {"f:k": {}}},
        "you": {"f:text": {}},
    }


def test_what_was_there_before_the_first_apply_gets_an_owner() -> None:
    live = stored(thing(text="a", number=1), None)
    made = MANAGER.apply(live, thing(data={"k": "v"}), "me", NOW)
    assert owners(made["metadata"]["managedFields"]) == {
        "before-first-apply": {"f:number": {}, "f:text": {}},
        "me": {"f:data": {"f:k": {}}},
    }


def test_kubectl_comes_from_client_side_apply_without_conflict() -> None:
    config = thing(text="a")
    document = thing(text="a")
    document["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(config)}
    live = stored(document, MANAGER.after_update(None, document, "kubectl-client-side-apply", NOW))
    made = MANAGER.apply(live, thing(text="b"), "kubectl", LATER)
    assert made["text"] == "b"
    assert json.loads(made["metadata"]["annotations"][LAST_APPLIED]) == thing(text="b")
    with pytest.raises(Conflict):
        MANAGER.apply(live, thing(text="b"), "somebody", LATER)


def test_kubectl_conflicts_over_what_others_changed_since() -> None:
    document = thing(text="a", number=1)
    document["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(thing(text="a", number=1))}
    live = stored(document, MANAGER.after_update(None, document, "kubectl-client-side-apply", NOW))
    changed = {**live, "number": 2}
    live = stored(changed, MANAGER.after_update(live, changed, "other", LATER))
    with pytest.raises(Conflict) as refused:
        MANAGER.apply(live, thing(text="b", number=3), "kubectl", LATER)
    assert [cause.field for cause in refused.value.details.causes] == [".number"]


@pytest.mark.parametrize(
    ("applied", "message"),
    [
        ({}, "invalid object type: /, Kind="),
        ({"apiVersion": "v9", "kind": "Thing"}, "invalid object type: /v9, Kind=Thing"),
        (thing(metadata={"managedFields": []}), "metadata.managedFields must be nil"),
    ],
)
def test_a_body_of_another_kind_is_a_bad_request(applied: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        MANAGER.apply(None, applied, "me", NOW)
    assert refused.value.message == message


def test_a_body_that_does_not_fit_fails_as_upstream_fails() -> None:
    with pytest.raises(APIError) as refused:
        MANAGER.apply(None, thing(foo=1), "me", NOW)
    assert (refused.value.code, refused.value.reason) == (500, "")
    assert refused.value.message == (
        "failed to create typed patch object (/x; example/v1, Kind=Thing): "
        ".foo: field not declared in schema"
    )


def test_owners_that_cannot_be_read_stop_an_apply() -> None:
    live = stored(thing(text="a"), [{"manager": "x"}])
    with pytest.raises(APIError, match="failed to decode managed fields"):
        MANAGER.apply(live, thing(text="a"), "me", NOW)


def test_a_stored_list_that_cannot_be_merged_stops_an_apply() -> None:
    live = created(text="a")
    broken = {**live, "items": [{"value": 1}]}
    with pytest.raises(APIError, match="omits all key fields"):
        MANAGER.apply(broken, thing(items=[{"name": "a"}]), "me", NOW)


def test_arguments_are_left_alone() -> None:
    live, config = stored(*applied_first()), thing(text="b", items=[{"name": "a"}])
    before = deepcopy((live, config))
    MANAGER.apply(live, config, "me", LATER)
    MANAGER.after_update(live, {**live, "text": "c"}, "you", LATER)
    assert (live, config) == before
