"""What changed between two objects: fields added, modified, removed.

A field is in at most one of the three sets, and two equal objects leave all of them empty. What is
added or modified comes in order, as it is written on the wire.
Upstream counterpart: structured-merge-diff's typed Compare.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dray.api.schema import StructOf
from dray.server.patching.field_sets import FieldFilter, FieldSet
from dray.server.patching.ownership import everything
from dray.server.patching.paths import SELF, order
from dray.server.patching.shapes import MISSING, Kind, Shape, shape_of

__all__ = ["Comparison", "compare", "same"]


class Comparison(msgspec.Struct, frozen=True):
    """Three sets of fields, none of which share one."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def filtered(self, keep: FieldFilter | None) -> Comparison:
        if keep is None:
            return self
        return Comparison(keep(self.added), keep(self.modified), keep(self.removed))


def compare(old: dict[str, Any], new: dict[str, Any], schema: StructOf) -> Comparison:
    changes = _Changes()
    _compare_objects(shape_of(schema), old, new, changes)
    return Comparison(changes.added, changes.modified, changes.removed)


def same(old: Any, new: Any) -> bool:
    """Whether two values are equal as JSON: unlike in Python, true is not 1."""
    if old is new:
        return True
    if old != new:
        return False
    if isinstance(old, (dict, list)):
        return msgspec.json.encode(old) == msgspec.json.encode(new) or _same_parts(old, new)
    return isinstance(old, bool) == isinstance(new, bool)


class _Changes:
    """Three trees of one level, filled while it is walked."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: FieldSet = {}
        self.modified: FieldSet = {}
        self.removed: FieldSet = {}


def _compare_fields(shape: Shape, step: str, old: Any, new: Any, into: _Changes) -> None:
    """Compares two values that are both there, and writes below a step what differs."""
    if shape.leaf:
        if old is not new and (old != new or (shape.loose and not same(old, new))):
            into.modified[step] = {}
        return
    if not shape.loose and old == new:
        return  # by far the most frequent case, and quicker than a look at each part
    container: type[Any] = dict
    if shape.kind is Kind.DEDUCED:
        if not _both_objects(old, new):
            _compare_unlike(shape, step, old, new, into)
            return
    elif shape.kind is not Kind.OBJECT:
        container = list
    # Null is an empty container, and so is what has no business here.
    olds = old if isinstance(old, container) else container()
    news = new if isinstance(new, container) else container()
    if not olds and not news:
        if old is not new and not same(old, new):
            into.modified[step] = {}
        return
    below = _Changes()
    if container is dict:
        _compare_objects(shape, olds, news, below)
    else:
        _compare_lists(shape, olds, news, below)
    if below.added:
        into.added[step] = below.added
    if below.modified:
        into.modified[step] = below.modified
    if below.removed:
        into.removed[step] = below.removed


def _compare_objects(
    shape: Shape, old: dict[str, Any], new: dict[str, Any], into: _Changes
) -> None:
    fields, rest = shape.fields, shape.below
    for name in sorted(new):
        value = new[name]
        known = fields.get(name)
        if known is not None:
            step, part = known
        elif rest is not None:
            step, part = "f:" + name, rest
        else:
            continue
        before = old.get(name, MISSING)
        if before is MISSING:
            into.added[step] = everything(part, value)
        elif before is not value:
            _compare_fields(part, step, before, value, into)
    for name, value in old.items():
        if name not in new:
            known = fields.get(name)
            if known is not None:
                into.removed[known[0]] = everything(known[1], value)
            elif rest is not None:
                into.removed["f:" + name] = everything(rest, value)


def _compare_lists(shape: Shape, old: list[Any], new: list[Any], into: _Changes) -> None:
    olds, news = _grouped(shape, old), _grouped(shape, new)
    part = shape.below
    assert part is not None
    for step in sorted(news, key=order) if len(news) > 1 else news:
        after = news[step]
        before = olds.get(step)
        if before is None:
            into.added[step] = everything(part, after[0]) if len(after) == 1 else {}
        elif len(before) == 1 and len(after) == 1:
            _compare_fields(part, step, before[0], after[0], into)
        elif len(before) > 1 and len(after) > 1:
            if not same(before, after):
                into.modified[step] = {}
        elif len(before) > 1:
            # Duplicates were owned as one; the item that is left is owned in its parts.
            into.added[step] = everything(part, after[0])
            into.removed[step] = {}
        else:
            into.removed[step] = everything(part, before[0])
            into.added[step] = {}
    for step, before in olds.items():
        if step not in news:
            into.removed[step] = everything(part, before[0]) if len(before) == 1 else {}


def _compare_unlike(shape: Shape, step: str, old: Any, new: Any, into: _Changes) -> None:
    """Values that are not both objects, where the schema leaves open what they are."""
    if same(old, new):
        return
    into.modified[step] = {}
    for value, tree in ((old, into.removed), (new, into.added)):
        if isinstance(value, dict) and value:
            parts = everything(shape, value)
            tree[step] = {name: child for name, child in parts.items() if name != SELF}


def _both_objects(old: Any, new: Any) -> bool:
    return (old is None or isinstance(old, dict)) and (new is None or isinstance(new, dict))


def _grouped(shape: Shape, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(shape.step_of(item), []).append(item)
    return found


def _same_parts(old: Any, new: Any) -> bool:
    """For values that Python calls equal: looks for a number that is a boolean in the other."""
    if isinstance(old, dict):
        return all(_same_parts(value, new[name]) for name, value in old.items())
    if isinstance(old, list):
        return all(map(_same_parts, old, new))
    return isinstance(old, bool) == isinstance(new, bool)
