"""Which type may stand for which while an expression's types are still being found out.

A Substitution is what is known so far about the type variables of one check. Asking whether types
agree teaches it what must hold for them to agree; if they do not, it has learned nothing, so that
a rejected overload leaves no trace.

Nothing here recurses: what is still to be compared waits in a list. Each part that is looked at is
a step, and a Substitution that has taken TYPE_STEPS_MAX of them raises TooManySteps.

Upstream counterparts: cel-go checker/types.go and checker/mapping.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dray.cel import _types as types
from dray.cel._limits import TYPE_STEPS_MAX
from dray.cel._trampoline import Steps, run
from dray.cel._types import Kind, Type

__all__ = [
    "Substitution",
    "TooManySteps",
    "most_general",
]

_PARAMETRIC: Final = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class TooManySteps(Exception):
    """The types of one expression take more comparing than this process will do."""


class Substitution:
    """The types that type variables stand for, with a trail to undo what a question taught."""

    __slots__ = ("_bound", "_steps", "_trail")

    def __init__(self, bound: dict[str, Type] | None = None) -> None:
        self._bound = bound if bound is not None else {}
        self._steps = 0
        self._trail: list[tuple[str, Type | None]] = []

    def get(self, name: str) -> Type | None:
        return self._bound.get(name)

    def bind(self, name: str, type_: Type) -> None:
        self._trail.append((name, self._bound.get(name)))
        self._bound[name] = type_

    def spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > TYPE_STEPS_MAX:
            raise TooManySteps

    def assign(self, wanted: Type, given: Type) -> bool:
        """Whether `given` may be used for `wanted`."""
        return self.assign_all((wanted,), (given,))

    def assign_all(self, wanted: Sequence[Type], given: Sequence[Type]) -> bool:
        if _all_assignable(self, wanted, given):
            self._trail.clear()
            return True
        while self._trail:
            name, before = self._trail.pop()
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def apply(self, type_: Type) -> Type:
        """The type with its variables replaced by what they stand for."""
        if not type_.generic:
            return type_
        if type_.kind is Kind.TYPE_PARAMETER:
            # By far the commonest: a variable that stands for a type without any.
            found = self._bound.get(type_.name)
            if found is None or not found.generic:
                self.spend(1)
                return type_ if found is None else found
        return run(self._apply(type_, None, {}))

    def finish(self, found: Mapping[int, Type]) -> dict[int, Type]:
        """The types with all variables replaced: those still unknown become dyn."""
        made: dict[int, Type] = {}
        return {
            key: run(self._apply(type_, types.DYN, made)) if type_.generic else type_
            for key, type_ in found.items()
        }

    def _apply(self, type_: Type, unknown: Type | None, made: dict[int, Type]) -> Steps[Type]:
        """`made` has the answers so far by identity, as types share what they are made of."""
        self.spend(1)
        answer = made.get(id(type_))
        if answer is not None:
            return answer
        if type_.kind is Kind.TYPE_PARAMETER:
            found = self._bound.get(type_.name)
            if found is None:
                answer = unknown or type_
            else:
                answer = (yield self._apply(found, unknown, made)) if found.generic else found
        else:
            parts = list(type_.parameters)
            for index, part in enumerate(type_.parameters):
                if part.generic:
                    parts[index] = yield self._apply(part, unknown, made)
            same = all(new is old for new, old in zip(parts, type_.parameters, strict=True))
            answer = type_ if same else Type(type_.kind, type_.name, tuple(parts))
        made[id(type_)] = answer
        return answer


def most_general(first: Type, second: Type) -> Type:
    """Of two types that agree, the one that says less."""
    return first if _no_more_specific(first, second) else second


def _no_more_specific(first: Type, second: Type) -> bool:
    pairs = [(first, second)]
    while pairs:
        first, second = pairs.pop()
        kind = first.kind
        if first is second or first.is_dyn or kind is Kind.TYPE_PARAMETER:
            continue
        if second.is_dyn or second.kind is Kind.TYPE_PARAMETER or kind is not second.kind:
            return False
        if kind in _PARAMETRIC:
            if first.name != second.name or len(first.parameters) != len(second.parameters):
                return False
            pairs.extend(zip(first.parameters, second.parameters, strict=True))
        elif kind is not Kind.TYPE and not first.is_exactly(second):
            return False
    return True


_Waiting: TypeAlias = list[tuple[Type, Type, Type | None]]
"""Pairs of types yet to be compared; with a variable, a pair that agrees and that it may be."""


def _all_assignable(known: Substitution, first: Sequence[Type], second: Sequence[Type]) -> bool:
    waiting: _Waiting = []
    if not _await_all(waiting, first, second):
        return False
    while waiting:
        one, other, variable = waiting.pop()
        if variable is not None:
            _generalize(known, variable, one, other)
        elif one is not other and not _assignable(known, one, other, waiting):
            return False
    return True


def _await_all(waiting: _Waiting, first: Sequence[Type], second: Sequence[Type]) -> bool:
    """Compare all of these next, in order; False if they are not as many."""
    if len(first) != len(second):
        return False
    waiting += [(one, other, None) for one, other in zip(first, second, strict=True)][::-1]
    return True


def _assignable(known: Substitution, first: Type, second: Type, waiting: _Waiting) -> bool:
    """Whether `second` may be used for `first`, provided that what is made to wait agrees."""
    known.spend(1)
    kind, other = first.kind, second.kind
    if other is Kind.TYPE_PARAMETER and _substituted(known, first, second, waiting):
        return True
    if kind is Kind.TYPE_PARAMETER:
        return _substituted(known, second, first, waiting)
    if first.is_dyn_or_error or second.is_dyn_or_error:
        return True
    if kind is Kind.NULL:
        return second.accepts_null
    if other is Kind.NULL:
        return first.accepts_null
    if kind is Kind.TYPE:
        return other is Kind.TYPE
    if kind in _PARAMETRIC:
        return (
            kind is other
            and first.name == second.name
            and _await_all(waiting, first.parameters, second.parameters)
        )
    return second.accepts(first)


def _substituted(known: Substitution, type_: Type, variable: Type, waiting: _Waiting) -> bool:
    """Whether `variable` may be `type_`, provided that what is made to wait agrees."""
    if type_.is_exactly(variable):
        return True
    bound = known.get(variable.name)
    if bound is None:
        if _occurs(known, variable, type_):
            return False
        known.bind(variable.name, type_)
        return True
    known.spend(min(type_.parts, bound.parts))
    if not type_.is_exactly(bound):
        # The last is taken first: once they agree, the variable is whichever says less.
        waiting += ((type_, bound, variable), (type_, bound, None))
    return True


def _generalize(known: Substitution, variable: Type, type_: Type, bound: Type) -> None:
    general = most_general(type_, bound)
    if not _occurs(known, variable, general):
        known.bind(variable.name, general)


def _occurs(known: Substitution, variable: Type, within: Type) -> bool:
    """The variable is part of the type, so that binding it would never end."""
    seen: set[str] = set()
    waiting = [within]
    while waiting:
        known.spend(1)
        type_ = waiting.pop()
        if type_.kind is not Kind.TYPE_PARAMETER:
            waiting += (part for part in type_.parameters if part.generic)
        elif type_.name == variable.name:
            return True
        elif type_.name not in seen:
            seen.add(type_.name)
            bound = known.get(type_.name)
            if bound is not None:
                waiting.append(bound)
    return False
