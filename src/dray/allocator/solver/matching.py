"""Whether devices can be dealt out so that everybody gets enough.

Each need is a number of devices out of a set; no device goes to two. That is bipartite matching:
if there is a way, shifting devices along augmenting paths finds it.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["matchable"]


def matchable(needs: Sequence[tuple[int, int]]) -> bool:
    """Whether every (count, set) can have count devices of its set, all different."""
    total = union = 0
    for count, mask in needs:
        if mask.bit_count() < count:
            return False
        total += count
        union |= mask
    if union.bit_count() < total:
        return False
    if len(needs) < 2:
        return True
    return _deal(needs)


def _deal(needs: Sequence[tuple[int, int]]) -> bool:
    # Whoever has the smallest choice takes first, which leaves little to shift.
    order = sorted(range(len(needs)), key=lambda one: needs[one][1].bit_count())
    given = [0] * len(needs)
    taken = 0
    for one in order:
        count, mask = needs[one]
        free = mask & ~taken
        while count and free:
            lowest = free & -free
            free ^= lowest
            given[one] |= lowest
            taken |= lowest
            count -= 1
        while count:
            gained = _shift(one, needs, given, taken)
            if not gained:
                return False
            taken |= gained
            count -= 1
    return True


def _shift(one: int, needs: Sequence[tuple[int, int]], given: list[int], taken: int) -> int:
    """Give one more device to a need by moving others; returns the device nobody had before."""
    came_from: dict[int, tuple[int, int]] = {}  # need → who wants which of its devices
    frontier = [one]
    reached = {one}
    while frontier:
        reaching = frontier.pop()
        free = needs[reaching][1] & ~taken
        if free:
            gained = free & -free
            device, at = gained, reaching
            while at != one:
                previous, wanted = came_from[at]
                given[at] = given[at] & ~wanted | device
                device, at = wanted, previous
            given[one] |= device
            return gained
        for other, held in enumerate(given):
            common = held & needs[reaching][1]
            if other not in reached and common:
                reached.add(other)
                came_from[other] = (reaching, common & -common)
                frontier.append(other)
    return 0
