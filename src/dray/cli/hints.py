"""What someone probably meant by what dray cannot read.

The usual mistakes with a field: a misspelling, one level too high or too low (a wrong
indentation), and a place where only another version of the kind has it. With a value: quotes
missing or too many, a unit that is none. With a kind: one that dray does not have, or a typo.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, get_args

import msgspec

from dray.api.scheme import find_kind
from dray.api.wire import UNKNOWN_MEMBER, Struct, UnknownFields
from dray.errors import DecodeError, quote, shorten

__all__ = ["decoding_hint", "hints_for", "is_foreign"]

# The types around a struct, outermost first, each with the path of where it is.
_Around = tuple[tuple[str, type[Struct]], ...]


def hints_for(obj: Struct, unknown: Sequence[str]) -> dict[str, str]:
    """For these unknown fields of an object, by path, what they might be; not all have a hint."""
    found: dict[str, str] = {}
    wanted = set(unknown)
    for path, struct, around in _structs(obj, "", ()):
        assert isinstance(struct.unknown_fields, UnknownFields)
        for name, member in struct.unknown_fields.members.items():
            where = _join(path, name)
            if where not in wanted:
                continue
            wanted.discard(where)
            hint = _hint(type(struct), path, name, member, around)
            if hint:
                found[where] = hint
        if not wanted:
            break
    return found


def decoding_hint(error: DecodeError) -> str:
    """Advice for a value that cannot be read, to follow the rule it breaks; or nothing."""
    rule = error.rule
    if rule.startswith(("expected a string, got true", "expected a string, got false")):
        return "; put it in quotes"
    if rule.startswith("expected a string, got the number"):
        return "; put it in quotes"
    quoted = _QUOTED_VALUE.fullmatch(rule)
    if quoted and (quoted[1].lstrip("-").isdecimal() or quoted[1] in ("true", "false")):
        return "; leave the quotes out"
    amount = _AMOUNT.match(rule)
    if amount and (unit := _UNITS.get(amount[2].lower())):
        return f"; did you mean {amount[1]}{unit}?"
    if error.path == "kind" and rule.startswith("dray knows no kind") and ";" not in rule:
        return "; --ignore-unknown-kinds passes over kinds that dray has not"
    return ""


# "expected an integer, got the string "80"", and the quantities people write for 40G or 40Gi.
_QUOTED_VALUE: Final = re.compile(r'expected (?:an integer.*|true or false), got the string "(.*)"')
_AMOUNT: Final = re.compile(r'"([0-9.]+) ?([A-Za-z]{1,3})": (?:quantities must|unable to parse)')
_UNITS: Final = {
    **{unit: unit for unit in ("m", "k")},
    **{unit.lower(): unit for unit in ("M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi")},
    **{f"{unit}b": unit.upper().replace("K", "k") for unit in "kmgtp"},
    **{f"{unit}ib": f"{unit.upper()}i" for unit in "kmgtp"},
    "mm": "m",
}


def is_foreign(value: Any) -> bool:
    """Whether this is some other object: it says what it is, and is nothing like what dray has."""
    api_version, kind = (
        value.get(name) if isinstance(value, dict) else None for name in ("apiVersion", "kind")
    )
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
        return False
    try:
        find_kind(api_version, kind)
    except DecodeError as error:
        # With a hint, it is more likely a mistake than a kind of someone else's.
        return ";" not in error.rule
    return False


def _structs(value: Any, path: str, around: _Around) -> Iterator[tuple[str, Struct, _Around]]:
    """The structs with unknown fields."""
    if isinstance(value, Struct):
        if isinstance(value.unknown_fields, UnknownFields):
            yield path, value, around
        inside = (*around, (path, type(value)))
        for name, attribute in _names(type(value)).items():
            yield from _structs(getattr(value, attribute), _join(path, name), inside)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _structs(item, f"{path}[{index}]", around)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _structs(item, _join(path, key), around)


def _hint(kind: type[Struct], path: str, name: str, member: Any, around: _Around) -> str:
    known = _names(kind)
    for inner, attribute_type in _struct_fields(kind):
        if name in _names(attribute_type):
            # Deep inside, the rest of the path only gets in the way of the point.
            return f"did you mean {inner if '.' in path else _join(path, inner)}.{name}?"
    if isinstance(member, Mapping) and member and all(key in known for key in member):
        return f"its fields belong here directly, without {quote(name)}"
    for where, outer in reversed(around):
        if name in _names(outer):
            return f"it is a field of {where or 'the object itself'}: check the indentation"
    same = [candidate for candidate in known if candidate.lower() == name.lower()]
    near = same or get_close_matches(shorten(name), known, n=1)
    return f"did you mean {near[0]}?" if near else ""


@cache
def _names(kind: type[Struct]) -> dict[str, str]:
    """Wire names to attribute names."""
    return {
        field.encode_name: field.name
        for field in msgspec.structs.fields(kind)
        if field.encode_name != UNKNOWN_MEMBER
    }


@cache
def _struct_fields(kind: type[Struct]) -> tuple[tuple[str, type[Struct]], ...]:
    return tuple(
        (field.encode_name, candidate)
        for field in msgspec.structs.fields(kind)
        for candidate in (field.type, *get_args(field.type))
        if isinstance(candidate, type) and issubclass(candidate, Struct)
    )


def _join(path: str, name: str) -> str:
    return f"{path}.{shorten(name)}" if path else shorten(name)
