"""Defaults of a schema are what the schema itself would accept.

Upstream counterpart: apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dray.errors import BadRequest, FieldError, FieldErrorType
from dray.server.custom.declarations import declared
from dray.server.custom.defaulting import copied
from dray.server.custom.embedded import coerce_embedded, embedded_errors
from dray.server.custom.json_values import same
from dray.server.custom.pruning import prune
from dray.server.custom.rules import Rules
from dray.server.custom.structural import Structural
from dray.server.custom.values import NOWHERE, Check

__all__ = ["default_errors"]


def default_errors(schema: Structural, path: str) -> Iterator[FieldError]:
    """What is wrong with the defaults of a structural schema, and of all schemas inside it."""
    if schema.has_default:
        yield from _errors(schema, f"{path}.default")
    if schema.items is not None:
        yield from default_errors(schema.items, f"{path}.items")
    for name, part in schema.properties.items():
        yield from default_errors(part, f"{path}.properties[{name}]")


def _errors(schema: Structural, path: str) -> Iterator[FieldError]:
    default = copied(schema.default)
    if _is_pruned(schema, default):
        told = "must not have unknown fields"
        yield FieldError(FieldErrorType.INVALID, path, schema.default, told)
    try:
        coerce_embedded(default, schema, path)
    except BadRequest as error:
        yield FieldError(FieldErrorType.INVALID, path, schema.default, str(error))
        return
    errors = list(embedded_errors(default, schema, path))
    errors = errors or [_below(path, error) for error in Check(schema).errors(default)]
    if not errors:
        errors = [_below(path, error) for error in _rule_errors(schema, default)]
    yield from errors


def _is_pruned(schema: Structural, default: Any) -> bool:
    pruned = {"default": copied(default)}
    prune(pruned, Structural(properties={"default": schema}))
    return not same(pruned["default"], default)


def _rule_errors(schema: Structural, default: Any) -> list[FieldError]:
    """What rules hold against a default, both where it is new and where it stays."""
    seen = declared(schema, "self", is_resource=schema.embedded)
    rules = None if seen is None else Rules.below_root(schema, seen)
    if rules is None:
        return []
    return list(rules.errors(default, default, ratchets=False)) or list(rules.errors(default, None))


def _below(path: str, error: FieldError) -> FieldError:
    where = path if error.field in ("", NOWHERE) else f"{path}.{error.field}"
    return FieldError(error.type, where, error.value, error.detail)
