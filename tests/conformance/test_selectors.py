"""Selectors against recordings of upstream: errors, canonical text, and what they match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pytest

from dray.api import fields, labels
from dray.errors import ParseError
from tests.conformance.recordings import read_recording

Request = dict[str, Any]


class Matcher(Protocol):
    def matches(self, values: Mapping[str, str], /) -> bool: ...


def read_label_selector(request: Request) -> Matcher:
    if "text" in request:
        return labels.Selector.parse(request["text"])
    if "selector" not in request:
        return labels.Selector.nothing()
    selector = request["selector"]
    expressions = selector.get("matchExpressions", [])
    return labels.Selector.from_label_selector(
        selector.get("matchLabels", {}),
        [(item["key"], item["operator"], item.get("values", ())) for item in expressions],
    )


def read_field_selector(request: Request) -> Matcher:
    return fields.Selector.parse(request["text"])


def describe(read: Callable[[Request], Matcher], request: Request, tried: str) -> dict[str, Any]:
    try:
        selector = read(request)
    except ParseError as error:
        return {"error": error.rule}
    verdicts = [selector.matches(values) for values in request[tried]]
    return {"canonical": str(selector), "matches": verdicts}


@pytest.mark.parametrize(
    ("name", "read", "tried", "cases_min"),
    [
        pytest.param("label-selectors", read_label_selector, "labels", 2_000, id="labels"),
        pytest.param("field-selectors", read_field_selector, "fields", 700, id="fields"),
    ],
)
def test_every_recorded_selector_reads_prints_and_matches_as_upstream_does(
    name: str, read: Callable[[Request], Matcher], tried: str, cases_min: int
) -> None:
    cases = list(read_recording(name))
    differences = []
    for request, answer in cases:
        got = describe(read, request, tried)
        if got != answer:
            differences.append((request, got, answer))
    assert differences == []
    assert len(cases) >= cases_min
