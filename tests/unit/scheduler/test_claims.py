"""What the scheduler knows of claims before the watch tells it."""

from __future__ import annotations

from typing import Any, cast

from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dray.scheduler.claims import Claims


class Watch:
    """An informer, played by the test."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], ResourceClaim] = {}
        self._listener: Any = None

    def listen(self, listener: Any) -> None:
        self._listener = listener

    def get(self, name: str, namespace: str) -> ResourceClaim | None:
        return self._objects.get((namespace, name))

    def values(self) -> list[ResourceClaim]:
        return list(self._objects.values())

    def tell(self, new: ResourceClaim) -> None:
        key = (new.metadata.namespace, new.metadata.name)
        old = self._objects.get(key)
        self._objects[key] = new
        self._listener(old, new)

    def tell_gone(self, old: ResourceClaim) -> None:
        del self._objects[old.metadata.namespace, old.metadata.name]
        self._listener(old, None)


class Counts:
    """Which claim has which device."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.changes = 0

    def add_claim(self, claim: ResourceClaim) -> None:
        self.changes += 1
        allocation = claim.status.allocation
        assert allocation is not None
        self.held[claim.metadata.name] = allocation.devices.results[0].device

    def remove_claim(self, claim: ResourceClaim) -> None:
        self.changes += 1
        del self.held[claim.metadata.name]


class World:
    def __init__(self) -> None:
        self.watch = Watch()
        self.counts = Counts()
        self.claims = Claims(cast("Any", self.watch), self.counts)
        self.heard: list[tuple[str, str]] = []
        self.claims.listen(lambda old, new: self.heard.append((device(old), device(new))))


def claim(revision: int, device: str = "", *, uid: str = "1") -> ResourceClaim:
    result = DeviceRequestAllocationResult(request="r", driver="d", pool="p", device=device)
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    return ResourceClaim(
        metadata=ObjectMeta(
            name="claim", namespace="default", uid=uid, resource_version=str(revision)
        ),
        status=ResourceClaimStatus(allocation=allocation if device else None),
    )


def device(one: ResourceClaim | None) -> str:
    if one is None:
        return "gone"
    if one.status.allocation is None:
        return "none"
    return one.status.allocation.devices.results[0].device


def test_devices_are_taken_from_the_moment_they_are_chosen() -> None:
    world = World()
    world.watch.tell(claim(1))
    world.claims.reserve(claim(1, "gpu-0"))
    assert world.counts.held == {"claim": "gpu-0"}
    assert world.claims.is_in_flight(claim(1))
    known = world.claims.get("claim", "default")
    assert device(known) == "none", "it is not stored yet"


def test_what_was_stored_is_known_before_the_watch_says_so_and_counted_once() -> None:
    world = World()
    world.watch.tell(claim(1))
    chosen = claim(1, "gpu-0")
    world.claims.reserve(chosen)
    world.claims.assume(claim(2, "gpu-0"))
    world.claims.release(chosen)
    assert device(world.claims.get("claim", "default")) == "gpu-0"
    assert not world.claims.is_in_flight(claim(1))
    world.watch.tell(claim(2, "gpu-0"))
    assert world.counts.held == {"claim": "gpu-0"}
    assert world.counts.changes == 1
    assert world.heard == [("gone", "none"), ("none", "gpu-0")]


def test_an_old_word_of_the_watch_does_not_undo_what_was_stored() -> None:
    world = World()
    world.watch.tell(claim(1))
    world.claims.assume(claim(3, "gpu-0"))
    world.watch.tell(claim(2))
    assert device(world.claims.get("claim", "default")) == "gpu-0"
    assert world.counts.held == {"claim": "gpu-0"}


def test_what_fell_through_is_given_back_and_others_hear_of_it() -> None:
    world = World()
    world.watch.tell(claim(1))
    chosen = claim(1, "gpu-0")
    world.claims.reserve(chosen)
    world.heard.clear()
    world.claims.release(chosen)
    assert world.counts.held == {}
    assert world.heard == [("gpu-0", "none")]


def test_a_claim_that_is_gone_holds_nothing() -> None:
    world = World()
    world.watch.tell(claim(1, "gpu-0"))
    world.claims.reserve(claim(1, "gpu-0"))
    world.watch.tell_gone(claim(1, "gpu-0"))
    assert world.counts.held == {}
    assert not world.claims.is_in_flight(claim(1))


def test_a_claim_made_anew_is_another() -> None:
    world = World()
    world.watch.tell(claim(1, uid="1"))
    world.claims.assume(claim(2, "gpu-0", uid="1"))
    world.watch.tell(claim(3, uid="2"))
    assert device(world.claims.get("claim", "default")) == "none"
    assert world.counts.held == {}


def test_somebody_elses_allocation_counts_even_while_ours_is_on_its_way() -> None:
    world = World()
    world.watch.tell(claim(1))
    chosen = claim(1, "gpu-0")
    world.claims.reserve(chosen)
    world.watch.tell(claim(2, "gpu-1"))
    assert world.counts.held == {"claim": "gpu-1"}
    world.claims.release(chosen)
    assert world.counts.held == {"claim": "gpu-1"}


def test_whoever_gives_up_late_does_not_give_up_what_another_pod_has_reserved_since() -> None:
    world = World()
    world.watch.tell(claim(1))
    first = claim(1, "gpu-0")
    world.claims.reserve(first)
    world.claims.release(first)
    second = claim(1, "gpu-1")
    world.claims.reserve(second)
    world.claims.release(first)
    world.claims.release(claim(1))
    assert world.counts.held == {"claim": "gpu-1"}
    assert world.claims.is_in_flight(second)


def test_devices_that_another_claim_has_by_now_did_not_become_free() -> None:
    world = World()
    chosen = claim(1, "gpu-0")
    world.claims.reserve(chosen)
    world.claims.release(chosen, elsewhere=True)
    assert world.counts.held == {}
    assert world.heard == []


def test_who_comes_late_is_told_what_there_is_as_it_is_known() -> None:
    world = World()
    world.watch.tell(claim(1))
    world.claims.assume(claim(2, "gpu-0"))
    heard = []
    world.claims.listen(lambda old, new: heard.append((device(old), device(new))))
    assert heard == [("gone", "gpu-0")]


def test_a_claim_that_goes_with_devices_on_their_way_to_it_sets_them_free() -> None:
    world = World()
    world.watch.tell(claim(1))
    world.claims.reserve(claim(1, "gpu-0"))
    world.heard.clear()
    world.watch.tell_gone(claim(1))
    assert world.heard == [("gpu-0", "gone")]


def test_devices_that_were_chosen_are_free_once_somebody_else_gave_others() -> None:
    world = World()
    world.watch.tell(claim(1))
    world.claims.reserve(claim(1, "gpu-0"))
    world.heard.clear()
    world.watch.tell(claim(2, "gpu-1"))
    assert world.heard == [("gpu-0", "gone"), ("none", "gpu-1")]
    assert world.counts.held == {"claim": "gpu-1"}


def test_what_is_expected_of_a_claim_is_what_was_chosen_for_it() -> None:
    world = World()
    world.watch.tell(claim(1))
    assert device(world.claims.expected("claim", "default")) == "none"
    world.claims.reserve(claim(1, "gpu-0"))
    assert device(world.claims.expected("claim", "default")) == "gpu-0"
