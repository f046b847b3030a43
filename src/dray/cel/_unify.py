"""Which type may stand for which while an expression's types are still being found out.

A Substitution is what is known so far about the type variables of one check. Asking whether types
agree teaches it what must hold for them to agree; if they do not, it has learned nothing, so that
a rejected overload leaves no trace.

Upstream counterparts: cel-go checker/types.go and checker/mapping.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.cel import _types as types
from dray.cel._types import Kind, Type

__all__ = [
    "Substitution",
    "most_general",
]

_PARAMETRIC: Final = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class Substitution:
    """The types that type variables stand for, with a trail to undo what a question taught."""

    __slots__ = ("_bound", "_trail")

    def __init__(self, bound: dict[str, Type] | None = None) -> None:
        self._bound = bound if bound is not None else {}
        self._trail: list[tuple[str, Type | None]] = []

    def get(self, name: str) -> Type | None:
        return self._bound.get(name)

    def bind(self, name: str, type_: Type) -> None:
        self._trail.append((name, self._bound.get(name)))
        self._bound[name] = type_

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

    def apply(self, type_: Type, *, finish: bool = False) -> Type:
        """The type with its variables replaced; with `finish`, unknown ones become dyn."""
        if type_.kind is Kind.TYPE_PARAMETER:
            found = self._bound.get(type_.name)
            if found is not None:
                return self.apply(found, finish=finish)
            return types.DYN if finish else type_
        if not type_.parameters:
            return type_
        parts = tuple(self.apply(part, finish=finish) for part in type_.parameters)
        if all(new is old for new, old in zip(parts, type_.parameters, strict=True)):
            return type_
        return Type(type_.kind, type_.name, parts)


def most_general(first: Type, second: Type) -> Type:
    """Of two types that agree, the one that says less."""
    return first if _no_more_specific(first, second) else second


def _no_more_specific(first: Type, second: Type) -> bool:
    kind = first.kind
    if first.is_dyn or kind is Kind.TYPE_PARAMETER:
        return True
    if second.is_dyn or second.kind is Kind.TYPE_PARAMETER or kind is not second.kind:
        return False
    if kind in _PARAMETRIC:
        return (
            first.name == second.name
            and len(first.parameters) == len(second.parameters)
            and all(map(_no_more_specific, first.parameters, second.parameters))
        )
    return kind is Kind.TYPE or first.is_exactly(second)


def _assignable(known: Substitution, first: Type, second: Type) -> bool:
    kind, other = first.kind, second.kind
    if other is Kind.TYPE_PARAMETER:
        valid, bound = _valid_substitution(known, first, second)
        if valid or bound:
            return valid
    if kind is Kind.TYPE_PARAMETER:
        return _valid_substitution(known, second, first)[0]
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
            and _all_assignable(known, first.parameters, second.parameters)
        )
    return second.accepts(first)


def _all_assignable(known: Substitution, first: Sequence[Type], second: Sequence[Type]) -> bool:
    return len(first) == len(second) and all(
        _assignable(known, one, other) for one, other in zip(first, second, strict=True)
    )


def _valid_substitution(known: Substitution, type_: Type, variable: Type) -> tuple[bool, bool]:
    """Whether `variable` may be `type_`, and whether something was known about it before."""
    if type_.is_exactly(variable):
        return True, True
    bound = known.get(variable.name)
    if bound is not None:
        if type_.is_exactly(bound):
            return True, True
        if not _assignable(known, type_, bound):
            return False, True
        general = most_general(type_, bound)
        if not _occurs(known, variable, general):
            known.bind(variable.name, general)
        return True, True
    if _occurs(known, variable, type_):
        return False, False
    known.bind(variable.name, type_)
    return True, False


def _occurs(known: Substitution, variable: Type, within: Type) -> bool:
    """The variable is part of the type, so that binding it would never end."""
    if variable.is_exactly(within):
        return True
    if within.kind is Kind.TYPE_PARAMETER:
        bound = known.get(within.name)
        return bound is not None and _occurs(known, variable, bound)
    return any(_occurs(known, variable, part) for part in within.parameters)
