"""How a shared device's capacity may be cut up: request policies.

Applied to capacity that is new or changed. Quantities are compared exactly; only the question
whether a value lies on a step is asked in whole units or thousandths, as the allocator will ask
it. Upstream counterpart: validateRequestPolicy in pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.features import FeatureGates
from dray.api.quantity import Quantity
from dray.api.resource import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from dray.validation.findings import Findings
from dray.validation.rules import check_size, check_unique

__all__ = ["VALID_VALUES_MAX", "check_capacity"]

VALID_VALUES_MAX: Final = 10

_INT64_MAX: Final = 2**63 - 1
_NANO_PER_UNIT: Final = 10**9


def check_capacity(
    found: Findings, capacity: DeviceCapacity, path: str, *, shareable: bool, gates: FeatureGates
) -> None:
    policy = capacity.request_policy
    if policy is None:
        return
    path = f"{path}.requestPolicy"
    if not shareable:
        found.forbidden(path, "allowMultipleAllocations must be true")
    elif policy.valid_values and policy.valid_range is not None:
        found.forbidden(
            path,
            'exactly one policy can be specified, cannot specify "validValues" and "validRange"'
            " at the same time",
        )
    elif policy.valid_values:
        if policy.default is None:
            found.required(f"{path}.default", "required when validValues is defined")
        else:
            _check_values(
                found, policy.valid_values, policy.default, capacity.value, path, gates=gates
            )
    elif policy.valid_range is not None:
        _check_range_policy(found, policy, policy.valid_range, capacity.value, path, gates=gates)


def _check_values(
    found: Findings,
    values: Sequence[Quantity],
    default: Quantity,
    whole: Quantity,
    path: str,
    *,
    gates: FeatureGates,
) -> None:
    path = f"{path}.validValues"
    for index in range(1, len(values)):
        if values[index - 1] > values[index]:
            detail = "values must be sorted in ascending order"
            found.invalid(f"{path}[{index}]", str(values[index]), detail)
    # Too many values are not looked at, so the default is not found among them either.
    default_found = False
    if check_size(found, values, VALID_VALUES_MAX, path):
        for index, value in enumerate(values):
            if value > whole:
                detail = f"option is larger than capacity value: {whole}"
                found.invalid(f"{path}[{index}]", str(value), detail)
        default_found = default in values
        exact = "DRAFractionalCapacityRange" in gates
        keys = [value.as_decimal() if exact else str(value.value()) for value in values]
        check_unique(found, keys, path)
    if not default_found:
        detail = "default value is not valid according to the requestPolicy"
        found.invalid(path, str(default), detail)


def _check_range_policy(
    found: Findings,
    policy: CapacityRequestPolicy,
    bounds: CapacityRequestPolicyRange,
    whole: Quantity,
    path: str,
    *,
    gates: FeatureGates,
) -> None:
    if policy.default is None:
        found.required(f"{path}.default", "required when validRange is defined")
        return
    path = f"{path}.validRange"
    if bounds.min is None:
        found.required(f"{path}.min", "required when validRange is defined")
        return
    _check_bounds(found, bounds, bounds.min, policy.default, whole, path)
    named = [
        (name, quantity)
        for name, quantity in (
            ("default", policy.default),
            ("min", bounds.min),
            ("max", bounds.max),
            ("step", bounds.step),
        )
        if quantity is not None
    ]
    milli = "DRAFractionalCapacityRange" in gates and any(
        quantity.nano % _NANO_PER_UNIT for _, quantity in named
    )
    if milli and not _fit_milli(found, named, path):
        return
    if bounds.step is None:
        return
    if bounds.step.sign <= 0:
        found.invalid(f"{path}.step", str(bounds.step), "must be greater than zero")
        return
    first = bounds.min + bounds.step
    if first > whole:
        detail = f"one step {first} is larger than capacity value: {whole}"
        found.invalid(f"{path}.step", str(bounds.step), detail)
    if not milli and not _fit_int64(found, named, path):
        return
    for value in (policy.default, bounds.max):
        if value is not None:
            _check_on_step(found, value, bounds.min, bounds.step, f"{path}.step", milli=milli)


def _check_bounds(
    found: Findings,
    bounds: CapacityRequestPolicyRange,
    least: Quantity,
    default: Quantity,
    whole: Quantity,
    path: str,
) -> None:
    if least > whole:
        found.invalid(f"{path}.min", str(least), f"min is larger than capacity value: {whole}")
    if default < least:
        found.invalid(f"{path}.default", str(default), f"default is less than min: {least}")
    most = bounds.max
    if most is None:
        return
    if least > most:
        found.invalid(f"{path}.max", str(least), f"min is larger than max: {most}")
    if most > whole:
        found.invalid(f"{path}.max", str(most), f"max is larger than capacity value: {whole}")
    if default > most:
        found.invalid(f"{path}.default", str(default), f"default is more than max: {most}")


def _fit_milli(found: Findings, named: Sequence[tuple[str, Quantity]], path: str) -> bool:
    fit = True
    for name, quantity in named:
        if Quantity.from_milli(quantity.milli_value()) != quantity:
            detail = "value cannot be represented as a milli value"
            found.invalid(f"{path}.{name}", str(quantity), detail)
            fit = False
    return fit


def _fit_int64(found: Findings, named: Sequence[tuple[str, Quantity]], path: str) -> bool:
    fit = True
    for name, quantity in named:
        if quantity.sign < 0:
            detail = "must be greater than or equal to 0"
        elif quantity.nano > _INT64_MAX * _NANO_PER_UNIT:
            detail = f"must not be larger than {_INT64_MAX}"
        else:
            continue
        found.invalid(f"{path}.{name}", str(quantity), detail)
        fit = False
    return fit


def _check_on_step(
    found: Findings, value: Quantity, least: Quantity, step: Quantity, path: str, *, milli: bool
) -> None:
    if milli:
        distance, width = value.milli_value() - least.milli_value(), step.milli_value()
    else:
        distance, width = value.value() - least.value(), step.value()
    if distance % width:
        detail = f"value is not a multiple of a given step ({step}) from ({least})"
        found.invalid(path, str(value), detail)
