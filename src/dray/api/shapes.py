"""How the exact decoder reads each type: one Shape per annotation, made once.

A shape turns builtins into a value of its type by upstream's rules: null leaves any field at its
zero value, an object's undeclared members are kept as unknown fields, numbers are never strings.
What does not fit is noted as a DecodeError with its JSON path, and left out, so that one reading
finds every misfit. Upstream counterpart: encoding/json as sigs.k8s.io/json bends it
(case-sensitive, integers kept apart from floats, strict errors); it stops at the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, Protocol, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, UnsetType

from dray.api.meta import ManagedFieldsEntry
from dray.api.quantity import Quantity
from dray.api.wire import UNKNOWN_MEMBER, Holds, MicroTime, Struct, Time, UnknownFields
from dray.errors import DecodeError, InternalError, ParseError, quote, shorten

__all__ = ["JSONNumber", "JSONObject", "Notes", "Shape", "StructShape", "shape_for", "shape_of"]

# A hostile document can repeat or invent members without end; nobody reads past the first few.
NOTES_MAX: Final = 100


# Stands for a value that could not be read; no container takes it in.
REFUSED: Final = object()


class JSONObject(dict[str, Any]):
    """An object as parsed, which remembers the names it was given more than once."""

    __slots__ = ("duplicates",)

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        pairs = list(pairs)
        super().__init__(pairs)
        self.duplicates: tuple[str, ...] = ()
        if len(self) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.duplicates = tuple(name for name, count in counts.items() if count > 1)


class JSONNumber:
    """A number with a fraction or an exponent, kept as its text: 1.50 stays 1.50."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JSONNumber) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


class Notes:
    """Where the reader is, and what it met on the way that strict field validation forbids."""

    __slots__ = ("duplicate", "path", "problems", "unknown")

    def __init__(self) -> None:
        self.path: list[str | int] = []
        self.unknown: list[str] = []
        self.duplicate: list[str] = []
        self.problems: list[DecodeError] = []

    def where(self, *more: str) -> str:
        """The JSON path of the current place, or of a member of it."""
        text = ""
        for step in (*self.path, *more):
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f".{shorten(step)}" if text else shorten(step)
        return text

    def refuse(self, wanted: str, value: Any) -> Any:
        return self.problem(f"expected {wanted}, got {_describe(value)}")

    def problem(self, rule: str) -> Any:
        """Note what is wrong here and go on, so that one reading finds everything."""
        if len(self.problems) < NOTES_MAX:
            self.problems.append(DecodeError(rule, path=self.where()))
        return REFUSED


class Shape(Protocol):
    """How one type is read."""

    @property
    def zero(self) -> Any:
        """What null means."""
        ...

    def read(self, value: Any, notes: Notes) -> Any:
        """The value of this type that builtins stand for."""
        ...


class _StringShape:
    zero = ""

    def read(self, value: Any, notes: Notes) -> Any:
        if isinstance(value, str):
            return value
        return notes.refuse("a string", value)


class _BoolShape:
    zero = False

    def read(self, value: Any, notes: Notes) -> Any:
        if isinstance(value, bool):
            return value
        return notes.refuse("true or false", value)


class _IntShape:
    zero = 0

    def __init__(self, low: int, high: int) -> None:
        self._low = low
        self._high = high

    def read(self, value: Any, notes: Notes) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            return notes.refuse("an integer", value)
        if not self._low <= value <= self._high:
            return notes.refuse(f"an integer between {self._low} and {self._high}", value)
        return value


class _FloatShape:
    zero = 0.0

    def read(self, value: Any, notes: Notes) -> Any:
        if isinstance(value, JSONNumber):
            return float(value.text)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return notes.refuse("a number", value)
        return float(value)


class _QuantityShape:
    zero = Quantity.parse("0")

    def read(self, value: Any, notes: Notes) -> Any:
        if isinstance(value, JSONNumber):
            value = value.text
        elif isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        elif not isinstance(value, str):
            return notes.refuse("a quantity", value)
        return _parse(Quantity.decode, value, notes)


class _TimeShape:
    zero = None

    def __init__(self, kind: type[Time]) -> None:
        self._kind = kind

    def read(self, value: Any, notes: Notes) -> Any:
        if not isinstance(value, str):
            return notes.refuse("a time", value)
        return _parse(self._kind.parse, value, notes)


class _CarriedShape:
    zero = None

    def read(self, value: Any, notes: Notes) -> Any:  # noqa: ARG002 - any JSON will do
        return msgspec.Raw(_dump(value))


class _PartShape(_CarriedShape):
    """Carried JSON that has a type: read as that type to be judged, and kept as it came."""

    def __init__(self, inner: Shape) -> None:
        self._inner = inner

    def read(self, value: Any, notes: Notes) -> Any:
        if value is not None and self._inner.read(value, notes) is REFUSED:
            return REFUSED
        return super().read(value, notes)


class _ListShape:
    zero: Any = ()

    def __init__(self, item: Shape) -> None:
        self._item = item

    def read(self, value: Any, notes: Notes) -> Any:
        if not isinstance(value, list):
            return notes.refuse("a list", value)
        found = []
        path, read, zero = notes.path, self._item.read, self._item.zero
        path.append(0)
        for index, item in enumerate(value):
            path[-1] = index
            found.append(zero if item is None else read(item, notes))
        path.pop()
        return tuple(item for item in found if item is not REFUSED)


class _MapShape:
    def __init__(self, item: Shape) -> None:
        self._item = item

    @property
    def zero(self) -> dict[str, Any]:
        return {}

    def read(self, value: Any, notes: Notes) -> Any:
        if not isinstance(value, dict):
            return notes.refuse("an object", value)
        _note_duplicates(value, notes)
        found = {}
        path, read, zero = notes.path, self._item.read, self._item.zero
        path.append("")
        for key, item in value.items():
            if not isinstance(key, str):
                notes.refuse("a string as key", key)
                continue
            path[-1] = key
            found[key] = zero if item is None else read(item, notes)
        path.pop()
        return {key: item for key, item in found.items() if item is not REFUSED}


class _OptionalShape:
    zero = None

    def __init__(self, inner: Shape) -> None:
        self.read = inner.read


class _IntOrStringShape:
    zero = 0

    def read(self, value: Any, notes: Notes) -> Any:
        if isinstance(value, str):
            return value
        return _INT32.read(value, notes)


class StructShape:
    """How a struct is read, and which of its members are written."""

    def __init__(self, kind: type[Struct]) -> None:
        self._kind = kind
        self._fields = {
            field.encode_name: field
            for field in msgspec.structs.fields(kind)
            if field.encode_name != UNKNOWN_MEMBER
        }
        self._shapes: dict[str, tuple[str, Shape]] | None = None

    @property
    def zero(self) -> Struct:
        return self._kind()

    def read(self, value: Any, notes: Notes) -> Any:
        if not isinstance(value, dict):
            return notes.refuse("an object", value)
        _note_duplicates(value, notes)
        shapes = self._resolved()
        found: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        path = notes.path
        for key, item in value.items():
            known = shapes.get(key)
            if known is None:
                unknown[str(key)] = item
                if len(notes.unknown) < NOTES_MAX:
                    notes.unknown.append(notes.where(str(key)))
            elif item is not None or isinstance(known[1], _CarriedShape):
                path.append(key)
                member = known[1].read(item, notes)
                path.pop()
                if member is not REFUSED:
                    found[known[0]] = member
        if unknown:
            found["unknown_fields"] = UnknownFields(unknown)
        return self._kind(**found)

    def carries(self) -> bool:
        """Whether somewhere below a field carries JSON unread; managed fields are not asked."""
        waiting, seen = [self._kind], {self._kind, ManagedFieldsEntry}
        while waiting:
            for field in msgspec.structs.fields(waiting.pop()):
                for part in _parts(field.type):
                    if part is msgspec.Raw:
                        return True
                    if isinstance(part, type) and issubclass(part, Struct) and part not in seen:
                        seen.add(part)
                        waiting.append(part)
        return False

    def members(self, struct: Struct) -> Iterator[tuple[str, Any]]:
        """Wire names and values of what the encoder writes; test_codec compares it with msgspec."""
        for name, field in self._fields.items():
            value = getattr(struct, field.name)
            if value is UNSET or (field.default is not NODEFAULT and value is field.default):
                continue
            if field.default_factory is dict and not value:
                continue
            yield name, value

    def _resolved(self) -> dict[str, tuple[str, Shape]]:
        # Late, so that types may mention each other in any order.
        if self._shapes is None:
            self._shapes = {
                name: (field.name, _shape(field.type)) for name, field in self._fields.items()
            }
        return self._shapes


_INT32: Final = _IntShape(-(2**31), 2**31 - 1)
_INT64: Final = _IntShape(-(2**63), 2**63 - 1)

_CARRIED: Final = _CarriedShape()

_SCALARS: Final[Mapping[Any, Shape]] = {
    str: _StringShape(),
    bool: _BoolShape(),
    int: _INT64,
    float: _FloatShape(),
    Quantity: _QuantityShape(),
    Time: _TimeShape(Time),
    MicroTime: _TimeShape(MicroTime),
    msgspec.Raw: _CARRIED,
}

_structs: dict[type[Struct], StructShape] = {}


def shape_of(kind: type[Struct]) -> StructShape:
    """The shape of a struct type."""
    shape = _structs.get(kind)
    if shape is None:
        shape = _structs[kind] = StructShape(kind)
    return shape


@cache
def shape_for(annotation: Any) -> Shape:
    """The shape of any type a field may have."""
    return _shape(annotation)


def _shape(annotation: Any) -> Shape:
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        held = next((item.kind for item in arguments[1:] if isinstance(item, Holds)), None)
        if held is not None:
            return _PartShape(_shape(held))
        bounds = next(item for item in arguments[1:] if isinstance(item, Meta))
        return _IntShape(bounds.ge, bounds.le)  # type: ignore[arg-type]  # only Int32 and Int64 use Annotated
    if origin is tuple:
        return _ListShape(_shape(arguments[0]))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _MapShape(_shape(arguments[1]))
    if origin in (Union, type(int | str)):
        inner = [item for item in arguments if item not in (type(None), UnsetType)]
        if len(inner) == 2 and str in inner:
            shape: Shape = _IntOrStringShape()
        else:
            (only,) = inner
            shape = _shape(only)
        return shape if len(inner) == len(arguments) else _OptionalShape(shape)
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return shape_of(annotation)
    raise InternalError(f"no way to read a field of type {annotation}")


def _parse(parse: Callable[[str], Any], text: str, notes: Notes) -> Any:
    try:
        return parse(text)
    except ParseError as error:
        return notes.problem(str(error))


def _parts(annotation: Any) -> Iterator[Any]:
    """The types an annotation is made of."""
    yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)


def _note_duplicates(value: dict[str, Any], notes: Notes) -> None:
    for name in getattr(value, "duplicates", ()):
        if len(notes.duplicate) < NOTES_MAX:
            notes.duplicate.append(notes.where(name))


def _describe(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {quote(shorten(value))}"
    if isinstance(value, (int, float, JSONNumber)):
        return f"the number {shorten(str(value))}"
    return "a list" if isinstance(value, list) else "an object"


def _dump(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_dump_number)


def _dump_number(value: Any) -> Any:
    if isinstance(value, JSONNumber):
        return msgspec.Raw(value.text.encode())
    raise TypeError(f"{type(value).__name__} has no JSON form")
