"""Rows and column definitions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from dray.api import core
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.server.tables.printer import (
    AGE,
    CREATED_AT,
    NAME,
    Column,
    Printer,
    created_at,
    name_and_age,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
META = ObjectMeta(name="web", creation_timestamp=Time.parse("2025-12-31T23:59:00Z"))
STORED = b'{"metadata":{"name":"web","creationTimestamp":"2025-12-31T23:59:00Z"},"data":{"a":"b"}}'


def test_a_row_holds_cells_and_the_object() -> None:
    printer = Printer((NAME, AGE), name_and_age)
    row = json.loads(printer.row(core.ConfigMap(metadata=META), NOW, b'{"x":1}'))
    assert row == {"cells": ["web", "60s"], "object": {"x": 1}}


def test_a_stored_value_prints_as_the_object_does() -> None:
    printer = Printer((NAME, AGE), name_and_age)
    typed = printer.row(core.ConfigMap(metadata=META), NOW, b"null")
    assert printer.stored_row(STORED, NOW, b"null") == typed


def test_a_type_of_the_api_is_decoded_in_full() -> None:
    def count(obj: Any, now: datetime) -> list[Any]:
        return [len(obj.data), isinstance(obj.metadata.creation_timestamp, Time)]

    row = json.loads(Printer((), count, core.ConfigMap).stored_row(STORED, NOW, b"null"))
    assert row["cells"] == [1, True]


def test_conditions_are_there_only_if_there_are_any() -> None:
    printer = Printer((NAME, AGE), name_and_age, conditions=lambda obj: b'[{"type":"Completed"}]')
    row = json.loads(printer.stored_row(STORED, NOW, b"null"))
    assert row["conditions"] == [{"type": "Completed"}]


def test_column_definitions_leave_nothing_out() -> None:
    printer = Printer((NAME, Column("Size", "How big.", type="integer", priority=1)), name_and_age)
    assert json.loads(printer.column_definitions) == [
        {
            "name": "Name",
            "type": "string",
            "format": "name",
            "description": NAME.description,
            "priority": 0,
        },
        {
            "name": "Size",
            "type": "integer",
            "format": "",
            "description": "How big.",
            "priority": 1,
        },
    ]


def test_a_kind_without_columns_says_when_it_was_made() -> None:
    printer = Printer((NAME, CREATED_AT), created_at)
    assert json.loads(printer.stored_row(STORED, NOW, b"null"))["cells"] == [
        "web",
        "2025-12-31T23:59:00Z",
    ]
    unborn = json.loads(printer.row(core.ConfigMap(), NOW, b"null"))
    assert unborn["cells"] == ["", "0001-01-01T00:00:00Z"]
