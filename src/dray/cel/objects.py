"""Expressions over objects that a schema describes: rules of custom resources.

A Declared says of one part what expressions may do with it (a type), how large it may be (for the
estimate of costs) and how its JSON becomes a value. `compile_rule` and `compile_message` compile an
expression about `self`, and about `oldSelf`, the value it replaces.

Upstream counterparts: apiserver pkg/cel (DeclType), pkg/cel/common (SchemaDeclType,
UnstructuredToVal), apiextensions-apiserver pkg/apiserver/schema/cel.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from dray.cel import _types as types
from dray.cel._compiler import Compilation, CompileError, compile_alone
from dray.cel._environment import Environment, Shape
from dray.cel._failures import Failure
from dray.cel._functions import Function, functions
from dray.cel._library.conversions import convert
from dray.cel._nodes import Identifier, Node
from dray.cel._program import Program
from dray.cel._stack import children
from dray.cel._types import Kind, Type
from dray.cel._values import NONE, Duration, KeyedList, Optional, SetList, TextMap, Value

__all__ = [
    "BOOLEAN",
    "INTEGER",
    "NUMBER",
    "OLD_SELF",
    "SELF",
    "Declared",
    "Evaluation",
    "Rule",
    "binary",
    "compile_message",
    "compile_rule",
    "date",
    "date_time",
    "duration",
    "int_or_string",
    "list_of",
    "map_of",
    "object_of",
    "text",
]

SELF: Final = "self"
OLD_SELF: Final = "oldSelf"

RULE_LENGTH_MAX: Final = 100_000
"""Bytes of one rule; cel-go reads as many characters."""

RULE_COST_MAX: Final = 1_000_000
"""Cost units one evaluation may need, `PerCallLimit` of apiserver."""


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """What is known of one part of an object before there is one.

    `size_min` is the least number of bytes its JSON has.
    """

    type: Type
    shape: Shape
    size_min: int
    value: Callable[[Any], Value]
    element: Declared | None = None
    fields: Mapping[str, Declared] = field(default_factory=dict)

    def inside(self) -> Iterator[Declared]:
        """All parts there are, itself the first."""
        yield self
        if self.element is not None:
            yield from self.element.inside()
        for part in self.fields.values():
            yield from part.inside()


def _same(value: Any) -> Value:
    return value


BOOLEAN: Final = Declared(types.BOOL, Shape(), 4, _same)
INTEGER: Final = Declared(types.INT, Shape(), 1, _same)
NUMBER: Final = Declared(types.DOUBLE, Shape(), 1, float)


def int_or_string(size_max: int) -> Declared:
    """Either of the two; which one, only a value says."""
    return Declared(types.DYN, Shape(size_max), 1, _same)


def text(size_max: int) -> Declared:
    return Declared(types.STRING, Shape(size_max), 2, _same)


def binary(size_max: int) -> Declared:
    """Bytes, which JSON has as base64."""
    return Declared(types.BYTES, Shape(size_max), 2, _bytes)


def duration() -> Declared:
    return Declared(types.DURATION, Shape(32), 3, _duration)


def date() -> Declared:
    return Declared(types.TIMESTAMP, Shape(12), 12, lambda day: _timestamp(f"{day}T00:00:00Z"))


def date_time() -> Declared:
    return Declared(types.TIMESTAMP, Shape(32), 21, _timestamp)


def list_of(
    element: Declared, size_max: int, *, is_set: bool = False, keys: tuple[str, ...] = ()
) -> Declared:
    """A list; `keys` are the fields, as expressions name them, that tell its items apart."""

    def value(items: Any) -> Value:
        made = [None if item is None else element.value(item) for item in items]
        if keys:
            return KeyedList(made, keys)
        return SetList(made) if is_set else made

    shape = Shape(size_max, element=element.shape)
    return Declared(types.list_of(element.type), shape, 2, value, element)


def map_of(element: Declared, size_max: int) -> Declared:
    """An object whose keys are data."""

    def value(members: Any) -> Value:
        return TextMap(
            {
                name: None if member is None else element.value(member)
                for name, member in members.items()
            }
        )

    shape = Shape(size_max, key=Shape(), element=element.shape)
    return Declared(types.map_of(types.STRING, element.type), shape, 2, value, element)


def object_of(name: str, fields: Mapping[str, tuple[str, Declared]], size_min: int) -> Declared:
    """An object with fields, by their JSON names: as what expressions know them, and what they are.

    `name` is that of its type, which is nobody's but its own. Whatever else an object has cannot be
    asked for, but counts when it is compared.
    """

    def value(members: Any) -> Value:
        made = TextMap()
        for field_name, member in members.items():
            if member is None:
                continue  # no different from a field that is not there
            known = fields.get(field_name)
            if known is None:
                # No expression can name a field like this.
                made[f"\0{field_name}"] = _frozen(member)
            else:
                made[known[0]] = known[1].value(member)
        return made

    by_name = dict(fields.values())
    shape = Shape(fields={each: part.shape for each, part in by_name.items()})
    return Declared(types.struct(name), shape, size_min, value, fields=by_name)


# Values ----------------------------------------------------------------------------------------


def _bytes(encoded: str) -> Value:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise Failure(f"Invalid byte formatted string {encoded}: {error}") from None


def _timestamp(moment: str) -> Value:
    return convert("timestamp", moment.upper())


_SPOKEN: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
    "w": 7 * 86400 * 10**9,
}
_UNITS: Final = (
    ("ns", ("ns",), "nano"),
    ("us", ("us", "µs"), "micro"),
    ("ms", ("ms",), "milli"),
    ("s", ("s",), "sec"),
    ("m", ("m",), "min"),
    ("h", ("h", "hr"), "hour"),
    ("d", ("d",), "day"),
    ("w", ("w", "wk"), "week"),
)


def _duration(written: str) -> Value:
    try:
        return convert("duration", written)
    except Failure:
        # As people write it: 3 days.
        total = 0
        for count, unit in _SPOKEN.findall(written):
            for key, exact, start in _UNITS:
                if unit.lower() in exact or unit.lower().startswith(start):
                    total += int(count) * _NANOSECONDS[key]
        return Duration(total)


def _frozen(value: Any) -> Value:
    """JSON that no schema describes, as something that can be compared."""
    if isinstance(value, dict):
        return TextMap({name: _frozen(member) for name, member in value.items()})
    if isinstance(value, list):
        return [_frozen(item) for item in value]
    return value


# Compiling -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ObjectEnvironment(Environment):
    """What a rule is compiled against: one schema, in place of the device."""

    declared: Declared = BOOLEAN
    optional_old_self: bool = False

    def variable(self, name: str) -> Type | None:
        if name == SELF:
            return self.declared.type
        if name == OLD_SELF:
            own = self.declared.type
            return types.optional_of(own) if self.optional_old_self else own
        return None

    @cached_property
    def message_types(self) -> Mapping[str, Type]:
        return {}

    @cached_property
    def _messages(self) -> Mapping[str, Mapping[str, Type]]:
        return {
            part.type.name: {name: member.type for name, member in part.fields.items()}
            for part in self.declared.inside()
            if part.type.kind is Kind.STRUCT
        }

    def message_fields(self, message: str) -> Mapping[str, Type] | None:
        return self._messages.get(message)

    def shape(self, variable: str) -> Shape | None:
        # Upstream looks at what comes after the first step, and takes that for `self` whatever it
        # is: the items of any list that an expression makes are as large as `self`.
        del variable
        return self.declared.shape

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        return functions(includes=False, stored=self.stored)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a rule gave, or why it gave nothing; and what it cost."""

    value: Value
    failure: str | None
    cost: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled expression over objects."""

    program: Program
    cost_max: int
    uses_old_self: bool
    optional_old_self: bool

    def evaluate(self, new: Value, old: Value | None) -> Evaluation:
        """Ask it about values made by the Declared it was compiled for; None is no old one."""
        variables: dict[str, Value] = {SELF: new}
        if self.optional_old_self:
            variables[OLD_SELF] = NONE if old is None else Optional(old)
        elif old is not None:
            variables[OLD_SELF] = old
        found = self.program.evaluate(variables, cost_limit=RULE_COST_MAX)
        return Evaluation(found.value, found.failure, found.cost)


def compile_rule(
    expression: str, declared: Declared, *, optional_old_self: bool = False, stored: bool = True
) -> Rule | CompileError:
    """A rule, which must be a bool. `stored` is for those that were accepted once."""
    wrong = "cel expression must evaluate to a bool"
    environment = _ObjectEnvironment(
        stored=stored, declared=declared, optional_old_self=optional_old_self
    )
    return _compile(expression, environment, types.BOOL, wrong)


def compile_message(
    expression: str, declared: Declared, *, optional_old_self: bool = False, stored: bool = True
) -> Rule | CompileError:
    """What makes the message of a rule that is broken: a text."""
    wrong = "messageExpression must evaluate to a string"
    environment = _ObjectEnvironment(
        stored=stored, declared=declared, optional_old_self=optional_old_self
    )
    found = _compile(expression, environment, types.STRING, wrong)
    if isinstance(found, CompileError) and found.detail != wrong:
        detail = found.detail.removeprefix("program ")
        return CompileError(found.kind, f"messageExpression {detail}")
    return found


def _compile(
    expression: str, environment: _ObjectEnvironment, wanted: Type, wrong: str
) -> Rule | CompileError:
    compilation: Compilation = compile_alone(expression, environment, length_max=RULE_LENGTH_MAX)
    if compilation.error is not None:
        return compilation.error
    program, checked = compilation.program, compilation.checked
    assert program is not None
    assert checked is not None
    if compilation.output_type is None or not wanted.is_exactly(compilation.output_type):
        return CompileError("invalid", wrong)
    return Rule(
        program,
        compilation.max_cost,
        _names(checked.root, OLD_SELF),
        environment.optional_old_self,
    )


def _names(root: Node, variable: str) -> bool:
    """Whether an expression uses the variable."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Identifier) and node.name == variable:
            return True
        waiting.extend(children(node))
    return False
