"""How much of a device's capacity a request consumes, and whether that much is left.

Upstream's answers depend on how it holds a quantity, not only on the quantity's value. It holds
most as an int64 with a power of ten and the rest as an arbitrary decimal, turns the left side of a
comparison into a decimal when the right side is one, and keeps the text of what it read if that
is canonical. Two amounts are the same to it (where a policy's default is looked at) if all of
this is the same, and two decimals never are. An Amount is a quantity together with that text.

Upstream counterpart: consumable_capacity.go of the experimental allocator.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dray.api.quantity import Format, Quantity

__all__ = ["Amount", "Capacity", "CapacityError", "Policy", "Range", "consumed_amounts", "fits"]

INT64_MAX: Final = 2**63 - 1
NANO_PER_MILLI: Final = 10**6

_NUMBER: Final = re.compile(r"[+-]?0*([0-9]*)\.?([0-9]*)")


class CapacityError(Exception):
    """A request that ends the whole attempt."""


@dataclass(frozen=True)
class Amount:
    quantity: Quantity
    kept_text: str = ""

    @staticmethod
    def read(raw: Any) -> Amount:
        """The amount of a JSON string or number."""
        text = str(raw).strip()
        quantity = Quantity.parse(text)
        return Amount(quantity, _kept_text(text, quantity))

    @property
    def is_decimal(self) -> bool:
        _, _, fixed = self.quantity.identity
        return not fixed

    def is_same(self, other: Amount) -> bool:
        """Whether Go's == holds between the two."""
        return (
            not self.is_decimal
            and not other.is_decimal
            and self.quantity.identity == other.quantity.identity
            and self.quantity.format is other.quantity.format
            and self.kept_text == other.kept_text
        )

    def compared_with(self, other: Amount) -> Amount:
        """What is left of this amount after it was compared with another one."""
        if self.is_decimal or not other.is_decimal:
            return self
        nano, scale, _ = self.quantity.identity
        form, text = self.quantity.format, self.kept_text or None
        return Amount(Quantity(nano, form, scale=scale, fixed=False, text=text), self.kept_text)


@dataclass(frozen=True)
class Range:
    min: Amount | None
    max: Amount | None
    step: Amount | None


@dataclass(frozen=True)
class Policy:
    default: Amount | None
    valid_values: tuple[Amount, ...]
    valid_range: Range | None


@dataclass(frozen=True)
class Capacity:
    value: Amount
    policy: Policy | None

    @staticmethod
    def read_all(raw: Mapping[str, Any]) -> dict[str, Capacity]:
        return {name: Capacity._read(capacity) for name, capacity in raw.items()}

    @staticmethod
    def _read(raw: Mapping[str, Any]) -> Capacity:
        policy = raw.get("requestPolicy")
        value = _optional(raw.get("value"))
        return Capacity(
            value=Amount(Quantity.from_int(0)) if value is None else value,
            policy=None if policy is None else _read_policy(policy),
        )


def fits(
    requested: Mapping[str, Amount],
    capacity: Mapping[str, Capacity],
    consumed: Mapping[str, Quantity],
    consuming: Mapping[str, Quantity],
    *,
    fractional: bool,
) -> bool:
    """Whether a device has what is requested besides what others consume, before and now."""
    if not requested.keys() <= capacity.keys():
        return False
    amounts = consumed_amounts(requested, capacity, fractional=fractional)
    for name, amount in amounts.items():
        if amount.quantity.sign < 0:
            raise CapacityError(f'capacity "{name}": capacity value is negative')
    for name, amount in amounts.items():
        if _violates(amount, capacity[name].policy, fractional=fractional):
            return False
        total = amount.quantity
        total += consumed.get(name, _ZERO)
        total += consuming.get(name, _ZERO)
        if total > capacity[name].value.quantity:
            return False
    return True


def consumed_amounts(
    requested: Mapping[str, Amount], capacity: Mapping[str, Capacity], *, fractional: bool
) -> dict[str, Amount]:
    """What a share takes of every capacity of the device, requested or not."""
    amounts = {}
    for name, each in capacity.items():
        try:
            amounts[name] = _consumed_amount(requested.get(name), each, fractional=fractional)
        except CapacityError as error:
            raise CapacityError(f'capacity "{name}": {error}') from None
    return amounts


def _consumed_amount(requested: Amount | None, capacity: Capacity, *, fractional: bool) -> Amount:
    policy = capacity.policy
    if requested is None:
        if policy is not None and policy.default is not None:
            return policy.default
        return capacity.value
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_up_to_range(requested, policy.valid_range, fractional=fractional)
    for value in policy.valid_values:
        requested = requested.compared_with(value)
        if requested.quantity <= value.quantity:
            return value
    return requested


def _round_up_to_range(requested: Amount, valid: Range, *, fractional: bool) -> Amount:
    assert valid.min is not None
    requested = requested.compared_with(valid.min)
    if requested.quantity < valid.min.quantity:
        return valid.min
    if valid.step is None:
        return requested
    form = valid.step.quantity.format
    if _in_milli(valid, fractional=fractional):
        wanted = _milli(requested)
        if wanted is None:
            raise CapacityError(
                f"{_NOT_REPRESENTABLE}: request {requested.quantity} is not a representable"
                " milli value"
            )
        step, low = valid.step.quantity.milli_value(), valid.min.quantity.milli_value()
        steps = _steps(wanted, low, step)
        # For a negative minimum the difference wraps, and every request is refused.
        if steps > _divide(_int64(INT64_MAX - low), step):
            raise CapacityError(
                f"{_NOT_REPRESENTABLE}: rounding request {requested.quantity} up to the next"
                " step passes the milli-value range"
            )
        value = _int64(low + step * steps)
        if value % 1000 == 0:
            return Amount(Quantity.from_int(_divide(value, 1000), form))
        return Amount(Quantity.from_milli(value, form))
    if requested.quantity.nano > INT64_MAX * 10**9:
        raise CapacityError(f"{_NOT_REPRESENTABLE}: request {requested.quantity} exceeds MaxInt64")
    step, low = valid.step.quantity.value(), valid.min.quantity.value()
    steps = _steps(requested.quantity.value(), low, step)
    if low >= 0 and steps > _divide(INT64_MAX - low, step):
        raise CapacityError(
            f"{_NOT_REPRESENTABLE}: rounding request {requested.quantity} up to the next step"
            " passes MaxInt64"
        )
    return Amount(Quantity.from_int(_int64(low + step * steps), form))


def _violates(amount: Amount, policy: Policy | None, *, fractional: bool) -> bool:
    if policy is None:
        return False
    if policy.default is not None and amount.is_same(policy.default):
        return False
    if policy.valid_range is not None:
        return _violates_range(amount, policy.valid_range, fractional=fractional)
    if policy.valid_values:
        return all(amount.quantity != value.quantity for value in policy.valid_values)
    return False


def _violates_range(amount: Amount, valid: Range, *, fractional: bool) -> bool:
    if valid.max is not None:
        amount = amount.compared_with(valid.max)
        if amount.quantity > valid.max.quantity:
            return True
    if valid.step is None:
        return False
    in_milli = _in_milli(valid, fractional=fractional)
    if in_milli and _milli(amount) is None:
        return True
    if valid.min is None:
        # Upstream would crash; validation requires a minimum wherever there is a step.
        raise CapacityError("a range with a step has no minimum")
    if in_milli:
        wanted = amount.quantity.milli_value()
        step, low = valid.step.quantity.milli_value(), valid.min.quantity.milli_value()
    else:
        wanted = amount.quantity.value()
        step, low = valid.step.quantity.value(), valid.min.quantity.value()
    return _remainder(_int64(wanted - low), step) != 0


def _in_milli(valid: Range, *, fractional: bool) -> bool:
    """Whether the range is counted in thousandths, not in whole units."""
    if not fractional:
        return False
    bounds = [bound for bound in (valid.min, valid.max, valid.step) if bound is not None]
    if any(_milli(bound) is None for bound in bounds):
        return False
    return valid.step is None or valid.step.quantity.milli_value() >= 1


def _milli(amount: Amount) -> int | None:
    """The amount in thousandths, if it is a whole number of them that fits an int64."""
    milli = amount.quantity.milli_value()
    return milli if milli * NANO_PER_MILLI == amount.quantity.nano else None


_ZERO: Final = Quantity.from_int(0)
_NOT_REPRESENTABLE: Final = (
    "capacity request cannot be represented in the device's range arithmetic"
)


# Go's int64 -------------------------------------------------------------------------------------


def _steps(wanted: int, low: int, step: int) -> int:
    """How many steps from the minimum to the wanted amount, the last one rounded up."""
    added = _int64(wanted - low)
    return _divide(added, step) + (1 if _remainder(added, step) else 0)


def _int64(value: int) -> int:
    """The value after Go's arithmetic wrapped it."""
    return (value + 2**63) % 2**64 - 2**63


def _divide(value: int, by: int) -> int:
    """Go's quotient, which is cut off towards zero."""
    if by == 0:
        # Upstream would crash; validation requires a positive step.
        raise CapacityError("a range has a step of zero")
    quotient = abs(value) // abs(by)
    return quotient if (value < 0) == (by < 0) else -quotient


def _remainder(value: int, by: int) -> int:
    return value - _divide(value, by) * by


# Reading ----------------------------------------------------------------------------------------


def _read_policy(raw: Mapping[str, Any]) -> Policy:
    valid = raw.get("validRange")
    return Policy(
        default=_optional(raw.get("default")),
        valid_values=tuple(Amount.read(text) for text in raw.get("validValues") or ()),
        valid_range=None
        if valid is None
        else Range(*(_optional(valid.get(name)) for name in ("min", "max", "step"))),
    )


def _optional(raw: Any) -> Amount | None:
    return None if raw is None else Amount.read(raw)


def _kept_text(text: str, quantity: Quantity) -> str:
    """The text that upstream keeps with a quantity it read: a canonical one, or none."""
    if text == "0":
        return text
    _, scale, fixed = quantity.identity
    if not fixed:
        return ""
    number = _NUMBER.match(text)
    assert number is not None
    digits = (number[1] or "0") + number[2]
    if quantity.format is Format.BINARY_SI:
        return text if int(digits) % 8 else ""
    canonical = scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    return text if canonical else ""
