from __future__ import annotations

from typing import Any

import pytest

from dray.errors import BadRequest
from dray.server.custom.embedded import coerce_embedded, embedded_errors, has_embedded
from dray.server.custom.structural import parse

EMBEDDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
SCHEMA = parse(
    {
        "type": "object",
        "properties": {
            "one": EMBEDDED,
            "many": {"type": "array", "items": EMBEDDED},
            "map": {"type": "object", "additionalProperties": EMBEDDED},
        },
    }
)


def told(value: Any) -> list[str]:
    return [str(error) for error in embedded_errors(value, SCHEMA)]


def test_embedded_metadata_loses_what_no_metadata_has() -> None:
    value: Any = {"one": {"metadata": {"name": "x", "mood": 1, "creationTimestamp": None}}}
    assert coerce_embedded(value, SCHEMA) == ["one.metadata.mood"]
    assert value == {"one": {"metadata": {"name": "x"}}}


@pytest.mark.parametrize(
    "value",
    [{"one": {"metadata": {"labels": "x"}}}, {"many": [{"kind": 5}]}],
    ids=["metadata", "kind"],
)
def test_what_cannot_be_read_is_refused(value: Any) -> None:
    with pytest.raises(BadRequest):
        coerce_embedded(value, SCHEMA)


def test_an_embedded_object_says_what_it_is() -> None:
    assert told({"one": {}}) == ["one.apiVersion: Required value", "one.kind: Required value"]


def test_its_names_are_judged() -> None:
    value = {"many": [{"apiVersion": "a/b/c", "kind": "Bad Kind", "metadata": {"name": "a/b"}}]}
    fields = [error.field for error in embedded_errors(value, SCHEMA)]
    assert fields == ["many[0].apiVersion", "many[0].kind", "many[0].metadata.name"]


def test_a_good_object_need_not_have_a_name() -> None:
    assert told({"map": {"k": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}}) == []


def test_wrong_types_are_told() -> None:
    assert told({"one": {"apiVersion": 1, "kind": ""}}) == [
        "one.apiVersion: Invalid value: 1: must be a string",
        'one.kind: Invalid value: "": must not be empty',
    ]


def test_most_schemas_embed_nothing() -> None:
    assert has_embedded(SCHEMA)
    assert not has_embedded(parse({"type": "object", "properties": {"a": {"type": "string"}}}))
