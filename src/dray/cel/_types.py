"""The types an expression can have, how they print, and when one may stand for another.

Not values: a value's type at run time is the evaluator's business. A Type is immutable and
compares by structure; type parameters (`<A>` in a declaration, `_var0` once instantiated) are
types too. No Type has more than TYPE_PARTS_MAX parts: making a larger one raises TypeTooLarge, so
that whatever walks one is bounded. No walk recurses, since a type may nest deeper than the stack.

Two printed forms exist because upstream has two: `str()` is what the output-type rule
shows (`google.protobuf.Any`), `describe()` what type errors show (`any`).

Upstream counterparts: cel-go common/types/types.go and checker/format.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from dray.cel._limits import TYPE_PARTS_MAX

__all__ = [
    "ANY",
    "BOOL",
    "BYTES",
    "CIDR",
    "DEVICE",
    "DOUBLE",
    "DURATION",
    "DYN",
    "ERROR",
    "FORMAT",
    "INT",
    "IP",
    "NULL",
    "OPTIONAL_NAME",
    "QUANTITY",
    "SEMVER",
    "STRING",
    "TIMESTAMP",
    "TYPE",
    "UINT",
    "URL",
    "Kind",
    "Type",
    "TypeTooLarge",
    "describe",
    "describe_signature",
    "list_of",
    "map_of",
    "opaque",
    "optional_of",
    "parameter",
    "struct",
    "type_of",
]


class Kind(Enum):
    ANY = auto()
    BOOL = auto()
    BYTES = auto()
    DOUBLE = auto()
    DURATION = auto()
    DYN = auto()
    ERROR = auto()
    INT = auto()
    LIST = auto()
    MAP = auto()
    NULL = auto()
    OPAQUE = auto()
    STRING = auto()
    STRUCT = auto()
    TIMESTAMP = auto()
    TYPE = auto()
    TYPE_PARAMETER = auto()
    UINT = auto()

    # Members are compared by identity; Enum's own hash is a Python function, and asked for often.
    __hash__ = object.__hash__


class TypeTooLarge(Exception):
    """A type would have more parts than any expression needs."""


@dataclass(frozen=True, slots=True)
class Type:
    """One type: its kind, its run-time name, and the types it is made of.

    `nullable` marks the protobuf wrapper types, which also accept null. `parts` counts this type
    and all it is made of, as often as each is printed; `generic` says that one of them is a type
    parameter.
    """

    kind: Kind
    name: str
    parameters: tuple[Type, ...] = ()
    nullable: bool = False
    parts: int = field(init=False, compare=False, repr=False)
    generic: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        parts, generic = 1, self.kind is Kind.TYPE_PARAMETER
        for parameter in self.parameters:
            parts += parameter.parts
            generic = generic or parameter.generic
        if parts > TYPE_PARTS_MAX:
            raise TypeTooLarge
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "generic", generic)

    def __str__(self) -> str:
        return _printed(self, _shown_name)

    @property
    def declared_name(self) -> str:
        return f"wrapper({self.name})" if self.nullable else self.name

    @property
    def is_dyn(self) -> bool:
        """Stands for any value; the checker asks no questions."""
        return self.kind is Kind.DYN or self.kind is Kind.ANY

    @property
    def is_dyn_or_error(self) -> bool:
        return self.kind in _DYN_OR_ERROR

    @property
    def is_optional(self) -> bool:
        return self.kind is Kind.OPAQUE and self.name == OPTIONAL_NAME

    @property
    def accepts_null(self) -> bool:
        """Null may be compared with a value of this type (the protobuf-minded rule of CEL)."""
        return self.nullable or self.kind in _NULL_LIKE

    def is_exactly(self, other: Type) -> bool:
        """The same type; nullability does not count."""
        pairs = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if one is two:
                continue
            # Parts come first: most types that differ at all differ in size.
            if one.parts != two.parts or not _same_form(one, two):
                return False
            pairs.extend(zip(one.parameters, two.parameters, strict=True))
        return True

    def accepts(self, other: Type) -> bool:
        """A value of type `other` may be used where this type is wanted, substitutions aside."""
        pairs = [(self, other)]
        while pairs:
            wanted, given = pairs.pop()
            if wanted.kind in _WILD or (wanted.nullable and given.kind is Kind.NULL):
                continue
            if not _same_form(wanted, given):
                return False
            pairs.extend(zip(wanted.parameters, given.parameters, strict=True))
        return True


OPTIONAL_NAME: Final = "optional_type"

ANY: Final = Type(Kind.ANY, "google.protobuf.Any")
BOOL: Final = Type(Kind.BOOL, "bool")
BYTES: Final = Type(Kind.BYTES, "bytes")
DOUBLE: Final = Type(Kind.DOUBLE, "double")
DURATION: Final = Type(Kind.DURATION, "google.protobuf.Duration")
DYN: Final = Type(Kind.DYN, "dyn")
ERROR: Final = Type(Kind.ERROR, "error")
INT: Final = Type(Kind.INT, "int")
NULL: Final = Type(Kind.NULL, "null_type")
STRING: Final = Type(Kind.STRING, "string")
TIMESTAMP: Final = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE: Final = Type(Kind.TYPE, "type")
UINT: Final = Type(Kind.UINT, "uint")

DEVICE: Final = Type(Kind.STRUCT, "kubernetes.DRADevice")
FORMAT: Final = Type(Kind.STRUCT, "kubernetes.NamedFormat")
QUANTITY: Final = Type(Kind.STRUCT, "kubernetes.Quantity")
SEMVER: Final = Type(Kind.STRUCT, "kubernetes.Semver")
URL: Final = Type(Kind.STRUCT, "kubernetes.URL")
CIDR: Final = Type(Kind.OPAQUE, "net.CIDR")
IP: Final = Type(Kind.OPAQUE, "net.IP")

_DYN_OR_ERROR: Final = frozenset({Kind.DYN, Kind.ANY, Kind.ERROR})
_WILD: Final = frozenset({Kind.DYN, Kind.ANY, Kind.TYPE_PARAMETER})
_NULL_LIKE: Final = frozenset(
    {
        Kind.OPAQUE,
        Kind.STRUCT,
        Kind.ANY,
        Kind.DURATION,
        Kind.TIMESTAMP,
        Kind.NULL,
        Kind.DYN,
        Kind.TYPE_PARAMETER,
    }
)
_DESCRIBED: Final = {
    Kind.ANY: "any",
    Kind.DURATION: "duration",
    Kind.ERROR: "!error!",
    Kind.NULL: "null",
    Kind.TIMESTAMP: "timestamp",
}


def list_of(element: Type) -> Type:
    return _SCALAR_LISTS.get(id(element)) or Type(Kind.LIST, "list", (element,))


_SCALAR_LISTS: Final[dict[int, Type]] = {
    id(scalar): Type(Kind.LIST, "list", (scalar,)) for scalar in (BOOL, DOUBLE, INT, STRING, UINT)
}
"""The lists that expressions write out, made once: what was found out about one holds for all."""


def map_of(key: Type, value: Type) -> Type:
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type(Kind.OPAQUE, OPTIONAL_NAME, (value,))


def opaque(name: str, *parameters: Type) -> Type:
    return Type(Kind.OPAQUE, name, parameters)


def struct(name: str) -> Type:
    return Type(Kind.STRUCT, name)


def type_of(of: Type) -> Type:
    return Type(Kind.TYPE, "type", (of,))


def parameter(name: str) -> Type:
    return Type(Kind.TYPE_PARAMETER, name)


def describe(type_: Type) -> str:
    """The form in which type errors show a type."""
    return _printed(type_, _described_name)


def describe_signature(arguments: list[Type], *, member: bool) -> str:
    """Argument types as an overload error shows them: `(int, string)` or `string.(int)`."""
    shown = [describe(argument) for argument in arguments]
    receiver = f"{shown.pop(0)}." if member else ""
    return f"{receiver}({', '.join(shown)})"


def _same_form(first: Type, second: Type) -> bool:
    """The same but for what they are made of."""
    return (
        first.kind is second.kind
        and first.name == second.name
        and len(first.parameters) == len(second.parameters)
    )


def _shown_name(type_: Type) -> str:
    return f"<{type_.name}>" if type_.kind is Kind.TYPE_PARAMETER else type_.declared_name


def _described_name(type_: Type) -> str:
    return _DESCRIBED.get(type_.kind) or type_.declared_name


def _printed(type_: Type, name: Callable[[Type], str]) -> str:
    pieces: list[str] = []
    waiting: list[Type | str] = [type_]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        pieces.append(name(item))
        if item.parameters:
            waiting.append(")")
            for parameter in reversed(item.parameters):
                waiting += (parameter, ", ")
            waiting[-1] = "("
    return "".join(pieces)
