"""Quantities against recordings of upstream: every accessor of 21,000 texts, 5,400 pairs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dray.api.quantity import Quantity
from dray.errors import ParseError
from tests.conformance.recordings import read_recording

Answer = dict[str, Any]


def describe(text: str) -> Answer:
    """What the oracle is asked about one text, answered by dray."""
    answer: Answer = {}
    try:
        answer["json"] = str(Quantity.decode(text))
    except ParseError as error:
        answer["jsonError"] = error.rule
    try:
        quantity = Quantity.parse(text)
    except ParseError as error:
        return answer | {"error": error.rule}
    answer |= {
        "canonical": str(quantity),
        "format": quantity.format.value,
        "sign": quantity.sign,
        "value": quantity.value(),
        "milliValue": quantity.milli_value(),
        "approximateFloat": go_float(quantity.as_approximate_float()),
        "decimal": quantity.as_decimal(),
    }
    whole = quantity.as_int()
    return answer if whole is None else answer | {"asInt64": whole}


def describe_pair(a: str, b: str, factor: int) -> Answer:
    try:
        left, right = Quantity.parse(a), Quantity.parse(b)
    except ParseError as error:
        return {"error": error.rule}
    return {
        "cmp": (left > right) - (left < right),
        "equal": left == right,
        "sum": str(left + right),
        "difference": str(left - right),
        "product": str(left * factor),
    }


def go_float(number: float) -> str:
    """The float in one spelling, so that NaN equals NaN and -0 differs from 0."""
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return "NaN" if math.isnan(number) else repr(number)


def in_python_spelling(answer: Answer) -> Answer:
    if (text := answer.get("approximateFloat")) is None or text.endswith(("Inf", "NaN")):
        return answer
    return answer | {"approximateFloat": repr(float(text))}


@pytest.mark.slow
def test_every_recorded_text_reads_and_prints_as_upstream_does() -> None:
    asked = 0
    differences = []
    for request, answer in read_recording("quantities"):
        asked += 1
        got = describe(request["text"])
        if got != in_python_spelling(answer):
            differences.append((request["text"], got, answer))
    assert differences == []
    assert asked >= 20_000


@pytest.mark.slow
def test_every_recorded_pair_compares_and_computes_as_upstream_does() -> None:
    asked = 0
    differences = []
    for request, answer in read_recording("quantity-pairs"):
        asked += 1
        # Whether a product still fits upstream's int64 has no counterpart here.
        expected = {key: value for key, value in answer.items() if key != "exact"}
        got = describe_pair(request["a"], request["b"], request["factor"])
        if got != expected:
            differences.append((request, got, expected))
    assert differences == []
    assert asked >= 5_000
