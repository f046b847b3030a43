"""The Table document."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from dray.errors import BadRequest
from dray.server.tables.document import NO_OBJECT, IncludeObject, table
from dray.server.tables.printer import AGE, NAME, Printer, name_and_age

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRINTER = Printer((NAME, AGE), name_and_age)
ROW = PRINTER.stored_row(b'{"metadata":{"name":"x"}}', NOW, NO_OBJECT)


def test_a_table_has_columns_and_rows() -> None:
    document = json.loads(table(PRINTER, [ROW, ROW], metadata=b'{"resourceVersion":"5"}'))
    assert (document["kind"], document["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert document["metadata"] == {"resourceVersion": "5"}
    assert [column["name"] for column in document["columnDefinitions"]] == ["Name", "Age"]
    assert document["rows"] == [{"cells": ["x", "<unknown>"], "object": None}] * 2


def test_a_watch_says_its_columns_once() -> None:
    document = json.loads(table(PRINTER, [ROW], version="v1beta1", with_columns=False))
    assert document["columnDefinitions"] is None
    assert document["apiVersion"] == "meta.k8s.io/v1beta1"


def test_an_empty_table_has_no_rows() -> None:
    assert json.loads(table(PRINTER, []))["rows"] == []


@pytest.mark.parametrize(
    ("text", "include"),
    [
        ("", IncludeObject.METADATA),
        ("Metadata", IncludeObject.METADATA),
        ("Object", IncludeObject.OBJECT),
        ("None", IncludeObject.NONE),
    ],
)
def test_a_query_says_what_rows_embed(text: str, include: IncludeObject) -> None:
    assert IncludeObject.parse(text) is include


def test_anything_else_is_refused() -> None:
    with pytest.raises(BadRequest, match="includeObject: Invalid value") as caught:
        IncludeObject.parse("Everything")
    assert caught.value.message.startswith("Unable to convert to Table as requested: ")
