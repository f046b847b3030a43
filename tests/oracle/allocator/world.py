"""What all parts of a generated case have in common: its themes, its names, its values.

A case is about a few themes, things the allocator can do. A theme decides what is in the case and
which features are on. Values come from small sets, so that devices resemble each other and
selectors, constraints and requests meet something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeVar

Item = TypeVar("Item")
Object = dict[str, Any]

NODES: Final = ("node-1", "node-2", "node-3", "node-4")
DRIVERS: Final = ("gpu.example.com", "nic.example.com", "any.example.org")
SHARED_DOMAIN: Final = "shared.example.org"
DERIVED_DOMAIN: Final = "derived.example.org"

# Each theme, the gates it needs, and how often it is chosen.
THEMES: Final[Mapping[str, tuple[tuple[str, ...], float]]] = {
    "admin": (("DRAAdminAccess",), 0.14),
    "all": ((), 0.16),
    "binding": (("DRADeviceBindingConditions",), 0.13),
    "capacity": (("DRAConsumableCapacity",), 0.24),
    "config": ((), 0.15),
    "contest": ((), 0.45),
    "constraints": (("DRAConsumableCapacity",), 0.26),
    "counters": (("DRAPartitionableDevices",), 0.2),
    "derived": (("DRADerivedAttributes",), 0.15),
    "fractions": (("DRAConsumableCapacity", "DRAFractionalCapacityRange"), 0.13),
    "groups": (("DRAPartitionableDevices", "DRADeviceCompatibilityGroups"), 0.16),
    "in use": ((), 0.3),
    "limit": (("DRAPrioritizedList",), 0.05),
    "lists": (("DRAListTypeAttributes", "DRAConsumableCapacity"), 0.16),
    "nodes": (("DRAPartitionableDevices",), 0.25),
    "operations": (("DRAOptionalNodeOperations",), 0.12),
    "pools": ((), 0.2),
    "prioritized": (("DRAPrioritizedList",), 0.25),
    "scarcity": ((), 0.15),
    "taints": (("DRADeviceTaints",), 0.19),
}
GATES: Final = tuple(sorted({gate for gates, _ in THEMES.values() for gate in gates}))

GATE_KEPT: Final = 0.95  # how often a gate is on that the case needs
GATE_BESIDE: Final = 0.35  # how often one is on that it does not

ATTRIBUTES: Final[Mapping[str, tuple[str, Sequence[Any]]]] = {
    "model": ("string", ("a100", "h100", "t4")),
    "numa": ("int", (0, 1, 2)),
    "fast": ("bool", (True, False)),
    "version": ("version", ("1.2.3", "2.0.0", "2.1.0-rc.1", "10.0.0")),
    f"{SHARED_DOMAIN}/switch": ("string", ("s0", "s1")),
}
LISTS: Final[Mapping[str, tuple[str, Sequence[Any]]]] = {
    "links": ("strings", ("l0", "l1", "l2", "l3")),
    "slots": ("ints", (0, 1, 2, 3)),
    "modes": ("bools", (True, False)),
    "releases": ("versions", ("1.0.0", "1.1.0", "2.0.0")),
}


@dataclass(slots=True)
class World:
    random: Random
    themes: frozenset[str]
    features: list[str]
    drivers: list[str]
    node: str
    # What to put wrong, if anything.
    fault: str | None
    class_names: list[str] = field(default_factory=list)
    # Devices that the node can reach and that are free, each with its driver. Requests are made
    # with one of them in mind, or else most claims would ask for what nobody has.
    stock: list[tuple[str, Object]] = field(default_factory=list)
    # Whether a request was made that could take what a later one, with fewer choices, needs.
    contested: bool = False
    # How many devices requests may still want before all of them together want too many.
    budget: int = 0

    def about(self, *themes: str) -> bool:
        return not self.themes.isdisjoint(themes)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, weights: Mapping[Item, float]) -> Item:
        return self.random.choices(list(weights), list(weights.values()))[0]

    def choice(self, items: Sequence[Item]) -> Item:
        return self.random.choice(items)

    def some(self, items: Sequence[Item], count_max: int) -> list[Item]:
        """At least one of the items, in random order."""
        return self.random.sample(items, self.random.randint(1, min(count_max, len(items))))


def amount(world: World, gibibytes: int) -> str:
    """The same quantity in one of the ways people write it."""
    return world.pick(
        {
            f"{gibibytes}Gi": 6,
            f"{gibibytes * 1024}Mi": 1.5,
            str(gibibytes * 1024**3): 1,
            f"{gibibytes * 1024**3 * 1000}m": 0.2,
        }
    )


def number(world: World, value: int) -> str:
    """A plain number in one of the ways people write it."""
    return world.pick({str(value): 8, f"{value * 1000}m": 1, f"{value}e0": 0.4, f"{value}.0": 0.4})
