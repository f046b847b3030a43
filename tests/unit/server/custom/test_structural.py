from __future__ import annotations

from dray.server.custom.structural import Rule, Structural, parse, walk


def test_a_schema_is_read_with_everything_it_says() -> None:
    schema = parse(
        {
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": {"type": "string", "maxLength": 3, "enum": ["x"], "default": "x"},
                "b": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 1},
                    "x-kubernetes-list-type": "set",
                },
                "c": {"type": "object", "additionalProperties": {"type": "boolean"}},
            },
            "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": True}],
        }
    )
    assert schema.required == ("a",)
    assert schema.properties["a"].default == "x"
    assert schema.properties["a"].max_length == 3
    assert schema.properties["b"].list_type == "set"
    assert schema.properties["b"].items is not None
    assert schema.properties["b"].items.minimum == 1
    values = schema.properties["c"].values
    assert values is not None
    assert values.type == "boolean"
    assert schema.rules == (Rule("true", optional_old_self=True),)


def test_additional_properties_may_be_a_mere_yes() -> None:
    schema = parse({"type": "object", "additionalProperties": True})
    assert schema.additional is True
    assert schema.values is None


def test_a_null_is_no_default() -> None:
    assert not parse({"type": "string", "default": None}).has_default
    assert not parse({"type": "string"}).has_default
    assert parse({"type": "string", "default": ""}).has_default


def test_alternatives_are_no_structure() -> None:
    schema = parse({"type": "object", "anyOf": [{"required": ["a"]}], "not": {"required": ["b"]}})
    assert schema.any_of[0].required == ("a",)
    assert schema.negated is not None
    assert list(walk(schema)) == [schema]


def test_walking_finds_all_structure() -> None:
    inner = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "null"}}}
    types = [part.type for part in walk(parse({"type": "object", "properties": {"a": inner}}))]
    assert types == ["object", "array", "object", "null"]
    assert isinstance(parse({}), Structural)
