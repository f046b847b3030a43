"""Which fields an object has: those an applier owns, and all there are.

The two differ. Whoever applies owns leaves, items of lists and keys of maps; a map that merely
holds them is not owned. Whoever creates an object by other means adds everything, containers
included. Upstream counterpart: structured-merge-diff's typed ToFieldSet and Compare.
"""

from __future__ import annotations

from typing import Any

from dray.api.schema import StructOf
from dray.server.patching.field_sets import FieldSet
from dray.server.patching.paths import SELF, order
from dray.server.patching.shapes import DEDUCED, Kind, Shape, shape_of

__all__ = ["everything", "fields_of", "with_named_fields"]


def fields_of(document: dict[str, Any], schema: StructOf) -> FieldSet:
    """What applying the document makes its applier own."""
    return _owned(shape_of(schema), document) or {}


def everything(shape: Shape, value: Any) -> FieldSet:
    """The tree of a value that was not there before: itself and all its parts, in order."""
    if shape.leaf or not value:
        return {}
    kind = shape.kind
    if kind is Kind.OBJECT or kind is Kind.DEDUCED:
        return _everything_in_object(shape, value) if isinstance(value, dict) else {}
    if not isinstance(value, list):
        return {}
    tree: FieldSet = {SELF: {}}
    below = shape.below
    assert below is not None
    for item in value:
        step = shape.step_of(item)
        # Items that cannot be told apart are owned together, without their parts.
        tree[step] = {} if step in tree else everything(below, item)
    # Itself and a single item are in order already.
    return tree if len(tree) < 3 else {step: tree[step] for step in sorted(tree, key=order)}


def _everything_in_object(shape: Shape, value: dict[str, Any]) -> FieldSet:
    tree: FieldSet = {SELF: {}}
    fields, below = shape.fields, shape.below
    for name in sorted(value):
        part_value = value[name]
        known = fields.get(name)
        if known is not None:
            step, part = known
        elif below is not None:
            step, part = "f:" + name, below
        else:
            continue
        tree[step] = {} if part.leaf or not part_value else everything(part, part_value)
    return tree


def with_named_fields(tree: FieldSet, shape: Shape | None) -> FieldSet:
    """The set with every declared field on the way to another made a field of the set too."""
    if shape is None:
        return tree
    result: FieldSet = {}
    for step, child in tree.items():
        if not child:
            result[step] = child
            continue
        part: Shape | None = None
        declared = False
        if step[0] == "f" and shape.kind in (Kind.OBJECT, Kind.DEDUCED):
            part = shape.steps.get(step)
            declared = part is not None
            part = part or shape.below
        elif step[0] == "k" and shape.kind is Kind.KEYED:
            part = shape.below
        grown = with_named_fields(child, part)
        result[step] = {SELF: {}, **grown} if declared and SELF not in grown else grown
    return result


def _owned(shape: Shape, value: Any) -> FieldSet | None:
    """The tree of what an applier of this value owns: {} the value alone, None nothing."""
    if shape.leaf:
        return {}
    kind = shape.kind
    if kind is Kind.OBJECT or shape is DEDUCED:
        if isinstance(value, dict):
            return _owned_in_object(shape, value)
        return None if kind is Kind.OBJECT or value is None else {}
    if not isinstance(value, list):
        return None
    below = shape.below
    assert below is not None
    tree: FieldSet = {}
    for item in value:
        step = shape.step_of(item)
        tree[step] = {} if step in tree else _with_self(_owned(below, item))
    return tree or None


def _owned_in_object(shape: Shape, value: dict[str, Any]) -> FieldSet | None:
    tree: FieldSet = {}
    fields, below = shape.fields, shape.below
    for name, part_value in value.items():
        known = fields.get(name)
        if known is not None:
            step, part = known
            found = _owned(part, part_value)
            if part_value is None or part_value == {}:
                found = _with_self(found)
        elif below is not None:
            step = "f:" + name
            found = _with_self(_owned(below, part_value))
        else:
            continue
        if found is not None:
            tree[step] = found
    return tree or None


def _with_self(tree: FieldSet | None) -> FieldSet:
    if not tree:
        return {}
    return tree if SELF in tree else {SELF: {}, **tree}
