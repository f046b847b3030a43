"""Rules of a schema before anybody is judged by them: do they compile, and what may they cost?

The cost of a rule is what one evaluation may cost at worst, times how often what it is about can be
in one object. Upstream counterparts: cel_validation.go and the compiling half of
ValidateCustomResourceDefinitionOpenAPISchema in apiextensions-apiserver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dray.cel import CompileError
from dray.cel.objects import Declared, compile_message, compile_rule
from dray.errors import FieldError, FieldErrorType
from dray.server.custom.declarations import BODY_BYTES_MAX, declared, escaped
from dray.server.custom.structural import Rule, Structural

__all__ = ["RuleCosts"]

# What one rule may cost, and what all rules of a schema may.
RULE_COST_MAX: Final = 10_000_000
SCHEMA_COST_MAX: Final = 100_000_000

# How many of the most expensive rules are named, of those that cost at least a hundredth.
_NAMED_MAX: Final = 4

_UINT64_MAX: Final = 2**64 - 1


@dataclass(slots=True)
class RuleCosts:
    """Compiles the rules of one schema, and adds up what they may cost.

    `known` are the expressions that the definition had before: they may use what newer ones may not
    yet. Rules of an unchanged schema may cost what they like.
    """

    known: Collection[str] = ()
    unchanged: bool = False
    total: int = 0
    _expensive: list[tuple[int, str]] = field(default_factory=list)

    def errors(self, schema: Structural, path: str) -> list[FieldError]:
        """All that is wrong with the rules of a schema whose keywords are right."""
        seen = declared(schema, "self", is_resource=True)
        errors = [] if seen is None else list(self._walk(schema, seen, path, 1, None))
        if self.total > SCHEMA_COST_MAX:
            told = (
                "contributed to estimated rule cost total exceeding cost limit for entire "
                "OpenAPIv3 schema"
            )
            self._expensive.sort(key=lambda each: -each[0])
            errors += [_forbidden(where, told) for _, where in self._expensive[:_NAMED_MAX]]
            named = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
            errors.append(_forbidden(path, _too_expensive(named, self.total, SCHEMA_COST_MAX)))
        return errors

    def _walk(
        self, schema: Structural, seen: Declared, path: str, count: int | None, lost_at: str | None
    ) -> Iterator[FieldError]:
        """`count` is how often the part can be there, None if nothing limits it.

        `lost_at` is where parts of two objects can no longer be told to be the same.
        """
        inner_count = _times(count, _inside_max(schema))
        if schema.values is not None and seen.element is not None:
            where = f"{path}.additionalProperties"
            yield from self._walk(schema.values, seen.element, where, inner_count, lost_at)
        for name, part in schema.properties.items():
            known_as = escaped(name)
            part_seen = (
                declared(part, f"self.{name}", is_resource=part.embedded)
                if known_as is None
                else seen.fields.get(known_as)
            )
            if part_seen is not None:
                where = f"{path}.properties[{name}]"
                yield from self._walk(part, part_seen, where, inner_count, lost_at)
        if schema.items is not None and seen.element is not None:
            inner_lost = lost_at if schema.list_type == "map" else lost_at or path
            where = f"{path}.items"
            yield from self._walk(schema.items, seen.element, where, inner_count, inner_lost)
        for index, rule in enumerate(schema.rules):
            if rule.rule.strip():
                where = f"{path}.x-kubernetes-validations[{index}]"
                times = count
                if times is None:
                    times = BODY_BYTES_MAX // (seen.size_min + 1)
                yield from self._rule(rule, seen, where, times, lost_at)

    def _rule(
        self, rule: Rule, seen: Declared, path: str, count: int, lost_at: str | None
    ) -> Iterator[FieldError]:
        optional = bool(rule.optional_old_self)
        compiled = compile_rule(
            rule.rule, seen, optional_old_self=optional, stored=rule.rule in self.known
        )
        if isinstance(compiled, CompileError):
            yield _invalid(f"{path}.rule", _as_go(rule), compiled.detail)
            if rule.optional_old_self is not None:
                yield _not_used(rule, path)
            return
        cost = _times(compiled.cost_max, count) or 0
        yield from self._charge(f"{path}.rule", "estimated rule cost", cost)
        if rule.message_expression:
            yield from self._message(rule, seen, path)
        if compiled.uses_old_self:
            if lost_at is not None:
                told = (
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                    f"{lost_at}"
                )
                yield _invalid(f"{path}.rule", rule.rule, told)
        elif rule.optional_old_self is not None:
            yield _not_used(rule, path)

    def _message(self, rule: Rule, seen: Declared, path: str) -> Iterator[FieldError]:
        where = f"{path}.messageExpression"
        expression = rule.message_expression
        compiled = compile_message(
            expression,
            seen,
            optional_old_self=bool(rule.optional_old_self),
            stored=expression in self.known,
        )
        if isinstance(compiled, CompileError):
            yield _invalid(where, _as_go(rule), compiled.detail)
        else:
            yield from self._charge(where, "estimated messageExpression cost", compiled.cost_max)

    def _charge(self, path: str, named: str, cost: int) -> Iterator[FieldError]:
        if cost > RULE_COST_MAX and not self.unchanged:
            yield _forbidden(path, _too_expensive(named, cost, RULE_COST_MAX))
        self.total = min(self.total + cost, _UINT64_MAX)
        if cost >= SCHEMA_COST_MAX // 100:
            self._expensive.append((cost, path))


def _not_used(rule: Rule, path: str) -> FieldError:
    told = "may not be set if oldSelf is not used in rule"
    return _invalid(f"{path}.optionalOldSelf", rule.optional_old_self, told)


def _inside_max(schema: Structural) -> int | None:
    """How many of its parts one value has at most."""
    if schema.type == "array":
        return None if schema.max_items is None else max(schema.max_items, 0)
    if schema.type == "object" and schema.additional is not None:
        return None if schema.max_properties is None else max(schema.max_properties, 0)
    return 1


def _times(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return None
    return min(one * other, _UINT64_MAX)


def _too_expensive(named: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{named} exceeds budget by factor of {shown} (try simplifying the rule, or adding "
        "maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


def _as_go(rule: Rule) -> dict[str, Any]:
    """A rule as upstream shows it, with the names it has in Go."""
    return {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self,
    }


def _forbidden(path: str, told: str) -> FieldError:
    return FieldError(FieldErrorType.FORBIDDEN, path, "", told)


def _invalid(path: str, value: Any, told: str) -> FieldError:
    return FieldError(FieldErrorType.INVALID, path, value, told)
