"""Where in an expression an evaluation failed.

Compile errors have a place; what fails on a device is only a text to upstream. Here the place is
found by evaluating parts: the smallest part that fails on its own with the same text is where it
went wrong. What uses the variable of a loop has no value on its own; what does not is tried, so
that a name is found inside a loop too. Else the loop is named as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dray.cel._conjuncts import Conjunct, explain
from dray.cel._device import DeviceView
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._nodes import (
    Call,
    Comprehension,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
)
from dray.cel._selector import Selector
from dray.cel._source import Issue, Source, render
from dray.cel._spans import Spans

__all__ = ["children", "failing_issue", "failing_node", "render_failing"]

_PARTS_TRIED_MAX: Final = 200
"""Parts evaluated to find the place; an ordinary selector has fewer than fifty."""

_NODES_MAX: Final = 2000
"""Nodes of a selector beyond which no place is looked for: every part tried is planned anew."""


def failing_node(conjunct: Conjunct, view: DeviceView, error: str) -> Node | None:
    """The smallest part of a conjunct that fails on the device with this text.

    The conjunct itself, where nothing fails but its value is no bool.
    """
    if len(conjunct.whole.types) > _NODES_MAX or view.failure is not None:
        return None
    node, left = conjunct.node, _PARTS_TRIED_MAX
    if not _fails(conjunct, node, view, error):
        return node
    while True:
        parts = [*_parts(node), *_inside(node)] if isinstance(node, Comprehension) else _parts(node)
        for part in parts:
            left -= 1
            if left < 0:
                return node
            if _fails(conjunct, part, view, error):
                node = part
                break
        else:
            return node


def failing_issue(selector: Selector, view: DeviceView) -> Issue | None:
    """What fails on the device, with its place; None if nothing does or the place is not found."""
    explanation = explain(selector, view)
    decision = explanation.deciding
    if decision is None or decision.error is None:
        return None
    node = failing_node(decision.conjunct, view, decision.error)
    if node is None:
        return None
    source = Source(Spans(selector.expression).source)
    return Issue(decision.error, *source.location(node.offset))


def render_failing(selector: Selector, issue: Issue) -> str:
    """The issue under its line, as compile errors are shown."""
    return render(issue, Source(Spans(selector.expression).source))


def _fails(conjunct: Conjunct, node: Node, view: DeviceView, error: str) -> bool:
    came = conjunct.program_of(node).evaluate({DEVICE_VARIABLE: view.value})
    return came.failure == error


def _inside(loop: Comprehension) -> Iterator[Node]:
    """Every part of what a loop repeats, outer ones first."""
    waiting: list[Node] = [loop.result, loop.step, loop.condition]
    for _ in range(_PARTS_TRIED_MAX):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, Select | Call):
            yield node
        waiting.extend(reversed(list(children(node))))


def children(node: Node) -> Iterator[Node]:
    """All parts of a node, also those that have no value on their own."""
    yield from _parts(node)
    if isinstance(node, Comprehension):
        yield from (node.condition, node.step, node.result)


def _parts(node: Node) -> Iterator[Node]:
    """The parts that have a value on their own."""
    match node:
        case Select():
            yield node.operand
        case Call():
            if node.target is not None:
                yield node.target
            yield from (one for one in node.arguments if not isinstance(one, Literal))
        case ListLiteral():
            yield from node.elements
        case MapLiteral():
            for entry in node.entries:
                yield from (entry.key, entry.value)
        case MessageLiteral():
            yield from (field.value for field in node.fields)
        case Comprehension():
            yield from (node.initial, node.range)
