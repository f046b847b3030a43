"""A selector taken apart: the conditions that all have to hold, and what each says of a device.

`a && b && c` has three conjuncts, whatever parentheses are around them; `cel.bind(x, i, a && b)`
has two, each with the bind around it. A conjunct's text is exactly what its author wrote. A
selector is true if all its conjuncts are; it is false if any is false, even if others fail; else
the first that fails is its error. So one conjunct can be named as the reason.

Upstream has no counterpart: it answers true, false or an error for the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

from dray.cel._builder import OPERATORS
from dray.cel._device import DeviceView
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._failures import Failure
from dray.cel._logic import may_be_filled
from dray.cel._nodes import Call, CheckedExpression, Comprehension, Node
from dray.cel._planner import plan
from dray.cel._program import Evaluation, Program
from dray.cel._projections import reader
from dray.cel._readings import Reading, read
from dray.cel._references import Reference, references
from dray.cel._results import as_bool
from dray.cel._selector import Selector
from dray.cel._spans import Spans
from dray.cel._values import Value
from dray.errors import CELError

__all__ = [
    "CONJUNCTS_MAX",
    "Conjunct",
    "Decision",
    "Explanation",
    "Verdict",
    "conjuncts",
    "explain",
]

CONJUNCTS_MAX: Final = 64
"""A selector is not taken apart further than this: each part is a program of its own, with every
bind around it. Hand-written ones have fewer than ten."""

_SELECTORS_KEPT_MAX: Final = 32
"""Selectors whose conjuncts are kept: one is asked about thousands of devices in a row."""

_EXPLANATIONS_KEPT_MAX: Final = 4096
"""Explanations of one selector that are kept: a fleet has few distinct devices."""

_AND: Final = OPERATORS["&&"]

Verdict: TypeAlias = Literal["true", "false", "error"]


@dataclass(frozen=True, eq=False)
class Conjunct:
    """One of the conditions of a selector, and what its author wrote for it."""

    text: str
    offset: int  # of the text in the expression
    node: Node
    binds: tuple[Comprehension, ...]  # the `cel.bind` around it, outermost first
    whole: CheckedExpression  # that it is a part of
    alone: bool  # it is all of the selector

    @cached_property
    def references(self) -> frozenset[Reference]:
        """What of a device it reads."""
        return references(self._checked(self.node))

    @cached_property
    def program(self) -> Program:
        return self.program_of(self.node)

    def program_of(self, node: Node) -> Program:
        """A program for a part of this conjunct, with the binds around it."""
        return Program(plan(self._checked(node)))

    def decide(self, view: DeviceView) -> Decision:
        """What this condition says of a device, and what it looked at."""
        if view.failure is not None:
            return Decision(self, "error", view.failure)
        readings = tuple(read(view, reference) for reference in sorted(self.references, key=_order))
        came = self.program.evaluate({DEVICE_VARIABLE: view.value})
        try:
            return Decision(self, "true" if self._bool(came) else "false", None, readings)
        except Failure as failure:
            return Decision(self, "error", str(failure), readings)

    def _checked(self, node: Node) -> CheckedExpression:
        for bind in reversed(self.binds):
            node = replace(bind, result=node)
        return replace(self.whole, root=node)

    def _bool(self, came: Evaluation) -> bool:
        if came.failure is not None:
            raise Failure(came.failure)
        if self.alone:
            return as_bool(came.value)
        if type(came.value) is not bool:
            raise Failure("no such overload")  # what `&&` makes of such an operand
        return came.value


@dataclass(frozen=True, slots=True)
class Decision:
    """What one conjunct says of one device. `error` is upstream's text, where there is one."""

    conjunct: Conjunct
    verdict: Verdict
    error: str | None = None
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a selector says of one device, by conjuncts.

    `deciding` is the first that is false, else the first that fails; None for a device that fits,
    and where only all conjuncts together cost too much.
    """

    verdict: Verdict
    error: str | None
    decisions: tuple[Decision, ...]
    deciding: Decision | None


@lru_cache(_SELECTORS_KEPT_MAX)
def conjuncts(selector: Selector) -> tuple[Conjunct, ...]:
    """The conditions that all have to hold, in the order they are written."""
    checked = selector.compilation.checked
    assert checked is not None
    spans = Spans(selector.expression)
    found: list[tuple[Node, tuple[Comprehension, ...], int, int]] = []
    waiting: list[tuple[Node, tuple[Comprehension, ...], int, int]] = [
        (checked.root, (), 0, len(spans.tokens))
    ]
    while waiting:
        node, binds, low, high = waiting.pop()
        low, high = spans.trimmed(low, high)
        room = len(found) + len(waiting) + 1 < CONJUNCTS_MAX
        body = _bind_body(spans, node, low, high)
        if (
            body is not None
            and isinstance(node, Comprehension)
            and not may_be_filled(checked, node)
        ):
            waiting.append((node.result, (*binds, node), *body))
        elif isinstance(node, Call) and node.function == _AND and room:
            operator = spans.at(node.offset)
            assert operator is not None
            left, right = node.arguments
            waiting.append((right, binds, operator + 1, high))
            waiting.append((left, binds, low, operator))
        else:
            found.append((node, binds, low, high))
    return tuple(
        Conjunct(
            text=spans.text(low, high),
            offset=spans.tokens[low].offset,
            node=node,
            binds=binds,
            whole=checked,
            alone=len(found) == 1,
        )
        for node, binds, low, high in found
    )


def explain(selector: Selector, view: DeviceView) -> Explanation:
    """Why a device fits, does not fit, or has no answer."""
    if view.failure is not None:
        return _explained(selector, view)
    # Devices that agree in everything that is read share an explanation.
    memory = _memory(selector)
    key = (
        *(read_one(view.value) for read_one in memory.readers),
        *(read(view, reference).shown for reference in memory.amounts),
    )
    found = memory.explanations.get(key)
    if found is None:
        found = _explained(selector, view)
        if len(memory.explanations) < _EXPLANATIONS_KEPT_MAX:
            memory.explanations[key] = found
    return found


@dataclass(frozen=True, slots=True)
class _Memory:
    readers: tuple[Callable[[Value], Hashable], ...]
    amounts: tuple[Reference, ...]  # equal ones may be written differently, and are shown so
    explanations: dict[tuple[Hashable, ...], Explanation]


@lru_cache(_SELECTORS_KEPT_MAX)
def _memory(selector: Selector) -> _Memory:
    references = sorted(selector.references, key=_order)
    amounts = tuple(one for one in references if one.field == "capacity")
    return _Memory(tuple(map(reader, references)), amounts, {})


def _explained(selector: Selector, view: DeviceView) -> Explanation:
    try:
        verdict: Verdict = "true" if selector.matches(view) else "false"
        error = None
    except CELError as failure:
        verdict, error = "error", failure.message
    decisions = tuple(conjunct.decide(view) for conjunct in conjuncts(selector))
    return Explanation(verdict, error, decisions, _deciding(decisions, verdict, error))


def _deciding(
    decisions: tuple[Decision, ...], verdict: Verdict, error: str | None
) -> Decision | None:
    if verdict == "true":
        return None
    same = [one for one in decisions if one.verdict == verdict]
    # What ends an evaluation at once is not the first error if another was met before.
    return next((one for one in same if one.error == error), same[0] if same else None)


def _bind_body(spans: Spans, node: Node, low: int, high: int) -> tuple[int, int] | None:
    """Where the third argument of a `cel.bind` is that the range consists of."""
    if not isinstance(node, Comprehension):
        return None
    # Other macros make such nodes too; only a written bind has a body to show.
    if [spans.word(index) for index in range(low, low + 4)] != ["cel", ".", "bind", "("]:
        return None
    if spans.partner(low + 3) != high - 1 or spans.tokens[low + 3].offset != node.offset:
        return None
    arguments = spans.arguments(low + 3)
    return arguments[2] if len(arguments) == 3 else None


def _order(reference: Reference) -> tuple[str, str, str]:
    return reference.field, reference.domain or "", reference.name or ""
