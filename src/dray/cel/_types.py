"""The types an expression can have, how they print, and when one may stand for another.

Not values: a value's type at run time is the evaluator's business. A Type is immutable and
compares by structure; type parameters (`<A>` in a declaration, `_var0` once instantiated) are
types too. Two printed forms exist because upstream has two: `str()` is what the output-type rule
shows (`google.protobuf.Any`), `describe()` what type errors show (`any`).

Upstream counterparts: cel-go common/types/types.go and checker/format.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Type:
    """One type: its kind, its run-time name, and the types it is made of.

    `nullable` marks the protobuf wrapper types, which also accept null.
    """

    kind: Kind
    name: str
    parameters: tuple[Type, ...] = ()
    nullable: bool = False

    def __str__(self) -> str:
        if self.kind is Kind.TYPE_PARAMETER:
            return f"<{self.name}>"
        if not self.parameters:
            return self.declared_name
        return f"{self.declared_name}({', '.join(map(str, self.parameters))})"

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
        if self is other:
            return True
        return (
            self.kind is other.kind
            and self.name == other.name
            and len(self.parameters) == len(other.parameters)
            and all(map(Type.is_exactly, self.parameters, other.parameters))
        )

    def accepts(self, other: Type) -> bool:
        """A value of type `other` may be used where this type is wanted, substitutions aside."""
        if self.nullable and other.kind is Kind.NULL:
            return True
        if self.kind in _WILD:
            return True
        return (
            self.kind is other.kind
            and self.name == other.name
            and len(self.parameters) == len(other.parameters)
            and all(map(Type.accepts, self.parameters, other.parameters))
        )


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
    return Type(Kind.LIST, "list", (element,))


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
    named = _DESCRIBED.get(type_.kind)
    if named is not None:
        return named
    if type_.kind is Kind.TYPE_PARAMETER:
        return type_.name
    if not type_.parameters:
        return type_.declared_name
    return f"{type_.name}({', '.join(map(describe, type_.parameters))})"


def describe_signature(arguments: list[Type], *, member: bool) -> str:
    """Argument types as an overload error shows them: `(int, string)` or `string.(int)`."""
    shown = [describe(argument) for argument in arguments]
    receiver = f"{shown.pop(0)}." if member else ""
    return f"{receiver}({', '.join(shown)})"
