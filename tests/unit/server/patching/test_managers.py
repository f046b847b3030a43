from __future__ import annotations

from typing import Any

import pytest

from dray.errors import ParseError
from dray.server.patching.managers import (
    ANCIENT,
    APPLY,
    UPDATE,
    UPDATE_MANAGERS_MAX,
    Identity,
    Managed,
    Owned,
    capped,
    decode_entries,
    encode_entries,
    is_reset,
)


def entry(manager: str = "m", **members: Any) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": UPDATE,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:a": {}},
        **members,
    }


def test_one_manager_has_an_entry_per_operation_version_and_subresource() -> None:
    entries = [
        entry(operation=APPLY),
        entry(),
        entry(apiVersion="v2"),
        entry(subresource="status"),
    ]
    assert len(decode_entries(entries)) == 4


def test_an_applier_is_one_whichever_version_it_speaks() -> None:
    entries = [entry(operation=APPLY), entry(operation=APPLY, apiVersion="v2")]
    (owned,) = decode_entries(entries).values()
    assert owned.api_version == "v2"


def test_entries_stand_in_order() -> None:
    wanted = [
        entry("z", operation=APPLY),
        entry("y"),
        entry("a", time="2020-01-01T00:00:00Z"),
        entry("b", time="2020-01-01T00:00:00Z"),
        entry("b", time="2020-01-01T00:00:00Z", subresource="status"),
        entry("b", time="2020-01-01T00:00:00Z", apiVersion="v2"),
        entry("a", time="2020-01-01T00:00:01Z", subresource="x"),
    ]
    found = encode_entries(decode_entries(list(reversed(wanted))))
    assert found == wanted


def test_a_set_is_written_in_order() -> None:
    (written,) = encode_entries(decode_entries([entry(fieldsV1={"f:b": {}, "f:a": {}})]))
    assert list(written["fieldsV1"]) == ["f:a", "f:b"]


@pytest.mark.parametrize(
    "entries",
    [
        {},
        ["x"],
        [entry(operation="Other")],
        [entry(apiVersion="")],
        [entry(fieldsType="")],
        [entry(fieldsV1={"bad": {}})],
        [entry(fieldsV1=[1])],
    ],
)
def test_entries_that_make_no_sense_are_refused(entries: Any) -> None:
    with pytest.raises(ParseError):
        decode_entries(entries)


@pytest.mark.parametrize(
    ("entries", "reset"), [([], True), ([{}], True), (None, False), ([entry()], False)]
)
def test_empty_lists_ask_to_forget(entries: Any, reset: bool) -> None:
    assert is_reset(entries) is reset


def crowd(count: int, version: str = "v1") -> Managed:
    return {
        Identity(f"m{n:02}", UPDATE, version, ""): Owned(
            {f"f:{n:02}": {}}, version, applied=False, time=f"2020-01-01T00:00:{n:02}Z"
        )
        for n in range(count)
    }


def test_the_oldest_of_too_many_updaters_become_one() -> None:
    managed = capped(crowd(UPDATE_MANAGERS_MAX + 2))
    assert len(managed) == UPDATE_MANAGERS_MAX
    ancient = managed[Identity(ANCIENT, UPDATE, "v1", "")]
    assert ancient.fields == {"f:00": {}, "f:01": {}, "f:02": {}}
    assert ancient.time == "2020-01-01T00:00:02Z"


def test_as_many_as_allowed_are_left_alone() -> None:
    managed = crowd(UPDATE_MANAGERS_MAX)
    assert capped(managed) is managed


def test_appliers_do_not_count() -> None:
    managed = crowd(UPDATE_MANAGERS_MAX)
    managed[Identity("a", APPLY, "", "")] = Owned({"f:a": {}}, "v1", applied=True)
    assert capped(managed) is managed


def test_versions_are_joined_apart() -> None:
    managed = capped(crowd(6, "v1") | crowd(6, "v2"))
    versions = {identity.api_version for identity in managed if identity.manager == ANCIENT}
    assert len(managed) == UPDATE_MANAGERS_MAX
    assert versions == {"v1", "v2"}


def document(time: str, **members: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "managedFields": [entry(time=time)]}, **members}
