"""Every kind has a printer, and its rows are as wide as its columns."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from dray.api import codec, core
from dray.api.scheme import Kind, kinds
from dray.server.tables.printers import printer_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: f"{kind.plural}.{kind.group}")
def test_an_empty_object_of_every_kind_fills_its_row(kind: Kind) -> None:
    printer = printer_of(kind.group, kind.name)
    # Events are stored in core's form, whichever group asks.
    stored = core.Event if kind.name == "Event" else kind.hub.type
    row = printer.stored_row(codec.encode(stored()), NOW, b"null")
    assert len(json.loads(row)["cells"]) == len(printer.columns)
    assert sum(column.format == "name" for column in printer.columns) == 1


def test_kinds_nobody_prints_say_when_they_were_made() -> None:
    columns = printer_of("example.com", "Widget").columns
    assert [column.name for column in columns] == ["Name", "Created At"]
