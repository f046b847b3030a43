from __future__ import annotations

from typing import Any

import pytest

from dray.server.patching.removal import remove
from tests.unit.server.patching.schemas import THING


@pytest.mark.parametrize(
    ("document", "fields", "left"),
    [
        pytest.param({"text": "a", "number": 1}, {"f:text": {}}, {"number": 1}, id="a-field"),
        pytest.param(
            {"data": {"a": "1", "b": "2"}},
            {"f:data": {"f:a": {}}},
            {"data": {"b": "2"}},
            id="a-key",
        ),
        pytest.param(
            {"data": {"a": "1"}}, {"f:data": {"f:a": {}}}, {"data": None}, id="the-last-key"
        ),
        pytest.param(
            {"data": {"a": "1"}}, {"f:data": {".": {}, "f:a": {}}}, None, id="all-there-is"
        ),
        pytest.param(
            {"tags": ["a", "b"]}, {"f:tags": {'v:"a"': {}}}, {"tags": ["b"]}, id="a-member"
        ),
        pytest.param(
            {"items": [{"name": "a", "value": 1}]},
            {"f:items": {'k:{"name":"a"}': {"f:value": {}}}},
            {"items": [{"name": "a"}]},
            id="a-field-of-an-item",
        ),
        pytest.param(
            {"items": [{"name": "a"}, {"name": "b"}]},
            {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}}}},
            {"items": [{"name": "b"}]},
            id="an-item",
        ),
        pytest.param(
            {"words": ["a"]}, {"f:words": {"i:0": {}}}, {"words": None}, id="part-of-an-atomic"
        ),
        pytest.param(
            {"text": "a"}, {"f:text": {"f:x": {}}}, {"text": "a"}, id="nothing-below-a-scalar"
        ),
        pytest.param(
            {"open": {"x": {"y": 1, "z": 2}}},
            {"f:open": {"f:x": {"f:y": {}}}},
            {"open": {"x": {"z": 2}}},
            id="an-unknown-field",
        ),
        pytest.param(
            {"undeclared": 1}, {"f:undeclared": {}}, {"undeclared": 1}, id="not-what-we-do-not-know"
        ),
    ],
)
def test_what_is_left(document: dict[str, Any], fields: dict[str, Any], left: Any) -> None:
    assert remove(document, fields, THING) == left
