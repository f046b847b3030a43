from __future__ import annotations

import json
from typing import Any

import pytest

from dray.server.patching.last_applied import (
    ANNOTATION_BYTES_MAX,
    LAST_APPLIED,
    fields_last_applied,
    with_last_applied,
)
from tests.unit.server.patching.schemas import THING


def live(annotation: str, **members: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example/v1",
        "metadata": {"annotations": {LAST_APPLIED: annotation}},
        **members,
    }


def test_fields_that_are_as_they_were_left_are_known() -> None:
    applied = {"apiVersion": "example/v1", "text": "a", "number": 1, "data": {"x": "1", "y": "1"}}
    now = live(json.dumps(applied), text="a", number=2, data={"x": "1", "z": "1"})
    assert fields_last_applied(now, THING, "example/v1") == {
        "f:apiVersion": {},
        "f:text": {},
        "f:data": {"f:x": {}},
    }


@pytest.mark.parametrize(
    "annotation", ["", "{", "[]", '{"apiVersion":"v0"}', '{"apiVersion":"example/v1","foo":1}']
)
def test_an_annotation_that_says_nothing_allows_nothing(annotation: str) -> None:
    assert fields_last_applied(live(annotation), THING, "example/v1") is None


def test_without_the_annotation_nothing_is_known() -> None:
    assert fields_last_applied({"metadata": {}}, THING, "example/v1") is None


def test_the_annotation_follows_what_is_applied() -> None:
    applied = {"text": "b", "metadata": {"annotations": {LAST_APPLIED: "old", "a": "<"}}}
    updated = with_last_applied(live("old"), applied)
    assert updated["metadata"]["annotations"][LAST_APPLIED] == (
        '{"metadata":{"annotations":{"a":"\\u003c"}},"text":"b"}\n'
    )


def test_an_object_without_it_gets_none() -> None:
    document: dict[str, Any] = {"metadata": {}}
    assert with_last_applied(document, {"text": "b"}) is document


def test_an_annotation_too_large_is_dropped() -> None:
    applied = {"text": "x" * ANNOTATION_BYTES_MAX}
    assert with_last_applied(live("old"), applied)["metadata"]["annotations"] == {}
