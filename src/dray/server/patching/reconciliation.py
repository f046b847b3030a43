"""Field sets written under an older schema, put right under the one we have now.

When a type became atomic, whoever owned parts of it owns the whole. Going the other way needs
nothing: who owned the whole keeps owning that one path. Upstream counterpart:
structured-merge-diff's typed ReconcileFieldSetWithSchema.
"""

from __future__ import annotations

from dray.api.schema import StructOf
from dray.server.patching.field_sets import FieldSet
from dray.server.patching.shapes import DEDUCED, Kind, Shape, shape_of

__all__ = ["reconcile"]


def reconcile(fields: FieldSet, schema: StructOf) -> FieldSet:
    """The set as it would be had it been written now; the same object if nothing changes."""
    return _reconcile_parts(fields, shape_of(schema))


def _reconcile_parts(tree: FieldSet, shape: Shape) -> FieldSet:
    changed: FieldSet | None = None
    steps, below = shape.steps, shape.below
    for step, child in tree.items():
        if not child:
            continue  # a single path is right under any schema
        part = steps.get(step, below)
        if part is None or part is DEDUCED:
            continue
        if part.leaf:
            if part.kind is Kind.SCALAR:
                continue
            right: FieldSet = {}
        elif part.below is DEDUCED and not part.steps:
            continue
        else:
            right = _reconcile_parts(child, part)
        if right is not child:
            changed = dict(tree) if changed is None else changed
            changed[step] = right
    return tree if changed is None else changed
