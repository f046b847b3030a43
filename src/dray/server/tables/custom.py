"""Custom resources as their definition wants them shown: a column per JSONPath.

Upstream counterpart: apiextensions-apiserver pkg/registry/customresource/tableconvertor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from dray.api.apiextensions import CustomResourceColumnDefinition
from dray.api.wire import Time
from dray.errors import ParseError
from dray.server.tables.durations import INVALID, UNKNOWN, age
from dray.server.tables.json_path import JSONPath
from dray.server.tables.printer import NAME, Cells, Column, Printer

__all__ = ["custom_columns"]

_AGE: Final = CustomResourceColumnDefinition(
    name="Age",
    type="date",
    description="How long the object has existed.",
    json_path=".metadata.creationTimestamp",
)


def custom_columns(columns: Sequence[CustomResourceColumnDefinition]) -> Printer:
    """A printer of the objects' JSON values; without columns it shows their age.

    Of columns whose path cannot be read, and of all after them, nothing is shown: a definition is
    refused before it gets here.
    """
    headers = [NAME]
    writers: list[tuple[Callable[[Any], list[Any]], Callable[[Any, datetime], Any]]] = []
    for column in columns or (_AGE,):
        try:
            path = JSONPath.parse(column.json_path)
        except ParseError:
            break
        headers.append(
            Column(
                column.name,
                column.description or f"What is found at {column.json_path}.",
                column.type,
                column.priority,
                column.format,
            )
        )
        writers.append((path.find, _WRITERS.get(column.type, _nothing)))

    def cells(document: Mapping[str, Any], now: datetime) -> Cells:
        row: Cells = [document.get("metadata", {}).get("name", "")]
        for find, write in writers:
            found = find(document)
            row.append(write(found[0], now) if found else None)
        return row

    return Printer(headers, cells, msgspec.json.decode)


# Cells by the type of their column; a value of another type is not shown ------------------------

# Go's JSON is made to be safe inside a web page.
_HTML_ESCAPES: Final = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}


def _text(value: Any, now: datetime) -> str:
    del now
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, int):
        return str(value)
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text.translate(_HTML_ESCAPES)


def _float_text(value: float) -> str:
    """The shortest digits; an exponent of at least two digits, and only far out."""
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa}e{int(power):+03d}" if exponent else text


def _integer(value: Any, now: datetime) -> int | None:
    del now
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if -(2**63) <= value < 2**63 else None


def _number(value: Any, now: datetime) -> float | int | None:
    del now
    # JSON does not tell 3 from 3.0, and Go writes it the shorter way.
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else value


def _boolean(value: Any, now: datetime) -> bool | None:
    del now
    return value if isinstance(value, bool) else None


def _date(value: Any, now: datetime) -> str | None:
    if not isinstance(value, str):
        return None
    if value in ("", "null"):
        return UNKNOWN
    try:
        return age(Time.parse(value), now)
    except ParseError:
        return INVALID


def _nothing(value: Any, now: datetime) -> None:
    del value, now


_WRITERS: Final[Mapping[str, Callable[[Any, datetime], Any]]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
