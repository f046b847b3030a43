"""The schemas of every kind that Kubernetes defines and dray serves, read from files beside this.

One file holds the types of one group and version, a block each: `kind` or `struct`, its name and
perhaps `atomic`, then a line a field:

    NAME NUMBER TYPE [required] [keep] [inline] [map(KEYS)|set|atomic] [merge|replace]
    [retainKeys] [key(NAME)] [default=JSON]

A type is a scalar, one of the forms of any JSON, or a struct (`Pod`, `meta.v1:ObjectMeta` from
another file); in front of it `*` is a pointer, `[]` a list, `()` a list in a message of its own,
`{}` a map. `keep` says that JSON has the field even while it is zero. A kind also has apiVersion
and kind, which protobuf leaves to the envelope.

The files are facts recorded from upstream's types and OpenAPI documents; tests/oracle/schema
writes them. A file is read when a kind of it is first asked for, a block when its fields are. What
the fields mean is in dray's own words in `descriptions`, which only OpenAPI documents need.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Final

from dray.api.schema import (
    AnyForm,
    Anything,
    Field,
    ListOf,
    ListType,
    MapOf,
    PatchStrategy,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)
from dray.errors import InternalError

__all__ = ["find_schema", "kinds_of", "schema_of", "versions"]

# Every group and version has these, whatever else it has.
_EVERYWHERE: Final = frozenset({"DeleteOptions", "Status"})

# The groups whose kinds of version v1 include those of the meta types.
_META_GROUPS: Final = frozenset({"", "meta.k8s.io"})

_LEAVES: Final[Mapping[str, Schema]] = {
    **{primitive.value: Scalar(primitive) for primitive in Primitive},
    **{form.value: Anything(form) for form in AnyForm},
}

_STRING: Final = _LEAVES["string"]
_TYPE_META: Final = (Field("kind", _STRING), Field("apiVersion", _STRING))


def schema_of(group: str, version: str, kind: str) -> StructOf:
    """The schema of a kind. That it exists is the caller's promise."""
    found = find_schema(group, version, kind)
    if found is None:
        raise InternalError(f"there is no schema of {kind} in {group or 'core'}/{version}")
    return found


def find_schema(group: str, version: str, kind: str) -> StructOf | None:
    """The schema of a kind, or None if there is no such kind."""
    name = f"{group or 'core'}.{version}"
    if name in _file_names():
        file = _file(name)
        if kind in file.kinds:
            return file.struct(kind)
    if kind in _EVERYWHERE or (group in _META_GROUPS and version == "v1"):
        file = _file("meta.v1")
        if kind in file.kinds:
            return file.struct(kind)
    return None


def versions() -> Iterator[tuple[str, str]]:
    """Every group and version that has schemas of its own."""
    for name in sorted(_file_names() - {"meta.v1"}):
        group, _, version = name.rpartition(".")
        yield ("" if group == "core" else group), version


def kinds_of(group: str, version: str) -> tuple[str, ...]:
    """The kinds of a group and version, sorted; none if it is unknown."""
    name = f"{group or 'core'}.{version}"
    return tuple(sorted(_file(name).kinds)) if name in _file_names() else ()


@cache
def _file_names() -> frozenset[str]:
    entries = (entry.name for entry in resources.files(__name__).iterdir())
    return frozenset(name.removesuffix(".txt") for name in entries if name.endswith(".txt"))


@cache
def _file(name: str) -> _File:
    return _File(resources.files(__name__).joinpath(f"{name}.txt").read_text("utf-8"))


class _File:
    """One file, cut into blocks. Structs, and types made of them, are made once."""

    def __init__(self, text: str) -> None:
        head, *blocks = text.rstrip("\n").split("\n\n")
        self.package = head.removeprefix("package ")
        self._blocks = {block.split(None, 2)[1]: block for block in blocks}
        self.kinds = frozenset(
            name for name, block in self._blocks.items() if block.startswith("kind ")
        )
        self._structs: dict[str, StructOf] = {}
        self._types: dict[str, Schema] = dict(_LEAVES)

    def struct(self, name: str) -> StructOf:
        struct = self._structs.get(name)
        if struct is None:
            block = _Block(self, self._blocks[name])
            struct = self._structs[name] = StructOf(
                f"{self.package}.{name}",
                load=block.fields,
                atomic=block.atomic,
                declare=block.declared,
            )
        return struct

    def type(self, text: str) -> Schema:
        """The type that a text without pointer and markers names."""
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = self._read_type(text)
        return found

    def _read_type(self, text: str) -> Schema:
        prefix, rest = text[:2], text[2:]
        if prefix == "[]":
            return ListOf(self.type(rest))
        if prefix == "()":
            return ListOf(self.type(rest), message=True)
        if prefix == "{}":
            return MapOf(self.type(rest))
        file, _, name = text.rpartition(":")  # names of files have dots, but never a colon
        return (_file(file) if file else self).struct(name)


class _Block:
    """The lines of one struct, read on demand."""

    __slots__ = ("_declared", "_fields", "_file", "_lines", "_typed", "atomic")

    def __init__(self, file: _File, text: str) -> None:
        head, *lines = text.split("\n")
        self._file = file
        self._lines = lines
        self._typed = head.startswith("kind ")
        self.atomic = head.endswith(" atomic")
        self._declared: tuple[Field, ...] | None = None
        self._fields: Mapping[str, Field] | None = None

    def declared(self) -> tuple[Field, ...]:
        if self._declared is None:
            read = tuple(self._read(line.split(" ")) for line in self._lines)
            self._declared = _TYPE_META + read if self._typed else read
        return self._declared

    def fields(self) -> Mapping[str, Field]:
        if self._fields is None:
            spread: dict[str, Field] = {}
            for field in self.declared():
                if field.inline and isinstance(field.schema, StructOf):
                    spread.update(field.schema.fields)
                else:
                    spread[field.name] = field
            self._fields = spread
        return self._fields

    def _read(self, words: list[str]) -> Field:
        name, number, type_text, *markers = words
        pointer = type_text.startswith("*")
        schema = self._file.type(type_text[1:] if pointer else type_text)
        strategies: set[PatchStrategy] = set()
        required, omit_empty, inline = False, True, False
        merge_key, more = "", {}
        for marker in markers:
            match marker.partition("=")[0].partition("(")[0]:
                case "required":
                    required = True
                case "keep":
                    omit_empty = False
                case "inline":
                    inline = True
                case "map" | "set" | "atomic":
                    schema = _marked(schema, marker)
                case "merge" | "replace" | "retainKeys":
                    strategies.add(PatchStrategy(marker))
                case "key":
                    merge_key = _inside(marker)
                case "default":
                    more["default"] = json.loads(marker.removeprefix("default="))
                case _:
                    raise InternalError(f"a schema of {self._file.package} says {marker} of {name}")
        return Field(
            "" if inline else name,
            schema,
            int(number),
            required=required,
            omit_empty=omit_empty,
            pointer=pointer,
            inline=inline,
            patch_strategies=frozenset(strategies),
            patch_merge_key=merge_key,
            **more,
        )


def _marked(schema: Schema, marker: str) -> Schema:
    """A type that a field marks as merging in a way of its own."""
    match schema:
        case ListOf(items=items):
            if marker == "set":
                return ListOf(items, ListType.SET)
            return ListOf(items, ListType.MAP, tuple(_inside(marker).split(",")))
        case MapOf(values=values):
            return MapOf(values, atomic=True)
        case StructOf():
            return StructOf(schema.name, schema.load, atomic=True, declare=schema.declare)
        case _:
            raise InternalError(f"{schema} has no parts that could merge as {marker}")


def _inside(marker: str) -> str:
    return marker[marker.index("(") + 1 : -1]
