"""Rows against recordings of upstream's printers, each printed at the first second of 2000."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dray.api import codec
from dray.api.apiextensions import CustomResourceColumnDefinition
from dray.api.scheme import decode_any, to_hub
from dray.errors import ParseError
from dray.server.tables.custom import custom_columns
from dray.server.tables.durations import human_duration, short_human_duration
from dray.server.tables.json_path import JSONPath
from dray.server.tables.printer import Printer
from dray.server.tables.printers import printer_of

RECORDING = Path(__file__).parent / "rows.jsonl.gz"
NOW = datetime(2000, 1, 1, tzinfo=UTC)


def cases() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    with gzip.open(RECORDING, "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            case = json.loads(line)
            yield case["request"], case["answer"]


# Events are stored in core's form.
CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedCount": "count",
}


def as_stored(document: dict[str, Any]) -> dict[str, Any]:
    if document["apiVersion"] != "events.k8s.io/v1":
        return document
    renamed = {CORE_NAMES.get(name, name): value for name, value in document.items()}
    return renamed | {"apiVersion": "v1"}


def show(printer: Printer, row: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(row)
    assert told.pop("object") is None
    told["columns"] = [
        {key: value for key, value in column.items() if key != "description"}
        for column in json.loads(printer.column_definitions)
    ]
    return told


@pytest.mark.slow
def test_every_recorded_object_is_printed_as_upstream_prints_it() -> None:
    printed: Counter[str] = Counter()
    differences = []
    for request, answer in cases():
        if "object" not in request or request.get("custom"):
            continue
        kind, _version, _decoded = decode_any(request["object"])
        hub = to_hub(decode_any(as_stored(request["object"]))[2].value)
        printer = printer_of(kind.group, kind.name)
        typed = show(printer, printer.row(hub, NOW, b"null"))
        glimpsed = show(printer, printer.stored_row(codec.encode(hub), NOW, b"null"))
        printed[kind.name] += 1
        if typed != answer or glimpsed != answer:
            differences.append((request["object"], typed, glimpsed, answer))
    assert differences == []
    assert printed["Pod"] >= 500
    assert len(printed) >= 25


def test_every_recorded_duration_reads_as_upstreams_does() -> None:
    asked = [(request, answer) for request, answer in cases() if "seconds" in request]
    for request, answer in asked:
        length = timedelta(seconds=request["seconds"])
        told = {"long": human_duration(length), "short": short_human_duration(length)}
        assert told == answer, request
    assert len(asked) >= 150


def test_every_recorded_column_of_custom_resources_is_filled_as_upstream_fills_it() -> None:
    asked = [(request, answer) for request, answer in cases() if request.get("custom")]
    for request, answer in asked:
        path = request["columns"][0]["jsonPath"]
        if "error" in answer:
            try:
                JSONPath.parse(path)
            except ParseError:
                continue
            raise AssertionError(f"{path} is read, and upstream does not")
        columns = [
            codec.decode(json.dumps(column).encode(), CustomResourceColumnDefinition)
            for column in request["columns"]
        ]
        printer = custom_columns(columns)
        value = json.dumps(request["object"]).encode()
        assert show(printer, printer.stored_row(value, NOW, b"null")) == answer, path
    assert len(asked) >= 60
