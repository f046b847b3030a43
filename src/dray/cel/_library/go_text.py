"""How Go prints texts and values where an error message of upstream shows one.

Not CEL's conversion to string, which has its own module: `%v` prints null as 0, bytes as numbers.
A text may hold single bytes that are no UTF-8, because unescaping a URL makes such texts: they are
kept as Python's surrogate escapes, one code point per byte, which is also how CEL counts them.

A timestamp is shown in UTC whatever zone it was written in, and a format without its address in
upstream's memory; both are departures in wording alone.

Upstream counterparts: Go's fmt (`%v`, `%q`), strconv.Quote, Duration.String and Time.String.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from dray.cel._library.bounds import within
from dray.cel._library.conversions import convert
from dray.cel._values import (
    LISTS,
    MAPS,
    NONE,
    DerivedQuantity,
    Duration,
    Optional,
    Timestamp,
    UInt,
    Value,
    decode_key,
)
from dray.errors import quote

__all__ = ["from_bytes", "quoted", "shown", "to_bytes"]

SHOWN_MAX: Final = 1_000_000
"""The most characters of a value in an error. Upstream shows all of it, which nobody would read."""


def to_bytes(text: str) -> bytes:
    """The bytes that upstream holds for a text."""
    return text.encode("utf-8", "surrogateescape")


def from_bytes(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


_STRAY: Final = re.compile("([\udc80-\udcff])")


def quoted(text: str) -> str:
    """The text in double quotes; a byte that is no UTF-8 shows as its two hexadecimal digits."""
    pieces = _STRAY.split(text)
    return '"' + "".join(_escaped(piece) for piece in pieces) + '"'


def _escaped(piece: str) -> str:
    if _STRAY.fullmatch(piece):
        return f"\\x{ord(piece) - 0xDC00:02x}"
    return quote(piece)[1:-1]


def shown(value: Value) -> str:
    """The value as `%v` prints it; raises Abort for one whose text would be too long to make."""
    if type(value) is str:
        within(len(value))
        return value
    pieces: list[str] = []
    size = 0
    waiting: list[Iterator[Value | _Text]] = [iter((value,))]
    while waiting:
        item: Value = next(waiting[-1], _END)
        if item is _END:
            waiting.pop()
            continue
        kind = type(item)
        if kind in LISTS:
            waiting.append(_list_parts(item))
        elif kind in MAPS:
            waiting.append(_map_parts(item))
        elif kind is Optional and item is not NONE:
            waiting.append(iter((_Text("optional("), item.value, _Text(")"))))
        else:
            text = _SCALARS.get(kind, str)(item)
            size = within(size + len(text), SHOWN_MAX)
            pieces.append(text)
    return "".join(pieces)


class _Text(str):
    """What stands between the parts of a value, as opposed to a text that is one."""

    __slots__ = ()


_END: Final = object()


def _list_parts(items: list[Value]) -> Iterator[Value | _Text]:
    separator = _Text("[")
    for item in items:
        yield separator
        yield item
        separator = _Text(", ")
    yield _Text("]" if items else "[]")


def _map_parts(entries: dict[Value, Value]) -> Iterator[Value | _Text]:
    separator = _Text("{")
    for key, value in entries.items():
        yield separator
        yield decode_key(key)
        yield _Text(": ")
        yield value
        separator = _Text(", ")
    yield _Text("}" if entries else "{}")


def _duration(value: Duration) -> str:
    """As `1h2m3.5s`: hours only from an hour up, and a smaller unit below a second."""
    sign = "-" if value.nanoseconds < 0 else ""
    rest = abs(value.nanoseconds)
    if rest < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if rest >= size:
                return f"{sign}{_decimal(rest, size)}{unit}"
        return "0s"
    minutes, seconds = divmod(rest, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(seconds, 1_000_000_000)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, fraction = divmod(amount, unit)
    digits = str(unit + fraction)[1:].rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _timestamp(value: Timestamp) -> str:
    moment = _EPOCH + timedelta(seconds=value.seconds)
    fraction = f".{value.nanoseconds:09d}".rstrip("0").rstrip(".")
    return f"{moment.year:04d}-{moment:%m-%d %H:%M:%S}{fraction} +0000 UTC"


def _bytes(value: bytes) -> str:
    within(4 * len(value))
    return f"[{' '.join(map(str, value))}]"


_SCALARS: Final[dict[type, Callable[[Value], str]]] = {
    bool: lambda value: "true" if value else "false",
    int: str,
    UInt: lambda value: str(int(value)),
    float: lambda value: str(convert("string", value)),
    str: str,
    bytes: _bytes,
    # Null is upstream's only value of a numeric enumeration.
    type(None): lambda _: "0",
    Duration: _duration,
    Timestamp: _timestamp,
    Optional: lambda _: "optional.none()",
    DerivedQuantity: lambda value: str(value.quantity),
}
