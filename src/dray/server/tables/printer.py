"""What a table needs to know of a kind: its columns, and the cells of an object.

A printer reads an object by its attributes, so it prints a typed one as well as a glimpse of one: a
struct of a few fields under the same names, which skips the rest of a stored value instead of
building it. A list of thousands is read by glimpses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Final, TypeAlias

import msgspec

from dray.api import codec
from dray.api.wire import Struct
from dray.server.tables.durations import age

__all__ = [
    "AGE",
    "CREATED_AT",
    "NAME",
    "NONE",
    "Cells",
    "Column",
    "Glimpse",
    "MetadataGlimpse",
    "ObjectGlimpse",
    "Printer",
    "created_at",
    "name_and_age",
]

Cells: TypeAlias = list[Any]

NONE: Final = "<none>"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; those of a priority above 0 are for people who ask for more."""

    name: str
    description: str
    type: str = "string"
    priority: int = 0
    format: str = ""


NAME: Final = Column("Name", "What the object is called.", format="name")
AGE: Final = Column("Age", "How long the object has existed.")
CREATED_AT: Final = Column("Created At", "Since when the object exists.", type="date")


class Glimpse(msgspec.Struct, rename="camel", gc=False):
    """Some fields of a stored struct, named as its type names them. Times stay text."""


class MetadataGlimpse(Glimpse):
    """What every row shows of metadata."""

    name: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class ObjectGlimpse(Glimpse):
    """An object of which nothing but its metadata is looked at."""

    metadata: MetadataGlimpse


class Printer:
    """How objects of one kind become rows."""

    def __init__(
        self,
        columns: Sequence[Column],
        cells: Callable[[Any, datetime], Cells],
        read: type[Any] | Callable[[bytes], Any] = ObjectGlimpse,
        conditions: Callable[[Any], bytes] | None = None,
    ) -> None:
        """`read` makes of a stored value what `cells` prints; a type is decoded into.

        `conditions` gives the JSON of an object's row conditions, or nothing.
        """
        self.columns = tuple(columns)
        self.cells = cells
        self._conditions = conditions
        self._read: Callable[[bytes], Any] = read
        if isinstance(read, type) and issubclass(read, Struct):
            self._read = partial(_decode, kind=read)
        elif isinstance(read, type) and issubclass(read, Glimpse):
            self._read = msgspec.json.Decoder(read).decode

    def row(self, obj: Any, now: datetime, embedded: bytes) -> bytes:
        """The row of an object, with the JSON to show as it; `null` for none."""
        cells = _encode(self.cells(obj, now))
        conditions = self._conditions(obj) if self._conditions else b""
        if conditions:
            return b'{"cells":%b,"conditions":%b,"object":%b}' % (cells, conditions, embedded)
        return b'{"cells":%b,"object":%b}' % (cells, embedded)

    def stored_row(self, value: bytes, now: datetime, embedded: bytes) -> bytes:
        """The row of an object's JSON, in the version it is stored in."""
        return self.row(self._read(value), now, embedded)

    @cached_property
    def column_definitions(self) -> bytes:
        """The columns as JSON."""
        return _encode(
            [
                {
                    "name": column.name,
                    "type": column.type,
                    "format": column.format,
                    "description": column.description,
                    "priority": column.priority,
                }
                for column in self.columns
            ]
        )


_encode: Final = msgspec.json.Encoder().encode


def _decode(value: bytes, kind: type[Struct]) -> Struct:
    # What is stored was small enough once.
    return codec.decode(value, kind, bytes_max=len(value))


def created_at(obj: Any, now: datetime) -> Cells:
    """The cells of a kind that has no columns of its own."""
    del now
    created = obj.metadata.creation_timestamp
    return [obj.metadata.name, str(created) if created else "0001-01-01T00:00:00Z"]


def name_and_age(obj: Any, now: datetime) -> Cells:
    """The cells of a kind of which there is nothing else to tell."""
    return [obj.metadata.name, age(obj.metadata.creation_timestamp, now)]
