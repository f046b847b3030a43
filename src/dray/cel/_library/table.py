"""The form in which a library lists its functions, and how several become one.

By CEL's name of the function, then by the Python type of its first argument; what takes a first
argument of any type, or none, is listed under `object`. `_?._`, `_[_]`, `_&&_` and the like are not
functions here: what decides whether an operand is evaluated at all belongs to the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from dray.cel._values import LISTS, MAPS, Value

__all__ = ["FunctionTable", "Implementation", "merged", "of_lists", "of_maps", "of_types"]

Implementation: TypeAlias = Callable[..., Value]
FunctionTable: TypeAlias = Mapping[str, Mapping[type, Implementation]]


def of_types(kinds: Iterable[type], implementation: Implementation) -> dict[type, Implementation]:
    return dict.fromkeys(kinds, implementation)


def of_lists(implementation: Implementation) -> dict[type, Implementation]:
    return of_types(LISTS, implementation)


def of_maps(implementation: Implementation) -> dict[type, Implementation]:
    return of_types(MAPS, implementation)


def merged(tables: Iterable[FunctionTable]) -> dict[str, dict[type, Implementation]]:
    """One table; no two may say different things of the same function and type."""
    found: dict[str, dict[type, Implementation]] = {}
    for table in tables:
        for function, implementations in table.items():
            known = found.setdefault(function, {})
            twice = known.keys() & implementations.keys()
            assert not twice, f"{function} is implemented twice for {twice}"
            known.update(implementations)
    return found
