"""Amounts of named resources, as every list of them is kept: in whole thousandths.

Upstream counterpart: SetDefaults_ResourceList in pkg/apis/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api._edit import edit_values
from dray.api.quantity import Quantity

__all__ = ["rounded_up"]

_NANO_PER_MILLI: Final = 1_000_000


def rounded_up(amounts: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """The amounts in whole thousandths, as every list of resources has them."""
    return edit_values(amounts, _round_up)


def _round_up(amount: Quantity) -> Quantity:
    """The amount in whole thousandths, away from zero, in its canonical spelling."""
    whole, rest = divmod(abs(amount.nano), _NANO_PER_MILLI)
    if not rest:
        canonical = amount + Quantity.from_int(0, amount.format)
        return amount if str(canonical) == str(amount) else canonical
    return Quantity.from_milli(amount.sign * (whole + 1), amount.format)
