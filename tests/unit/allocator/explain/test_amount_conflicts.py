"""Requests that take too much of a counter or of a capacity together."""

from __future__ import annotations

from dray.allocator.answers import Conflict, ConflictKind
from dray.api.resource import (
    Counter,
    CounterSet,
    DeviceCounterConsumption,
    ResourceClaim,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    alternative,
    amount,
    claim,
    device,
    first_available,
    request,
    slice_,
)
from tests.unit.allocator.reporting import allocator, partition, partitioned, report


def conflict(slices: tuple[ResourceSlice, ...], *claims: ResourceClaim) -> Conflict:
    """The one conflict that there is."""
    (found,) = report(allocator(*slices), *claims).conflicts
    return found


def halves(*memory: str) -> tuple[ResourceSlice, ...]:
    """Partitions of 80Gi, whatever each draws."""
    devices = [partition(f"part-{n}", memory=text) for n, text in enumerate(memory)]
    return partitioned(*devices, memory="80Gi")


def test_counters_are_told_with_what_the_cheapest_devices_draw() -> None:
    found = conflict(halves("40Gi", "60Gi", "50Gi"), claim(request(count=2)))
    assert found.kind is ConflictKind.COUNTERS
    assert (found.counter_set, found.name) == ("set", "memory")
    assert (found.wanted, found.left) == ("90Gi", "80Gi")
    counter = f"counter set/memory of pool {DRIVER}/pool-1"
    assert found.text == f"request req: at least 90Gi of {counter} wanted, 80Gi left"


def test_requests_draw_from_devices_of_their_own() -> None:
    found = conflict(halves("20Gi", "40Gi", "40Gi"), claim(*map(request, "abc")))
    assert (found.name, found.wanted, found.left) == ("memory", "100Gi", "80Gi")


def test_counters_are_named_where_it_takes_several_to_be_in_the_way() -> None:
    devices = [
        device(name, consumes_counters=(draw(memory, cores),))
        for name, memory, cores in (("a", "60Gi", "1"), ("b", "30Gi", "6"), ("c", "30Gi", "6"))
    ]
    held = CounterSet(name="set", counters=counters("80Gi", "7"))
    slices = (
        slice_(*devices, slice_count=2),
        slice_(name="slice-2", slice_count=2, devices=None, shared_counters=(held,)),
    )
    found = conflict(slices, claim(request(count=2)))
    assert found.kind is ConflictKind.COUNTERS
    assert found.text == (
        "request req: more is drawn than there is of counters set/cores (7 left), "
        f"set/memory (80Gi left) of pool {DRIVER}/pool-1"
    )
    assert str(found.pool) == f"{DRIVER}/pool-1"


def draw(memory: str, cores: str) -> DeviceCounterConsumption:
    return DeviceCounterConsumption(counter_set="set", counters=counters(memory, cores))


def counters(memory: str, cores: str) -> dict[str, Counter]:
    return {"memory": Counter(value=amount(memory)), "cores": Counter(value=amount(cores))}


def test_devices_that_are_not_compatible_with_each_other_are_told() -> None:
    found = conflict(
        partitioned(
            *[partition(name, groups=(name,), memory="40Gi") for name in "ab"], memory="80Gi"
        ),
        claim(request(count=2)),
    )
    assert found.kind is ConflictKind.COMPATIBILITY


def test_capacity_that_requests_take_together_is_told() -> None:
    shared = device(capacity={"memory": "80Gi"}, allow_multiple_allocations=True)
    wants = [request(name, capacity={"memory": "50Gi"}) for name in "ab"]
    found = conflict((slice_(shared),), claim(*wants))
    assert found.kind is ConflictKind.CAPACITY
    assert (found.name, found.wanted, found.left) == ("memory", "100Gi", "80Gi")
    assert found.text == "requests a, b: at least 100Gi memory of shared devices wanted, 80Gi left"


def test_of_alternatives_the_one_that_draws_least_counts() -> None:
    wants = first_available("gpu", alternative("three", count=3), alternative("two", count=2))
    found = conflict(halves("60Gi", "50Gi", "70Gi"), claim(wants))
    assert (found.wanted, found.left) == ("110Gi", "80Gi")


def test_what_is_in_use_is_not_left() -> None:
    by = allocator(*halves("40Gi", "30Gi", "30Gi"), held={"ml/a": ["part-0"]})
    (found,) = report(by, claim(request(count=2))).conflicts
    assert (found.wanted, found.left) == ("60Gi", "40Gi")


def test_amounts_that_no_single_number_explains_are_told_without_any() -> None:
    # There is enough in all, but not on one device for any two of the three.
    devices = [
        device(f"gpu-{n}", capacity={"memory": "80Gi"}, allow_multiple_allocations=True)
        for n in range(2)
    ]
    wants = [request(name, capacity={"memory": "50Gi"}) for name in "abc"]
    found = conflict((slice_(*devices),), claim(*wants))
    assert found.kind is ConflictKind.CAPACITY
    assert found.text == (
        "requests a, b, c: more is taken of shared devices than is left of their capacity"
    )
