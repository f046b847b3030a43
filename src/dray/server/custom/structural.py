"""The schema of a custom kind, read once: a tree that everything else walks.

A node is one schema, with what it says about structure (types, properties, items) and about values
(limits, patterns, alternatives). Nodes below `all_of`, `any_of`, `one_of` and `negated` only judge
values; structure is what is found without going through them. Whether a schema is structural is
judged elsewhere (dray.server.custom.structure_rules); this reads any schema whose keywords have the
right types (dray.server.custom.keywords). Upstream counterpart: apiextensions-apiserver
pkg/apiserver/schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dray.api.schema import ABSENT

__all__ = ["EMPTY", "Rule", "Structural", "parse", "walk"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of x-kubernetes-validations."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Structural:
    """One schema."""

    type: str = ""
    description: str = ""
    title: str = ""
    nullable: bool = False
    default: Any = ABSENT
    properties: Mapping[str, Structural] = field(default_factory=dict)
    items: Structural | None = None
    # A schema of the values, or whether there may be any.
    additional: Structural | bool | None = None
    # Kubernetes' own keywords.
    preserves_unknown: bool = False
    embedded: bool = False
    int_or_string: bool = False
    list_type: str | None = None
    list_keys: tuple[str, ...] = ()
    map_type: str | None = None
    rules: tuple[Rule, ...] = ()
    # What values must be like.
    format: str = ""
    enum: tuple[Any, ...] = ()
    pattern: str = ""
    maximum: float | int | None = None
    exclusive_maximum: bool = False
    minimum: float | int | None = None
    exclusive_minimum: bool = False
    multiple_of: float | int | None = None
    max_length: int | None = None
    min_length: int | None = None
    max_items: int | None = None
    min_items: int | None = None
    unique_items: bool = False
    max_properties: int | None = None
    min_properties: int | None = None
    required: tuple[str, ...] = ()
    all_of: tuple[Structural, ...] = ()
    any_of: tuple[Structural, ...] = ()
    one_of: tuple[Structural, ...] = ()
    negated: Structural | None = None

    @property
    def values(self) -> Structural | None:
        """The schema of values whose keys are data, if there is one."""
        return self.additional if isinstance(self.additional, Structural) else None

    @property
    def has_default(self) -> bool:
        """Whether there is a default; null is none."""
        return self.default is not ABSENT and self.default is not None


EMPTY: Final = Structural()


def parse(document: Mapping[str, Any]) -> Structural:
    """The schema in this JSON, whose keywords are known to have the right types."""
    said = document.get
    items, additional, negated = said("items"), said("additionalProperties"), said("not")
    return Structural(
        type=said("type") or "",
        description=said("description") or "",
        title=said("title") or "",
        nullable=bool(said("nullable")),
        default=document.get("default", ABSENT),
        properties={name: parse(part) for name, part in (said("properties") or {}).items()},
        items=parse(items) if isinstance(items, Mapping) else None,
        additional=parse(additional) if isinstance(additional, Mapping) else additional,
        preserves_unknown=bool(said("x-kubernetes-preserve-unknown-fields")),
        embedded=bool(said("x-kubernetes-embedded-resource")),
        int_or_string=bool(said("x-kubernetes-int-or-string")),
        list_type=said("x-kubernetes-list-type"),
        list_keys=tuple(said("x-kubernetes-list-map-keys") or ()),
        map_type=said("x-kubernetes-map-type"),
        rules=tuple(_rule(rule) for rule in said("x-kubernetes-validations") or ()),
        format=said("format") or "",
        enum=tuple(said("enum") or ()),
        pattern=said("pattern") or "",
        maximum=said("maximum"),
        exclusive_maximum=bool(said("exclusiveMaximum")),
        minimum=said("minimum"),
        exclusive_minimum=bool(said("exclusiveMinimum")),
        multiple_of=said("multipleOf"),
        max_length=said("maxLength"),
        min_length=said("minLength"),
        max_items=said("maxItems"),
        min_items=said("minItems"),
        unique_items=bool(said("uniqueItems")),
        max_properties=said("maxProperties"),
        min_properties=said("minProperties"),
        required=tuple(said("required") or ()),
        all_of=tuple(parse(part) for part in said("allOf") or ()),
        any_of=tuple(parse(part) for part in said("anyOf") or ()),
        one_of=tuple(parse(part) for part in said("oneOf") or ()),
        negated=None if negated is None else parse(negated),
    )


def _rule(document: Mapping[str, Any]) -> Rule:
    return Rule(
        rule=document.get("rule") or "",
        message=document.get("message") or "",
        message_expression=document.get("messageExpression") or "",
        reason=document.get("reason"),
        field_path=document.get("fieldPath") or "",
        optional_old_self=document.get("optionalOldSelf"),
    )


def walk(schema: Structural) -> Iterator[Structural]:
    """The schema and all that is structure below it."""
    yield schema
    for part in schema.properties.values():
        yield from walk(part)
    for inner in (schema.items, schema.values):
        if inner is not None:
            yield from walk(inner)
