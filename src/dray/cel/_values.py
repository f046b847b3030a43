"""The values an expression computes with, and what each is at run time.

Most are Python's own: bool, int, float, str, bytes, None, list, dict. `type(value)` tells them
apart, never isinstance: CEL's bool is no int, its uint is no int either. Values do not change once
made, but for MutableList and MutableMap, which a fold fills.

A map is a dict whose keys are encoded by `encode_key`: text as it is, anything else as (type,
value), because True, 1 and 1.0 are one key to Python and three to CEL. The maps of a device have
text keys only, so a device's attribute is two plain lookups away.

Everything else CEL knows (times, quantities, addresses) is a class with `cel_type`, or one listed
in `type_of`.

Upstream counterparts: cel-go common/types, apiserver pkg/cel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol, TypeAlias, final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel import _types as types
from dray.cel._types import Type

__all__ = [
    "INT_MAX",
    "INT_MIN",
    "LISTS",
    "MAPS",
    "NONE",
    "UINT_MAX",
    "ConcatenatedList",
    "Constant",
    "DerivedQuantity",
    "Duration",
    "Key",
    "KeyedList",
    "MapWithDefault",
    "MutableList",
    "MutableMap",
    "Opaque",
    "Optional",
    "SetList",
    "TextMap",
    "Timestamp",
    "UInt",
    "Unhashable",
    "Value",
    "decode_key",
    "encode_key",
    "type_of",
]

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


@final
class UInt(int):
    """An unsigned integer; a plain int is CEL's signed one. Arithmetic on it makes plain ints."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


Constant: TypeAlias = bool | int | UInt | float | str | bytes | None
"""What a literal can be."""

Value: TypeAlias = Any
"""Any value described above. Functions that take one check its type before they use it."""

Key: TypeAlias = str | tuple[type, Any]


class Opaque(Protocol):
    """A value of a type that CEL itself does not know."""

    cel_type: ClassVar[Type]

    def cel_equal(self, other: Value) -> bool:
        """Whether `self == other`; raises a Failure where upstream has no answer."""
        ...


@dataclass(frozen=True, slots=True)
class Duration:
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment, as seconds since 1970 and nanoseconds into that second.

    `offset_seconds` is how far ahead of UTC the clock was that it was read from. It shows when the
    moment is printed, and nowhere else.
    """

    seconds: int
    nanoseconds: int
    offset_seconds: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DerivedQuantity:
    """The result of `add` or `sub`.

    Like a quantity everywhere but on the right of `==`, where upstream does not recognise it.
    """

    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent: NONE is the absent one, and compares by identity."""

    value: Value


class _Absent:
    """What NONE holds. A type of its own, so that it looks the same in every process."""

    def __repr__(self) -> str:
        return "absent"


NONE: Final = Optional(_Absent())


class ConcatenatedList(list[Value]):
    """The sum of two lists. Unlike other lists it lets errors in comparisons show."""

    __slots__ = ()


class MutableList(list[Value]):
    """The list a fold fills: `+` appends to it and answers it."""

    __slots__ = ()


class MutableMap(dict[Key, Value]):
    """The map a fold fills."""

    __slots__ = ()


class SetList(list[Value]):
    """A list of a schema that says it is a set: in which order it is written does not count."""

    __slots__ = ()


class KeyedList(list[Value]):
    """A list of a schema that says by which fields its items are told apart."""

    __slots__ = ("keys",)

    def __init__(self, items: Iterable[Value], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key_of(self, item: Value) -> tuple[Value, ...]:
        """What tells an item apart, which is a map of the schema's."""
        return tuple(item.get(name) for name in self.keys) if isinstance(item, dict) else (item,)


class TextMap(dict[Key, Value]):
    """A map of a device, which has texts for keys and can be asked for any other key in vain."""

    __slots__ = ()


class MapWithDefault(dict[Key, Value]):
    """A device's attributes or capacity by domain: an unknown domain is an empty map."""

    __slots__ = ()

    def __missing__(self, key: Key) -> Value:
        return _NO_ENTRIES


_NO_ENTRIES: Final[dict[Key, Value]] = TextMap()

LISTS: Final = (list, ConcatenatedList, MutableList, SetList, KeyedList)
MAPS: Final = (dict, TextMap, MapWithDefault, MutableMap)

_LIST: Final = types.list_of(types.DYN)
_MAP: Final = types.map_of(types.DYN, types.DYN)

_TYPES: Final[dict[type, Type]] = {
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
    Duration: types.DURATION,
    Timestamp: types.TIMESTAMP,
    Type: types.TYPE,
    Optional: types.optional_of(types.DYN),
    Quantity: types.QUANTITY,
    DerivedQuantity: types.QUANTITY,
    Semver: types.SEMVER,
    **dict.fromkeys(LISTS, _LIST),
    **dict.fromkeys(MAPS, _MAP),
}


def type_of(value: Value) -> Type:
    """The value's type at run time, without what a list or map is made of."""
    found = _TYPES.get(type(value))
    if found is None:
        opaque: Opaque = value
        return opaque.cel_type
    return found


def encode_key(value: Value) -> Key:
    """The value as a dict key. Raises Unhashable for what upstream's maps cannot hold either."""
    kind = type(value)
    if kind is str:
        text: str = value
        return text
    if kind in _UNHASHABLE or getattr(value, "cel_type", None) is types.FORMAT:
        raise Unhashable(value)
    if kind is Timestamp and value.offset_seconds:
        # A moment in a zone holds a reference to that zone, which upstream keeps one of for each
        # whole hour.
        zone = value.offset_seconds
        return (kind, _Zoned(value)) if zone % 3600 == 0 else (kind, _Reference(value))
    # A NaN equals no key, not even itself.
    return (kind, _Reference(value) if kind in _BY_REFERENCE or value != value else value)


def decode_key(key: Key) -> Value:
    if type(key) is str:
        return key
    value = key[1]
    return value.value if isinstance(value, _Reference) else value


class Unhashable(Exception):
    """A value that cannot be a key: upstream crashes where this is raised."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class _Reference:
    """A value as a key that upstream compares by address: equal to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Reference or self.value is not other.value:
            return False
        return type(self.value) is not float

    def __hash__(self) -> int:
        return id(self.value)


class _Zoned(_Reference):
    """A moment as a key that upstream compares with its zone."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is _Zoned
            and self.value == other.value
            and bool(self.value.offset_seconds == other.value.offset_seconds)
        )

    def __hash__(self) -> int:
        return hash(self.value)


_UNHASHABLE: Final = frozenset({bytes, Semver})
_BY_REFERENCE: Final = frozenset({*LISTS, *MAPS, Quantity, DerivedQuantity, Optional})
