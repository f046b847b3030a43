"""Between bytes and structs, exactly.

Decoding has two paths. The quick one lets msgspec build the structs and refuses everything out
of the ordinary: an unknown member, a null where a value belongs, a quantity written as a
fraction. Whatever it refuses is read again by the exact one, which knows upstream's leniencies,
keeps unknown members, and names the JSON path of what it cannot accept. Both give equal values
where both succeed, as test_both_paths_agree holds them to; only white space between the tokens of
carried JSON is kept by the one and dropped by the other.

Everything is bounded: DOCUMENT_BYTES_MAX and NESTING_MAX end hostile input in a DecodeError
before it costs time or stack. Not here: YAML (dray.cli reads files), protobuf, and versions
other than the one asked for (dray.api.scheme). Upstream counterpart: apimachinery's
runtime/serializer/json, sigs.k8s.io/json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any, Final, Generic, TypeVar

import msgspec

from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.shapes import JSONNumber, JSONObject, Notes, shape_of
from dray.api.wire import UNKNOWN_MEMBER, Struct, Time, UnknownFields
from dray.errors import DecodeError, DrayError, ParseError

__all__ = [
    "DOCUMENT_BYTES_MAX",
    "NESTING_MAX",
    "Decoded",
    "carried_values",
    "decode",
    "decode_builtins",
    "decode_plain",
    "decode_strict",
    "encode",
    "parse_json",
    "parse_plain",
    "read_quickly",
    "repeats_members",
    "to_builtins",
]

# What kube-apiserver takes as one request body.
DOCUMENT_BYTES_MAX: Final = 3 * 1024 * 1024

# Upstream stops at 10,000 levels. Real manifests stay below 30; Python's stack is the reason to
# stop earlier, and this leaves room for deep callers.
NESTING_MAX: Final = 200

S = TypeVar("S", bound=Struct)


@dataclass(frozen=True, slots=True)
class Decoded(Generic[S]):
    """An object, and what strict field validation would hold against its document."""

    value: S
    unknown: tuple[str, ...]  # JSON paths of members no type declares
    duplicate: tuple[str, ...]  # JSON paths of members written more than once; the last one won

    @property
    def strict_problems(self) -> tuple[str, ...]:
        """Upstream's sentences, as it puts them into a refusal or a warning header."""
        return tuple(f'unknown field "{path}"' for path in self.unknown) + tuple(
            f'duplicate field "{path}"' for path in self.duplicate
        )


def decode(data: bytes, kind: type[S], *, bytes_max: int = DOCUMENT_BYTES_MAX) -> S:
    """The object in this JSON document. Raises DecodeError."""
    value = decode_plain(data, kind, bytes_max=bytes_max)
    return decode_strict(data, kind, bytes_max=bytes_max).value if value is None else value


def decode_plain(data: bytes, kind: type[S], *, bytes_max: int = DOCUMENT_BYTES_MAX) -> S | None:
    """The object, if there is nothing unusual about its document: then no field is unknown."""
    _check_bytes(data, bytes_max)
    decoder, carries = _quick_decoder(kind)
    if carries:
        _check_nesting(data)
    try:
        value = decoder.decode(data)
        if not carries:
            _check_managed_fields(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ParseError, TypeError):
        # A TypeError is a list or an object where a quantity belongs: it has no hash.
        return None
    return value


def decode_strict(data: bytes, kind: type[S], *, bytes_max: int = DOCUMENT_BYTES_MAX) -> Decoded[S]:
    """Like decode, and also says what strict field validation would complain about."""
    return decode_builtins(parse_json(data, bytes_max=bytes_max), kind)


def decode_builtins(value: Any, kind: type[S]) -> Decoded[S]:
    """The object in a document that some parser already turned into dicts and lists.

    A parser that can see duplicate members passes JSONObject instead of dict.
    """
    notes = Notes()
    try:
        struct = shape_of(kind).read(value, notes)
    except RecursionError as error:
        raise DecodeError(_TOO_DEEP, path=notes.where()) from error
    if notes.problems:
        first, *others = notes.problems
        raise DecodeError(
            first.rule,
            path=first.path,
            others=others,
            unknown=notes.unknown,
            duplicate=notes.duplicate,
        )
    return Decoded(struct, tuple(notes.unknown), tuple(notes.duplicate))


def encode(value: Struct | Mapping[str, Any] | Sequence[Any], *, ordered: bool = False) -> bytes:
    """The JSON of an object, without white space except inside what it carries.

    `ordered` sorts the keys of maps, so that equal objects have equal bytes, carried parts aside.
    """
    encoder = _ORDERED_ENCODER if ordered else _ENCODER
    try:
        return encoder.encode(value)
    except _UnknownFieldsMet:
        return encoder.encode(_flatten(value))


def to_builtins(value: Struct) -> dict[str, Any]:
    """The object as the dicts, lists and scalars of its JSON, fresh ones at every call.

    A number no float can hold stays a JSONNumber, which encodes as it was written.
    """
    found: dict[str, Any] = carried_values(encode(value))
    return found


def carried_values(data: bytes) -> Any:
    """The dicts, lists and scalars of JSON that a decoder has let pass."""
    try:
        return msgspec.json.decode(data)
    except msgspec.MsgspecError:  # a number that no float can hold
        return json.loads(data, parse_float=_finite)


def _finite(text: str) -> float | JSONNumber:
    number = float(text)
    return number if isfinite(number) else JSONNumber(text)


def parse_json(data: bytes, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> Any:
    """The document as builtins: objects remember duplicates, fractions remember their text."""
    text = _json_text(data, bytes_max)
    try:
        return json.loads(
            text,
            object_pairs_hook=JSONObject,
            parse_float=JSONNumber,
            parse_int=_parse_int,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise DecodeError(
            f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    except RecursionError as error:
        raise DecodeError(_TOO_DEEP) from error


def parse_plain(data: bytes, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> Any:
    """The document as plain dicts, lists and scalars, which remember nothing."""
    # Too short for an integer that is too long.
    if len(data) <= _INTEGER_DIGITS_MAX and len(data) <= bytes_max:
        _check_nesting(data)
        try:
            return msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeError):
            pass  # which is read after all, or refused in better words
    text = _json_text(data, bytes_max)
    try:
        return json.loads(
            text, parse_float=_finite, parse_int=_parse_int, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        raise DecodeError(
            f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    except RecursionError as error:
        raise DecodeError(_TOO_DEEP) from error


def repeats_members(data: bytes) -> bool:
    """Whether some object in a JSON document without white space has a member twice.

    Raises DecodeError for an integer that is too long.
    """
    if b"\\u00" not in data:
        try:
            kept = msgspec.json.encode(msgspec.json.decode(data))
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            pass  # a number or a text that is unusual
        else:
            # Of a member that is written twice one is lost, and its colon with it. Without escapes
            # for them, the quotes and colons inside of strings are as many as before.
            if kept.count(b'":') == data.count(b'":'):
                return False
    try:
        json.loads(data, object_pairs_hook=_refuse_repetition, parse_int=_parse_int)
    except _Repetition:
        return True
    return False


class _Repetition(ValueError):
    """A member was written twice."""


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len(pairs) != len(dict(pairs)):
        raise _Repetition


def _json_text(data: bytes, bytes_max: int) -> str:
    """What json reads: given bytes, it would guess at UTF-16 as well."""
    _check_bytes(data, bytes_max)
    _check_nesting(data)
    text = data.decode("utf-8")
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(_without_lone_surrogate, text)
    return text


# A pair of surrogates, or one alone, or any other escape.
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def _without_lone_surrogate(escape: re.Match[str]) -> str:
    # Half a character is none: Go reads it as the mark for unreadable ones, and UTF-8 has no form
    # in which we could write it back.
    return "\\ufffd" if escape["lone"] else escape[0]


# Limits ----------------------------------------------------------------------------------------

_TOO_DEEP: Final = f"nested deeper than {NESTING_MAX} levels"

# A string, skipped whole, or one bracket.
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', re.DOTALL)

# The longest integer literal worth reading: no field takes more than 64 bits, and quantities end
# long before. Beyond it int() becomes quadratic.
_INTEGER_DIGITS_MAX: Final = 1000


def _check_bytes(data: bytes, bytes_max: int) -> None:
    if len(data) > bytes_max:
        raise DecodeError(f"document has {len(data)} bytes, the limit is {bytes_max}")
    try:
        # The quick path skips over carried JSON without looking inside its strings.
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DecodeError(f"not UTF-8: byte {error.start} is {data[error.start]:#04x}") from error


def _check_nesting(data: bytes) -> None:
    if data.count(b"[") + data.count(b"{") <= NESTING_MAX:
        return
    depth = 0
    for match in _BRACKETS.finditer(data):
        first = data[match.start()]
        if first in b"[{":
            depth += 1
            if depth > NESTING_MAX:
                raise DecodeError(_TOO_DEEP)
        elif first in b"]}":
            depth -= 1


def _check_managed_fields(value: Struct) -> None:
    # msgspec passes over carried JSON without minding how deep it goes. Slices are large and carry
    # none but this: looking at all of their brackets would take longer than decoding them.
    metadata = getattr(value, "metadata", None)
    for entry in metadata.managed_fields if isinstance(metadata, ObjectMeta) else ():
        _check_nesting(bytes(entry.fields_v1 or b""))


def _parse_int(text: str) -> int:
    if len(text) > _INTEGER_DIGITS_MAX:
        raise DecodeError(f"not JSON we read: an integer of {len(text)} digits")
    return int(text)


def _refuse_constant(text: str) -> None:
    raise DecodeError(f"not JSON: {text} is not a number")


# The quick path --------------------------------------------------------------------------------

_quick_decoders: dict[type[Struct], tuple[msgspec.json.Decoder[Any], bool]] = {}


def _quick_decoder(kind: type[S]) -> tuple[msgspec.json.Decoder[S], bool]:
    """The decoder, and whether the type carries JSON that it does not look into."""
    found = _quick_decoders.get(kind)
    if found is None:
        decoder = msgspec.json.Decoder(kind, dec_hook=read_quickly)
        found = _quick_decoders[kind] = (decoder, shape_of(kind).carries())
    return found


# Quantities and times repeat: a slice writes the same few hundreds of times over. Remembering by
# text spares the call; longer texts are left to the exact path, which bounds what is remembered.
@lru_cache(maxsize=8192)
def read_quickly(kind: type[Any], value: Any) -> Any:
    """What a quick decoder makes of a text that stands for a quantity or a time."""
    # Only the plainest form: numbers and everything else unusual is for the exact path as well.
    is_plain = type(value) is str and len(value) <= _REMEMBERED_CHARACTERS_MAX
    if not is_plain or kind is UnknownFields:
        raise ParseError(kind.__name__, "not in its plain form")
    return kind.parse(value)


_REMEMBERED_CHARACTERS_MAX: Final = 32


# Encoding --------------------------------------------------------------------------------------


class _UnknownFieldsMet(DrayError):
    """The encoder came upon unknown fields, which it cannot fold into the object around them."""


def _write(value: Any) -> Any:
    if isinstance(value, Time):
        return value.text
    if type(value) is Quantity:
        return str(value)
    if isinstance(value, UnknownFields):
        raise _UnknownFieldsMet
    if isinstance(value, JSONNumber):
        return msgspec.Raw(value.text.encode())
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_write)
_ORDERED_ENCODER: Final = msgspec.json.Encoder(enc_hook=_write, order="deterministic")


def _flatten(value: Any) -> Any:
    """The value with every struct's unknown fields beside its known ones."""
    if isinstance(value, Struct):
        members = {
            name: _flatten(member)
            for name, member in shape_of(type(value)).members(value)
            if name != UNKNOWN_MEMBER
        }
        if isinstance(value.unknown_fields, UnknownFields):
            members.update(value.unknown_fields.members)
        return members
    if isinstance(value, (tuple, list)):
        return [_flatten(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _flatten(item) for key, item in value.items()}
    return value
