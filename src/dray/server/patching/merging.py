"""Merging what is applied into what is there. Nothing disappears by merging; pruning is apart.

Objects merge by key, keyed lists by item, sets by member, everything else is replaced. Where a
list changes, its items stand as the applied list has them, and items of others stay near their old
neighbours. Upstream counterpart: structured-merge-diff's typed Merge.
"""

from __future__ import annotations

from typing import Any

from dray.api.schema import StructOf
from dray.server.patching.shapes import MISSING, Kind, Shape, Untypable, shape_of

__all__ = ["merge"]


def merge(live: dict[str, Any], applied: dict[str, Any], schema: StructOf) -> dict[str, Any]:
    """The live object with the applied one merged into it."""
    merged = _merge(shape_of(schema), live, applied)
    return merged if isinstance(merged, dict) else {}


def _merge(shape: Shape, left: Any, right: Any) -> Any:
    """One of the two may be MISSING, and so may be the result: an empty container is dropped."""
    kept = left if right is MISSING else right
    if shape.leaf:
        return kept
    container: type[Any] = dict
    if shape.kind is Kind.DEDUCED:
        if right is not MISSING and right is not None and not isinstance(right, dict):
            return right
        if right is MISSING and not isinstance(left, dict):
            return left
    elif shape.kind is not Kind.OBJECT:
        container = list
    lefts = left if isinstance(left, container) else container()
    rights = right if isinstance(right, container) else container()
    # Two empty ones are told apart: an empty list and null mean different things.
    if not lefts and not rights:
        return kept
    if container is dict:
        return _merge_objects(shape, lefts, rights)
    return _merge_lists(shape, lefts, rights)


def _merge_objects(shape: Shape, left: dict[str, Any], right: dict[str, Any]) -> Any:
    merged: dict[str, Any] = {}
    names = [*left, *(name for name in right if name not in left)]
    for name in names:
        known = shape.fields.get(name)
        part = known[1] if known is not None else shape.below
        if part is None:
            continue
        value = _merge(part, left.get(name, MISSING), right.get(name, MISSING))
        if value is not MISSING:
            merged[name] = value
    return merged or MISSING


def _merge_lists(shape: Shape, left: list[Any], right: list[Any]) -> Any:
    part = shape.below
    assert part is not None
    left_steps = [shape.step_of(item) for item in left]
    right_steps = [shape.step_of(item) for item in right]
    rights = dict(zip(right_steps, right, strict=True))
    if len(rights) != len(right):
        raise Untypable("an applied list names an item twice")
    # A live item that is there more than once merges with nothing: all of them give way.
    lefts: dict[str, Any] = {}
    for step, item in zip(left_steps, left, strict=True):
        lefts[step] = None if step in lefts else item

    merged: list[Any] = []
    taken: set[str] = set()

    def take(step: str) -> None:
        taken.add(step)
        value = _merge(part, lefts.get(step, MISSING), rights[step])
        if value is not MISSING:
            merged.append(value)

    shared = [step for step in right_steps if step in lefts]
    shared.reverse()  # the next one last, to be popped
    i, j = 0, 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right):
            step = left_steps[i]
            if step == right_steps[j]:
                take(step)
                i, j = i + 1, j + 1
                if shared:
                    shared.pop()
                continue
            if step in rights and shared and shared[-1] != step:
                # Its turn is later: the applied order comes first.
                i += 1
                continue
        if i < len(left):
            step = left_steps[i]
            if step not in rights:
                value = _merge(part, left[i], MISSING)
                if value is not MISSING:
                    merged.append(value)
                i += 1
                continue
            if step in taken:
                i += 1
        if j < len(right):
            step = right_steps[j]
            take(step)
            j += 1
            if shared and shared[-1] == step:
                shared.pop()
    return merged or MISSING
