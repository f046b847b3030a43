"""How good an answer is: what a pod's devices cost those who come later.

An allocation on one node is as right as on another, but not as good. First comes what the pod
itself prefers, the earlier alternatives of its prioritized lists. Then what it takes though it
would do with less: a large device where a small one fits. Then what it breaks into: nodes that are
nearly full are filled up, so that somebody who needs many devices on one node finds them, and a
share goes to where one is shared already. Smaller is better, in this order.

Upstream scores alternatives only, and picks among equals by chance.
"""

from __future__ import annotations

from typing import NamedTuple

from dray.allocator.layout import Layout
from dray.allocator.preparation import Preparation
from dray.allocator.solver.search import Found

__all__ = ["Waste", "waste_of"]


class Waste(NamedTuple):
    """What an answer costs, most important first."""

    alternatives: int  # how far down their lists the requests had to go, together
    capacity: int  # of the devices that were taken, in units of 10^-9
    unused: int  # devices of the same pools that nobody had a part of so far


def waste_of(layout: Layout, preparation: Preparation, found: Found) -> Waste:
    """What an answer costs on a node that is laid out like this."""
    wants = preparation.wants
    alternatives = sum(wants[index].alternative or 0 for index in found.wants)
    taken = {device for want, device in found.choices if not wants[want].admin_access}
    devices = layout.devices
    capacity = sum(
        entry.value.nano
        for device in taken
        if not devices[device].device.allow_multiple_allocations
        for entry in devices[device].device.capacity.values()
    )
    pools = {(devices[device].id.driver, devices[device].id.pool) for device in taken}
    use = layout.occupancy
    unused = sum(
        1
        for placed in devices
        if (placed.id.driver, placed.id.pool) in pools and not use.usage(placed.id).charged
    )
    return Waste(alternatives, capacity, unused)
