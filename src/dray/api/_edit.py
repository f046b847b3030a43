"""Changing frozen values without copying what stays the same.

Defaulting and stripping walk a whole object on every request and mostly change nothing: then the
very object comes back, so "did anything change" is an identity test and costs no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dray.api.wire import Struct, replace

__all__ = ["edit", "edit_items", "edit_values"]

S = TypeVar("S", bound=Struct)
T = TypeVar("T")


def edit(struct: S, **fields: Any) -> S:
    """The struct with these fields, or the struct itself if it has them already."""
    changes = {name: value for name, value in fields.items() if getattr(struct, name) is not value}
    return replace(struct, **changes) if changes else struct


def edit_items(items: tuple[T, ...], change: Callable[[T], T]) -> tuple[T, ...]:
    """Every item changed, or the tuple itself if each came back as it was."""
    changed = tuple(change(item) for item in items)
    same = all(new is old for new, old in zip(changed, items, strict=True))
    return items if same else changed


def edit_values(members: Mapping[str, T], change: Callable[[T], T]) -> Mapping[str, T]:
    """Every value changed, or the mapping itself if each came back as it was."""
    changed = {key: change(value) for key, value in members.items()}
    return members if all(changed[key] is members[key] for key in members) else changed
