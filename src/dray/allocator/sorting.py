"""Nodes sorted into groups of those that are alike, and kept sorted.

What makes nodes alike is a key that somebody else computes. A node whose key may have changed is
stale, and sorted again when somebody asks: the cost is that of the changes, not of the fleet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from dray.errors import AllocationError

__all__ = ["NodeGroup", "Sorting"]

# Nodes that left a group may wait in its queue, but not more of them than are in it, and some.
QUEUE_SLACK: Final = 16


@dataclass(slots=True, eq=False)
class NodeGroup:
    """Nodes with one key, each with its number in the fleet."""

    key: Hashable
    nodes: dict[str, int] = field(default_factory=dict)
    # In the order of the fleet; nodes that left are dropped when they come up.
    _queue: list[tuple[int, str]] = field(default_factory=list)

    def add(self, number: int, name: str) -> None:
        self.nodes[name] = number
        if len(self._queue) > 2 * len(self.nodes) + QUEUE_SLACK:
            self._queue = sorted((number, name) for name, number in self.nodes.items())
        else:
            heappush(self._queue, (number, name))

    def first(self) -> tuple[int, str]:
        """The node that came to the fleet first, with its number. There must be one."""
        while self.nodes.get(self._queue[0][1]) != self._queue[0][0]:
            heappop(self._queue)
        return self._queue[0]


class Sorting:
    """The groups of a fleet, by one way to tell nodes apart."""

    def __init__(self, key_of: Callable[[str], Hashable], nodes: Iterable[str]) -> None:
        """`key_of` may raise AllocationError: such nodes are in no group."""
        self.groups: dict[Hashable, NodeGroup] = {}
        self.failures: dict[str, str] = {}  # by node: why it has no key
        self._key_of = key_of
        self._keys: dict[str, Hashable] = {}
        self._stale: dict[str, None] = dict.fromkeys(nodes)

    def spoil(self, name: str) -> None:
        """Something about a node has changed, or it is new."""
        self._stale[name] = None

    def refresh(self, number: Callable[[str], int]) -> None:
        """Sort the stale nodes. `number` gives a node's place in the fleet."""
        for name in self._stale:
            try:
                key = self._key_of(name)
            except AllocationError as error:
                self._leave(name)
                self.failures[name] = str(error)
                continue
            if name in self._keys and self._keys[name] == key:
                continue
            self._leave(name)
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = NodeGroup(key)
            group.add(number(name), name)
            self._keys[name] = key
        self._stale.clear()

    def remove(self, name: str) -> None:
        self._stale.pop(name, None)
        self._leave(name)

    def group_of(self, name: str) -> NodeGroup:
        """The group of a node; AllocationError says why there is none."""
        if name in self.failures:
            raise AllocationError(self.failures[name])
        return self.groups[self._keys[name]]

    def _leave(self, name: str) -> None:
        self.failures.pop(name, None)
        if name not in self._keys:
            return
        key = self._keys.pop(name)
        group = self.groups[key]
        del group.nodes[name]
        if not group.nodes:
            del self.groups[key]
