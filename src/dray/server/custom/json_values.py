"""JSON values as custom objects hold them: equal when Go's are, numbers written as Go writes them.

Python takes True for 1; JSON does not. Upstream counterparts: reflect.DeepEqual on unstructured
content, fmt's %v.
"""

from __future__ import annotations

import math
from typing import Any, Final

__all__ = ["go_number", "is_whole", "same"]

# A float with more digits than this before its point is written with an exponent, as is one with
# more zeros after it than four.
_EXPONENT_MAX: Final = 6
_EXPONENT_MIN: Final = -4

# Beyond it a float no longer holds every integer.
_SAFE_INTEGER_MAX: Final = 2**53 - 1

# How far from an integer a float may be, relative to its size, for upstream to take it for one.
_NEAR: Final = 1e-9


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, types included."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is dict:
        return len(one) == len(other) and all(
            name in other and same(member, other[name]) for name, member in one.items()
        )
    if kind is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def go_number(value: float) -> str:
    """A number as Go's %v has it: integers in full, floats as short as can be."""
    if isinstance(value, int):
        return str(value)
    if value == 0:
        return "0"
    # As many digits as tell the number apart from all others, in Python as in Go.
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) + len(whole) - 1
    exponent -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if not _EXPONENT_MIN <= exponent < _EXPONENT_MAX:
        rest = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{rest}e{exponent:+03d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    before = digits[: exponent + 1].ljust(exponent + 1, "0")
    after = digits[exponent + 1 :]
    return f"{sign}{before}.{after}" if after else sign + before


def is_whole(value: float) -> bool:
    """Whether a float is an integer, or so close to one that upstream takes it for one."""
    if not math.isfinite(value) or abs(value) > _SAFE_INTEGER_MAX:
        return False
    nearest = float(int(value))
    if value == nearest:
        return True
    return abs(value - nearest) / max(abs(value), abs(nearest)) < _NEAR
