"""How many of several needs can be met at once.

Where `matching` says whether all of them can, this says how far one gets; it is for telling people
and not for the search, and makes no haste.
"""

from __future__ import annotations

from collections.abc import Sequence

from dray.allocator.solver.problem import bits

__all__ = ["most_served"]


def most_served(needs: Sequence[tuple[int, int]]) -> int:
    """The most devices that can be dealt out.

    Every (count, set) takes up to count devices of its set, and no device goes to two.
    """
    slots = [mask for count, mask in needs for _ in range(min(count, mask.bit_count()))]
    holder: dict[int, int] = {}  # device → slot
    return sum(1 for slot in range(len(slots)) if _place(slot, slots, holder))


def _place(slot: int, slots: Sequence[int], holder: dict[int, int]) -> bool:
    """Give a device to one more slot, moving others if need be."""
    came_from: dict[int, tuple[int, int]] = {}  # slot → who wants which device of it
    waiting = [slot]
    seen = {slot}
    while waiting:
        at = waiting.pop()
        for device in bits(slots[at]):
            other = holder.get(device)
            if other is None:
                while at != slot:
                    previous, wanted = came_from[at]
                    holder[device] = at
                    device, at = wanted, previous
                holder[device] = slot
                return True
            if other not in seen:
                seen.add(other)
                came_from[other] = (at, device)
                waiting.append(other)
    return False
