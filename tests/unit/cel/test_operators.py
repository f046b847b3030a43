from __future__ import annotations

import pytest

from dray.api.semver import Semver
from dray.cel import Environment
from dray.cel._compiler import compile_any
from dray.cel._failures import Abort
from dray.cel._operators import differ, member_set, membership
from dray.cel._program import Evaluation
from dray.cel._values import UInt, Value

STORED = Environment(stored=True)
VERSION = Semver.parse("1.2.3")


def evaluated(text: str) -> Evaluation:
    compilation = compile_any(text, STORED)
    assert compilation.program is not None, compilation.error
    return compilation.program.evaluate({"device": {"driver": "d", "attributes": {"d": {}}}})


FAILS = 'device.attributes["d"].nope == 1'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{FAILS} || true", True),
        (f"true || {FAILS}", True),
        (f"{FAILS} && false", False),
        (f"false && {FAILS}", False),
        ("dyn(1) || true", True),
        ("dyn(null) == null", True),
        ("optional.none().or(optional.of(1))", None),
        ("optional.of(1).orValue(1 / 0)", 1),
        ("optional.none().orValue(2)", 2),
    ],
)
def test_the_dominant_value_wins_over_an_error_on_either_side(text: str, value: Value) -> None:
    got = evaluated(text)
    assert got.failure is None
    assert value is None or got.value == value


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (f"{FAILS} || false", "no such key: nope"),
        (f"true && {FAILS}", "no such key: nope"),
        ("dyn(1) || false", "no such overload"),
        (f"{FAILS} || dyn(1)", "no such key: nope"),
        ("optional.of(1 / 0).orValue(1)", "division by zero"),
    ],
)
def test_without_it_the_first_error_is_the_answer(text: str, failure: str) -> None:
    assert evaluated(text).failure == failure


def test_a_comparison_that_fails_is_a_difference() -> None:
    assert differ(VERSION, "1.2.3")
    assert not differ(1, 1.0)


def test_comparing_texts_costs_a_tenth_of_the_shorter() -> None:
    long = "x" * 95
    assert evaluated(f"device.driver == '{long}'").cost == 3
    assert evaluated(f"(device.driver + '{long}') == '{long}'").cost == 2 + 10 + 10


@pytest.mark.parametrize(
    ("values", "member", "held"),
    [
        (["a", "b"], "a", True),
        (["a"], 1, False),
        ([1, 2], 2.0, True),
        ([1], UInt(1), True),
        ([1], True, False),
        ([1.5], 1, False),
        ([2.0], 2, True),
    ],
)
def test_membership_in_constants(values: list[Value], member: Value, held: bool) -> None:
    members = member_set(values)
    assert members is not None
    assert membership(members)(member) is held


def test_only_plain_values_make_a_set() -> None:
    assert member_set([[1]]) is None


def test_a_version_sought_among_texts_ends_the_evaluation_as_upstreams_crash_does() -> None:
    members = member_set(["1.2.3"])
    assert members is not None
    with pytest.raises(Abort, match="hash of unhashable type"):
        membership(members)(VERSION)


@pytest.mark.parametrize(
    ("text", "value", "cost"),
    [
        ("device.driver == 'd'", True, 3),
        ("device.driver != 'd'", False, 3),
        ("dyn(1) == 'd'", False, 1),
        ("dyn(semver('1.0.0')) != 'd'", True, 3),
    ],
)
def test_comparing_with_a_text_that_is_written_out(text: str, value: bool, cost: int) -> None:
    got = evaluated(text)
    assert (got.value, got.cost) == (value, cost)


def test_a_failing_operand_is_charged_for_when_compared_with_a_text() -> None:
    got = evaluated('device.attributes["d"].nope == "x"')
    assert (got.failure, got.cost) == ("no such key: nope", 5)
