"""Whether a schema is structural: everything it says of values, it also says of structure.

Upstream counterpart: apiextensions-apiserver pkg/apiserver/schema/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dray.cel.texts import pattern_problem
from dray.errors import FieldError, FieldErrorType

__all__ = ["structure_errors"]

_Schema = Mapping[str, Any]

# Which keywords no schema that only judges values may have, in the order they are looked for.
_FORBIDDEN: Final = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
_INTEGER_OR_TEXT: Final = [{"type": "integer"}, {"type": "string"}]


def structure_errors(schema: _Schema, path: str) -> list[FieldError]:
    """Why a schema is not structural, sorted; the schema's keywords are of the right types."""
    errors = [*_invariants(schema, "root", path), *_incomplete(schema, schema, path, path)]
    return sorted(errors, key=str)


def _required(path: str, told: str) -> FieldError:
    return FieldError(FieldErrorType.REQUIRED, path, "", told)


def _forbidden(path: str, told: str) -> FieldError:
    return FieldError(FieldErrorType.FORBIDDEN, path, "", told)


def _invalid(path: str, value: Any, told: str) -> FieldError:
    return FieldError(FieldErrorType.INVALID, path, value, told)


def _invariants(schema: _Schema, level: str, path: str) -> Iterator[FieldError]:
    type_, items = schema.get("type", ""), schema.get("items")
    if type_ == "array" and items is None:
        yield _required(f"{path}.items", "must be specified")
    if isinstance(items, Mapping):
        yield from _invariants(items, "item", f"{path}.items")
    for name, part in schema.get("properties", {}).items():
        yield from _invariants(part, "field", f"{path}.properties[{name}]")
    additional = schema.get("additionalProperties")
    if additional is not None:
        if level == "root":
            yield _forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(additional, Mapping):
            yield from _invariants(additional, "field", f"{path}.additionalProperties")
    yield from _extensions(schema, path)
    yield from _value_rules(
        schema,
        path,
        skip_any=schema.get("anyOf") == _INTEGER_OR_TEXT,
        skip_first=_begins_with_either(schema),
    )
    yield from _types(schema, level, path)
    yield from _metadata(schema, level, path)


def _begins_with_either(schema: _Schema) -> bool:
    all_of = schema.get("allOf") or [{}]
    return bool(all_of[0].get("anyOf") == _INTEGER_OR_TEXT)


def _extensions(schema: _Schema, path: str) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-int-or-string"):
        told = "must be false if x-kubernetes-int-or-string is true"
        for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema.get(name):
                yield _invalid(f"{path}.{name}", True, told)


_NO_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def _types(schema: _Schema, level: str, path: str) -> Iterator[FieldError]:
    type_, embedded = schema.get("type", ""), schema.get("x-kubernetes-embedded-resource")
    told = "must be object if x-kubernetes-embedded-resource is true"
    if embedded and type_ != "object":
        yield _invalid(f"{path}.type", type_, told) if type_ else _required(f"{path}.type", told)
    elif not type_ and not (
        schema.get("x-kubernetes-int-or-string")
        or schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        yield _required(f"{path}.type", _NO_TYPE[level])
    if embedded and schema.get("additionalProperties") is not None:
        told = "must not be used if x-kubernetes-embedded-resource is set"
        yield _forbidden(f"{path}.additionalProperties", told)
    if level == "root" and type_ not in ("", "object"):
        yield _invalid(f"{path}.type", type_, "must be object at the root")


def _metadata(schema: _Schema, level: str, path: str) -> Iterator[FieldError]:
    """What may be said of what every object has: little."""
    properties = schema.get("properties", {})
    embedded = schema.get("x-kubernetes-embedded-resource")
    is_object = level == "root" or embedded
    for name in ("kind", "apiVersion"):
        if is_object and name in properties and properties[name].get("type") != "string":
            type_ = properties[name].get("type", "")
            yield _invalid(f"{path}.properties[{name}].type", type_, "must be string")
    metadata = properties.get("metadata")
    if metadata is not None:
        where = f"{path}.properties[metadata]"
        if is_object and metadata.get("type") != "object":
            yield _invalid(f"{where}.type", metadata.get("type", ""), "must be object")
        if level == "root" and not _restricts_names_only(metadata):
            yield _forbidden(
                where,
                "must not specify anything other than name and generateName, but metadata is "
                "implicitly specified",
            )
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        yield _required(
            f"{path}.properties",
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields",
        )


def _restricts_names_only(metadata: _Schema) -> bool:
    said = {name for name, value in metadata.items() if value} - {"type", "default"}
    return said <= {"properties"} and set(metadata.get("properties", {})) <= {
        "name",
        "generateName",
    }


# Schemas that only judge values ----------------------------------------------------------------


def _value_rules(
    schema: _Schema, path: str, *, skip_any: bool = False, skip_first: bool = False
) -> Iterator[FieldError]:
    if not skip_any:
        for index, part in enumerate(schema.get("anyOf", ())):
            yield from _nested(part, f"{path}.anyOf[{index}]")
    for index, part in enumerate(schema.get("allOf", ())):
        yield from _nested(part, f"{path}.allOf[{index}]", skip_any=skip_first and index == 0)
    for index, part in enumerate(schema.get("oneOf", ())):
        yield from _nested(part, f"{path}.oneOf[{index}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not")
    pattern = schema.get("pattern", "")
    problem = pattern_problem(pattern) if pattern else None
    if problem is not None:
        told = f"must be a valid regular expression, but isn't: {problem}"
        yield _invalid(f"{path}.pattern", pattern, told)


def _nested(schema: _Schema, path: str, *, skip_any: bool = False) -> Iterator[FieldError]:
    yield from _value_rules(schema, path, skip_any=skip_any)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested(schema["items"], f"{path}.items")
    for name, part in schema.get("properties", {}).items():
        yield from _nested(part, f"{path}.properties[{name}]")
    for keyword, told in _FORBIDDEN.items():
        value = schema.get(keyword)
        if keyword == "additionalProperties" and isinstance(value, Mapping):
            value = True
        if value:
            yield _forbidden(f"{path}.{keyword}", told)
    if "metadata" in schema.get("properties", {}):
        where = f"{path}.properties[metadata]"
        yield _forbidden(where, "must not be specified in a nested context")


def _incomplete(
    judge: _Schema, schema: _Schema | None, path: str, judged_at: str
) -> Iterator[FieldError]:
    """What is judged, but has no structure."""
    nested = [("not", judge["not"])] if judge.get("not") is not None else []
    for keyword in ("allOf", "anyOf", "oneOf"):
        nested += [(f"{keyword}[{i}]", part) for i, part in enumerate(judge.get(keyword, ()))]
    for name, part in nested:
        yield from _incomplete_nested(part, schema, path, f"{judged_at}.{name}")


def _incomplete_nested(
    judge: _Schema, schema: _Schema | None, path: str, judged_at: str
) -> Iterator[FieldError]:
    if schema is None:
        yield _required(path, f"because it is defined in {judged_at}")
        return
    yield from _incomplete(judge, schema, path, judged_at)
    if isinstance(judge.get("items"), Mapping):
        items = schema.get("items")
        yield from _incomplete_nested(judge["items"], items, f"{path}.items", f"{judged_at}.items")
    known = schema.get("properties", {})
    for name, part in judge.get("properties", {}).items():
        where, judged = f"{path}.properties[{name}]", f"{judged_at}.properties[{name}]"
        yield from _incomplete_nested(part, known.get(name), where, judged)
