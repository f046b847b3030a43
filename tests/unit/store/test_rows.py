from __future__ import annotations

from typing import Any

import pytest

from dray.store.rows import COLUMNS, delete_row, flaw, put_row, record_of
from dray.store.store import Record

RECORD = Record("/a", b"value", 3, 7)
PUT = put_row(RECORD, 1, 5)
DELETE = delete_row(8, "/a", 1, 7)


def test_a_row_holds_its_record() -> None:
    assert record_of(PUT) == RECORD
    assert record_of(DELETE) is None
    assert flaw(PUT) == flaw(DELETE) == ""


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", [PUT, DELETE], ids=["put", "delete"])
def test_a_change_to_any_column_is_noticed(row: tuple[Any, ...], column: str) -> None:
    index = COLUMNS.index(column)
    damaged = {"key": "/b", "value": b"other"}.get(column, 2)
    changed = (*row[:index], damaged, *row[index + 1 :])
    assert flaw(changed) == "does not match its checksum"


def test_an_empty_value_is_not_a_deletion() -> None:
    empty = put_row(Record("/a", b"", 0, 8), 1, 7)
    assert flaw((*empty[:3], None, *empty[4:])) == "does not match its checksum"


@pytest.mark.parametrize(("index", "value"), [(1, "1"), (2, b"/a"), (3, "text"), (4, None)])
def test_columns_of_another_type_are_noticed(index: int, value: object) -> None:
    assert flaw((*PUT[:index], value, *PUT[index + 1 :])) == "has columns of the wrong type"
