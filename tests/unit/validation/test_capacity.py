"""Request policies: lists of values, ranges with steps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.resource import CapacityRequestPolicy, CapacityRequestPolicyRange
from dray.validation.capacity import check_capacity
from tests.unit.validation.builders import capacity, quantity, told

FRACTIONS = FeatureGates({"DRAFractionalCapacityRange": True})


def errors(
    value: str,
    policy: CapacityRequestPolicy | None,
    *,
    shareable: bool = True,
    gates: FeatureGates = DEFAULT_GATES,
) -> list[str]:
    whole = capacity(value, request_policy=policy)
    texts = told(check_capacity, whole, "c", shareable=shareable, gates=gates)
    return [text.removeprefix("c.requestPolicy").removeprefix(".") for text in texts]


def values(*texts: str, default: str | None) -> CapacityRequestPolicy:
    return CapacityRequestPolicy(
        default=None if default is None else quantity(default),
        valid_values=tuple(map(quantity, texts)),
    )


def bounds(default: str | None, **texts: str) -> CapacityRequestPolicy:
    bounds: dict[str, Any] = {name: quantity(text) for name, text in texts.items()}
    return CapacityRequestPolicy(
        default=None if default is None else quantity(default),
        valid_range=CapacityRequestPolicyRange(**bounds),
    )


def test_capacity_without_a_policy_may_be_anything() -> None:
    assert errors("-1", None, shareable=False) == []


def test_only_shared_devices_have_policies() -> None:
    assert errors("1", CapacityRequestPolicy(), shareable=False) == [
        ": Forbidden: allowMultipleAllocations must be true"
    ]


def test_a_policy_is_of_one_kind() -> None:
    policy = CapacityRequestPolicy(
        valid_values=(quantity("1"),), valid_range=CapacityRequestPolicyRange()
    )
    (text,) = errors("1", policy)
    assert text.startswith(": Forbidden: exactly one policy can be specified")


@pytest.mark.parametrize(
    ("policy", "texts"),
    [
        pytest.param(values("1", "2", "10", default="2"), [], id="good"),
        pytest.param(values("1024Mi", default="1Gi"), [], id="default-by-value"),
        pytest.param(
            values("1", default=None),
            ["default: Required value: required when validValues is defined"],
            id="no-default",
        ),
        pytest.param(
            values("2", "1", default="1"),
            ['validValues[1]: Invalid value: "1": values must be sorted in ascending order'],
            id="unsorted",
        ),
        pytest.param(
            values("1", "2Gi", default="1"),
            ['validValues[1]: Invalid value: "2Gi": option is larger than capacity value: 1Gi'],
            id="too-large",
        ),
        pytest.param(
            values("1", default="3"),
            [
                (
                    'validValues: Invalid value: "3":'
                    " default value is not valid according to the requestPolicy"
                )
            ],
            id="another-default",
        ),
        pytest.param(
            values(*map(str, range(11)), default="1"),
            [
                "validValues: Too many: 11: must have at most 10 items",
                (
                    'validValues: Invalid value: "1":'
                    " default value is not valid according to the requestPolicy"
                ),
            ],
            id="too-many",
        ),
    ],
)
def test_a_list_of_values(policy: CapacityRequestPolicy, texts: list[str]) -> None:
    assert errors("1Gi", policy) == texts


def test_values_are_told_apart_in_whole_units_unless_fractions_are_on() -> None:
    policy = values("100m", "1", default="1")
    assert errors("1", policy) == ['validValues[1]: Duplicate value: "1"']
    assert errors("1", policy, gates=FRACTIONS) == []


@pytest.mark.parametrize(
    ("policy", "texts"),
    [
        pytest.param(bounds("1", min="1"), [], id="least"),
        pytest.param(bounds("4", min="2", max="8", step="2"), [], id="in-full"),
        pytest.param(
            bounds(None, min="1"),
            ["default: Required value: required when validRange is defined"],
            id="no-default",
        ),
        pytest.param(
            bounds("1", max="0"),
            ["validRange.min: Required value: required when validRange is defined"],
            id="no-least",
        ),
        pytest.param(
            bounds("11", min="11"),
            ['validRange.min: Invalid value: "11": min is larger than capacity value: 10'],
            id="least-beyond-capacity",
        ),
        pytest.param(
            bounds("1", min="2"),
            ['validRange.default: Invalid value: "1": default is less than min: 2'],
            id="default-below",
        ),
        pytest.param(
            bounds("3", min="3", max="2"),
            [
                'validRange.max: Invalid value: "3": min is larger than max: 2',
                'validRange.default: Invalid value: "3": default is more than max: 2',
            ],
            id="upside-down",
        ),
        pytest.param(
            bounds("1", min="1", max="11"),
            ['validRange.max: Invalid value: "11": max is larger than capacity value: 10'],
            id="most-beyond-capacity",
        ),
        pytest.param(
            bounds("1", min="1", step="0"),
            ['validRange.step: Invalid value: "0": must be greater than zero'],
            id="no-step",
        ),
        pytest.param(
            bounds("1", min="1", step="10"),
            ['validRange.step: Invalid value: "10": one step 11 is larger than capacity value: 10'],
            id="step-beyond-capacity",
        ),
        pytest.param(
            bounds("4", min="1", max="6", step="2"),
            [
                (
                    'validRange.step: Invalid value: "4":'
                    " value is not a multiple of a given step (2) from (1)"
                ),
                (
                    'validRange.step: Invalid value: "6":'
                    " value is not a multiple of a given step (2) from (1)"
                ),
            ],
            id="off-the-steps",
        ),
        pytest.param(
            bounds("1", min="-1", step="1"),
            ['validRange.min: Invalid value: "-1": must be greater than or equal to 0'],
            id="negative",
        ),
    ],
)
def test_a_range_of_values(policy: CapacityRequestPolicy, texts: list[str]) -> None:
    assert errors("10", policy) == texts


def test_bounds_beyond_64_bits_take_no_steps() -> None:
    assert errors("1e30", bounds("1e20", min="1e20", step="1")) == [
        'validRange.default: Invalid value: "100e18": must not be larger than 9223372036854775807',
        'validRange.min: Invalid value: "100e18": must not be larger than 9223372036854775807',
    ]


def test_fractions_are_rounded_up_unless_fractions_are_on() -> None:
    policy = bounds("1500m", min="1", step="1")
    assert errors("10", policy) == []
    assert errors("10", policy, gates=FRACTIONS) == [
        (
            'validRange.step: Invalid value: "1500m":'
            " value is not a multiple of a given step (1) from (1)"
        )
    ]


def test_fractions_finer_than_thousandths_are_refused() -> None:
    assert errors("10", bounds("1", min="1u", step="1"), gates=FRACTIONS) == [
        'validRange.min: Invalid value: "1u": value cannot be represented as a milli value'
    ]


@given(
    st.integers(0, 50),
    st.integers(1, 20),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_a_range_built_from_steps_is_accepted(
    least: int, step: int, default_steps: int, more_steps: int
) -> None:
    default = least + step * default_steps
    most = default + step * more_steps
    policy = bounds(str(default), min=str(least), max=str(most), step=str(step))
    assert errors(str(max(most, least + step)), policy) == []
