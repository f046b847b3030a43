"""The ledger by itself, against the checks that tests hold whole clusters to, and in a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    AllocationResult,
    Counter,
    CounterSet,
    Device,
    DeviceAllocationResult,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.scheme import KINDS
from dray.errors import CAUSE_DEVICES_TAKEN, Conflict, RevisionConflict, StoreUnavailable
from dray.server.allocations import Allocations
from dray.server.models.typed import TypedModel
from dray.server.registry import Registry
from dray.store.memory import MemoryStore
from dray.store.store import Record
from dray.testing.invariants import no_capacity_exceeded, no_counter_overdrawn, no_device_held_twice
from tests.unit.server.harness import APPLY, MERGE, STRATEGIC, Api, Reply, durable_store, served

DRIVER: Final = "gpu.example.com"
CLAIMS: Final = TypedModel(KINDS["resource.k8s.io", "ResourceClaim"])
SLICES: Final = TypedModel(KINDS["resource.k8s.io", "ResourceSlice"])
RESOURCE: Final = next(
    one.resource
    for one in Registry().served()
    if (one.resource.plural, one.resource.version) == ("resourceclaims", "v1")
)

Results = tuple[DeviceRequestAllocationResult, ...]


def quantity(text: str) -> Quantity:
    return Quantity.parse(text)


def whole(device: str, **fields: Any) -> DeviceRequestAllocationResult:
    return DeviceRequestAllocationResult(
        request="r", driver=DRIVER, pool="node-1", device=device, **fields
    )


def share(device: str, id_: str, **amounts: str) -> DeviceRequestAllocationResult:
    consumed = {name: quantity(text) for name, text in amounts.items()}
    return whole(device, share_id=id_, consumed_capacity=consumed)


def claim(name: str, *results: DeviceRequestAllocationResult) -> ResourceClaim:
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace="team-a", uid=f"{name}-uid"),
        status=ResourceClaimStatus(allocation=allocation if results else None),
    )


def drawing(name: str, **amounts: str) -> Device:
    counters = {counter: Counter(value=quantity(text)) for counter, text in amounts.items()}
    return Device(
        name=name,
        consumes_counters=(DeviceCounterConsumption(counter_set="card", counters=counters),),
    )


def slice_of(*devices: Device, generation: int = 1, **card: str) -> ResourceSlice:
    """A slice of pool node-1; `card` are the counters of a set of that name."""
    counters = {name: Counter(value=quantity(text)) for name, text in card.items()}
    return ResourceSlice(
        metadata=ObjectMeta(name=f"slice-{generation}-{'counters' if card else 'devices'}"),
        spec=ResourceSliceSpec(
            driver=DRIVER,
            pool=ResourcePool(name="node-1", generation=generation, resource_slice_count=1),
            node_name="node-1",
            devices=devices or None,
            shared_counters=(CounterSet(name="card", counters=counters),) if card else None,
        ),
    )


NIC: Final = Device(
    name="nic-0",
    allow_multiple_allocations=True,
    capacity={
        "bandwidth": DeviceCapacity(value=quantity("10Gi")),
        "queues": DeviceCapacity(value=quantity("4")),
    },
)
FLEET: Final = (
    slice_of(
        NIC,
        Device(name="gpu-0"),
        Device(name="gpu-1"),
        drawing("half-0", memory="20Gi", engines="3"),
        drawing("half-1", memory="20Gi", engines="3"),
        drawing("full", memory="40Gi", engines="7"),
    ),
    slice_of(memory="40Gi", engines="7"),
)


class Ledger:
    """Allocations over a store, and claims that get devices one after the other."""

    def __init__(self, *slices: ResourceSlice, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.allocations = Allocations(self.store)
        for one in slices:
            key = f"resource.k8s.io/resourceslices/{one.metadata.name}"
            done(self.store.put(key, SLICES.store(one)))

    async def write(self, name: str, *results: DeviceRequestAllocationResult) -> Record:
        new = claim(name, *results)
        value = CLAIMS.store(new)
        with self.allocations.holding(RESOURCE, key(name), value, new, claim(name), dry_run=False):
            return await self.store.put(key(name), value)

    def give(self, name: str, *results: DeviceRequestAllocationResult) -> None:
        done(self.write(name, *results))

    def refusal(self, name: str, *results: DeviceRequestAllocationResult) -> str:
        with pytest.raises(Conflict) as refused:
            self.give(name, *results)
        start, told = str(refused.value).split(": ", 1)
        assert start == f'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "{name}"'
        assert [one.reason for one in refused.value.details.causes] == [CAUSE_DEVICES_TAKEN]
        return told

    def end(self, name: str) -> None:
        done(self.store.delete(key(name)))


def done(work: Coroutine[Any, Any, object]) -> None:
    """Do what need not wait for anything."""
    with pytest.raises(StopIteration):
        work.send(None)


def key(name: str) -> str:
    return f"resource.k8s.io/resourceclaims/team-a/{name}"


# Devices ---------------------------------------------------------------------------------------


def test_a_device_is_one_claims() -> None:
    ledger = Ledger()
    ledger.give("a", whole("gpu-0"))
    ledger.give("b", whole("gpu-1"))
    told = ledger.refusal("c", whole("gpu-2"), whole("gpu-1"))
    assert told == "device gpu.example.com/node-1/gpu-1 is already allocated to claim team-a/b"
    ledger.give("c", whole("gpu-2"))


def test_a_device_with_the_same_name_in_another_pool_is_another() -> None:
    ledger = Ledger()
    ledger.give("a", whole("gpu-0"))
    ledger.give("b", DeviceRequestAllocationResult(driver=DRIVER, pool="node-2", device="gpu-0"))
    ledger.give("c", DeviceRequestAllocationResult(driver="other", pool="node-1", device="gpu-0"))


def test_what_is_held_whole_is_not_shared_and_the_other_way_round() -> None:
    ledger = Ledger()
    ledger.give("a", whole("gpu-0"))
    told = ledger.refusal("b", share("gpu-0", "s1"))
    assert told == "device gpu.example.com/node-1/gpu-0 is already allocated to claim team-a/a"
    ledger.give("b", share("nic-0", "s1"))
    told = ledger.refusal("c", whole("nic-0"))
    assert told == "device gpu.example.com/node-1/nic-0 is already shared by claim team-a/b"


def test_shares_differ() -> None:
    ledger = Ledger()
    ledger.give("a", share("nic-0", "s1"))
    ledger.give("b", share("nic-0", "s2"))
    told = ledger.refusal("c", share("nic-0", "s2"))
    device = "device gpu.example.com/node-1/nic-0"
    assert told == f"share s2 of {device} is already allocated to claim team-a/b"


def test_no_claim_gets_one_device_twice() -> None:
    ledger = Ledger(*FLEET)
    told = ledger.refusal("a", whole("gpu-0"), whole("gpu-0"))
    assert told == "device gpu.example.com/node-1/gpu-0 is already allocated to this claim"
    ledger.give("a", share("nic-0", "s1"), share("nic-0", "s2"))


def test_to_watch_a_device_is_not_to_hold_it() -> None:
    ledger = Ledger()
    ledger.give("a", whole("gpu-0"))
    ledger.give("b", whole("gpu-0", admin_access=True))
    ledger.give("c", whole("gpu-1", admin_access=True))
    ledger.give("d", whole("gpu-1"))


# Capacity --------------------------------------------------------------------------------------


def test_shares_take_no_more_than_there_is() -> None:
    ledger = Ledger(*FLEET)
    ledger.give("a", share("nic-0", "s1", bandwidth="4Gi", queues="1"))
    ledger.give("b", share("nic-0", "s2", bandwidth="4Gi"))
    told = ledger.refusal("c", share("nic-0", "s3", bandwidth="3Gi"))
    assert told == (
        "device gpu.example.com/node-1/nic-0 has 10Gi of bandwidth, of which 8Gi is already "
        "allocated: 3Gi more does not fit"
    )
    told = ledger.refusal("c", share("nic-0", "s3", bandwidth="2Gi", queues="4"))
    assert "has 4 of queues, of which 1 is already allocated: 4 more does not fit" in told
    ledger.give("c", share("nic-0", "s3", bandwidth="2Gi", queues="3"))


def test_the_shares_of_one_claim_count_together() -> None:
    ledger = Ledger(*FLEET)
    two = (share("nic-0", "s1", bandwidth="6Gi"), share("nic-0", "s2", bandwidth="6Gi"))
    assert "of which 6Gi is already allocated: 6Gi more does not fit" in ledger.refusal("a", *two)


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(share("nic-1", "s1", bandwidth="1Ti"), id="no-such-device"),
        pytest.param(share("nic-0", "s1", colour="1Ti"), id="no-such-capacity"),
    ],
)
def test_what_is_not_published_has_no_limit(result: DeviceRequestAllocationResult) -> None:
    Ledger(*FLEET).give("a", result)


def test_capacity_is_that_of_the_newest_generation() -> None:
    larger = Device(
        name="nic-0",
        allow_multiple_allocations=True,
        capacity={"bandwidth": DeviceCapacity(value=quantity("20Gi"))},
    )
    ledger = Ledger(*FLEET, slice_of(larger, generation=2))
    ledger.give("a", share("nic-0", "s1", bandwidth="20Gi"))


# Counters --------------------------------------------------------------------------------------


def test_partitions_draw_no_more_than_there_is() -> None:
    ledger = Ledger(*FLEET)
    ledger.give("a", whole("half-0"))
    told = ledger.refusal("b", whole("full"))
    assert told == (
        "counter set card of pool gpu.example.com/node-1 has 7 of engines, of which 3 is "
        "already allocated: 7 more does not fit"
    )
    ledger.give("b", whole("half-1"))
    ledger.end("a")
    ledger.end("b")
    ledger.give("c", whole("full"))
    assert "of which 7 is already allocated: 3 more" in ledger.refusal("a", whole("half-0"))


def test_the_partitions_of_one_claim_count_together() -> None:
    told = Ledger(*FLEET).refusal("a", whole("half-0"), whole("full"))
    assert "has 7 of engines, of which 0 is already allocated: 10 more does not fit" in told


def test_a_set_that_is_not_published_has_no_limit() -> None:
    ledger = Ledger(FLEET[0])
    ledger.give("a", whole("full"))
    ledger.give("b", whole("half-0"))


def test_counters_of_a_device_that_is_shared_are_drawn_once() -> None:
    nic = Device(
        name="nic-0",
        allow_multiple_allocations=True,
        consumes_counters=drawing("", memory="30Gi").consumes_counters,
    )
    ledger = Ledger(slice_of(nic), slice_of(memory="40Gi"))
    ledger.give("a", share("nic-0", "s1"))
    ledger.give("b", share("nic-0", "s2"))


# Against what every cluster is held to -----------------------------------------------------------

NAMES: Final = ("a", "b", "c", "d", "e")
results: Final = st.one_of(
    st.sampled_from(["gpu-0", "gpu-1", "half-0", "half-1", "full", "nic-0"]).map(whole),
    st.builds(
        lambda id_, bandwidth: share("nic-0", id_, bandwidth=bandwidth),
        st.sampled_from(["s1", "s2", "s3", "s4"]),
        st.sampled_from(["1Gi", "4Gi", "6Gi"]),
    ),
    st.just(whole("gpu-0", admin_access=True)),
)
steps: Final = st.lists(
    st.tuples(st.sampled_from(NAMES), st.lists(results, max_size=3).map(tuple)), max_size=25
)


@given(steps)
def test_what_is_refused_is_what_would_be_a_violation(steps: list[tuple[str, Results]]) -> None:
    """Whoever holds devices gives them back first; an empty step only does that."""
    ledger = Ledger(*FLEET)
    held: dict[str, ResourceClaim] = {}
    for name, wanted in steps:
        if name in held:
            ledger.end(name)
            del held[name]
        if not wanted:
            continue
        claims = [*held.values(), claim(name, *wanted)]
        problems = [
            *no_device_held_twice(claims),
            *no_capacity_exceeded(claims, FLEET),
            *no_counter_overdrawn(claims, FLEET),
        ]
        if problems:
            ledger.refusal(name, *wanted)
        else:
            ledger.give(name, *wanted)
            held[name] = claims[-1]
    # One that starts now, from what is stored, knows the same.
    again = Ledger(store=ledger.store)
    for device in ("gpu-0", "gpu-1", "nic-0"):
        taken = any(
            one.device == device and not one.admin_access
            for each in held.values()
            if each.status.allocation is not None
            for one in each.status.allocation.devices.results
        )
        if taken:
            again.refusal("z", whole(device))
        else:
            again.give("z", whole(device))
            again.end("z")


# Coming and going --------------------------------------------------------------------------------


def test_a_claim_that_is_gone_holds_nothing() -> None:
    ledger = Ledger()
    ledger.give("a", whole("gpu-0"))
    ledger.end("a")
    ledger.give("b", whole("gpu-0"))


def test_what_a_claim_gives_back_is_free() -> None:
    ledger = Ledger()
    ledger.give("a", whole("gpu-0"), whole("gpu-1"))
    ledger.give("a")
    ledger.give("b", whole("gpu-0"))
    assert "gpu-0 is already allocated to claim team-a/b" in ledger.refusal("a", whole("gpu-0"))
    ledger.give("a", whole("gpu-1"))


def test_whatever_way_it_was_stored_it_counts() -> None:
    ledger = Ledger()
    done(ledger.store.put(key("a"), CLAIMS.store(claim("a", whole("gpu-0")))))
    ledger.refusal("b", whole("gpu-0"))


def test_what_was_given_twice_before_may_be_given_back() -> None:
    store = MemoryStore()
    for name in ("a", "b"):
        done(store.put(key(name), CLAIMS.store(claim(name, whole("gpu-0")))))
    ledger = Ledger(store=store)
    ledger.end("a")
    assert "claim team-a/b" in ledger.refusal("c", whole("gpu-0"))
    ledger.end("b")
    ledger.give("c", whole("gpu-0"))


def test_a_dry_run_is_refused_and_holds_nothing() -> None:
    ledger = Ledger()

    def try_(name: str) -> None:
        new = claim(name, whole("gpu-0"))
        with ledger.allocations.holding(
            RESOURCE, key(name), CLAIMS.store(new), new, claim(name), dry_run=True
        ):
            pass

    try_("a")
    ledger.give("b", whole("gpu-0"))
    with pytest.raises(Conflict):
        try_("a")


def test_what_a_claim_has_already_is_not_asked_about_again() -> None:
    store = MemoryStore()
    for name in ("a", "b"):
        done(store.put(key(name), CLAIMS.store(claim(name, whole("gpu-0")))))
    ledger = Ledger(store=store)
    new = claim("a", whole("gpu-0"))
    with ledger.allocations.holding(RESOURCE, key("a"), b"", new, new, dry_run=False):
        pass


def test_one_that_is_closed_hears_of_nothing() -> None:
    ledger = Ledger()
    ledger.allocations.close()
    done(ledger.store.put(key("a"), CLAIMS.store(claim("a", whole("gpu-0")))))
    ledger.give("b", whole("gpu-0"))


# At the same time --------------------------------------------------------------------------------


class Slow(MemoryStore):
    """As on disk: what was accepted shows as a head, and goes on whoever waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.full = False
        self.heads: dict[str, Record] = {}

    def head(self, key: str) -> Record | None:
        return self.heads.get(key) or super().head(key)

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        if expected == -1:
            raise RevisionConflict(key, expected=-1, found=0)
        self.heads[key] = Record(key, value, 0, 0)
        late = asyncio.ensure_future(self._late(key, value))
        late.add_done_callback(lambda done: done.exception())  # somebody may have left
        return await asyncio.shield(late)

    async def _late(self, key: str, value: bytes) -> Record:
        await self.go.wait()
        self.heads.pop(key, None)
        if self.full:
            raise StoreUnavailable("the disk is full")
        return await super().put(key, value)


def at_once(scenario: Callable[[Ledger, Slow], Any]) -> None:
    async def main() -> None:
        store = Slow()
        ledger = Ledger(store=store)
        await scenario(ledger, store)

    asyncio.run(main())


async def begin(ledger: Ledger, name: str, device: str) -> asyncio.Task[Record]:
    task = asyncio.ensure_future(ledger.write(name, whole(device)))
    await asyncio.sleep(0)
    return task


async def come_to_rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def refused(ledger: Ledger, name: str, device: str) -> bool:
    try:
        task = await begin(ledger, name, device)
        if not task.done():
            task.cancel()
        await task
    except Conflict:
        return True
    except asyncio.CancelledError:
        return False
    return False


def test_what_is_on_its_way_is_held() -> None:
    async def scenario(ledger: Ledger, store: Slow) -> None:
        first = await begin(ledger, "a", "gpu-0")
        assert await refused(ledger, "b", "gpu-0")
        store.go.set()
        await first
        assert await refused(ledger, "b", "gpu-0")

    at_once(scenario)


def test_what_the_store_does_not_take_is_free_again() -> None:
    async def scenario(ledger: Ledger, store: Slow) -> None:
        first = await begin(ledger, "a", "gpu-0")
        store.full = True
        store.go.set()
        with pytest.raises(StoreUnavailable):
            await first
        store.full = False
        await ledger.write("b", whole("gpu-0"))

    at_once(scenario)


def test_of_two_writes_of_a_claim_the_one_that_comes_too_late_frees_its_devices_only() -> None:
    async def scenario(ledger: Ledger, store: Slow) -> None:
        first = await begin(ledger, "a", "gpu-0")
        new = claim("a", whole("gpu-0"), whole("gpu-1"))
        value = CLAIMS.store(new)
        with (
            pytest.raises(RevisionConflict),
            ledger.allocations.holding(RESOURCE, key("a"), value, new, claim("a"), dry_run=False),
        ):
            await store.put(key("a"), value, expected=-1)
        assert await refused(ledger, "b", "gpu-0")
        store.go.set()
        await first
        await ledger.write("b", whole("gpu-1"))
        assert await refused(ledger, "c", "gpu-0")

    at_once(scenario)


@pytest.mark.parametrize("full", [False, True])
def test_one_who_left_holds_what_may_be_stored_and_nothing_else(full: bool) -> None:
    async def scenario(ledger: Ledger, store: Slow) -> None:
        first = await begin(ledger, "a", "gpu-0")
        first.cancel()
        await come_to_rest()
        assert first.cancelled()
        assert await refused(ledger, "b", "gpu-0")
        store.full = full
        store.go.set()
        await come_to_rest()
        assert await refused(ledger, "b", "gpu-0") is not full

    at_once(scenario)


def test_one_who_left_holds_what_others_went_on_from() -> None:
    async def scenario(ledger: Ledger, store: Slow) -> None:
        first = await begin(ledger, "a", "gpu-0")
        first.cancel()
        await come_to_rest()
        labelled = CLAIMS.store(claim("a", whole("gpu-0"))).replace(b'"a-uid"', b'"a-uid-too"')
        store.heads[key("a")] = Record(key("a"), labelled, 0, 0)
        assert await refused(ledger, "b", "gpu-0")
        store.heads[key("a")] = Record(key("a"), CLAIMS.store(claim("a")), 0, 0)
        assert not await refused(ledger, "b", "gpu-0")

    at_once(scenario)


class Queued(MemoryStore):
    """As on disk: writes wait in order for a commit; one that fails takes all others with it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[str, bytes | None, asyncio.Future[Record]]] = []

    def head(self, key: str) -> Record | None:
        for other, value, _ in reversed(self.waiting):
            if other == key:
                return None if value is None else Record(key, value, 0, 0)
        return super().head(key)

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        del expected
        return await self.accept(key, value)

    def accept(self, key: str, value: bytes | None) -> asyncio.Future[Record]:
        future: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self.waiting.append((key, value, future))
        return future

    async def commit(self) -> None:
        key, value, future = self.waiting.pop(0)
        if value is None:
            await super().delete(key)
        else:
            stored = await super().put(key, value)
            if not future.done():
                future.set_result(stored)

    def fail(self) -> None:
        refused, self.waiting = self.waiting, []
        for _key, _value, future in refused:
            if not future.done():
                future.set_exception(StoreUnavailable("the disk is full"))
                future.exception()  # somebody may have left

    def stored(self) -> list[ResourceClaim]:
        records = self.range(key("")).records
        return [CLAIMS.load(record.value, record.revision) for record in records]


moves: Final = st.one_of(
    st.tuples(
        st.sampled_from(["give", "take-back", "delete"]),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["gpu-0", "gpu-1"]),
    ),
    st.tuples(st.sampled_from(["commit", "commit", "leave", "fail"]), st.just(""), st.just("")),
)


@given(st.lists(moves, max_size=40))
def test_whatever_happens_at_once_no_device_is_stored_twice(moves: list[tuple[str, ...]]) -> None:
    """And nothing is refused in the end but what somebody has."""

    async def scenario() -> None:
        store = Queued()
        ledger = Ledger(store=store)
        tasks: list[asyncio.Task[Record]] = []
        for move, name, device in moves:
            head = store.head(key(name))
            has = head is not None and b'"allocation":{' in head.value
            if move == "give" and not has:
                tasks.append(await begin(ledger, name, device))
            elif move == "take-back" and has:
                store.accept(key(name), CLAIMS.store(claim(name)))
            elif move == "delete" and head is not None:
                store.accept(key(name), None)
            elif move == "commit" and store.waiting:
                await store.commit()
                assert not list(no_device_held_twice(store.stored()))
            elif move == "leave" and tasks:
                tasks[-1].cancel()
            elif move == "fail":
                store.fail()
            await come_to_rest()
        while store.waiting:
            await store.commit()
            assert not list(no_device_held_twice(store.stored()))
        await asyncio.gather(*tasks, return_exceptions=True)
        for device in ("gpu-0", "gpu-1"):
            held = any(device in str(each.status.allocation) for each in store.stored())
            assert await refused(ledger, "z", device) is held

    asyncio.run(scenario())


# In a server -------------------------------------------------------------------------------------

GROUP: Final = "/apis/resource.k8s.io/v1"
PATH: Final = f"{GROUP}/namespaces/default/resourceclaims"


def status(*devices: str, **more: Any) -> dict[str, Any]:
    given = [
        {"request": "gpu", "driver": DRIVER, "pool": "node-1", "device": device, **more}
        for device in devices
    ]
    return {"allocation": {"devices": {"results": given}} if given else None}


async def claimed(api: Api, name: str) -> Any:
    exactly = {"deviceClassName": "gpu", "allocationMode": "All"}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    return await api.made(PATH, {"metadata": {"name": name}, "spec": spec})


async def give(api: Api, name: str, *devices: str, query: str = "") -> Reply:
    return await api.patch(f"{PATH}/{name}/status{query}", {"status": status(*devices)})


@served()
async def test_the_second_allocation_is_a_conflict(api: Api) -> None:
    await claimed(api, "a")
    await claimed(api, "b")
    assert (await give(api, "a", "gpu-0")).status == 200
    reply = await give(api, "b", "gpu-0")
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")
    told = "device gpu.example.com/node-1/gpu-0 is already allocated to claim default/a"
    assert reply.message == (
        f'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "b": {told}'
    )
    assert reply.json["details"] == {
        "name": "b",
        "group": "resource.k8s.io",
        "kind": "resourceclaims",
        "causes": [
            {
                "reason": "DevicesTaken",
                "message": told,
                "field": "status.allocation.devices.results",
            }
        ],
    }
    page = (await api.get("/metrics")).text
    assert 'dray_allocation_refusals_total{reason="device"} 1' in page
    assert 'dray_allocation_refusals_total{reason="counter"} 0' in page


async def by_put(api: Api, version: str = "v1") -> Reply:
    where = PATH.replace("/v1/", f"/{version}/")
    found = (await api.get(f"{where}/b")).json
    return await api.put(f"{where}/b/status", {**found, "status": status("gpu-0")})


async def by_put_of_an_older_version(api: Api) -> Reply:
    return await by_put(api, "v1beta1")


async def by_patch(api: Api, headers: Mapping[str, str], body: Any) -> Reply:
    return await api.patch(f"{PATH}/b/status", body, headers=headers)


async def by_merge(api: Api) -> Reply:
    return await by_patch(api, MERGE, {"status": status("gpu-0")})


async def by_strategic_merge(api: Api) -> Reply:
    return await by_patch(api, STRATEGIC, {"status": status("gpu-0")})


async def by_apply(api: Api) -> Reply:
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "status": status("gpu-0"),
    }
    return await api.patch(f"{PATH}/b/status?fieldManager=me", body, headers=APPLY)


@pytest.mark.parametrize(
    "write", [by_put, by_put_of_an_older_version, by_merge, by_strategic_merge, by_apply]
)
@served(versions=lambda _group, _version: True)
async def test_every_way_to_write_is_checked(api: Api, write: Callable[[Api], Any]) -> None:
    await claimed(api, "a")
    await claimed(api, "b")
    assert (await give(api, "a", "gpu-0")).status == 200
    reply = await write(api)
    assert (reply.status, "already allocated" in reply.message) == (409, True), reply.text
    assert (await give(api, "a")).status == 200
    assert (await write(api)).status == 200


@served()
async def test_no_claim_is_made_with_devices(api: Api) -> None:
    made = await api.made(
        PATH, {**await claimed(api, "a"), "metadata": {"name": "b"}, "status": status("gpu-0")}
    )
    assert "allocation" not in made.get("status", {})
    assert (await give(api, "a", "gpu-0")).status == 200


@served()
async def test_devices_are_free_once_their_claim_is_deleted(api: Api) -> None:
    for name in ("a", "b", "c"):
        await claimed(api, name)
    await api.patch(f"{PATH}/a", {"metadata": {"finalizers": ["example.com/f"]}})
    await give(api, "a", "gpu-0")
    await api.delete(f"{PATH}/a")
    assert (await give(api, "b", "gpu-0")).status == 409  # it is still there
    await api.patch(f"{PATH}/a", {"metadata": {"finalizers": None}})
    assert (await api.get(f"{PATH}/a")).status == 404
    assert (await give(api, "b", "gpu-0")).status == 200
    await api.delete(PATH)
    await claimed(api, "c")
    assert (await give(api, "c", "gpu-0")).status == 200


@served()
async def test_a_dry_run_says_what_would_be(api: Api) -> None:
    await claimed(api, "a")
    await claimed(api, "b")
    assert (await give(api, "a", "gpu-0", query="?dryRun=All")).status == 200
    assert (await give(api, "b", "gpu-0")).status == 200
    assert (await give(api, "a", "gpu-0", query="?dryRun=All")).status == 409


@served(store=durable_store)
async def test_of_many_at_once_one_gets_the_device(api: Api) -> None:
    names = [f"claim-{number}" for number in range(12)]
    for name in names:
        await claimed(api, name)
    replies = await asyncio.gather(*(give(api, name, "gpu-0") for name in names))
    assert sorted(reply.status for reply in replies) == [200] + [409] * 11


@served(store=durable_store)
async def test_a_server_that_starts_knows_who_holds_what(api: Api) -> None:
    await claimed(api, "a")
    await claimed(api, "b")
    await give(api, "a", "gpu-0")
    api.server.services.allocations.close()  # type: ignore[union-attr]  # it has one
    again = Allocations(api.store)
    new = claim("b", whole("gpu-0"))
    with pytest.raises(Conflict, match="already allocated to claim default/a"):
        again.holding(RESOURCE, key("b"), b"", new, claim("b"), dry_run=False)


@served(allocation_check=False)
async def test_one_that_is_told_not_to_does_not_check(api: Api) -> None:
    await claimed(api, "a")
    await claimed(api, "b")
    assert (await give(api, "a", "gpu-0")).status == 200
    assert (await give(api, "b", "gpu-0")).status == 200
    assert "dray_allocation_refusals_total{" not in (await api.get("/metrics")).text
