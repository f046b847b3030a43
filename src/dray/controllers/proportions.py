"""Numbers that may be written as a share of others: `maxSurge: 25%`.

Upstream counterpart: GetScaledValueFromIntOrPercent in apimachinery.
"""

from __future__ import annotations

__all__ = ["share_of"]


def share_of(value: int | str | None, total: int, *, up: bool) -> int:
    """So many of a total, rounded up or down; a text that is no percentage is none."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not (digits.isascii() and digits.isdecimal()):
        return 0
    hundredths = int(digits) * total
    return -(-hundredths // 100) if up else hundredths // 100
