"""Amounts that a device hands out of a capacity: the rule in words, and the next such amount.

What is taken is decided by `dray.allocator.rules.capacity`; here are only guesses of what to ask
for instead, which are tried there.
"""

from __future__ import annotations

from typing import Final

from dray.api.quantity import Quantity
from dray.api.resource import CapacityRequestPolicy

__all__ = ["rule_of", "valid_amount"]

VALUES_MAX: Final = 8
"""Valid values that are told; a list may have ten, and who reads one needs the largest."""


def rule_of(policy: CapacityRequestPolicy | None, wanted: Quantity | None) -> str:
    """What amounts there are: `at most 16Gi`, `one of 4Gi, 8Gi`, `steps of 2Gi from 4Gi`."""
    if policy is None:
        return ""
    span = policy.valid_range
    if span is None:
        return f"one of {_listed(policy.valid_values)}" if policy.valid_values else ""
    most = f"at most {span.max}" if span.max is not None else ""
    if most and wanted is not None and span.max is not None and wanted > span.max:
        return most
    parts = []
    if span.step is not None:
        parts.append(f"steps of {span.step}{f' from {span.min}' if span.min is not None else ''}")
    elif span.min is not None:
        parts.append(f"at least {span.min}")
    return ", ".join([*parts, most] if most else parts)


def _listed(values: tuple[Quantity, ...]) -> str:
    if len(values) <= VALUES_MAX:
        return ", ".join(map(str, values))
    # The largest is what a request that is refused comes closest to.
    return f"{', '.join(map(str, values[: VALUES_MAX - 1]))}, … {values[-1]}"


def valid_amount(policy: CapacityRequestPolicy | None, nano: int) -> int:
    """The largest amount up to this one that is handed out as it is, in 10^-9; 0 if none is."""
    if policy is None or nano <= 0:
        return max(nano, 0)
    span = policy.valid_range
    if span is None:
        values = policy.valid_values
        return max((one.nano for one in values if one.nano <= nano), default=0 if values else nano)
    if span.max is not None:
        nano = min(nano, span.max.nano)
    if span.min is None:
        return nano
    if nano < span.min.nano:
        return 0
    if span.step is None or span.step.nano <= 0:
        return nano
    return nano - (nano - span.min.nano) % span.step.nano
