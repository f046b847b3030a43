from __future__ import annotations

from typing import Any

from dray.server.custom.pruning import prune
from dray.server.custom.structural import parse

SPEC = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"b": {}}}},
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"strict": {"type": "object", "properties": {"c": {}}}},
        },
        "map": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"d": {}}},
        },
        "any": {"type": "object", "additionalProperties": True},
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object"}},
        },
    },
}
SCHEMA = parse({"type": "object", "properties": {"spec": SPEC}})


def pruned(spec: Any) -> tuple[Any, list[str]]:
    content = {"spec": spec}
    dropped = prune(content, SCHEMA)
    return content["spec"], dropped


def test_unknown_fields_are_dropped_and_named_in_order() -> None:
    assert pruned({"z": 1, "a": "x", "b": {}}) == ({"a": "x"}, ["spec.b", "spec.z"])


def test_unknown_fields_of_items_are_named_by_their_index() -> None:
    assert pruned({"list": [{"b": 1}, {"c": 1}]}) == ({"list": [{"b": 1}, {}]}, ["spec.list[1].c"])


def test_what_is_to_be_preserved_is_kept_but_for_what_its_own_schema_knows() -> None:
    value = {"free": {"x": {"y": 1}, "strict": {"c": 1, "e": 2}}}
    assert pruned(value) == (
        {"free": {"x": {"y": 1}, "strict": {"c": 1}}},
        ["spec.free.strict.e"],
    )


def test_keys_that_are_data_stay_and_their_values_are_pruned() -> None:
    assert pruned({"map": {"k": {"d": 1, "e": 2}}}) == ({"map": {"k": {"d": 1}}}, ["spec.map.k.e"])


def test_values_of_any_form_lose_what_is_inside_them() -> None:
    assert pruned({"any": {"k": 1, "o": {"x": 1}}}) == (
        {"any": {"k": 1, "o": {}}},
        ["spec.any.o.x"],
    )


def test_embedded_objects_keep_what_every_object_has() -> None:
    value = {
        "embedded": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x"},
            "spec": {},
            "q": 1,
        }
    }
    kept, dropped = pruned(value)
    assert set(kept["embedded"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert dropped == ["spec.embedded.q"]


def test_fields_beside_the_schema_are_dropped_at_the_root_too() -> None:
    content: dict[str, Any] = {"spec": {}, "extra": 1}
    assert prune(content, SCHEMA) == ["extra"]
    assert content == {"spec": {}}


def test_a_root_that_preserves_keeps_everything() -> None:
    content: dict[str, Any] = {"anything": [{"deep": 1}]}
    schema = parse({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert prune(content, schema) == []
    assert content == {"anything": [{"deep": 1}]}


def test_lists_inside_what_is_preserved_keep_their_items() -> None:
    schema = parse(
        {
            "type": "object",
            "properties": {
                "l": {
                    "type": "array",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "items": {"type": "object", "properties": {"a": {"type": "object"}}},
                }
            },
        }
    )
    content: dict[str, Any] = {"l": [{"a": {"x": 1}, "b": 1}]}
    assert prune(content, schema) == ["l[0].a.x"]
    assert content == {"l": [{"a": {}, "b": 1}]}
