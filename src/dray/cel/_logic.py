"""A selector taken apart at `&&`, `||`, `!` and `?:`, down to the parts that ask about a device.

What is inside a `cel.bind` at the top is taken apart too: each part is put back into the bind.
Parts can be evaluated apart from each other because their errors combine like values do. Their
costs add up, so each part has its share of the budget; one that needs more leaves the answer to the
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from dray.cel._codegen import Function, generate, may_be_list
from dray.cel._macros import ACCUMULATOR
from dray.cel._nodes import (
    Call,
    CheckedExpression,
    Comprehension,
    Identifier,
    ListLiteral,
    Node,
)
from dray.cel._planner import plan
from dray.cel._program import Program
from dray.cel._references import Reference, references
from dray.cel._stack import HEIGHT_ON_ONE_STACK_MAX, children, heights

__all__ = ["And", "Atom", "Choice", "Logic", "Not", "Or", "atoms", "may_be_filled", "take_apart"]


class Atom:
    """A part that is no logic, or is taken as a whole."""

    def __init__(self, checked: CheckedExpression) -> None:
        self._checked = checked
        self.program = Program(plan(checked))
        self.references: tuple[Reference, ...] = tuple(sorted(references(checked), key=str))

    @cached_property
    def code(self) -> Function | None:
        """The part as Python code, where there is any."""
        return generate(self._checked)


@dataclass(frozen=True, slots=True)
class And:
    left: Logic
    right: Logic


@dataclass(frozen=True, slots=True)
class Or:
    left: Logic
    right: Logic


@dataclass(frozen=True, slots=True)
class Not:
    operand: Logic


@dataclass(frozen=True, slots=True)
class Choice:
    condition: Logic
    truthy: Logic
    falsy: Logic


Logic: TypeAlias = And | Or | Not | Choice | Atom


def atoms(logic: Logic) -> Iterator[Atom]:
    """The parts that are no logic."""
    waiting: list[Logic] = [logic]
    while waiting:
        match waiting.pop():
            case And(left, right) | Or(left, right):
                waiting += (left, right)
            case Not(operand):
                waiting.append(operand)
            case Choice(condition, truthy, falsy):
                waiting += (condition, truthy, falsy)
            case Atom() as atom:
                yield atom


def take_apart(checked: CheckedExpression) -> Logic:
    """The expression's logic; a tree too tall to recurse into stays in one piece."""
    if heights(checked.root).get(checked.root.id, 0) > HEIGHT_ON_ONE_STACK_MAX:
        return Atom(checked)

    def part(node: Node, wrap: Callable[[Node], Node]) -> Logic:
        match node:
            case Call(function="_&&_", arguments=(left, right)):
                return And(part(left, wrap), part(right, wrap))
            case Call(function="_||_", arguments=(left, right)):
                return Or(part(left, wrap), part(right, wrap))
            case Call(function="!_", arguments=(operand,)):
                return Not(part(operand, wrap))
            case Call(function="_?_:_", arguments=(condition, truthy, falsy)):
                return Choice(part(condition, wrap), part(truthy, wrap), part(falsy, wrap))
            case Comprehension(range=ListLiteral(elements=()), result=result) if not may_be_filled(
                checked, node
            ):
                bound = node
                return part(result, lambda inner: wrap(replace(bound, result=inner)))
            case _:
                return Atom(replace(checked, root=wrap(node)))

    return part(checked.root, lambda node: node)


def may_be_filled(checked: CheckedExpression, bind: Comprehension) -> bool:
    """Whether one part of a `cel.bind` may change what another part reads.

    Upstream's quirk: adding to a bound list that is empty fills it in place. Parts evaluated apart
    would not show that.
    """
    if not may_be_list(checked.type(bind.initial)):
        return False
    return any(
        isinstance(node, Call)
        and node.function == "_+_"
        and may_be_list(checked.type(node.arguments[0]))
        and not _is_new(node.arguments[0])
        for node in _all_below(bind.result)
    )


def _is_new(node: Node) -> bool:
    """Whether a list is written out here, or is the one a macro fills."""
    return isinstance(node, ListLiteral) or (
        isinstance(node, Identifier) and node.name == ACCUMULATOR
    )


def _all_below(node: Node) -> Iterator[Node]:
    """The node and all it is made of."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(children(found))
