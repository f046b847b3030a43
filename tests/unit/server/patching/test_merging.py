from __future__ import annotations

from typing import Any

import pytest

from dray.server.patching.merging import merge
from dray.server.patching.shapes import Untypable
from tests.unit.server.patching.schemas import THING


def items(*names: str) -> dict[str, Any]:
    return {"items": [{"name": name} for name in names]}


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        pytest.param({"text": "a"}, {"text": "b"}, {"text": "b"}, id="a-scalar-is-replaced"),
        pytest.param({"text": "a"}, {"text": None}, {"text": None}, id="null-is-a-value"),
        pytest.param(
            {"data": {"a": "1"}}, {"data": None}, {"data": {"a": "1"}}, id="null-empties-no-map"
        ),
        pytest.param(
            {"data": {"a": "1"}},
            {"data": {"b": "2"}},
            {"data": {"a": "1", "b": "2"}},
            id="maps-by-key",
        ),
        pytest.param({"data": {}}, {"data": None}, {"data": None}, id="empties-are-told-apart"),
        pytest.param(
            {"words": ["a"]}, {"words": []}, {"words": []}, id="atomic-lists-are-replaced"
        ),
        pytest.param(
            {"tags": ["a", "b"]}, {"tags": ["c", "a"]}, {"tags": ["c", "a", "b"]}, id="sets-unite"
        ),
        pytest.param(
            {"items": [{"name": "a", "value": 1}]},
            {"items": [{"name": "a", "tags": ["t"]}]},
            {"items": [{"name": "a", "value": 1, "tags": ["t"]}]},
            id="items-merge-by-key",
        ),
        pytest.param(
            items("a", "b", "c"), items("c", "a"), items("b", "c", "a"), id="applied-order-wins"
        ),
        pytest.param(
            items("a", "b"), items("x", "b"), items("a", "x", "b"), id="new-ones-before-the-next"
        ),
        pytest.param(
            items("a", "b"), {"items": []}, items("a", "b"), id="an-empty-list-takes-nothing"
        ),
        pytest.param(
            {"items": [{"name": "a", "value": 1}, {"name": "a", "value": 2}, {"name": "b"}]},
            {"items": [{"name": "a", "value": 3}]},
            {"items": [{"name": "a", "value": 3}, {"name": "b"}]},
            id="duplicates-give-way",
        ),
        pytest.param(
            {"open": {"x": {"y": 1}}},
            {"open": {"x": {"z": [1]}}},
            {"open": {"x": {"y": 1, "z": [1]}}},
            id="unknown-objects-merge",
        ),
        pytest.param(
            {"open": {"x": {"y": 1}}},
            {"open": {"x": 2}},
            {"open": {"x": 2}},
            id="unlike-ones-do-not",
        ),
        pytest.param(
            {"open": {"x": 1}}, {"open": {"z": 2}}, {"open": {"x": 1, "z": 2}}, id="unknown-stay"
        ),
    ],
)
def test_applied_into_live(
    live: dict[str, Any], applied: dict[str, Any], merged: dict[str, Any]
) -> None:
    assert merge(live, applied, THING) == merged


def test_merging_leaves_both_as_they_were() -> None:
    live, applied = (
        {"items": [{"name": "a", "tags": ["x"]}]},
        {"items": [{"name": "a", "tags": ["y"]}]},
    )
    merge(live, applied, THING)
    assert live == {"items": [{"name": "a", "tags": ["x"]}]}
    assert applied == {"items": [{"name": "a", "tags": ["y"]}]}


def test_an_applied_list_names_no_item_twice() -> None:
    with pytest.raises(Untypable):
        merge({}, items("a", "a"), THING)
