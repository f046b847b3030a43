"""Devices that are still to be found."""

from __future__ import annotations

from dataclasses import dataclass

from dray.allocator.solver.problem import WantView

__all__ = ["Demand"]


@dataclass(slots=True)
class Demand:
    """What one stage still needs, whichever alternative it takes.

    By view: the devices it can choose from, and how many it needs.
    """

    views: tuple[WantView, ...]
    masks: tuple[int, ...]
    counts: tuple[int, ...]

    def exclusive(self, shareable: int) -> tuple[int, int] | None:
        """How many devices nobody else can have are needed at least, and out of which.

        None for administrators, who take nothing from anybody.
        """
        least, union = -1, 0
        for view, mask, count in zip(self.views, self.masks, self.counts, strict=True):
            if view.want.admin_access:
                return None
            short = count
            if mask & shareable:
                short = max(0, count - (mask & shareable).bit_count())
            least = short if least < 0 else min(least, short)
            union |= mask & ~shareable
        return least, union

    def restricted(self, allowed: dict[int, int]) -> Demand:
        """With only some devices, by want."""
        masks = tuple(
            [
                mask & allowed[view.want.index]
                for view, mask in zip(self.views, self.masks, strict=True)
            ]
        )
        return Demand(self.views, masks, self.counts)
