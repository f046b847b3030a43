"""The nodes of an expression's tree, before and after checking.

Every node has an `id`, unique in its tree, and an `offset` into the text: the operator, the dot
or the opening bracket for compound nodes, the first character otherwise. Macros are already
expanded: `all`, `map`, `cel.bind` and their kin are Comprehensions, `has(a.b)` is a Select with
`test_only`. Nodes are immutable and compare by identity, so that a tree of any depth is safe to
hold in a set or a cache; types and overloads live beside the tree, in CheckedExpression.

Upstream counterpart: cel-go common/ast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dray.cel._types import Type
from dray.cel._values import Constant

__all__ = [
    "Broken",
    "Call",
    "CheckedExpression",
    "Comprehension",
    "FieldEntry",
    "Identifier",
    "ListLiteral",
    "Literal",
    "MapEntry",
    "MapLiteral",
    "MessageLiteral",
    "Node",
    "Select",
]


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: bool, int, UInt, float, str, bytes or null (None)."""

    id: int
    offset: int
    value: Constant


@dataclass(frozen=True, slots=True, eq=False)
class Identifier:
    """A variable or type; once checked the name is the resolved one, dots included."""

    id: int
    offset: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """`operand.field`, or with `test_only` the question whether it is there."""

    id: int
    offset: int
    operand: Node
    field: str
    test_only: bool


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function or operator; `target` is what a member function is called on."""

    id: int
    offset: int
    function: str
    target: Node | None
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ListLiteral:
    """`[a, ?b]`; `optional` holds the indices of the elements marked `?`."""

    id: int
    offset: int
    elements: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class MapEntry:
    id: int
    offset: int
    key: Node
    value: Node
    optional: bool


@dataclass(frozen=True, slots=True, eq=False)
class MapLiteral:
    id: int
    offset: int
    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FieldEntry:
    id: int
    offset: int
    name: str
    value: Node
    optional: bool


@dataclass(frozen=True, slots=True, eq=False)
class MessageLiteral:
    """`name{field: value}`; of the well-known protobuf messages and the device type only."""

    id: int
    offset: int
    name: str
    fields: tuple[FieldEntry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension:
    """A fold over a list or map.

    For each element of `range`, bound to `variable` (and `second_variable`, where there is one),
    `accumulator` becomes `step` as long as `condition` holds; the value is `result`.
    """

    id: int
    offset: int
    range: Node
    variable: str
    second_variable: str | None
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """Stands where a part of the text could not be understood; never in a checked tree."""

    id: int
    offset: int


Node: TypeAlias = (
    Literal
    | Identifier
    | Select
    | Call
    | ListLiteral
    | MapLiteral
    | MessageLiteral
    | Comprehension
    | Broken
)


@dataclass(frozen=True, slots=True, eq=False)
class CheckedExpression:
    """A tree that type-checks, with what the checker found out about it.

    `types` has the type of every node by id. `overloads` has, for every Call, the ids of the
    overloads its argument types allow: one when they are known, several behind `dyn`.
    `constants` has the value of every Identifier that names an enumeration value.
    """

    root: Node
    types: Mapping[int, Type]
    overloads: Mapping[int, tuple[str, ...]]
    constants: Mapping[int, int]

    def type(self, node: Node) -> Type:
        return self.types[node.id]
