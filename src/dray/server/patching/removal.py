"""Taking fields out of an object.

What is left empty becomes null, which decoding drops: whether a container itself may go is a
question about its owners, answered elsewhere. Upstream counterpart: structured-merge-diff's typed
RemoveItems.
"""

from __future__ import annotations

from typing import Any

from dray.api.schema import StructOf
from dray.server.patching.field_sets import FieldSet
from dray.server.patching.paths import SELF
from dray.server.patching.shapes import DEDUCED, Kind, Shape, shape_of

__all__ = ["remove"]


def remove(document: Any, fields: FieldSet, schema: StructOf) -> Any:
    """The document without these fields; None if nothing is left."""
    return _remove(shape_of(schema), document, fields)


def _remove(shape: Shape, value: Any, fields: FieldSet) -> Any:
    if _is_scalar(shape, value):
        return value
    if shape.leaf or not value:
        return None
    if isinstance(value, dict) and shape.kind in (Kind.OBJECT, Kind.DEDUCED):
        kept: dict[str, Any] = {}
        for name, part_value in value.items():
            known = shape.fields.get(name)
            step, part = known if known is not None else ("f:" + name, shape.below)
            below = fields.get(step)
            if below is None or part is None:
                kept[name] = part_value
            elif below and SELF not in below:
                kept[name] = _remove(part, part_value, below)
        return kept or None
    if isinstance(value, list) and shape.kind in (Kind.SET, Kind.KEYED):
        part = shape.below
        assert part is not None
        items: list[Any] = []
        for item in value:
            below = fields.get(shape.step_of(item))
            if below is None:
                items.append(item)
            elif below and SELF not in below:
                items.append(_remove(part, item, below))
        return items or None
    return None


def _is_scalar(shape: Shape, value: Any) -> bool:
    if shape.kind is Kind.SCALAR:
        return True
    return (shape is DEDUCED or shape.kind is Kind.ANYTHING) and isinstance(
        value, (str, int, float)
    )
