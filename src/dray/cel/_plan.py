"""What upstream's planner would refuse: constants that cannot be what they are used for.

Kubernetes turns a checked expression into a program before it accepts it, and the planner works
out constants as it goes: conversions, lists and maps, patterns, indices. Whatever fails there is
refused at admission although its types are right. This walk finds the same failures in the same
order, and makes nothing.

Upstream counterparts: cel-go interpreter/planner.go, interpreter/decorators.go and newQualifier
in interpreter/attributes.go.
"""

from __future__ import annotations

from typing import Final

from dray.cel._builder import INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT
from dray.cel._failures import Failure
from dray.cel._library.conversions import convert, is_conversion
from dray.cel._names import RUNTIME_TYPES
from dray.cel._nodes import (
    Call,
    CheckedExpression,
    Comprehension,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
)
from dray.cel._regex import PatternError, validate_pattern
from dray.cel._trampoline import Steps, done, run
from dray.cel._types import Kind, Type
from dray.cel._values import Duration, Timestamp, UInt, Unhashable, Value, encode_key, type_of

__all__ = [
    "PlanError",
    "plan",
]


class PlanError(Exception):
    """The expression type-checks but can never be evaluated."""


class _NotConstant:
    """The value of a node is only known when the expression is evaluated."""


_VARIES: Final = _NotConstant()

_PATTERN_ARGUMENT: Final = {"matches": 1, "find": 1, "findAll": 1}
"""Which argument, the target included, is a pattern."""

_INDICES: Final = frozenset({INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT})
_KEY_TYPES: Final = (str, int, UInt, float)
_GO_TYPES: Final[dict[type, str]] = {
    bytes: "types.Bytes",
    type(None): "types.Null",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Type: "*types.Type",
    list: "*types.baseList",
    dict: "*types.baseMap",
}
"""Upstream names its own implementation's types when it refuses an index."""


def plan(checked: CheckedExpression) -> None:
    """Raise PlanError if the expression could not be turned into a program."""
    run(_Planner(checked).plan(checked.root))


class _Planner:
    def __init__(self, checked: CheckedExpression) -> None:
        self._checked = checked

    def plan(self, node: Node) -> Steps[Value | _NotConstant]:
        """The node's value if it is constant."""
        match node:
            case Literal():
                return done(node.value)
            case Identifier():
                return done(self._identifier(node))
            case Select():
                return self._each(node.operand)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case MessageLiteral():
                return self._each(*(field.value for field in node.fields))
            case Comprehension():
                return self._each(node.initial, node.range, node.condition, node.step, node.result)
        return done(_VARIES)

    def _each(self, *nodes: Node) -> Steps[Value | _NotConstant]:
        for node in nodes:
            yield self.plan(node)
        return _VARIES

    def _identifier(self, node: Identifier) -> Value | _NotConstant:
        if node.id in self._checked.constants:
            return self._checked.constants[node.id]
        if self._checked.type(node).kind is Kind.TYPE:
            found = RUNTIME_TYPES.get(node.name)
            if found is None:
                raise PlanError(f"reference to undefined type: {node.name}")
            return found
        return _VARIES

    def _call(self, node: Call) -> Steps[Value | _NotConstant]:
        operands = node.arguments if node.target is None else (node.target, *node.arguments)
        values = []
        for operand in operands:
            values.append((yield self.plan(operand)))  # noqa: PERF401 (a yield cannot be comprehended)
        if node.function in _INDICES:
            _check_key(values[1])
            return _VARIES
        if is_conversion(node.function):
            return _converted(node.function, values)
        if node.function == "@in" and self._checked.overloads[node.id] == ("in_list",):
            listed = values[1]
            if isinstance(listed, list) and not listed:
                return False
        pattern_index = _PATTERN_ARGUMENT.get(node.function)
        if pattern_index is not None and pattern_index < len(values):
            pattern = values[pattern_index]
            if isinstance(pattern, str):
                _check_pattern(pattern)
        return _VARIES

    def _list(self, node: ListLiteral) -> Steps[Value | _NotConstant]:
        elements: list[Value] = []
        constant = True
        for element in node.elements:
            value = yield self.plan(element)
            if isinstance(value, _NotConstant):
                constant = False
            else:
                elements.append(value)
        return elements if constant else _VARIES

    def _map(self, node: MapLiteral) -> Steps[Value | _NotConstant]:
        constant = True
        keys, values = [], []
        for entry in node.entries:
            key = yield self.plan(entry.key)
            value = yield self.plan(entry.value)
            keys.append(key)
            values.append(value)
            if isinstance(key, _NotConstant) or isinstance(value, _NotConstant):
                constant = False
        if not constant:
            return _VARIES
        try:
            return dict(zip(map(encode_key, keys), values, strict=True))
        except Unhashable as error:
            # Upstream does not survive this: its map cannot hold such a key.
            raise PlanError(f"{type_of(error.value).name} cannot be a key of a map") from None


def _converted(function: str, values: list[Value | _NotConstant]) -> Value | _NotConstant:
    [value] = values
    if isinstance(value, _NotConstant):
        return _VARIES
    try:
        return convert(function, value)
    except Failure as error:
        raise PlanError(str(error)) from None


def _check_key(key: Value | _NotConstant) -> None:
    if not isinstance(key, _NotConstant) and not isinstance(key, _KEY_TYPES):
        raise PlanError(f"invalid qualifier type: {_GO_TYPES[type(key)]}")


def _check_pattern(pattern: str) -> None:
    try:
        validate_pattern(pattern)
    except PatternError as error:
        raise PlanError(str(error)) from None
