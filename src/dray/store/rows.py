"""A row of the log: one change, with what is needed to notice that it, or its neighbour, is gone.

`step` is how far the revision is from that of the row before, so a lost row shows in the next one;
it is 1 unless a write was refused in between, and SQLite stores a 1 in no bytes at all. `previous`
is the revision at which the key was last written, so compaction knows what a row replaces without
an index. `checksum` covers all the rest.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final
from zlib import crc32

from dray.store.store import Record

__all__ = ["COLUMNS", "Row", "delete_row", "flaw", "put_row", "record_of"]

COLUMNS: Final = ("revision", "step", "key", "value", "created", "previous", "checksum")

# As the columns; no value where the key was removed, no `created` there either, no `previous` where
# the key is new.
Row = tuple[int, int, str, bytes | None, int, int, int]

_NUMBERS: Final = Struct("<qqqq?").pack


def put_row(record: Record, step: int, previous: int) -> Row:
    """The row of a value written."""
    revision, key, value, created = record.revision, record.key, record.value, record.created
    checksum = _checksum(revision, step, key, value, created, previous)
    return revision, step, key, value, created, previous, checksum


def delete_row(revision: int, key: str, step: int, previous: int) -> Row:
    """The row of a key removed."""
    checksum = _checksum(revision, step, key, None, 0, previous)
    return revision, step, key, None, 0, previous, checksum


def record_of(row: Row) -> Record | None:
    """What the key holds since this row."""
    revision, _, key, value, created, _, _ = row
    return None if value is None else Record(key, value, created, revision)


def flaw(row: Any) -> str:
    """What is wrong with a row by itself; empty if nothing is."""
    revision, step, key, value, created, previous, checksum = row
    # SQLite columns take any type, and a damaged page may hold one.
    if (
        type(key) is not str
        or not (value is None or type(value) is bytes)
        or not (type(step) is type(created) is type(previous) is int)
    ):
        return "has columns of the wrong type"
    if checksum != _checksum(revision, step, key, value, created, previous):
        return "does not match its checksum"
    return ""


def _checksum(
    revision: int, step: int, key: str, value: bytes | None, created: int, previous: int
) -> int:
    numbers = crc32(_NUMBERS(revision, step, created, previous, value is None))
    return crc32(value or b"", crc32(key.encode(), numbers))
