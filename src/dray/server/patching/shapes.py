"""Schemas compiled for walking: what each part of an object is to whoever merges or owns it.

A Shape answers in one attribute what a schema says in several: whether a part is owned as a whole,
how the items of a list are told apart, under which path element a field is found. Compiling is
lazy, as schemas may refer to themselves, and done once. Upstream counterpart: kube-openapi's
schemaconv and the schema package of structured-merge-diff.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from dray.api.schema import (
    ABSENT,
    AnyForm,
    Anything,
    ListOf,
    ListType,
    MapOf,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)
from dray.errors import DrayError
from dray.server.patching.go_text import json_of, json_string
from dray.server.patching.paths import member

__all__ = ["DEDUCED", "MISSING", "Kind", "Shape", "Untypable", "shape_of", "zero_document"]

# Stands for a value that is not there: null is a value.
MISSING: Final[Any] = object()

# All kinds we define have some two thousand parts; the rest is for custom resources, whose schemas
# come and go.
SHAPES_MAX: Final = 65_536


class Untypable(DrayError):
    """A value that its schema cannot place: an item of a keyed list without any key, say."""


class Kind(IntEnum):
    """What a part is made of."""

    SCALAR = 0
    ANYTHING = 1
    OBJECT = 2  # struct, map, or both
    LIST = 3  # by position
    SET = 4
    KEYED = 5
    DEDUCED = 6  # as its value is: the unknown fields of custom resources


class Shape:
    """One part of a schema. `fields` and `below` are filled in when first asked for."""

    __slots__ = (
        "_schema",
        "below",
        "defaults",
        "fields",
        "keys",
        "kind",
        "leaf",
        "loose",
        "prefix",
        "primitive",
        "steps",
    )

    kind: Kind
    # Owned, compared and merged as a whole.
    leaf: bool
    # Parts of it may be any JSON, where 1 and true must not be taken for each other.
    loose: bool
    primitive: Primitive | None
    # Of an OBJECT: declared fields, each with its path element; and of undeclared ones the shape,
    # None if there are none. Of a list, `below` is the shape of items.
    fields: dict[str, tuple[str, Shape]]
    below: Shape | None
    # The same fields by path element.
    steps: dict[str, Shape]
    # Of a KEYED list: names in the order of its path elements, and what stands for an absent one.
    keys: tuple[str, ...]
    defaults: Mapping[str, Any]
    # Of a list with one key: how all path elements of its items begin.
    prefix: str

    def __init__(self, kind: Kind, schema: Schema | None = None, *, leaf: bool = False) -> None:
        self.kind = kind
        self.leaf = leaf
        self._schema = schema
        self.primitive = schema.primitive if isinstance(schema, Scalar) else None

    def __getattr__(self, name: str) -> Any:
        """Fills in what depends on other schemas, once: slots that are set never come here."""
        if name not in Shape.__slots__:
            raise AttributeError(name)
        self._complete()
        return object.__getattribute__(self, name)

    def step_of(self, item: Any) -> str:
        """The path element of an item of this list."""
        if self.kind is Kind.SET:
            if item is None or isinstance(item, (dict, list)):
                raise Untypable(_NOT_A_MEMBER[type(item)])
            return member(item)
        if self.prefix and isinstance(item, dict):
            value = item.get(self.keys[0])
            if type(value) is str:
                return f"{self.prefix}{json_string(value)}}}"
        return self._step_of_keyed(item)

    def _step_of_keyed(self, item: Any) -> str:
        if not isinstance(item, dict):
            noun = "a null element" if item is None else "non-map elements"
            raise Untypable(f"associative list with keys may not have {noun}")
        parts = []
        for name in self.keys:
            value = item.get(name, MISSING)
            if value is MISSING:
                value = self.defaults.get(name)
                if value is None:
                    continue
            parts.append(f'"{name}":{json_of(value)}')
        if not parts:
            named = " ".join(f'"{name}"' for name in self.keys)
            raise Untypable(
                f"associative list with keys has an element that omits all key fields [{named}] "
                "(and doesn't have default values for any key fields)"
            )
        return f"k:{{{','.join(parts)}}}"

    def _complete(self) -> None:
        schema = self._schema
        self.fields, self.below, self.keys, self.defaults, self.prefix = {}, None, (), {}, ""
        self.loose = schema is None or _may_hold_anything(schema, set())
        if isinstance(schema, StructOf):
            self.fields = {
                name: ("f:" + name, shape_of(field.schema)) for name, field in schema.fields.items()
            }
            self.below = DEDUCED if schema.preserves_unknown else None
        elif isinstance(schema, MapOf):
            self.below = shape_of(schema.values)
        elif isinstance(schema, ListOf):
            self.below = shape_of(schema.items)
            self.keys = tuple(sorted(schema.keys))
            if len(self.keys) == 1:
                self.prefix = f'k:{{"{self.keys[0]}":'
            if isinstance(schema.items, StructOf):
                found = ((name, schema.items.fields.get(name)) for name in schema.keys)
                self.defaults = {
                    name: field.default
                    for name, field in found
                    if field is not None and field.default is not ABSENT
                }
        self.steps = dict(self.fields.values())


def _deduced() -> Shape:
    shape = Shape(Kind.DEDUCED)
    shape.fields, shape.below, shape.keys, shape.defaults = {}, shape, (), {}
    shape.steps, shape.prefix, shape.loose = {}, "", True
    return shape


DEDUCED: Final = _deduced()

_NOT_A_MEMBER: Final[Mapping[type, str]] = {
    dict: "associative list without keys has an element that's a map type",
    list: "not supported: associative list with lists as elements",
    type(None): "associative list without keys has an element that's an explicit null",
}

_SCALARS: Final = {
    primitive: Shape(Kind.SCALAR, Scalar(primitive), leaf=True) for primitive in Primitive
}
_ANYTHING: Final = Shape(Kind.ANYTHING, leaf=True)

# By identity, as schemas of custom resources need have no name; the schema is kept so that its
# identity is not given to another.
_shapes: dict[int, tuple[Schema, Shape]] = {}


def shape_of(schema: Schema) -> Shape:
    if isinstance(schema, Scalar):
        return _SCALARS[schema.primitive]
    if isinstance(schema, Anything):
        return _ANYTHING
    known = _shapes.get(id(schema))
    if known is not None:
        return known[1]
    if isinstance(schema, StructOf) and _says_nothing(schema):
        return DEDUCED
    if len(_shapes) >= SHAPES_MAX:
        _shapes.clear()
    if isinstance(schema, ListOf):
        atomic = schema.list_type is ListType.ATOMIC
        shape = Shape(_LISTS[schema.list_type], schema, leaf=atomic)
    else:
        shape = Shape(Kind.OBJECT, schema, leaf=schema.atomic)
    _shapes[id(schema)] = schema, shape
    return shape


def _says_nothing(schema: StructOf) -> bool:
    """Whether a schema preserves whatever is there and declares nothing, not even an object."""
    return schema.preserves_unknown and not schema.atomic and not schema.fields


_LISTS: Final = {ListType.ATOMIC: Kind.LIST, ListType.SET: Kind.SET, ListType.MAP: Kind.KEYED}

_ZEROS: Final[Mapping[Primitive, Any]] = {
    Primitive.STRING: "",
    Primitive.BOOLEAN: False,
    Primitive.INT32: 0,
    Primitive.INT64: 0,
    Primitive.NUMBER: 0,
    Primitive.QUANTITY: "0",
    Primitive.INT_OR_STRING: 0,
    Primitive.DURATION: "0s",
}


def zero_document(schema: StructOf) -> dict[str, Any]:
    """The JSON of an object nobody filled in: what a create is compared with.

    Fields that Go writes even while they are zero are there from the start, so they do not count as
    added by whoever creates the object.
    """
    return {
        name: _zero(field.schema, pointer=field.pointer)
        for name, field in schema.fields.items()
        if not field.omit_empty
    }


def _zero(schema: Schema, *, pointer: bool) -> Any:
    if pointer:
        return None
    if isinstance(schema, StructOf):
        return zero_document(schema)
    return _ZEROS.get(schema.primitive) if isinstance(schema, Scalar) else None


def _may_hold_anything(schema: Schema, seen: set[int]) -> bool:
    if isinstance(schema, Scalar) or id(schema) in seen:
        return False
    if isinstance(schema, Anything):
        # A set of fields has no numbers: metadata would make everything loose.
        return schema.form is not AnyForm.FIELDS_V1
    seen.add(id(schema))
    if isinstance(schema, MapOf):
        return _may_hold_anything(schema.values, seen)
    if isinstance(schema, ListOf):
        return _may_hold_anything(schema.items, seen)
    return schema.preserves_unknown or any(
        _may_hold_anything(field.schema, seen) for field in schema.fields.values()
    )
