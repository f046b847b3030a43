"""What obstacles and values are called."""

from __future__ import annotations

import pytest

from dray.allocator.answers import HolderFacts
from dray.allocator.explain.wording import attribute_of, held, listed, position_of, show_value
from dray.allocator.rules.constraints import UNKNOWN, Value
from dray.api.resource import DeviceConstraint
from tests.unit.allocator.builders import claim, request, slice_
from tests.unit.allocator.reporting import allocator, inspector


@pytest.mark.parametrize(
    ("names", "text"),
    [
        pytest.param(["a"], "a", id="one"),
        pytest.param(["a", "b", "c"], "a, b, c", id="three"),
        pytest.param(["a", "b", "c", "d"], "a, b and 2 others", id="more"),
    ],
)
def test_a_few_names_are_told_and_more_are_counted(names: list[str], text: str) -> None:
    assert listed(names) == text


@pytest.mark.parametrize(
    ("holders", "text"),
    [
        pytest.param((("ml/a", 2), ("", 1)), "in use by ml/a", id="one-has-a-name"),
        pytest.param((("", 1),), "in use", id="none-has"),
    ],
)
def test_holders_are_told_by_name(holders: tuple[tuple[str, int], ...], text: str) -> None:
    assert held(HolderFacts(holders)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(("string", 'a"b'), r'"a\"b"', id="string"),
        pytest.param(("int", 7), "7", id="int"),
        pytest.param(("bool", True), "true", id="bool"),
        pytest.param(("bool", False), "false", id="no"),
        pytest.param(("version", "1.2.3"), "1.2.3", id="version"),
        pytest.param(UNKNOWN, "of unknown type", id="unknown"),
    ],
)
def test_values_are_written_as_people_write_them(value: Value, text: str) -> None:
    assert show_value(value) == text


def test_a_constraint_compares_one_attribute() -> None:
    assert attribute_of(DeviceConstraint(match_attribute="d/a")) == "d/a"
    assert attribute_of(DeviceConstraint(distinct_attribute="d/b")) == "d/b"


def test_a_constraint_is_numbered_in_its_own_claim() -> None:
    constraint = DeviceConstraint(match_attribute="d/a")
    claims = [claim(request(), name=name, constraints=(constraint,) * 2) for name in "xy"]
    looked = inspector(allocator(slice_()), *claims)
    assert [position_of(looked, number) for number in range(4)] == [0, 1, 0, 1]
