"""What claims hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator.occupancy import UNUSED, Occupancy, PoolID
from dray.allocator.requests import claim_key
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceID,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dray.api.wire import replace
from tests.unit.allocator.builders import DRIVER, POOL, amount, claim

GPU = DeviceID(DRIVER, POOL, "gpu-0")
OTHER = DeviceID(DRIVER, POOL, "gpu-1")
HERE = PoolID(DRIVER, POOL)


def result(device: DeviceID = GPU, **fields: Any) -> DeviceRequestAllocationResult:
    return DeviceRequestAllocationResult(
        request="req", driver=device.driver, pool=device.pool, device=device.device, **fields
    )


def share(memory: str | None = "1Gi", device: DeviceID = GPU) -> DeviceRequestAllocationResult:
    consumed = {} if memory is None else {"memory": amount(memory)}
    return result(device, share_id="some", consumed_capacity=consumed)


def holding(*results: DeviceRequestAllocationResult, name: str = "claim") -> ResourceClaim:
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    return replace(claim(name=name), status=ResourceClaimStatus(allocation=allocation))


def state(occupancy: Occupancy, pools: Sequence[PoolID] = (HERE,)) -> object:
    return {
        pool: {
            name: (usage.whole, usage.shares, usage.measured, usage.key(), sorted(usage.holders))
            for name, usage in occupancy.pool(pool).items()
        }
        for pool in pools
    }


def test_nothing_is_held_at_first() -> None:
    occupancy = Occupancy()
    assert not len(occupancy)
    assert occupancy.usage(GPU) == UNUSED


def test_a_device_given_whole_is_allocated() -> None:
    usage = Occupancy.of([holding(result())]).usage(GPU)
    assert (usage.allocated, usage.shared, usage.charged) == (True, False, True)


def test_a_share_leaves_the_rest_to_others() -> None:
    usage = Occupancy.of([holding(share())]).usage(GPU)
    assert (usage.allocated, usage.shared, usage.charged) == (False, True, True)


def test_what_shares_consume_adds_up() -> None:
    claims = [holding(share("1Gi"), name="a"), holding(share("2Gi"), name="b")]
    assert Occupancy.of(claims).usage(GPU).consumed == {"memory": amount("3Gi").nano}


def test_a_share_of_a_device_without_capacity_is_a_share() -> None:
    usage = Occupancy.of([holding(share(None))]).usage(GPU)
    assert usage.shared
    assert usage.key() == (False, True, ())


def test_without_consumable_capacity_a_share_is_the_whole_device() -> None:
    usage = Occupancy.of([holding(share())]).usage(GPU)
    assert usage.taken(consumable_capacity=False)
    assert not usage.taken(consumable_capacity=True)


def test_a_claim_that_is_added_twice_holds_its_devices_once() -> None:
    occupancy = Occupancy.of([holding(result()), holding(result())])
    occupancy.remove(holding(result()))
    assert not len(occupancy)


def test_a_claim_that_is_removed_twice_takes_nothing_from_others() -> None:
    gone, other = holding(result(), name="a"), holding(result(), name="b")
    occupancy = Occupancy.of([gone])
    occupancy.remove(gone)
    occupancy.add(other)
    assert occupancy.remove(gone) == frozenset()
    assert occupancy.usage(GPU).holders == ["default/b"]


def test_a_claim_that_changed_holds_what_it_holds_now() -> None:
    occupancy = Occupancy.of([holding(result(GPU))])
    occupancy.add(holding(result(OTHER)))
    assert not occupancy.usage(GPU).charged
    assert occupancy.usage(OTHER).allocated


def test_a_claim_that_was_made_anew_keeps_its_devices_when_the_old_one_goes() -> None:
    old = holding(result())
    new = replace(old, metadata=replace(old.metadata, uid="another"))
    occupancy = Occupancy.of([new])
    assert occupancy.remove(old) == frozenset()
    assert occupancy.usage(GPU).allocated


def test_nobody_can_write_into_what_is_unused() -> None:
    Occupancy().usage(GPU).holders.append("somebody")
    assert Occupancy().usage(GPU).holders == []


def test_administrators_hold_nothing() -> None:
    occupancy = Occupancy()
    assert occupancy.add(holding(result(admin_access=True))) == frozenset()
    assert not len(occupancy)


def test_a_claim_without_an_allocation_holds_nothing() -> None:
    assert Occupancy().add(claim()) == frozenset()


def test_holders_are_known_by_namespace_and_name() -> None:
    usage = Occupancy.of([holding(share(), name="a"), holding(share(), name="b")]).usage(GPU)
    assert usage.holders == ["default/a", "default/b"]


def test_a_change_says_which_pools_it_touches() -> None:
    elsewhere = DeviceID("nic.example.com", "pool-2", "nic")
    one = holding(result(GPU), result(OTHER), result(elsewhere))
    occupancy = Occupancy()
    assert occupancy.add(one) == {HERE, PoolID("nic.example.com", "pool-2")}
    assert occupancy.remove(one) == {HERE, PoolID("nic.example.com", "pool-2")}


def test_a_device_that_two_claims_were_given_is_free_when_both_let_go() -> None:
    one, other = holding(result(), name="a"), holding(result(), name="b")
    occupancy = Occupancy.of([one, other])
    occupancy.remove(one)
    assert occupancy.usage(GPU).allocated
    occupancy.remove(other)
    assert occupancy.usage(GPU) == UNUSED


def test_what_is_held_without_a_claim_counts_too() -> None:
    occupancy = Occupancy()
    occupancy.hold(GPU, "default/a")
    occupancy.hold_share(OTHER)
    occupancy.consume(OTHER, {"memory": 5})
    occupancy.consume(OTHER, {"memory": 2})
    assert occupancy.usage(GPU).key() == (True, False, ())
    assert occupancy.usage(OTHER).key() == (False, True, (("memory", 7),))
    assert len(occupancy) == 2


def test_amounts_of_nothing_make_no_difference() -> None:
    nothing, some = Occupancy(), Occupancy()
    nothing.consume(GPU, {"memory": 0})
    some.consume(GPU, {})
    assert nothing.usage(GPU).key() == some.usage(GPU).key()


RESULTS = st.lists(
    st.one_of(
        st.sampled_from([GPU, OTHER]).map(result),
        st.builds(share, st.sampled_from([None, "1Gi", "500m"]), st.sampled_from([GPU, OTHER])),
        st.just(result(admin_access=True)),
    ),
    max_size=3,
)
CLAIMS = st.lists(RESULTS, max_size=5).map(
    lambda held: [holding(*results, name=f"c{i}") for i, results in enumerate(held)]
)


@pytest.mark.slow
@given(CLAIMS, st.data())
def test_claims_that_came_and_went_were_never_there(
    claims: list[ResourceClaim], data: st.DataObject
) -> None:
    gone = [one for one in claims if data.draw(st.booleans())]
    occupancy = Occupancy.of(claims)
    for one in data.draw(st.permutations(gone)):
        occupancy.remove(one)
    fresh = Occupancy.of(one for one in claims if one not in gone)
    assert state(occupancy) == state(fresh)
    assert len(occupancy) == len(fresh)


@given(CLAIMS, st.data())
def test_what_is_in_use_without_some_claims_is_what_the_others_hold(
    claims: list[ResourceClaim], data: st.DataObject
) -> None:
    gone = [one for one in claims if data.draw(st.booleans())]
    occupancy = Occupancy.of(claims)
    before = state(occupancy)
    left = occupancy.without({claim_key(one) for one in gone}, (), [HERE])
    assert state(left) == state(Occupancy.of(one for one in claims if one not in gone))
    assert state(occupancy) == before


def test_a_device_that_goes_is_free_whoever_holds_it() -> None:
    occupancy = Occupancy.of([holding(result(), result(OTHER))])
    left = occupancy.without((), [GPU], [HERE])
    assert [left.usage(one).allocated for one in (GPU, OTHER)] == [False, True]
