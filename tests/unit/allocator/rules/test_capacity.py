"""What a request takes of a device's capacities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator.rules.capacity import consume
from dray.api.quantity import Quantity
from dray.api.resource import DeviceCapacity
from dray.errors import AllocationError
from tests.unit.allocator.builders import amount, capacity

UNREPRESENTABLE = (
    'capacity "memory": capacity request cannot be represented in the device\'s range arithmetic: '
)


def taken(wanted: str | None, of: DeviceCapacity, *, fractional: bool = False) -> str | None:
    """The text of what is taken of one capacity; None where the device is refused."""
    requests = {} if wanted is None else {"memory": amount(wanted)}
    consumed = consume(requests, {"memory": of}, fractional=fractional)
    return None if consumed is None else str(consumed["memory"])


def test_a_device_without_a_wanted_capacity_is_refused() -> None:
    assert consume({"cores": amount("1")}, {"memory": capacity("1Gi")}, fractional=False) is None


def test_nothing_is_taken_of_a_device_without_capacities() -> None:
    assert consume({}, {}, fractional=False) == {}


def test_every_capacity_of_the_device_is_taken_from() -> None:
    consumed = consume(
        {"memory": amount("1Gi")},
        {"memory": capacity("8Gi"), "cores": capacity("4")},
        fractional=False,
    )
    assert consumed == {"memory": amount("1Gi"), "cores": amount("4")}


@pytest.mark.parametrize(
    ("wanted", "of", "expected"),
    [
        pytest.param(None, capacity("8Gi"), "8Gi", id="not-asked-takes-all"),
        pytest.param(None, capacity("8Gi", default="1Gi"), "1Gi", id="not-asked-takes-the-default"),
        pytest.param(
            None, capacity("8", values=["1", "8"]), "8", id="no-default-takes-all-if-it-is-listed"
        ),
        pytest.param(None, capacity("8", values=["1", "4"]), None, id="all-is-not-listed"),
        pytest.param("1500m", capacity("8Gi"), "1500m", id="no-policy-takes-what-is-asked"),
        pytest.param("3", capacity("8", default="1"), "3", id="a-default-alone-allows-anything"),
        pytest.param("3", capacity("8", values=["2", "4", "8"]), "4", id="rounded-up-to-a-value"),
        pytest.param("9", capacity("9", values=["2", "4", "8"]), None, id="above-all-values"),
        pytest.param("1", capacity("8", lowest="2"), "2", id="raised-to-the-minimum"),
        pytest.param("2.5", capacity("8", lowest="2"), "2500m", id="no-step-takes-what-is-asked"),
        pytest.param("8", capacity("9", lowest="2", highest="7"), None, id="above-the-maximum"),
        pytest.param("3", capacity("8", lowest="2", step="4"), "6", id="rounded-up-to-a-step"),
        pytest.param("6", capacity("8", lowest="2", step="4"), "6", id="on-a-step-already"),
        pytest.param(
            "7", capacity("9", lowest="2", highest="9", step="4"), None, id="stepped-past-the-end"
        ),
        pytest.param(
            "1500Mi", capacity("8Gi", lowest="1Gi", step="1Gi"), "2Gi", id="the-suffix-of-the-step"
        ),
        pytest.param(
            "1073741825", capacity("8Gi", lowest="1Gi", step="1G"), "2073741824", id="a-plain-step"
        ),
        pytest.param(None, capacity("8", lowest="2", step="4"), None, id="all-is-off-the-steps"),
        pytest.param("3", capacity("8", highest="4"), "3", id="a-maximum-alone"),
    ],
)
def test_a_policy_shapes_what_is_taken(
    wanted: str | None, of: DeviceCapacity, expected: str | None
) -> None:
    assert taken(wanted, of) == expected


def test_a_range_without_a_minimum_still_rounds_to_listed_values() -> None:
    assert taken("3", capacity("8", values=["4"], highest="4")) == "4"


@pytest.mark.parametrize(
    ("wanted", "of", "whole", "fractional"),
    [
        pytest.param(
            "1100m", capacity("8", lowest="500m", step="500m"), "2", "1500m", id="half-steps"
        ),
        pytest.param(
            "1600m", capacity("8", lowest="1", step="500m"), "2", "2", id="comes-out-even"
        ),
        pytest.param("3", capacity("8", lowest="2", step="4"), "6", "6", id="whole-bounds"),
        pytest.param(
            "1.5Gi", capacity("8Gi", lowest="0.5Gi", step="0.5Gi"), "1536Mi", "1536Mi", id="binary"
        ),
        pytest.param(
            "2", capacity("8", lowest="1", step="1u"), "2", "2", id="a-step-finer-than-thousandths"
        ),
        pytest.param(
            "2.2", capacity("1E", lowest="1", highest="1E", step="1"), "3", "3", id="a-huge-maximum"
        ),
    ],
)
def test_ranges_are_computed_in_thousandths_where_the_feature_and_the_bounds_allow(
    wanted: str, of: DeviceCapacity, whole: str, fractional: str
) -> None:
    assert taken(wanted, of) == whole
    assert taken(wanted, of, fractional=True) == fractional


@pytest.mark.parametrize(
    ("wanted", "of", "fractional", "rule"),
    [
        pytest.param(
            "10E",
            capacity("1", lowest="1", step="1"),
            False,
            "request 10E exceeds MaxInt64",
            id="beyond-int64",
        ),
        pytest.param(
            "9223372036854775807",
            capacity("1", lowest="1", step="4"),
            False,
            "rounding request 9223372036854775807 up to the next step passes MaxInt64",
            id="rounds-beyond-int64",
        ),
        pytest.param(
            "1.0005",
            capacity("8", lowest="500m", step="500m"),
            True,
            "request 1000500u is not a representable milli value",
            id="finer-than-thousandths",
        ),
        pytest.param(
            "9223372036854775800m",
            capacity("8", lowest="500m", step="500m"),
            True,
            "rounding request 9223372036854775800m up to the next step "
            "passes the milli-value range",
            id="rounds-beyond-thousandths",
        ),
    ],
)
def test_an_amount_the_arithmetic_cannot_hold_ends_the_attempt(
    wanted: str, of: DeviceCapacity, fractional: bool, rule: str
) -> None:
    with pytest.raises(AllocationError) as caught:
        taken(wanted, of, fractional=fractional)
    assert str(caught.value) == UNREPRESENTABLE + rule


@pytest.mark.parametrize(
    ("wanted", "of"),
    [
        pytest.param("-1", capacity("8"), id="asked"),
        pytest.param(None, capacity("-8"), id="published"),
        pytest.param(None, capacity("8", default="-1"), id="default"),
        pytest.param("-3", capacity("8", lowest="-2"), id="minimum"),
    ],
)
def test_a_negative_amount_ends_the_attempt(wanted: str | None, of: DeviceCapacity) -> None:
    with pytest.raises(AllocationError, match=r'^capacity "memory": capacity value is negative$'):
        taken(wanted, of)


def test_a_failure_wins_over_a_refusal_whichever_comes_first_by_name() -> None:
    refusing = capacity("8", values=["1"])
    with pytest.raises(AllocationError, match=r'^capacity "b": '):
        consume(
            {"a": amount("5"), "b": amount("-1"), "c": amount("5")},
            {"a": refusing, "b": capacity("8"), "c": refusing},
            fractional=False,
        )


def test_of_several_failures_the_first_by_name_is_told() -> None:
    with pytest.raises(AllocationError, match=r'^capacity "a": '):
        consume({}, {"b": capacity("-1"), "a": capacity("-1")}, fractional=False)


@pytest.mark.parametrize(
    ("wanted", "of"),
    [
        pytest.param("3", capacity("8", lowest="1", step="0"), id="asked-with-a-step-of-zero"),
        pytest.param(None, capacity("8", lowest="1", step="0"), id="all-with-a-step-of-zero"),
        pytest.param("3", capacity("8", step="1"), id="asked-without-a-minimum"),
        pytest.param(None, capacity("8", step="1"), id="all-without-a-minimum"),
    ],
)
@pytest.mark.parametrize("fractional", [False, True])
def test_a_range_that_cannot_be_computed_refuses_the_device(
    wanted: str | None, of: DeviceCapacity, fractional: bool
) -> None:
    assert taken(wanted, of, fractional=fractional) is None


@pytest.mark.parametrize(
    ("wanted", "default", "expected"),
    [
        pytest.param(None, "3", "3", id="the-default-itself"),
        pytest.param("3", "3", "3", id="asked-for"),
        pytest.param("500m", "0.500", "500m", id="printed-alike"),
        pytest.param("3000m", "3", None, id="other-unit"),
        pytest.param("+3", "3", None, id="other-text"),
        pytest.param("3", "3e0", None, id="other-format"),
        pytest.param(None, "1.5Gi", None, id="held-as-a-decimal"),
    ],
)
def test_an_amount_that_prints_like_the_default_is_the_default(
    wanted: str | None, default: str, expected: str | None
) -> None:
    assert taken(wanted, capacity("8", default=default, values=["0"])) == expected


ONE = {"cores": capacity("4"), "memory": capacity("8Gi")}


small = st.integers(min_value=0, max_value=5000)


@given(small, small, st.integers(min_value=1, max_value=700), st.booleans())
def test_what_is_taken_is_the_least_step_that_suffices(
    wanted: int, lowest: int, step: int, fractional: bool
) -> None:
    make = Quantity.from_milli if fractional else Quantity.from_int
    of = capacity("1M", lowest=make(lowest), step=make(step))
    consumed = consume({"memory": make(wanted)}, {"memory": of}, fractional=fractional)
    assert consumed is not None
    expected = lowest
    while expected < wanted:
        expected += step
    assert consumed["memory"] == make(expected)
