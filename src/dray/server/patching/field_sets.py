"""Sets of fields, in the very form that managedFields keeps them.

A set is the FieldsV1 object itself: a tree of dicts keyed by path elements. An empty dict is a
field of the set with nothing below it, `.` inside a dict says that it is a field of the set too,
and a dict without one merely leads to others. Nothing is ever translated between wire and memory,
and since the elements are canonical, comparing dicts compares sets.

Only the root differs: empty, it is the empty set. All functions leave their arguments alone and may
share parts with them, so a set is never changed after it was made. Upstream counterpart:
structured-merge-diff's fieldpath.Set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dray.errors import ParseError
from dray.server.patching.paths import SELF, canonical, field, order

__all__ = [
    "ANY",
    "FieldFilter",
    "FieldSet",
    "contains",
    "difference",
    "excluding",
    "field_set",
    "including",
    "intersection",
    "ordered",
    "parse",
    "paths_in",
    "recursive_difference",
    "union",
]

FieldSet: TypeAlias = dict[str, Any]
FieldFilter: TypeAlias = Callable[[FieldSet], FieldSet]

# In a pattern: whatever the step is.
ANY: Final = "*"

# Every step is a level of JSON, and no API of ours nests deeper than a few dozen.
DEPTH_MAX: Final = 200


def field_set(*paths: Sequence[str]) -> FieldSet:
    """The set of these paths, each a tuple of names: ("metadata", "name"), ("status",)."""
    root: FieldSet = {}
    for path in paths:
        root = union(root, _chain([field(name) for name in path]))
    return root


def parse(fields: Any) -> FieldSet:
    """A set as a client wrote it, made canonical; raises ParseError."""
    parsed = _parse(fields, DEPTH_MAX)
    return {step: below for step, below in parsed.items() if step != SELF}


def ordered(node: FieldSet) -> FieldSet:
    """The same set with its steps in upstream's order, so that equal sets are equal bytes."""
    result: FieldSet = {}
    for step in _in_order(node) if len(node) > 1 else node:
        child = node[step]
        result[step] = ordered(child) if child else child
    return result


def contains(root: FieldSet, path: Sequence[str]) -> bool:
    node: FieldSet | None = root
    for step in path:
        node = node.get(step) if node else None
        if node is None:
            return False
    return bool(path) and (not node or SELF in node)


def paths_in(root: FieldSet) -> Iterator[tuple[str, ...]]:
    """All fields of the set, those of a level before those below it, both in order."""
    yield from _paths(root, ())


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left:
        return right
    return _join(left, right) if right else left


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or not right:
        return {}
    return _common_below(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields of left that right has not; what is below a field of right stays."""
    if not left or not right:
        return left
    return _rest_below(left, right)


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields of left that neither are in right nor below a field of right."""
    if not left or not right:
        return left
    rest: FieldSet = {}
    for step, child in left.items():
        other = right.get(step)
        if other is None:
            rest[step] = child
        elif other and SELF not in other and step != SELF:
            kept = recursive_difference(child, other) if child else child
            if kept or not child:
                rest[step] = {} if len(kept) == 1 and SELF in kept else kept
    return rest


def excluding(*paths: Sequence[str]) -> FieldFilter:
    """A filter that drops these paths and everything below: fields that a strategy resets."""
    excluded = field_set(*paths)

    def keep(fields: FieldSet) -> FieldSet:
        return recursive_difference(fields, excluded)

    return keep


def including(*patterns: Sequence[str]) -> FieldFilter:
    """A filter that keeps paths on the way to a pattern's end and below; ANY matches each step."""
    steps = [[name if name == ANY else field(name) for name in pattern] for pattern in patterns]

    def keep(fields: FieldSet) -> FieldSet:
        return _matching(fields, steps)

    return keep


# One level of a tree --------------------------------------------------------------------------


def _parse(node: Any, depth: int) -> FieldSet:
    if node is None:
        return {}
    if not isinstance(node, Mapping):
        raise ParseError(str(node), "a set of fields is a JSON object")
    if depth == 0:
        raise ParseError("", f"a set of fields nests no deeper than {DEPTH_MAX} levels")
    found: FieldSet = {}
    for text, below in node.items():
        step = SELF if text == SELF else canonical(text)
        if step == SELF:
            found[SELF] = {}
        elif step is not None:
            child = _parse(below, depth - 1)
            found[step] = _join(found[step], child) if step in found else child
    return {} if found == {SELF: {}} else found


def _join(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left:
        return right if not right or SELF in right else {SELF: {}, **right}
    if not right:
        return left if SELF in left else {SELF: {}, **left}
    joined = dict(left)
    for step, child in right.items():
        mine = joined.get(step)
        joined[step] = child if mine is None else _join(mine, child)
    return joined


def _common_below(left: FieldSet, right: FieldSet) -> FieldSet:
    common: FieldSet = {}
    for step, child in left.items():
        other = right.get(step)
        if other is None or step == SELF:
            continue
        both = (not child or SELF in child) and (not other or SELF in other)
        below = _common_below(child, other)
        if below:
            common[step] = {SELF: {}, **below} if both else below
        elif both:
            common[step] = {}
    return common


def _rest_below(left: FieldSet, right: FieldSet) -> FieldSet:
    rest: FieldSet = {}
    for step, child in left.items():
        if step == SELF:
            continue
        other = right.get(step)
        if other is None:
            rest[step] = child
            continue
        stays = (not child or SELF in child) and bool(other) and SELF not in other
        below = _rest_below(child, other) if child and other else _without_self(child)
        if below:
            rest[step] = {SELF: {}, **below} if stays else below
        elif stays:
            rest[step] = {}
    return rest


def _without_self(node: FieldSet) -> FieldSet:
    return {step: child for step, child in node.items() if step != SELF}


def _matching(node: FieldSet, patterns: list[list[str]]) -> FieldSet:
    kept: FieldSet = {}
    for step, child in node.items():
        if step == SELF:
            continue
        # Upstream takes the first pattern that matches; patterns of one length and place never
        # overlap, so taking all of them is the same.
        rests = [pattern[1:] for pattern in patterns if pattern[0] in (ANY, step)]
        if not rests:
            continue
        if not child or any(not rest for rest in rests):
            kept[step] = child
            continue
        below = _matching(child, rests)
        if below:
            kept[step] = {SELF: {}, **below} if SELF in child else below
        elif SELF in child:
            kept[step] = {}
    return kept


def _chain(steps: Iterable[str]) -> FieldSet:
    node: FieldSet = {}
    for step in reversed(list(steps)):
        node = {step: node}
    return node


def _in_order(node: FieldSet) -> list[str]:
    # Fields sort as they are written, and `.` before them; only keys and values, which sort after,
    # need a look inside.
    steps = sorted(node)
    return sorted(steps, key=order) if steps and steps[-1][0] > "f" else steps


def _paths(node: FieldSet, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    steps = [step for step in _in_order(node) if step != SELF]
    for step in steps:
        if not node[step] or SELF in node[step]:
            yield (*prefix, step)
    for step in steps:
        if node[step]:
            yield from _paths(node[step], (*prefix, step))
