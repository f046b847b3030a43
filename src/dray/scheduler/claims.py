"""The claims as the scheduler knows them, which is ahead of what it is told.

Three things are newer than the last word of the watch: what the scheduler has written and not heard
of yet (assumed), and what it has decided and not written yet (in flight). Devices count as taken
from the moment they are decided on, so that no two pods get the same; a claim in flight is not
offered to a second pod before it is stored. What falls through is given back.

Upstream counterparts: the scheduler's assume cache and claim tracker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dray.api.meta import ObjectMeta
from dray.api.resource import DeviceRequestAllocationResult, ResourceClaim
from dray.client import Informer

__all__ = ["ClaimListener", "Claims", "DeviceCounts"]

ClaimListener = Callable[[ResourceClaim | None, ResourceClaim | None], None]

_Key = tuple[str, str]  # namespace and name


class DeviceCounts(Protocol):
    """Where it is counted which devices are taken."""

    def add_claim(self, claim: ResourceClaim) -> None: ...

    def remove_claim(self, claim: ResourceClaim) -> None: ...


class Claims:
    """All claims, as they will be once everything is written."""

    def __init__(self, informer: Informer[ResourceClaim], devices: DeviceCounts) -> None:
        self._informer = informer
        self._devices = devices
        self._assumed: dict[_Key, ResourceClaim] = {}
        self._in_flight: dict[_Key, ResourceClaim] = {}
        self._counted: dict[_Key, _Holding] = {}
        self._listeners: list[ClaimListener] = []
        informer.listen(self._hear)

    def listen(self, listener: ClaimListener) -> None:
        """Be told of every change of what `get` answers, as (old, new), after what is there."""
        for claim in self._informer.values():
            listener(None, self.get(claim.metadata.name, claim.metadata.namespace))
        self._listeners.append(listener)

    def get(self, name: str, namespace: str) -> ResourceClaim | None:
        """The newest that is known of a claim, except what is in flight."""
        return self._assumed.get((namespace, name)) or self._informer.get(name, namespace)

    def expected(self, name: str, namespace: str) -> ResourceClaim | None:
        """The claim as it is going to be, what is in flight included."""
        return self._in_flight.get((namespace, name)) or self.get(name, namespace)

    def is_in_flight(self, claim: ResourceClaim) -> bool:
        """Whether devices are being given to it just now."""
        return _key(claim) in self._in_flight

    def reserve(self, claim: ResourceClaim) -> None:
        """Devices were chosen for the claim, as it says; they are its own from now on."""
        key = _key(claim)
        self._in_flight[key] = claim
        self._count(key, claim)

    def release(self, claim: ResourceClaim, *, elsewhere: bool = False) -> None:
        """What was chosen is stored, or was given up: what is known otherwise counts again.

        `claim` has the very allocation that was reserved. If another one was reserved since, that
        one stays. `elsewhere`: the devices are another claim's by now, so nothing became free.
        """
        key = _key(claim)
        held = self._in_flight.get(key)
        if held is None or held.status.allocation is not claim.status.allocation:
            return
        del self._in_flight[key]
        known = self.get(claim.metadata.name, claim.metadata.namespace)
        self._count(key, known)
        if key not in self._counted and not elsewhere:
            # Others may have been refused because of devices that nobody has after all.
            self._tell(held, known)

    def assume(self, claim: ResourceClaim) -> None:
        """Take in what is stored, though the watch may not have said so yet."""
        key = _key(claim)
        seen = self._informer.get(claim.metadata.name, claim.metadata.namespace)
        old = self._assumed.get(key) or seen
        if old is None or old.metadata.uid != claim.metadata.uid:
            return  # gone in the meantime
        if _revision(claim) <= _revision(old):
            return
        self._assumed[key] = claim
        self._settle(key, old, claim)

    # Private -----------------------------------------------------------------------------------

    def _hear(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        either = new if new is not None else old
        assert either is not None, "something changed"
        key = _key(either)
        assumed = self._assumed.get(key)
        if assumed is not None:
            same = new is not None and new.metadata.uid == assumed.metadata.uid
            if same and new is not None and _revision(new) < _revision(assumed):
                return  # what we wrote is on its way
            del self._assumed[key]
            old = assumed
            if same and new is not None and _revision(new) == _revision(assumed):
                return  # we know
        held = self._in_flight.get(key)
        if new is None and held is not None:
            del self._in_flight[key]
            old = held  # it had devices, whatever was stored of that
        elif held is not None and _holding(new) not in (None, _holding(held)):
            # Somebody else gave it others: what was chosen will not be stored.
            self._count(key, new)
            self._tell(held, None)
        self._settle(key, old, new)

    def _settle(self, key: _Key, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if key not in self._in_flight or (new is not None and new.status.allocation is not None):
            self._count(key, new)
        self._tell(old, new)

    def _count(self, key: _Key, claim: ResourceClaim | None) -> None:
        """Have the claim's devices counted, if they are others than before."""
        holding = _holding(claim)
        before = self._counted.get(key)
        if holding == before:
            return
        if before is not None:
            del self._counted[key]
        if holding is not None and claim is not None:
            self._counted[key] = holding
            self._devices.add_claim(claim)
        elif before is not None:
            self._devices.remove_claim(_named(key))

    def _tell(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        for listener in self._listeners:
            listener(old, new)


_Holding = tuple[str, tuple[DeviceRequestAllocationResult, ...]]  # uid and devices


def _holding(claim: ResourceClaim | None) -> _Holding | None:
    if claim is None or claim.status.allocation is None:
        return None
    return claim.metadata.uid, claim.status.allocation.devices.results


def _named(key: _Key) -> ResourceClaim:
    """A claim of that name, whichever it is: what it held is what is counted under the name."""
    namespace, name = key
    return ResourceClaim(metadata=ObjectMeta(namespace=namespace, name=name))


def _key(claim: ResourceClaim) -> _Key:
    return claim.metadata.namespace, claim.metadata.name


def _revision(claim: ResourceClaim) -> int:
    return int(claim.metadata.resource_version or "0")
