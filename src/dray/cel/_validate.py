"""Checks of literals that types cannot make: durations, timestamps, patterns, formats, aggregates.

They run on a checked expression and report where the literal is. Lists and maps must be of one
type even where `dyn` would have let others in; the arguments of `format` are exempt, because
they are checked against the format instead.

Upstream counterparts: cel-go cel/validator.go and the validator of ext/formatting.go.
"""

from __future__ import annotations

from typing import Final

from dray.cel._failures import Failure
from dray.cel._format import check_format
from dray.cel._library.conversions import convert
from dray.cel._nodes import (
    Call,
    CheckedExpression,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
)
from dray.cel._planner import PlanError
from dray.cel._regex import PatternError, validate_pattern
from dray.cel._source import Issues
from dray.cel._stack import children
from dray.cel._types import Type, describe

__all__ = [
    "validate",
]

_FORMAT: Final = "format"


def validate(checked: CheckedExpression, issues: Issues) -> None:
    """Report what is wrong; raises PlanError for what upstream's check does not survive."""
    nodes = _looked_at(checked.root)
    for function in ("duration", "timestamp", "matches"):
        for node, _ in nodes:
            if isinstance(node, Call) and node.function == function and node.arguments:
                _check_argument(node, issues)
    for kind in (ListLiteral, MapLiteral):
        for node, exempt in nodes:
            if not exempt and isinstance(node, kind):
                _check_aggregate(node, checked, issues)
    for node, _ in nodes:
        if isinstance(node, Call) and node.function == _FORMAT:
            _check_format(node, checked, issues)


_LOOKED_AT: Final = frozenset({"duration", "timestamp", "matches", _FORMAT})


def _looked_at(root: Node) -> list[tuple[Node, bool]]:
    """The nodes there are checks for, children first, and whether each is in a call of `format`."""
    found: list[tuple[Node, bool]] = []
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, exempt = waiting.pop()
        kind = type(node)
        if kind is Literal or kind is Identifier:
            continue
        if isinstance(node, Call):
            if node.function in _LOOKED_AT:
                found.append((node, exempt))
                exempt = exempt or node.function == _FORMAT
        elif kind is ListLiteral or kind is MapLiteral:
            found.append((node, exempt))
        for child in children(node):
            waiting.append((child, exempt))  # noqa: PERF401 (most nodes have one or two)
    found.reverse()
    return found


def _check_argument(node: Call, issues: Issues) -> None:
    """The first argument, if it is a literal.

    That is the text, not the pattern, of `matches(text, pattern)`: upstream looks there, and a
    pattern that is wrong is found when the expression is planned.
    """
    argument = node.arguments[0]
    if not isinstance(argument, Literal):
        return
    try:
        if node.function == "matches":
            assert isinstance(argument.value, str)
            validate_pattern(argument.value)
        else:
            convert(node.function, argument.value)
    except (Failure, PatternError):
        issues.report(argument.offset, f"invalid {node.function} argument")


def _check_aggregate(
    node: ListLiteral | MapLiteral, checked: CheckedExpression, issues: Issues
) -> None:
    if isinstance(node, ListLiteral):
        first: Type | None = None
        for index, element in enumerate(node.elements):
            found = _unwrapped(checked.type(element), optional=index in node.optional)
            if first is None:
                first = found
            elif not first.is_exactly(found):
                _mismatch(element, first, found, issues)
                return
        return
    keys: Type | None = None
    values: Type | None = None
    for entry in node.entries:
        key = checked.type(entry.key)
        value = _unwrapped(checked.type(entry.value), optional=entry.optional)
        if keys is None or values is None:
            keys, values = key, value
            continue
        if not keys.is_exactly(key):
            _mismatch(entry.key, keys, key, issues)
        if not values.is_exactly(value):
            _mismatch(entry.value, values, value, issues)


def _unwrapped(type_: Type, *, optional: bool) -> Type:
    if not optional:
        return type_
    if not type_.parameters:
        # Upstream takes it for an optional without looking, and does not survive that.
        raise PlanError("what is marked '?' must be known to be optional")
    return type_.parameters[0]


def _mismatch(node: Node, wanted: Type, found: Type, issues: Issues) -> None:
    issues.report(node.offset, f"expected type '{describe(wanted)}' but found '{describe(found)}'")


def _check_format(node: Call, checked: CheckedExpression, issues: Issues) -> None:
    target = node.target
    if not (isinstance(target, Literal) and isinstance(target.value, str)):
        return
    if len(node.arguments) == 1 and isinstance(node.arguments[0], ListLiteral):
        check_format(node, target.value, node.arguments[0].elements, checked, issues)
