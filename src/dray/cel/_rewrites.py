"""Expressions with a part exchanged, and whether what came of it keeps its promise.

A hint may come with an expression to use instead of the one it is about. That has to be a whole
expression that a server accepts, and where devices are known it has to do there what the hint says:
so every candidate is compiled and asked before anyone sees it, and what does not hold is not given.

Bounded: a few candidates for an error, each asked about a few devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from dray.cel._amounts import has_wrong_amounts
from dray.cel._compiler import Compilation, compile_selector
from dray.cel._conjuncts import Conjunct
from dray.cel._device import DeviceView
from dray.cel._environment import Environment
from dray.cel._failing import children
from dray.cel._limits import EXPRESSION_LENGTH_MAX, SELECTOR_COST_MAX
from dray.cel._nodes import Call, Node, Select
from dray.cel._readings import reference_of
from dray.cel._references import Reference
from dray.cel._selector import Selector
from dray.cel._spans import Spans
from dray.errors import CELError

__all__ = [
    "ANSWERS_COMPARED_MAX",
    "Edit",
    "Place",
    "Rewriter",
    "apply",
    "environment_of",
    "keeps_answers",
    "place_of",
    "places",
    "spans_edit",
    "verdict",
]

ANSWERS_COMPARED_MAX: Final = 64
"""Devices whose answers a rewritten expression has to keep: enough to meet every sort there is."""

_NODES_MAX: Final = 2000
"""Nodes of a selector beyond which nothing is rewritten: each candidate is compiled."""

_ENVIRONMENTS: Final = tuple(
    Environment(consumable_capacity=capacity, list_type_attributes=lists, stored=stored)
    for stored, capacity, lists in product((False, True), (True, False), (False, True))
)


@dataclass(frozen=True, slots=True)
class Edit:
    """Text to stand between two offsets of an expression."""

    start: int
    end: int
    text: str


def apply(source: str, edits: Iterable[Edit]) -> str:
    """The source with its parts exchanged; of edits in one place the first counts."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda one: one.start):
        if edit.start < position:
            continue
        parts += [source[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, source[position:]])


def environment_of(compilation: Compilation) -> Environment:
    """An environment in which the expression compiles to the same."""
    for environment in _ENVIRONMENTS:
        again = compile_selector(compilation.expression, environment)
        if (again.error, again.max_cost) == (compilation.error, compilation.max_cost):
            return environment
    return _ENVIRONMENTS[0]


def verdict(selector: Selector, view: DeviceView) -> bool | str:
    """What the selector says of a device: true, false, or the text of its error."""
    try:
        return selector.matches(view)
    except CELError as error:
        return error.message


def keeps_answers(before: Selector, after: Selector, views: Sequence[DeviceView]) -> bool:
    """Whether devices with an answer keep it, and those without do not come to match."""
    for view in views[:ANSWERS_COMPARED_MAX]:
        old, new = verdict(before, view), verdict(after, view)
        if new != old and (isinstance(old, bool) or new is True):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conjunct names a place of the device, as a range of the expression's tokens."""

    node: Select | Call
    reference: Reference
    low: int
    high: int
    dot: int  # the token of the last step: a dot, or a square bracket

    def edit(self, spans: Spans, text: str) -> Edit:
        return spans_edit(spans, self.low, self.high, text)


def spans_edit(spans: Spans, low: int, high: int, text: str) -> Edit:
    """The edit that exchanges a range of tokens."""
    start, last = spans.tokens[low].offset, spans.tokens[high - 1]
    return Edit(start, last.offset + len(last.text), text)


def places(conjunct: Conjunct, spans: Spans, reference: Reference) -> Iterator[Place]:
    """Where a conjunct names this place, in the order it is written."""
    if len(conjunct.whole.types) > _NODES_MAX:
        return
    waiting: list[Node] = [conjunct.node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Select | Call) and _names(node, conjunct, reference):
            found = place_of(node, reference, spans)
            if found is not None:
                yield found
                continue
        waiting.extend(reversed(list(children(node))))


def _names(node: Select | Call, conjunct: Conjunct, reference: Reference) -> bool:
    plain = node
    if isinstance(node, Select) and node.test_only:
        plain = Select(node.id, node.offset, node.operand, node.field, test_only=False)
    return reference_of(plain, conjunct.binds) == reference


def place_of(node: Select | Call, reference: Reference, spans: Spans) -> Place | None:
    """The tokens a path consists of, if it was written as one."""
    dot = spans.at(node.offset)
    if dot is None:
        return None
    if spans.kind(dot) == "(" and spans.word(dot - 1) == "has":
        # What `has` asks about is at its parenthesis.
        closing = spans.partner(dot)
        if closing is None or spans.kind(closing - 2) != ".":
            return None
        return Place(node, reference, dot + 1, closing, closing - 2)
    low = spans.path_before(dot)
    if spans.kind(dot) == "[":
        closing = spans.partner(dot)
        return None if closing is None else Place(node, reference, low, closing + 1, dot)
    if spans.kind(dot) != ".":
        return None
    return Place(node, reference, low, dot + (3 if spans.kind(dot + 1) == "?" else 2), dot)


class Rewriter:
    """Candidates for one selector, of which only those that hold are given."""

    def __init__(self, selector: Selector, views: Sequence[DeviceView]) -> None:
        self.selector = selector
        self.spans = Spans(selector.expression)
        self.views = views[:ANSWERS_COMPARED_MAX]
        self.environment = environment_of(selector.compilation)

    def accepted(self, edits: Iterable[Edit]) -> Selector | None:
        """The selector that the edits make, if a server takes it and its constants are right."""
        text = apply(self.spans.source, edits)
        if len(text.encode()) > EXPRESSION_LENGTH_MAX or text == self.spans.source:
            return None
        compilation = compile_selector(text, self.environment)
        if not compilation.ok or compilation.max_cost > SELECTOR_COST_MAX:
            return None
        return None if has_wrong_amounts(text) else Selector(compilation)

    def false_on(self, view: DeviceView, edits: Iterable[Edit]) -> str | None:
        """The expression that the edits make, if it is false on the device and else the same."""
        after = self.accepted(edits)
        if after is None or verdict(after, view) is not False:
            return None
        return after.expression if keeps_answers(self.selector, after, self.views) else None

    def answering(self, views: Sequence[DeviceView], edits: Iterable[Edit]) -> str | None:
        """The expression that the edits make, if it has an answer for one of these devices."""
        after = self.accepted(edits)
        if after is None:
            return None
        answers = (verdict(after, view) for view in views[:ANSWERS_COMPARED_MAX])
        return after.expression if any(isinstance(one, bool) for one in answers) else None
