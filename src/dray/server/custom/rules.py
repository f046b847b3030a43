"""Rules of a schema, asked about objects: x-kubernetes-validations.

A rule is asked about every part that its schema describes, unless the part is null. One that speaks
of `oldSelf` is asked only where there is something to compare with. All rules together may cost so
much and no more; who exceeds that has no answer for the rest. On an update, a rule that a part
broke before is not held against it as long as the part stays as it was.

Upstream counterpart: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from dray.api.schema import ABSENT
from dray.cel import CompileError
from dray.cel.objects import Declared, compile_message, compile_rule
from dray.cel.objects import Rule as Program
from dray.errors import OMITTED, FieldError, FieldErrorType, ParseError, quote
from dray.server.custom.declarations import declared, escaped
from dray.server.custom.field_paths import field_path
from dray.server.custom.json_values import same
from dray.server.custom.structural import Rule, Structural
from dray.server.custom.values import NOWHERE, predecessors

__all__ = ["Rules"]

# What all rules together may cost for one object.
BUDGET: Final = 10_000_000

# The longest message that a rule may make.
MESSAGE_BYTES_MAX: Final = 5 * 1024

_OUT_OF_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)

_REASONS: Final = {
    "FieldValueForbidden": FieldErrorType.FORBIDDEN,
    "FieldValueRequired": FieldErrorType.REQUIRED,
    "FieldValueDuplicate": FieldErrorType.DUPLICATE,
}


class _Exhausted(Exception):
    """Nothing more is asked."""


class _Asking:
    """One object being asked about: what was found, and what may still be spent."""

    __slots__ = ("budget", "found")

    def __init__(self) -> None:
        self.budget = BUDGET
        self.found: list[FieldError] = []

    def invalid(self, path: str, value: Any, told: str) -> None:
        self.found.append(FieldError(FieldErrorType.INVALID, path or NOWHERE, value, told))

    def pay(self, cost: int, path: str, type_: str, told: str = _OUT_OF_BUDGET) -> None:
        if cost > self.budget:
            self.invalid(path, type_, told)
            raise _Exhausted
        self.budget -= cost


class Rules:
    """The rules of a schema and of everything in it."""

    def __init__(
        self,
        schema: Structural,
        seen: Declared,
        items: Rules | None,
        parts: dict[str, Rules],
        values: Rules | None,
    ) -> None:
        self._schema = schema
        self._seen = seen
        self._items = items
        self._parts = parts
        self._values = values
        self._rules = [_Compiled(rule, schema, seen) for rule in schema.rules if rule.rule.strip()]

    @staticmethod
    def of(schema: Structural) -> Rules | None:
        """The rules of objects of a schema, or None if it has none."""
        seen = declared(schema, "self", is_resource=True)
        return None if seen is None else _rules(schema, seen)

    @staticmethod
    def below_root(schema: Structural, seen: Declared) -> Rules | None:
        """The rules of a part of objects, as what it is seen."""
        return _rules(schema, seen)

    @property
    def is_empty(self) -> bool:
        return not self._rules and not self._items and not self._parts and not self._values

    def errors(self, new: Any, old: Any | None, *, ratchets: bool = True) -> Sequence[FieldError]:
        """All rules that a value breaks; `old` is what it replaces, and what it may keep."""
        asking = _Asking()
        before = ABSENT if old is None else old
        unchanged = ratchets and old is not None and same(new, old)
        with suppress(_Exhausted):
            self._ask(new, before, "", asking, unchanged=unchanged)
        return asking.found

    def _ask(self, new: Any, old: Any, path: str, asking: _Asking, *, unchanged: bool) -> None:
        if new is None:
            return
        if self._rules:
            self._ask_own(new, old, path, asking, unchanged=unchanged)
        if type(new) is list and self._items is not None:
            predecessor = predecessors(self._schema, old)
            for index, item in enumerate(new):
                self._items.below(item, predecessor(item), f"{path}[{index}]", asking, unchanged)
        elif type(new) is dict:
            before = old if type(old) is dict else {}
            for name, member in new.items():
                part = self._parts.get(name)
                if part is not None:
                    where = f"{path}.{name}" if path else name
                    part.below(member, before.get(name, ABSENT), where, asking, unchanged)
                elif self._values is not None:
                    where = f"{path}[{name}]"
                    self._values.below(member, before.get(name, ABSENT), where, asking, unchanged)

    def below(self, new: Any, old: Any, path: str, asking: _Asking, above: bool) -> None:
        """Ask about a part; `above` says whether what it is part of stayed as it was."""
        unchanged = above if old is ABSENT else same(new, old)
        self._ask(new, old, path, asking, unchanged=unchanged)

    def _ask_own(self, new: Any, old: Any, path: str, asking: _Asking, *, unchanged: bool) -> None:
        type_ = self._schema.type
        if asking.budget <= 0:
            asking.invalid(path, type_, _OUT_OF_BUDGET)
            raise _Exhausted
        value = self._seen.value(new)
        needs_old = any(rule.uses_old_self for rule in self._rules)
        before = (
            self._seen.value(old) if needs_old and old is not ABSENT and old is not None else None
        )
        shown = OMITTED if type_ in ("object", "array") else new
        for rule in self._rules:
            rule.ask(value, before, path, shown, asking, unchanged=unchanged)


def _rules(schema: Structural, seen: Declared) -> Rules | None:
    """The rules of a part that can be seen, if it has any, or anything in it has."""
    items = values = None
    if schema.items is not None and seen.element is not None:
        items = _rules(schema.items, seen.element)
    if schema.values is not None and seen.element is not None:
        values = _rules(schema.values, seen.element)
    parts = {}
    for name, part in schema.properties.items():
        known_as = escaped(name)
        part_seen = (
            declared(part, f"self.{name}", is_resource=part.embedded)
            if known_as is None
            else seen.fields.get(known_as)
        )
        found = None if part_seen is None else _rules(part, part_seen)
        if found is not None:
            parts[name] = found
    rules = Rules(schema, seen, items, parts, values)
    return None if rules.is_empty else rules


class _Compiled:
    """One rule, ready to be asked."""

    __slots__ = ("_error", "_message", "_place", "_program", "_rule", "_type", "uses_old_self")

    def __init__(self, rule: Rule, schema: Structural, seen: Declared) -> None:
        self._rule = rule
        self._type = schema.type
        optional = bool(rule.optional_old_self)
        program = compile_rule(rule.rule, seen, optional_old_self=optional)
        self._error = program.detail if isinstance(program, CompileError) else ""
        self._program: Program | None = None if isinstance(program, CompileError) else program
        self.uses_old_self = self._program is not None and self._program.uses_old_self
        self._message: Program | None = None
        if rule.message_expression:
            message = compile_message(rule.message_expression, seen, optional_old_self=optional)
            self._message = None if isinstance(message, CompileError) else message
        self._place = ""
        if rule.field_path:
            try:
                self._place, _ = field_path(rule.field_path, schema)
            except ParseError:
                self._place = ""

    @property
    def _named(self) -> str:
        return self._rule.message.strip() or self._rule.rule.strip()

    def ask(
        self, new: Any, old: Any, path: str, shown: Any, asking: _Asking, *, unchanged: bool
    ) -> None:
        """Add what the rule has to say about a value."""
        program = self._program
        if program is None:
            asking.invalid(path, self._type, f"rule compile error: {self._error}")
            return
        if self.uses_old_self and old is None and not program.optional_old_self:
            return
        found = program.evaluate(new, old)
        asking.pay(found.cost, path, self._type)
        if found.failure is not None:
            self._fail(found.failure, path, asking)
            return
        if found.value is True:
            return
        detail = self._detail(new, old, path, asking)
        if unchanged and not self.uses_old_self:
            return
        place = path
        if self._place:
            place = f"{path}.{self._place}" if path else self._place
        type_ = _REASONS.get(self._rule.reason or "", FieldErrorType.INVALID)
        if type_ is FieldErrorType.DUPLICATE:
            detail = ""
        asking.found.append(FieldError(type_, place or NOWHERE, shown, detail))

    def _fail(self, failure: str, path: str, asking: _Asking) -> None:
        if failure.startswith("no such overload"):
            told = (
                f"'{failure}': call arguments did not match a supported operator, function or "
                f"macro signature for rule: {self._named}"
            )
        elif failure.startswith("operation cancelled: actual cost limit exceeded"):
            told = (
                f"'{failure}': no further validation rules will be run due to call cost exceeds "
                f"limit for rule: {self._named}"
            )
            asking.invalid(path, self._type, told)
            raise _Exhausted
        else:
            told = f"{failure} evaluating rule: {self._named}"
        asking.invalid(path, self._type, told)

    def _detail(self, new: Any, old: Any, path: str, asking: _Asking) -> str:
        """What is said about a broken rule: what it makes of the value, or its own words."""
        if self._message is not None:
            found = self._message.evaluate(new, old)
            told = (
                "messageExpression evaluation failed due to running out of cost budget, no further "
                "validation rules will be run"
            )
            asking.pay(found.cost, path, self._type, told)
            if found.failure is not None and found.failure.startswith("operation cancelled"):
                told = (
                    "no further validation rules will be run due to call cost exceeds limit for "
                    f"messageExpression: {quote(self._rule.message_expression)}"
                )
                asking.invalid(path, self._type, told)
                raise _Exhausted
            text = found.value.strip() if isinstance(found.value, str) else ""
            if text and len(text.encode()) <= MESSAGE_BYTES_MAX and "\n" not in text:
                return text
        return self._rule.message.strip() or f"failed rule: {self._named}"
