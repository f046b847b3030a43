"""All claims in use on this node, in memory and on disk.

Entries are immutable and replaced. A change that has to outlive the agent is on disk before anybody
can see it: if it cannot be written, nothing changed. What a restart may forget (whether a claim is
prepared, whether it is being unprepared) is never a reason to write.

Only the text of an entry that changed is encoded anew, and both indexes are kept up to date with
each change, so neither grows slower with the number of claims. No locks: nothing here waits.
Upstream counterpart: claimInfoCache in pkg/kubelet/cm/dra/claiminfo.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from dray.agent.claims.checkpoint import encode_entry
from dray.agent.claims.claim_info import ClaimInfo, ClaimKey

__all__ = ["ClaimCache", "EntryStore"]

_I = TypeVar("_I", bound=Hashable)

# Ordered, so that everything derived from an index comes in the same order each time.
_Index = dict[_I, dict[ClaimKey, None]]


class EntryStore(Protocol):
    """Where entries are kept."""

    def store(self, entries: Iterable[bytes]) -> None:
        """Replace all; raises CheckpointUnwritable, and then the old ones are still there."""
        ...


class ClaimCache:
    """The claims of a node, by name, by pod and by device."""

    def __init__(self, store: EntryStore, entries: Iterable[ClaimInfo] = ()) -> None:
        self._store = store
        self._entries: dict[ClaimKey, ClaimInfo] = {}
        self._encoded: dict[ClaimKey, bytes] = {}
        self._by_pod: _Index[str] = {}
        self._by_device: _Index[tuple[str, str, str]] = {}
        for info in entries:
            self._apply(info.key, info)
            self._encoded[info.key] = encode_entry(info)

    def get(self, key: ClaimKey) -> ClaimInfo | None:
        return self._entries.get(key)

    def values(self) -> Sequence[ClaimInfo]:
        return tuple(self._entries.values())

    def of_pod(self, pod_uid: str) -> Sequence[ClaimInfo]:
        """The claims that this pod uses."""
        return tuple(self._entries[key] for key in self._by_pod.get(pod_uid, ()))

    def pods(self) -> frozenset[str]:
        """The UIDs of all pods that use any claim."""
        return frozenset(self._by_pod)

    def pods_using(self, driver: str, pool: str, device: str) -> frozenset[str]:
        """The UIDs of all pods that use this device, through whichever claim."""
        keys = self._by_device.get((driver, pool, device), ())
        return frozenset[str]().union(*(self._entries[key].pods for key in keys))

    def commit(self, changes: Mapping[ClaimKey, ClaimInfo | None]) -> None:
        """Replace entries, or remove them (None): all of these changes, or none.

        Raises CheckpointUnwritable.
        """
        encoded = dict(self._encoded)
        for key, info in changes.items():
            if info is None:
                encoded.pop(key, None)
            elif info != self._entries.get(key):
                encoded[key] = encode_entry(info)
        if encoded != self._encoded:
            self._store.store(encoded.values())
            self._encoded = encoded
        for key, info in changes.items():
            self._apply(key, info)

    def _apply(self, key: ClaimKey, new: ClaimInfo | None) -> None:
        old = self._entries.get(key)
        if old is new:
            return
        if old is not None:
            _remove(self._by_pod, old.pods, key)
            _remove(self._by_device, _devices(old), key)
        if new is None:
            self._entries.pop(key, None)
            return
        self._entries[key] = new
        for pod_uid in sorted(new.pods):
            self._by_pod.setdefault(pod_uid, {})[key] = None
        for device in _devices(new):
            self._by_device.setdefault(device, {})[key] = None


def _devices(info: ClaimInfo) -> Iterable[tuple[str, str, str]]:
    return dict.fromkeys(
        (driver, device.pool, device.device)
        for driver, devices in info.drivers.items()
        for device in devices
    )


def _remove(index: _Index[_I], values: Iterable[_I], key: ClaimKey) -> None:
    for value in values:
        keys = index[value]
        del keys[key]
        if not keys:
            del index[value]
