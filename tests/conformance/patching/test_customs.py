"""The same for custom resources, whose schemas leave open what some fields are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api.schema import (
    Field,
    ListOf,
    ListType,
    MapOf,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)
from dray.api.schemas import schema_of
from dray.server.patching.field_manager import FieldManager
from dray.server.patching.field_sets import excluding
from tests.conformance.patching.replay import Object, read, replay_with

SCALARS = {
    "string": Primitive.STRING,
    "integer": Primitive.INT64,
    "boolean": Primitive.BOOLEAN,
    "number": Primitive.NUMBER,
}
VERSION = "example.com/v1"
RESET = {"": [("status",)], "status": [("metadata",), ("spec",)]}


def schema_from(said: Object, *, preserves: bool = False) -> Schema:
    """A structural schema, as far as these questions use one.

    Where unknown fields are preserved, they are so all the way down.
    """
    preserves = preserves or bool(said.get("x-kubernetes-preserve-unknown-fields"))
    kind = said.get("type", "")
    if said.get("x-kubernetes-int-or-string"):
        return Scalar(Primitive.INT_OR_STRING)
    if kind in SCALARS:
        return Scalar(SCALARS[kind])
    if kind == "array":
        return ListOf(
            schema_from(said["items"], preserves=preserves),
            ListType(said.get("x-kubernetes-list-type", "atomic")),
            tuple(said.get("x-kubernetes-list-map-keys", ())),
        )
    atomic = said.get("x-kubernetes-map-type") == "atomic"
    if "additionalProperties" in said:
        return MapOf(schema_from(said["additionalProperties"], preserves=preserves), atomic=atomic)
    fields = {
        name: Field(name, schema_from(part, preserves=preserves), **default_of(part))
        for name, part in said.get("properties", {}).items()
    }
    return StructOf("", lambda: fields, atomic=atomic, preserves_unknown=preserves)


def default_of(said: Object) -> dict[str, Any]:
    return {"default": said["default"]} if "default" in said else {}


def custom_schema(said: Object) -> StructOf:
    made = schema_from(said)
    assert isinstance(made, StructOf)
    config_map = schema_of("", "v1", "ConfigMap").fields
    fields = {**made.fields, **{name: config_map[name] for name in ("apiVersion", "kind")}}
    fields["metadata"] = Field("metadata", config_map["metadata"].schema)
    return StructOf("", lambda: fields, preserves_unknown=made.preserves_unknown)


@pytest.mark.slow
def test_owners_of_custom_resources_are_upstreams() -> None:
    _, cases = read("customs")
    schema = custom_schema(cases[0][0]["schema"])
    managers = {
        subresource: FieldManager(
            schema,
            VERSION,
            "Thing",
            subresource=subresource,
            reset_fields={VERSION: excluding(*paths)},
        )
        for subresource, paths in RESET.items()
    }
    steps = refused = 0
    for number, (request, answer) in enumerate(cases):
        replayed = replay_with(lambda step: managers[step.get("subresource", "")], request, answer)
        for index, said, wanted in replayed:
            where = f"case {number}, step {index}: {json.dumps(request['steps'][index])}"
            steps += 1
            if "error" in wanted or "error" in said:
                refused += 1
                assert said == wanted, where
                continue
            assert said["managedFields"] == wanted["managedFields"], where
            if "merged" in wanted:
                assert said["merged"] == wanted["merged"], where
    assert steps > 1000
    assert refused > 100
