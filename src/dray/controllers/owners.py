"""Wakes a controller for the owners of what something happened to: pods, mostly.

An owner of few is woken at once. For one of many, events are gathered for a while: looking at a
thousand pods again for each that changes would take a thousand times as long as it should.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, Generic, TypeVar

from dray.api.meta import LabelSelector, Object
from dray.client import Informer, WorkQueue
from dray.controllers.ownership import controller_of, selector_of
from dray.controllers.reconciler import Key
from dray.errors import ParseError

__all__ = ["Owners", "gathering_seconds", "is_same_wish"]

# So few that looking at all of them costs next to nothing.
FEW_MAX: Final = 20
# Looking at a pod takes a few microseconds: a controller then spends a hundredth of its time on it.
SECONDS_EACH: Final = 0.0005
# Upstream's, for jobs of any size: as long as nobody minds.
GATHERING_SECONDS_MAX: Final = 1.0

T = TypeVar("T", bound=Object)
D = TypeVar("D", bound=Object)


def gathering_seconds(count: int) -> float:
    """How long to wait for more to happen to the pods of an owner that has so many."""
    if count <= FEW_MAX:
        return 0.0
    return min(count * SECONDS_EACH, GATHERING_SECONDS_MAX)


def is_same_wish(old: Object, new: Object) -> bool:
    """Whether an owner changed only in what is said of it: there is no hurry to look again."""
    before, after = old.metadata, new.metadata
    return (before.generation, before.deletion_timestamp) == (
        after.generation,
        after.deletion_timestamp,
    )


class Owners(Generic[T, D]):
    """The owners of one kind, woken by what happens to what they own and could adopt."""

    def __init__(
        self,
        owners: Informer[T],
        dependents: Informer[D],
        queue: WorkQueue[Key],
        *,
        kind: str,
        selector: Callable[[T], LabelSelector | None],
        count: Callable[[T], int] = lambda _owner: 0,
    ) -> None:
        """`count` is how many an owner has, about."""
        self._owners = owners
        self._queue = queue
        self._kind = kind
        self._selector = selector
        self._count = count
        owners.add_index(_INDEX, self._index_keys)
        dependents.listen(self._hear)

    def owner_of(self, obj: D) -> T | None:
        """Who controls it, if that is of this kind and still there."""
        reference = controller_of(obj)
        if reference is None or reference.kind != self._kind:
            return None
        owner = self._owners.get(reference.name, obj.metadata.namespace)
        return owner if owner is not None and owner.metadata.uid == reference.uid else None

    def adopters_of(self, obj: D) -> Iterator[T]:
        """Who would adopt what nobody controls."""
        namespace, labels = obj.metadata.namespace, obj.metadata.labels
        keys: list[Hashable] = [(namespace, *label) for label in labels.items()]
        for key in (*keys, (namespace,)):
            for owner in self._owners.by_index(_INDEX, key):
                try:
                    matches = selector_of(self._selector(owner)).matches(labels)
                except ParseError:
                    continue
                if matches:
                    yield owner

    # Private -----------------------------------------------------------------------------------

    def _hear(self, old: D | None, new: D | None) -> None:
        if new is not None:
            owner = self.owner_of(new)
            if owner is not None:
                self._wake(owner)
        if old is not None:
            before = old.metadata
            if new is not None and before.owner_references == new.metadata.owner_references:
                if controller_of(new) is not None or before.labels == new.metadata.labels:
                    return
            else:
                owner = self.owner_of(old)
                if owner is not None:
                    self._wake(owner)
        if new is not None and controller_of(new) is None:
            for owner in self.adopters_of(new):
                self._wake(owner)

    def _wake(self, owner: T) -> None:
        self._queue.add_after(Key.of(owner), gathering_seconds(self._count(owner)))

    def _index_keys(self, owner: T) -> Iterable[Hashable]:
        """One label that it selects by: what is without need not be asked about."""
        selector = self._selector(owner)
        if selector is None:
            return ()
        label = next(iter(sorted(selector.match_labels.items())), ())
        return ((owner.metadata.namespace, *label),)


_INDEX: Final = "selected label"
