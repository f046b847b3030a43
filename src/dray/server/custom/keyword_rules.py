"""Which keywords a schema may have, and together with which others.

Upstream counterpart: ValidateCustomResourceDefinitionOpenAPISchema in apiextensions-apiserver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dray.errors import FieldError, FieldErrorType, ParseError, quote
from dray.server.custom.field_paths import field_path
from dray.server.custom.structural import parse

__all__ = ["keyword_errors"]

_Schema = Mapping[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_META: Final = frozenset({"metadata", "kind", "apiVersion"})
_UNSUPPORTED: Final = (
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
)
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)


def _required(path: str, told: str = "") -> FieldError:
    return FieldError(FieldErrorType.REQUIRED, path, "", told)


def _forbidden(path: str, told: str) -> FieldError:
    return FieldError(FieldErrorType.FORBIDDEN, path, "", told)


def _invalid(path: str, value: Any, told: str) -> FieldError:
    return FieldError(FieldErrorType.INVALID, path, value, told)


def _not_supported(path: str, value: Any, supported: tuple[str, ...]) -> FieldError:
    told = "supported values: " + ", ".join(map(quote, supported))
    return FieldError(FieldErrorType.NOT_SUPPORTED, path, value, told)


@dataclass(frozen=True, slots=True)
class _Where:
    """What of a schema's surroundings matters to it."""

    no_defaults: str | None = None  # why not
    inside_meta: bool = False


def keyword_errors(schema: _Schema, path: str) -> list[FieldError]:
    """All that is wrong with the keywords of a schema and of those inside it."""
    return list(_errors(schema, path, _Where(), is_root=True))


def _errors(
    schema: _Schema, path: str, where: _Where, *, is_root: bool = False
) -> Iterator[FieldError]:
    yield from _own(schema, path, where)
    if schema.get("uniqueItems"):
        told = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield _forbidden(f"{path}.uniqueItems", told)
    yield from _inside(schema, path, where, is_root=is_root)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        name = "x-kubernetes-preserve-unknown-fields"
        yield _invalid(f"{path}.{name}", False, "must be true or undefined")
    yield from _map_type(schema, path)
    yield from _list_type(schema, path)
    yield from _list_map(schema, path)
    yield from _list_items(schema, path)
    yield from _rules(schema, path)


def _own(schema: _Schema, path: str, where: _Where) -> Iterator[FieldError]:
    type_ = schema.get("type", "")
    if type_ and type_ not in _TYPES:
        yield _not_supported(f"{path}.type", type_, _TYPES)
    if schema.get("default") is not None and where.no_defaults is not None:
        yield _forbidden(f"{path}.default", f"must not be set {where.no_defaults}")
    for keyword in _UNSUPPORTED:
        value = schema.get(keyword)
        is_there = value is not None if keyword in ("additionalItems", "$ref") else bool(value)
        if is_there:
            yield _forbidden(f"{path}.{keyword}", f"{keyword} is not supported")
    if type_ == "null":
        told = "type cannot be set to null, use nullable as an alternative"
        yield _forbidden(f"{path}.type", told)
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield _forbidden(f"{path}.items", "items must be a schema object and not an array")
    if where.inside_meta and schema.get("x-kubernetes-embedded-resource"):
        told = "must not be used inside of resource meta"
        yield _forbidden(f"{path}.x-kubernetes-embedded-resource", told)


def _inside(schema: _Schema, path: str, where: _Where, *, is_root: bool) -> Iterator[FieldError]:
    additional, properties = schema.get("additionalProperties"), schema.get("properties", {})
    if additional is not None and additional is not True and properties:
        told = "additionalProperties and properties are mutual exclusive"
        yield _forbidden(f"{path}.additionalProperties", told)
    if isinstance(additional, Mapping):
        inner = where
        if where.inside_meta:
            told = "inside additionalProperties applying to object metadata"
            inner = replace(where, no_defaults=told)
        yield from _errors(additional, f"{path}.additionalProperties", inner)
    for name, part in properties.items():
        inner = where
        if (is_root or schema.get("x-kubernetes-embedded-resource")) and name in _META:
            inner = replace(where, inside_meta=True)
            if is_root:
                inner = replace(inner, no_defaults=f"in top-level {name}")
        yield from _errors(part, f"{path}.properties[{name}]", inner)
    if schema.get("not") is not None:
        yield from _errors(schema["not"], f"{path}.not", where)
    for keyword in ("allOf", "oneOf", "anyOf"):
        for index, part in enumerate(schema.get(keyword, ())):
            yield from _errors(part, f"{path}.{keyword}[{index}]", where)
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from _errors(items, f"{path}.items", where)


def _wants_type(schema: _Schema, path: str, type_: str, keyword: str) -> Iterator[FieldError]:
    """That a keyword stands beside the type it is for."""
    if schema.get("type", "") != type_:
        told = f"must be {type_} if {keyword} is specified"
        where = f"{path}.type"
        found = schema.get("type", "")
        yield _invalid(where, found, told) if found else _required(where, told)


def _map_type(schema: _Schema, path: str) -> Iterator[FieldError]:
    keyword = "x-kubernetes-map-type"
    map_type = schema.get(keyword)
    if map_type is None:
        return
    yield from _wants_type(schema, path, "object", keyword)
    if map_type not in ("atomic", "granular"):
        yield _not_supported(f"{path}.{keyword}", map_type, ("atomic", "granular"))


def _list_type(schema: _Schema, path: str) -> Iterator[FieldError]:
    keyword = "x-kubernetes-list-type"
    list_type = schema.get(keyword)
    if list_type is None:
        return
    items = schema.get("items")
    if schema.get("type", "") != "array":
        yield from _wants_type(schema, path, "array", keyword)
    elif list_type == "set" and isinstance(items, Mapping):
        told = "must be atomic as item of a list with x-kubernetes-list-type=set"
        inner = items.get(keyword)
        if items.get("type") == "array" and inner not in (None, "atomic"):
            yield _invalid(f"{path}.items.{keyword}", inner, told)
        if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
            yield _invalid(f"{path}.items.x-kubernetes-map-type", inner, told)
    if list_type not in ("atomic", "set", "map"):
        yield _not_supported(f"{path}.{keyword}", list_type, ("atomic", "set", "map"))


def _list_map(schema: _Schema, path: str) -> Iterator[FieldError]:
    list_type, keys = (
        schema.get("x-kubernetes-list-type"),
        schema.get("x-kubernetes-list-map-keys", []),
    )
    if keys and list_type != "map":
        told = "must be map if x-kubernetes-list-map-keys is non-empty"
        where = f"{path}.x-kubernetes-list-type"
        yield _required(where, told) if list_type is None else _invalid(where, list_type, told)
    if list_type != "map":
        return
    if not keys:
        told = "must not be empty if x-kubernetes-list-type is map"
        yield _required(f"{path}.x-kubernetes-list-map-keys", told)
    items = schema.get("items")
    if items is None:
        told = "must have a schema if x-kubernetes-list-type is map"
        yield _required(f"{path}.items", told)
    elif not isinstance(items, Mapping):
        told = "must only have a single schema if x-kubernetes-list-type is map"
        yield _invalid(f"{path}.items", items, told)
    elif items.get("type", "") != "object":
        told = "must be object if parent array's x-kubernetes-list-type is map"
        yield _invalid(f"{path}.items.type", items.get("type", ""), told)
    else:
        yield from _list_keys(items, keys, path)


def _list_keys(items: _Schema, keys: list[str], path: str) -> Iterator[FieldError]:
    where = f"{path}.x-kubernetes-list-map-keys"
    for index, key in enumerate(keys):
        part = items.get("properties", {}).get(key)
        if part is None:
            yield _invalid(where, keys, "entries must all be names of item properties")
        elif part.get("type") in ("array", "object"):
            told = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield _invalid(f"{path}.items.properties[{key}].type", "object", told)
        if key in keys[:index]:
            yield _invalid(where, keys, "must not contain duplicate entries")


def _list_items(schema: _Schema, path: str) -> Iterator[FieldError]:
    """That items of sets and maps, and keys of maps, are always there."""
    list_type, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if not isinstance(items, Mapping) or list_type not in ("set", "map"):
        return
    if items.get("nullable"):
        told = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        yield _forbidden(f"{path}.items.nullable", told)
    if list_type == "set":
        return
    for key in schema.get("x-kubernetes-list-map-keys", ()):
        part = items.get("properties", {}).get(key)
        if part is None:
            continue
        where = f"{path}.items.properties[{key}]"
        about = "this property is in x-kubernetes-list-map-keys, so it"
        if key not in items.get("required", ()) and part.get("default") is None:
            told = f"{about} must have a default or be a required property"
            yield _required(f"{where}.default", told)
        if part.get("nullable"):
            yield _forbidden(f"{where}.nullable", f"{about} cannot be nullable")


def _rules(schema: _Schema, path: str) -> Iterator[FieldError]:
    for index, rule in enumerate(schema.get("x-kubernetes-validations", ())):
        where = f"{path}.x-kubernetes-validations[{index}]"
        text, message = rule.get("rule", ""), rule.get("message", "")
        if not text.strip():
            yield _required(f"{where}.rule", "rule is not specified")
        elif message and not message.strip():
            yield _invalid(f"{where}.message", message, "must be non-empty if specified")
        elif _has_lines(message.strip()):
            yield _invalid(f"{where}.message", message, "must not contain line breaks")
        elif _has_lines(text.strip()) and not message.strip():
            told = "message must be specified if rule contains line breaks"
            yield _required(f"{where}.message", told)
        expression = rule.get("messageExpression", "")
        if expression and not expression.strip():
            told = "messageExpression must be non-empty if specified"
            yield _required(f"{where}.messageExpression", told)
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            yield _not_supported(f"{where}.reason", reason, _REASONS)
        yield from _rule_path(rule.get("fieldPath", ""), schema, f"{where}.fieldPath")


def _rule_path(given: str, schema: _Schema, where: str) -> Iterator[FieldError]:
    if not given:
        return
    if not given.strip():
        yield _invalid(where, given, "must be non-empty if specified")
    if _has_lines(given):
        yield _invalid(where, given, "must not contain line breaks")
    try:
        field_path(given, parse(schema))
    except ParseError:
        yield _invalid(where, given, "must be a valid path")


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
