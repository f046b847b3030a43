from __future__ import annotations

from typing import Any

import pytest

from dray.server.patching.ownership import everything, fields_of, with_named_fields
from dray.server.patching.shapes import Untypable, shape_of
from tests.unit.server.patching.schemas import THING


@pytest.mark.parametrize(
    ("document", "owned"),
    [
        pytest.param({"text": "x"}, {"f:text": {}}, id="a-scalar"),
        pytest.param({"data": {"a": "1"}}, {"f:data": {"f:a": {}}}, id="keys-but-not-their-map"),
        pytest.param({"data": {}}, {"f:data": {}}, id="an-empty-map"),
        pytest.param({"data": None}, {"f:data": {}}, id="null"),
        pytest.param({"tags": []}, {}, id="nothing-of-an-empty-list"),
        pytest.param({"tags": ["a"]}, {"f:tags": {'v:"a"': {}}}, id="members-of-a-set"),
        pytest.param({"words": ["a"]}, {"f:words": {}}, id="an-atomic-list-as-a-whole"),
        pytest.param({"fixed": {"a": "1"}}, {"f:fixed": {}}, id="an-atomic-map-as-a-whole"),
        pytest.param({"part": {"a": "1"}}, {"f:part": {}}, id="an-atomic-struct-as-a-whole"),
        pytest.param({"raw": {"a": {"b": 1}}}, {"f:raw": {}}, id="anything-as-a-whole"),
        pytest.param({"inner": {"x": "1"}}, {"f:inner": {"f:x": {}}}, id="fields-of-a-struct"),
        pytest.param(
            {"items": [{"name": "a", "value": 1}]},
            {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}}}},
            id="items-and-their-fields",
        ),
        pytest.param(
            {"items": [{"name": "a", "value": 1}, {"name": "a"}]},
            {"f:items": {'k:{"name":"a"}': {}}},
            id="duplicates-as-one",
        ),
        pytest.param(
            {"open": {"known": "x", "more": {"a": [1], "b": None}}},
            {"f:open": {"f:known": {}, "f:more": {".": {}, "f:a": {}, "f:b": {}}}},
            id="unknown-fields-like-those-of-a-map",
        ),
        pytest.param({"nonsense": 1}, {}, id="nothing-undeclared"),
    ],
)
def test_an_applier_owns(document: dict[str, Any], owned: dict[str, Any]) -> None:
    assert fields_of(document, THING) == owned


def test_who_creates_adds_containers_too() -> None:
    document = {
        "data": {"a": "1"},
        "items": [{"name": "a", "tags": ["t"]}],
        "words": ["w"],
        "inner": {},
    }
    assert everything(shape_of(THING), document) == {
        ".": {},
        "f:data": {".": {}, "f:a": {}},
        "f:items": {
            ".": {},
            'k:{"name":"a"}': {".": {}, "f:name": {}, "f:tags": {".": {}, 'v:"t"': {}}},
        },
        "f:words": {},
        "f:inner": {},
    }


def test_an_item_without_a_key_cannot_be_owned() -> None:
    with pytest.raises(Untypable):
        fields_of({"items": [{"value": 1}]}, THING)


def test_declared_fields_on_the_way_become_members() -> None:
    fields = {
        "f:inner": {"f:x": {}},
        "f:data": {"f:a": {}},
        "f:items": {'k:{"name":"a"}': {"f:tags": {'v:"t"': {}}}},
        "f:open": {"f:more": {"f:a": {}}},
    }
    assert with_named_fields(fields, shape_of(THING)) == {
        "f:inner": {".": {}, "f:x": {}},
        "f:data": {".": {}, "f:a": {}},
        "f:items": {".": {}, 'k:{"name":"a"}': {"f:tags": {".": {}, 'v:"t"': {}}}},
        "f:open": {".": {}, "f:more": {"f:a": {}}},
    }
