"""How large a value a function may make.

The cost of a call is only known from its result, so a function that can make much of little
(`replace`, `join`, `+` in a fold) asks here before it builds anything. Nothing upstream: there the
memory is spent first and the budget refuses the result afterwards, with the text used here.
"""

from __future__ import annotations

from typing import Final

from dray.cel._failures import Abort

__all__ = ["SIZE_MAX", "within"]

SIZE_MAX: Final = 10_000_000
"""The most characters, bytes or elements of one value.

Walking anything larger costs more than the 1,000,000 units an expression has, at a tenth of a unit
per character; no expression that stays within its budget can make use of it.
"""


def within(size: int) -> int:
    """The size, if a value of that size may be made; ends the evaluation otherwise."""
    if size > SIZE_MAX:
        raise Abort("operation cancelled: actual cost limit exceeded")
    return size
