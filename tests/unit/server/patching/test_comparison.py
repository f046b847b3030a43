from __future__ import annotations

from typing import Any

import pytest

from dray.server.patching.comparison import Comparison, compare, same
from dray.server.patching.field_sets import excluding
from tests.unit.server.patching.schemas import THING

A: dict[str, Any] = {"name": "a", "value": 1}


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        pytest.param({"text": "x"}, {"text": "y"}, {}, {"f:text": {}}, {}, id="a-scalar-changed"),
        pytest.param(
            {}, {"data": {"a": "1"}}, {"f:data": {".": {}, "f:a": {}}}, {}, {}, id="added"
        ),
        pytest.param({"data": {"a": "1"}}, {}, {}, {}, {"f:data": {".": {}, "f:a": {}}}, id="gone"),
        pytest.param(
            {"data": {"a": "1"}},
            {"data": {"b": "1"}},
            {"f:data": {"f:b": {}}},
            {},
            {"f:data": {"f:a": {}}},
            id="within-a-map",
        ),
        pytest.param({"data": None}, {"data": {}}, {}, {"f:data": {}}, {}, id="null-to-empty"),
        pytest.param({"tags": []}, {"tags": None}, {}, {"f:tags": {}}, {}, id="empty-to-null"),
        pytest.param(
            {"tags": None},
            {"tags": ["a"]},
            {"f:tags": {'v:"a"': {}}},
            {},
            {},
            id="null-is-a-list-already",
        ),
        pytest.param({"words": ["a"]}, {"words": ["b"]}, {}, {"f:words": {}}, {}, id="atomic"),
        pytest.param(
            {"raw": {"a": 1}}, {"raw": {"a": True}}, {}, {"f:raw": {}}, {}, id="1-is-not-true"
        ),
        pytest.param({"raw": {"a": 1}}, {"raw": {"a": 1.0}}, {}, {}, {}, id="but-1-is-1.0"),
        pytest.param(
            {"items": [A, {"name": "b"}]}, {"items": [{"name": "b"}, A]}, {}, {}, {}, id="order"
        ),
        pytest.param(
            {"items": [A]},
            {"items": [{"name": "a", "value": 2}]},
            {},
            {"f:items": {'k:{"name":"a"}': {"f:value": {}}}},
            {},
            id="within-an-item",
        ),
        pytest.param(
            {"items": [A]},
            {"items": [A, A]},
            {"f:items": {'k:{"name":"a"}': {}}},
            {},
            {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}}}},
            id="an-item-becomes-a-duplicate",
        ),
        pytest.param(
            {"items": [A, A]},
            {"items": [A]},
            {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}}}},
            {},
            {"f:items": {'k:{"name":"a"}': {}}},
            id="duplicates-become-an-item",
        ),
        pytest.param(
            {"items": [A, A]},
            {"items": [A, {"name": "a"}]},
            {},
            {"f:items": {'k:{"name":"a"}': {}}},
            {},
            id="duplicates-change",
        ),
        pytest.param(
            {"items": [A, A]},
            {},
            {},
            {},
            {"f:items": {".": {}, 'k:{"name":"a"}': {}}},
            id="gone-twice",
        ),
        pytest.param(
            {"open": {"x": 1}},
            {"open": {"x": {"y": 1}}},
            {"f:open": {"f:x": {"f:y": {}}}},
            {"f:open": {"f:x": {}}},
            {},
            id="unknown-scalar-to-object",
        ),
        pytest.param(
            {"open": {"x": {"y": 1}}},
            {"open": {"x": [1]}},
            {},
            {"f:open": {"f:x": {}}},
            {"f:open": {"f:x": {"f:y": {}}}},
            id="unknown-object-to-list",
        ),
        pytest.param(
            {"open": {"x": None}},
            {"open": {"x": {"y": 1}}},
            {"f:open": {"f:x": {"f:y": {}}}},
            {},
            {},
            id="unknown-null-to-object",
        ),
    ],
)
def test_what_changed(
    old: dict[str, Any],
    new: dict[str, Any],
    added: dict[str, Any],
    modified: dict[str, Any],
    removed: dict[str, Any],
) -> None:
    assert compare(old, new, THING) == Comparison(added, modified, removed)


def test_equal_objects_differ_in_nothing() -> None:
    document = {"text": "x", "items": [A], "raw": {"a": [1, None]}, "open": {"x": {"y": 1}}}
    copied = {"text": "x", "items": [dict(A)], "raw": {"a": [1, None]}, "open": {"x": {"y": 1}}}
    assert compare(document, copied, THING) == Comparison({}, {}, {})


def test_a_filter_is_laid_over_all_three() -> None:
    found = compare({"text": "a", "flag": True}, {"text": "b", "number": 1}, THING)
    assert found.filtered(excluding(("text",), ("flag",))) == Comparison({"f:number": {}}, {}, {})
    assert found.filtered(None) is found


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ([0, {"x": False}], [0, {"x": 0}], False),
        (1, 1.0, True),
        (None, {}, False),
    ],
)
def test_equality_is_that_of_json(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
