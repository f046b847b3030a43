"""Custom resources as rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from dray.api.apiextensions import CustomResourceColumnDefinition
from dray.server.tables.custom import custom_columns

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WIDGET: dict[str, Any] = {
    "metadata": {"name": "w", "creationTimestamp": "2025-12-31T23:59:00Z"},
    "spec": {
        "size": 3,
        "weight": 1.5,
        "tiny": 2.5e-9,
        "round": 2.0,
        "shiny": True,
        "nothing": None,
        "map": {"b": "<", "a": [1]},
        "when": "2025-12-31T23:58:00Z",
        "soon": "soon",
        "empty": "",
    },
}


def column(path: str, kind: str) -> CustomResourceColumnDefinition:
    return CustomResourceColumnDefinition(name="X", type=kind, json_path=path)


@pytest.mark.parametrize(
    ("path", "kind", "cell"),
    [
        (".spec.size", "string", "3"),
        (".spec.weight", "string", "1.5"),
        (".spec.tiny", "string", "2.5e-09"),
        (".spec.round", "string", "2"),
        (".spec.shiny", "string", "true"),
        (".spec.nothing", "string", "<no value>"),
        (".spec.map", "string", '{"a":[1],"b":"\\u003c"}'),
        (".spec.missing", "string", None),
        (".spec.size", "integer", 3),
        (".spec.weight", "integer", 1),
        (".spec.shiny", "integer", None),
        (".spec.weight", "number", 1.5),
        (".spec.soon", "number", None),
        (".spec.shiny", "boolean", True),
        (".spec.size", "boolean", None),
        (".spec.when", "date", "2m"),
        (".spec.soon", "date", "<invalid>"),
        (".spec.empty", "date", "<unknown>"),
        (".spec.size", "date", None),
        (".spec.size", "object", None),
    ],
)
def test_a_cell_is_of_its_columns_type_or_empty(path: str, kind: str, cell: Any) -> None:
    printer = custom_columns([column(path, kind)])
    assert printer.cells(WIDGET, NOW) == ["w", cell]


def test_without_columns_there_is_the_age() -> None:
    printer = custom_columns([])
    assert [one.name for one in printer.columns] == ["Name", "Age"]
    row = json.loads(printer.stored_row(json.dumps(WIDGET).encode(), NOW, b"null"))
    assert row["cells"] == ["w", "60s"]


def test_a_column_keeps_what_its_definition_says() -> None:
    wide = CustomResourceColumnDefinition(
        name="Size", type="integer", format="int32", priority=1, json_path=".spec.size"
    )
    told = custom_columns([wide]).columns[1]
    assert (told.name, told.type, told.format, told.priority) == ("Size", "integer", "int32", 1)
    assert ".spec.size" in told.description


def test_columns_that_cannot_be_read_end_the_table() -> None:
    printer = custom_columns([column(".spec.size", "integer"), column(".spec[", "string")])
    assert len(printer.columns) == 2
