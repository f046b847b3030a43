"""What a request takes of a device's capacities, and whether that much is there.

Every capacity of a device is drawn from, asked for or not: a device's policy says how an amount is
rounded and which amounts it takes at all. A policy's refusal is an answer (another device may do),
while an amount that its arithmetic cannot hold ends the attempt: on no device would it be right.

The arithmetic is upstream's, on int64 that wrap where nothing guards them. The departures, none of
which objects that pass validation can show:
- a range with a step but without a minimum, or with a step of zero, refuses the device, where
  upstream panics (test_a_range_that_cannot_be_computed_refuses_the_device);
- whether an amount is the policy's default is told by the text it prints, where upstream looks
  for a text that it kept for some spellings only
  (test_an_amount_that_prints_like_the_default_is_the_default);
- of several capacities that fail, the first by name is reported, where upstream picks any
  (test_of_several_failures_the_first_by_name_is_told);
- a negative fraction is rounded the same way whatever it was compared with before.

Upstream counterpart: consumable_capacity.go of the structured allocator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api.quantity import Quantity
from dray.api.resource import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from dray.errors import AllocationError, quote

__all__ = ["consume"]

_INT64_MAX: Final = 2**63 - 1
_NANO_PER_UNIT: Final = 10**9
_NANO_PER_MILLI: Final = 10**6


def consume(
    wanted: Mapping[str, Quantity], capacity: Mapping[str, DeviceCapacity], *, fractional: bool
) -> Mapping[str, Quantity] | None:
    """How much of each of the device's capacities the request takes; None if it cannot be cut so.

    Whether that much is left is for others to say. `fractional` is the feature by which ranges are
    computed in thousandths.
    """
    if not wanted.keys() <= capacity.keys():
        return None
    consumed: dict[str, Quantity] = {}
    refused = False
    # An error wins over a refusal, whichever capacity comes first: all are resolved before any
    # policy is asked.
    for name in sorted(capacity):
        amount = _resolve(name, wanted.get(name), capacity[name], fractional=fractional)
        if amount is None:
            refused = True
            continue
        if amount.sign < 0:
            raise AllocationError(f"capacity {quote(name)}: capacity value is negative")
        consumed[name] = amount
    if refused:
        return None
    for name, amount in consumed.items():
        policy = capacity[name].request_policy
        if policy is not None and _violates(amount, policy, fractional=fractional):
            return None
    return consumed


# How much is taken -----------------------------------------------------------------------------


def _resolve(
    name: str, wanted: Quantity | None, capacity: DeviceCapacity, *, fractional: bool
) -> Quantity | None:
    """The amount a request comes to, before the policy has judged it; None if none can be found."""
    policy = capacity.request_policy
    if wanted is None:
        default = None if policy is None else policy.default
        return capacity.value if default is None else default
    if policy is None:
        return wanted
    span = policy.valid_range
    if span is not None and span.min is not None:
        return _round_to_range(name, wanted, span, span.min, fractional=fractional)
    # The list is in ascending order, so the first that suffices is the smallest.
    return next((value for value in policy.valid_values if wanted <= value), wanted)


def _round_to_range(
    name: str,
    wanted: Quantity,
    span: CapacityRequestPolicyRange,
    lowest: Quantity,
    *,
    fractional: bool,
) -> Quantity | None:
    step = span.step
    if wanted < lowest:
        return lowest
    if step is None:
        return wanted
    if fractional and _in_thousandths(span):
        thousandths = _exact_milli(wanted)
        if thousandths is None:
            raise _unrepresentable(name, f"request {wanted} is not a representable milli value")
        base, pace = lowest.milli_value(), step.milli_value()
        steps = _steps(thousandths, base, pace)
        if steps > _quotient(_wrap(_INT64_MAX - base), pace):
            rule = f"rounding request {wanted} up to the next step passes the milli-value range"
            raise _unrepresentable(name, rule)
        rounded = _wrap(base + pace * steps)
        if rounded % 1000:
            return Quantity.from_milli(rounded, step.format)
        return Quantity.from_int(rounded // 1000, step.format)
    if wanted.nano > _INT64_MAX * _NANO_PER_UNIT:
        raise _unrepresentable(name, f"request {wanted} exceeds MaxInt64")
    base, pace = lowest.value(), step.value()
    if not pace:
        return None
    steps = _steps(wanted.value(), base, pace)
    if base >= 0 and steps > _quotient(_INT64_MAX - base, pace):
        rule = f"rounding request {wanted} up to the next step passes MaxInt64"
        raise _unrepresentable(name, rule)
    return Quantity.from_int(_wrap(base + pace * steps), step.format)


def _steps(wanted: int, base: int, pace: int) -> int:
    """How many steps reach from the base to what is wanted."""
    distance = _wrap(wanted - base)
    whole = _quotient(distance, pace)
    return whole if distance == whole * pace else _wrap(whole + 1)


def _unrepresentable(name: str, rule: str) -> AllocationError:
    return AllocationError(
        f"capacity {quote(name)}: capacity request cannot be represented "
        f"in the device's range arithmetic: {rule}"
    )


# Whether the device gives out such an amount ---------------------------------------------------


def _violates(amount: Quantity, policy: CapacityRequestPolicy, *, fractional: bool) -> bool:
    if policy.default is not None and _indistinguishable(amount, policy.default):
        return False
    if policy.valid_range is not None:
        return _outside(amount, policy.valid_range, fractional=fractional)
    return bool(policy.valid_values) and amount not in policy.valid_values


def _outside(amount: Quantity, span: CapacityRequestPolicyRange, *, fractional: bool) -> bool:
    if span.max is not None and amount > span.max:
        return True
    if span.step is None:
        return False
    if span.min is None:
        return True
    if fractional and _in_thousandths(span):
        thousandths = _exact_milli(amount)
        if thousandths is None:
            return True
        base, pace, place = span.min.milli_value(), span.step.milli_value(), thousandths
    else:
        base, pace, place = span.min.value(), span.step.value(), amount.value()
    return not pace or _wrap(place - base) % pace != 0


def _indistinguishable(amount: Quantity, default: Quantity) -> bool:
    """Whether upstream's comparison of the two structs holds.

    Besides the value it looks at the representation and the text. Of decimals it compares only
    where in memory they are, so those are never the same.
    """
    return (
        amount.identity == default.identity
        and amount.identity[2]
        and amount.format is default.format
        and str(amount) == str(default)
    )


# Arithmetic ------------------------------------------------------------------------------------


def _in_thousandths(span: CapacityRequestPolicyRange) -> bool:
    """Whether a range can be computed in thousandths without losing any of it."""
    bounds = (span.min, span.max)
    if any(bound is not None and _exact_milli(bound) is None for bound in bounds):
        return False
    return span.step is None or (_exact_milli(span.step) or 0) >= 1


def _exact_milli(amount: Quantity) -> int | None:
    """The amount in thousandths, if it is a whole number of them that an int64 holds."""
    thousandths = amount.milli_value()
    return thousandths if thousandths * _NANO_PER_MILLI == amount.nano else None


def _quotient(dividend: int, divisor: int) -> int:
    """Division of int64 as Go does it: toward zero, and wrapped."""
    magnitude = abs(dividend) // abs(divisor)
    return _wrap(magnitude if (dividend < 0) == (divisor < 0) else -magnitude)


def _wrap(number: int) -> int:
    """The int64 that is left of a number."""
    return (number + 2**63) % 2**64 - 2**63
