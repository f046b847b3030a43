"""Changing frozen values without copying what stays the same.

Defaulting and stripping walk a whole object on every request and mostly change nothing: then the
very object comes back, so "did anything change" is an identity test and costs no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, TypeVar

from dray.api.wire import Struct, replace

__all__ = ["edit", "edit_items", "edit_values"]

S = TypeVar("S", bound=Struct)
T = TypeVar("T")


def edit(struct: S, **fields: Any) -> S:
    """The struct with these fields, or the struct itself if it has them already."""
    for name, value in fields.items():
        if getattr(struct, name) is not value:
            return replace(struct, **fields)
    return struct


def edit_items(items: tuple[T, ...], change: Callable[[T], T]) -> tuple[T, ...]:
    """Every item changed, or the tuple itself if each came back as it was."""
    if not items:
        return items
    changed = tuple(map(change, items))
    return items if all(map(is_, changed, items)) else changed


def edit_values(members: Mapping[str, T], change: Callable[[T], T]) -> Mapping[str, T]:
    """Every value changed, or the mapping itself if each came back as it was."""
    changed = {key: change(value) for key, value in members.items()}
    return members if all(changed[key] is members[key] for key in members) else changed
