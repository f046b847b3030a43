"""Which amounts of a capacity there are."""

from __future__ import annotations

import pytest

from dray.allocator.explain.policies import rule_of, valid_amount
from dray.api.resource import CapacityRequestPolicy, CapacityRequestPolicyRange
from tests.unit.allocator.builders import amount


def policy(*values: str, **bounds: str) -> CapacityRequestPolicy:
    low, high, step = (
        amount(bounds[name]) if name in bounds else None for name in ("min", "max", "step")
    )
    span = CapacityRequestPolicyRange(min=low, max=high, step=step)
    return CapacityRequestPolicy(
        valid_values=tuple(map(amount, values)), valid_range=span if bounds else None
    )


@pytest.mark.parametrize(
    ("of", "wanted", "rule"),
    [
        (policy(min="2Gi", max="16Gi", step="2Gi"), "20Gi", "at most 16Gi"),
        (policy(min="4Gi", max="15Gi", step="3Gi"), "14Gi", "steps of 3Gi from 4Gi, at most 15Gi"),
        (policy(min="4Gi", step="2Gi"), "5Gi", "steps of 2Gi from 4Gi"),
        (policy(min="4Gi"), "1Gi", "at least 4Gi"),
        (policy("4Gi", "8Gi", "16Gi"), "20Gi", "one of 4Gi, 8Gi, 16Gi"),
        (policy(*map(str, range(1, 11))), "20", "one of 1, 2, 3, 4, 5, 6, 7, … 10"),
        (policy(), "20Gi", ""),
        (None, "20Gi", ""),
    ],
)
def test_the_rule_is_told_that_an_amount_breaks(
    of: CapacityRequestPolicy | None, wanted: str, rule: str
) -> None:
    assert rule_of(of, amount(wanted)) == rule


@pytest.mark.parametrize(
    ("of", "left", "valid"),
    [
        (policy(min="2Gi", max="16Gi", step="2Gi"), "24Gi", "16Gi"),
        (policy(min="2Gi", max="16Gi", step="2Gi"), "9Gi", "8Gi"),
        (policy(min="2Gi", max="16Gi", step="2Gi"), "1Gi", "0"),
        (policy(min="2Gi"), "3Gi", "3Gi"),
        (policy(max="2Gi"), "3Gi", "2Gi"),
        (policy("4Gi", "8Gi"), "7Gi", "4Gi"),
        (policy("4Gi", "8Gi"), "3Gi", "0"),
        (policy(), "3Gi", "3Gi"),
        (None, "3Gi", "3Gi"),
        (None, "-3Gi", "0"),
    ],
)
def test_an_amount_is_lowered_to_one_that_is_handed_out(
    of: CapacityRequestPolicy | None, left: str, valid: str
) -> None:
    assert valid_amount(of, amount(left).nano) == amount(valid).nano
