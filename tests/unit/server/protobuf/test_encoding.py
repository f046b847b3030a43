"""JSON to messages."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.schema import ListOf, StructOf
from dray.api.schemas import schema_of
from dray.server.protobuf.decoding import plan_of
from dray.server.protobuf.encoding import encode_message
from dray.server.protobuf.wire import Malformed

SECRET = schema_of("", "v1", "Secret")
CRD = schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def again(schema: StructOf, document: dict[str, Any]) -> dict[str, Any]:
    message = encode_message(schema, document)
    return plan_of(schema).read(message, 0, len(message))


def test_what_is_written_reads_the_same() -> None:
    document = {
        "metadata": {"name": "s", "generation": -5, "creationTimestamp": "2026-01-31T12:00:00Z"},
        "data": {"key": "AP8="},
        "immutable": False,
    }
    assert again(SECRET, document) == document


def test_the_unions_of_json_schemas_keep_their_form() -> None:
    schema: dict[str, Any] = {
        "items": [{"type": "string"}],
        "additionalProperties": False,
        "additionalItems": {"type": "object"},
        "dependencies": {"a": ["b"], "c": {"type": "string"}},
        "default": {"x": [1, None]},
        "maximum": 1.5,
    }
    versions = CRD.fields["spec"].schema.fields["versions"].schema  # type: ignore[union-attr]
    assert isinstance(versions, ListOf)
    assert isinstance(versions.items, StructOf)
    document = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    assert again(versions.items, document) == document


def test_a_field_that_the_schema_lacks_is_dropped() -> None:
    assert again(SECRET, {"unknown": 1}) == {"metadata": {}}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"metadata": {"name": 5}}, ("metadata", "name")),
        ({"metadata": []}, ("metadata",)),
        ({"metadata": {"generation": "x"}}, ("metadata", "generation")),
        ({"data": {"k": "%"}}, ("data",)),
        ({"data": 3}, ("data",)),
    ],
)
def test_a_value_of_another_type_is_refused(document: Any, path: tuple[str, ...]) -> None:
    with pytest.raises(Malformed) as caught:
        encode_message(SECRET, document)
    assert caught.value.path == path
