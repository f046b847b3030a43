"""Conditions of any status."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.meta import Condition
from dray.api.wire import Time
from dray.validation.conditions import (
    CONDITION_MESSAGE_BYTES_MAX,
    CONDITION_REASON_BYTES_MAX,
    check_conditions,
)
from tests.unit.validation.builders import told


def condition(**fields: Any) -> Condition:
    good: dict[str, Any] = {
        "type": "Ready",
        "status": "True",
        "reason": "AllFine",
        "last_transition_time": Time.parse("2025-03-01T10:00:00Z"),
    }
    return Condition(**{**good, **fields})


@pytest.mark.parametrize(
    "fields",
    [{}, {"status": "Unknown"}, {"reason": "A:b,c_1"}, {"type": "example.com/Ready"}],
    ids=str,
)
def test_good_conditions_pass(fields: dict[str, Any]) -> None:
    assert told(check_conditions, [condition(**fields)], "c") == []


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"type": ""}, "c[0].type: Required value: is required"),
        ({"status": ""}, "c[0].status: Required value"),
        (
            {"status": "Yes"},
            'c[0].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"',
        ),
        (
            {"observed_generation": -1},
            "c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
        ),
        ({"last_transition_time": None}, "c[0].lastTransitionTime: Required value"),
        ({"reason": ""}, "c[0].reason: Required value"),
        (
            {"reason": "a" * (CONDITION_REASON_BYTES_MAX + 1)},
            "c[0].reason: Too long: may not be more than 1024 bytes",
        ),
        (
            {"message": "é" * (CONDITION_MESSAGE_BYTES_MAX // 2 + 1)},
            "c[0].message: Too long: may not be more than 32768 bytes",
        ),
    ],
    ids=str,
)
def test_a_bad_condition_is_told_where_and_why(fields: dict[str, Any], text: str) -> None:
    assert told(check_conditions, [condition(**fields)], "c") == [text]


@pytest.mark.parametrize("reason", ["1st", "a-b", "ends,", "with space", "a\n"])
def test_a_reason_is_a_word_for_programs(reason: str) -> None:
    (text,) = told(check_conditions, [condition(reason=reason)], "c")
    assert "a condition reason must start with alphabetic character" in text


def test_each_type_comes_once() -> None:
    assert told(check_conditions, [condition(), condition()], "c") == [
        'c[1]: Duplicate value: "Ready"'
    ]
