"""How large a value a function may make.

The cost of a call is only known from its result, so a function that can make much of little
(`replace`, `join`, `+` in a fold) asks here before it builds anything. Nothing upstream: there the
memory is spent first and the budget refuses the result afterwards, with the text used here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from dray.cel._failures import Abort
from dray.cel._values import LISTS, MAPS, Optional, Value

__all__ = ["CONTAINERS", "SIZE_MAX", "STEPS_MAX", "nested_weight", "weight", "within"]

SIZE_MAX: Final = 10_000_000
"""The most characters, bytes or elements of one value.

Walking a longer text costs more than the 1,000,000 units an expression has, at a tenth of a unit
per character. Upstream lets a longer list stand as long as nobody walks it.
"""

STEPS_MAX: Final = 2_000_000
"""How much may be done in one evaluation that upstream's costs do not see, a second's worth or two:
parts looked at inside the parts of lists and maps, elements copied, characters formatted.

Lists share what they are made of, so `[a, a]` thirty times over has a billion parts, costs next to
nothing and takes upstream minutes to compare.
"""

CONTAINERS: Final = frozenset({*LISTS, *MAPS, Optional})


def weight(value: Value, most: int = STEPS_MAX) -> int:
    """How many parts a list or map has, and those in it, as often as each occurs; 0 for the rest.

    Counting ends beyond `most`.
    """
    if type(value) not in CONTAINERS:
        return 0
    return 1 + len(_parts(value)) + nested_weight(value, most)


def nested_weight(value: Value, most: int = STEPS_MAX) -> int:
    """The weight of a list or map, without what it has itself."""
    count = 0
    waiting = [part for part in _parts(value) if type(part) in CONTAINERS]
    while waiting and count <= most:
        parts = _parts(waiting.pop())
        count += 1 + len(parts)
        waiting += [part for part in parts if type(part) in CONTAINERS]
    return count


def _parts(container: Value) -> Collection[Value]:
    if type(container) is Optional:
        return (container.value,)
    held: Collection[Value] = container.values() if type(container) in MAPS else container
    return held


def within(size: int, most: int | None = None) -> int:
    """The size, if a value of that size may be made; ends the evaluation otherwise."""
    if size > (SIZE_MAX if most is None else most):
        raise Abort("operation cancelled: actual cost limit exceeded")
    return size
