"""Who depends on whom, by the UIDs of owners.

Only what has owners is here, by name; the objects themselves are in the views of their kinds. Every
question is answered in the time that its answer takes: a pod that nobody depends on costs one
lookup. Upstream counterpart: uidToNode of the garbage collector's graph builder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dray.api.meta import OwnerReference
from dray.controllers.reconciler import Key

__all__ = ["Graph"]


class Graph:
    """Dependents of owners, and those among them that an owner has to wait for."""

    def __init__(self) -> None:
        self._dependents: dict[str, dict[Key, None]] = {}
        self._blocking: dict[str, set[Key]] = {}

    def change(
        self, key: Key, old: Iterable[OwnerReference], new: Iterable[OwnerReference]
    ) -> list[OwnerReference]:
        """An object has other owners than before; returns those that nothing blocks any more."""
        blocked_before: list[OwnerReference] = []
        for reference in old:
            uid = reference.uid
            _discard(self._dependents, uid, key)
            blocking = self._blocking.get(uid)
            if blocking is not None and key in blocking:
                blocking.discard(key)
                blocked_before.append(reference)
        for reference in new:
            self._dependents.setdefault(reference.uid, {})[key] = None
            if reference.block_owner_deletion:
                self._blocking.setdefault(reference.uid, set()).add(key)
        freed = [each for each in blocked_before if not self._blocking[each.uid]]
        for reference in freed:
            self._blocking.pop(reference.uid, None)
        return freed

    def dependents(self, uid: str) -> Collection[Key]:
        """All that name the owner, in the order in which they came."""
        return tuple(self._dependents.get(uid, ()))

    def is_blocked(self, uid: str) -> bool:
        """Whether there are dependents that have to be gone before the owner is."""
        return uid in self._blocking

    def __len__(self) -> int:
        """How many owners are named."""
        return len(self._dependents)


def _discard(groups: dict[str, dict[Key, None]], uid: str, key: Key) -> None:
    group = groups.get(uid)
    if group is not None:
        group.pop(key, None)
        if not group:
            del groups[uid]
