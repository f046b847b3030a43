"""The slices of one driver on one node, as far as is known: what a watch tells, and own writes.

Own writes count at once, so that nothing is written twice because the watch lags behind; and what
the watch brings of them later is no news. Names are never used twice, so a slice that was deleted
stays deleted, whatever a late event says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from dray.api.resource import ResourceSlice

__all__ = ["SliceCache"]

# Deleted names are remembered until the watch confirms them, and never more than this: a watch
# that misses so many has listed anew since.
DELETED_MAX: Final = 4096


class SliceCache:
    """Slices by name. `on_foreign` hears the pool of every change that somebody else made."""

    def __init__(
        self,
        *,
        is_ours: Callable[[ResourceSlice], bool],
        on_foreign: Callable[[str, bool], None],
    ) -> None:
        """`on_foreign` gets the pool's name, and whether a slice of it was deleted."""
        self._is_ours = is_ours
        self._on_foreign = on_foreign
        self._slices: dict[str, ResourceSlice] = {}
        self._deleted: dict[str, None] = {}

    def of_pool(self, pool: str) -> tuple[ResourceSlice, ...]:
        """What there is of a pool, by name."""
        found = (each for each in self._slices.values() if each.spec.pool.name == pool)
        return tuple(sorted(found, key=lambda each: each.metadata.name))

    def pools(self) -> frozenset[str]:
        """The pools that have slices."""
        return frozenset(each.spec.pool.name for each in self._slices.values())

    def hear(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """An event of a watch."""
        if new is None:
            if old is not None:
                name = old.metadata.name
                self._deleted.pop(name, None)
                gone = self._slices.pop(name, None)
                if gone is not None:
                    self._on_foreign(gone.spec.pool.name, True)
            return
        name = new.metadata.name
        if name in self._deleted or not self._is_ours(new) or self._is_known(old, new):
            return
        self._slices[name] = new
        self._on_foreign(new.spec.pool.name, False)

    def wrote(self, slice_: ResourceSlice) -> None:
        """A write of ours, as the server stored it."""
        self._slices[slice_.metadata.name] = slice_

    def deleted(self, name: str) -> None:
        """A deletion of ours, or one that somebody else was faster with."""
        self._slices.pop(name, None)
        self._deleted[name] = None
        while len(self._deleted) > DELETED_MAX:
            self._deleted.pop(next(iter(self._deleted)))

    def reset(self, slices: Iterable[ResourceSlice]) -> None:
        """A fresh list, of everything: what else was known is not true any more."""
        self._slices = {each.metadata.name: each for each in slices if self._is_ours(each)}

    def _is_known(self, old: ResourceSlice | None, new: ResourceSlice) -> bool:
        """Whether an event says what is known already, or is older than that."""
        known = self._slices.get(new.metadata.name)
        if known is None:
            return False
        if known.metadata.resource_version == new.metadata.resource_version:
            return True
        revision = _revision(new)
        # A server that was set back goes back to older revisions, and then they are the truth.
        set_back = old is not None and _revision(old) > revision
        return not set_back and 0 < revision < _revision(known)


def _revision(slice_: ResourceSlice) -> int:
    """Where a version is in the order of events; 0 for servers whose versions tell nothing."""
    version = slice_.metadata.resource_version
    return int(version) if version.isascii() and version.isdecimal() else 0
