"""Counts, and counts given as percentages."""

from __future__ import annotations

import pytest

from dray.validation.counts import (
    CountOrPercent,
    check_at_most_all,
    check_count_or_percent,
    check_not_decremented,
    check_not_negative,
    number_of,
)
from tests.unit.validation.builders import told


@pytest.mark.parametrize("value", [None, 0, 7])
def test_a_count_may_be_absent_or_nought(value: int | None) -> None:
    assert told(check_not_negative, value, "spec.replicas") == []


def test_a_count_is_not_negative() -> None:
    assert told(check_not_negative, -1, "spec.replicas") == [
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    ]


@pytest.mark.parametrize(
    ("new", "old", "shown"),
    [
        pytest.param(1, 2, "1", id="smaller"),
        pytest.param(None, 2, "0", id="gone"),
        pytest.param(None, 0, "0", id="gone-from-nought"),
    ],
)
def test_what_is_counted_once_is_not_uncounted(
    new: int | None, old: int | None, shown: str
) -> None:
    assert told(check_not_decremented, new, old, "status.collisionCount") == [
        f"status.collisionCount: Invalid value: {shown}: cannot be decremented"
    ]


@pytest.mark.parametrize(("new", "old"), [(2, 2), (3, 2), (0, None), (None, None)])
def test_a_count_may_stay_or_grow(new: int | None, old: int | None) -> None:
    assert told(check_not_decremented, new, old, "path") == []


@pytest.mark.parametrize("value", [0, 5, "0%", "25%", "250%"])
def test_a_count_or_a_percentage(value: CountOrPercent) -> None:
    assert told(check_count_or_percent, value, "path") == []


@pytest.mark.parametrize("value", ["5", "", "x%", "-5%", "1.5%", "٣%"])
def test_other_text_is_no_percentage(value: str) -> None:
    (text,) = told(check_count_or_percent, value, "path")
    assert text.startswith(f'path: Invalid value: "{value}": a valid percent string')


def test_a_negative_count_is_no_count() -> None:
    (text,) = told(check_count_or_percent, -2, "path")
    assert text == "path: Invalid value: -2: must be greater than or equal to 0"


def test_no_more_than_all_may_be_asked_for() -> None:
    assert told(check_at_most_all, "101%", "path") == [
        'path: Invalid value: "101%": must not be greater than 100%'
    ]


@pytest.mark.parametrize("value", [None, 1000, "100%", "1000"])
def test_a_plain_number_may_be_as_big_as_it_likes(value: CountOrPercent) -> None:
    assert told(check_at_most_all, value, "path") == []


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (None, 0),
        (3, 3),
        ("25%", 25),
        ("7", 7),
        ("-7", -7),
        ("x", 0),
        ("", 0),
        ("7%%", 0),
        ("0" * 30 + "7%", 7),
    ],
)
def test_text_counts_as_the_number_it_spells(value: CountOrPercent, number: int) -> None:
    assert number_of(value) == number


def test_a_flood_of_digits_is_a_big_number() -> None:
    assert number_of("9" * 100_000 + "%") > 100
