"""Requests that could each be served, and cannot be served together."""

from __future__ import annotations

from typing import Any

import pytest

from dray.allocator.answers import Conflict, ConflictKind
from dray.allocator.dealing import most_served
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceConstraint,
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
from tests.unit.allocator.reporting import allocator, gpus, report

NUMA = f"{DRIVER}/numa"


def conflict(slices: tuple[ResourceSlice, ...], *claims: ResourceClaim, **options: Any) -> Conflict:
    """The one conflict that there is."""
    node = report(allocator(*slices, **options), *claims)
    (found,) = node.conflicts
    assert node.summary == found.text
    return found


def on_numa(*nodes: int) -> ResourceSlice:
    return slice_(*[device(f"gpu-{n}", attributes={"numa": at}) for n, at in enumerate(nodes)])


def partitioned(
    memory: str, *draws: str, groups: tuple[str, ...] = ()
) -> tuple[ResourceSlice, ...]:
    def partition(number: int, text: str) -> Device:
        drawn = DeviceCounterConsumption(
            counter_set="set",
            counters={"memory": Counter(value=amount(text))},
            compatibility_groups=(groups[number],) if groups else (),
        )
        return device(f"part-{number}", consumes_counters=(drawn,))

    held = CounterSet(name="set", counters={"memory": Counter(value=amount(memory))})
    return (
        slice_(*[partition(n, text) for n, text in enumerate(draws)], slice_count=2),
        slice_(name="slice-2", slice_count=2, devices=None, shared_counters=(held,)),
    )


# Devices ---------------------------------------------------------------------------------------


def test_requests_that_together_need_more_devices_than_there_are() -> None:
    found = conflict((slice_(*gpus(3)),), claim(request("a", count=2), request("b", count=2)))
    assert found.kind is ConflictKind.DEVICES
    assert (found.needed, found.available) == (4, 3)
    assert found.text == "requests a, b: 4 devices wanted together, 3 free"


def test_only_the_requests_that_are_in_each_others_way_are_named() -> None:
    model = f'device.attributes["{DRIVER}"].model'
    devices = [device(f"gpu-{n}", attributes={"model": m}) for n, m in enumerate("xxyyy")]
    wants = [
        request("one", count=1, select=[f'{model} == "y"']),
        request("two", count=1, select=[f'{model} == "x"']),
        request("three", count=2, select=[f'{model} == "x"']),
        request("four", count=2, select=[f'{model} == "y"']),
    ]
    found = conflict((slice_(*devices),), claim(*wants))
    assert found.requests == (("default/claim", "two"), ("default/claim", "three"))
    assert (found.needed, found.available) == (3, 2)


def test_requests_of_several_claims_are_named_with_their_claims() -> None:
    found = conflict((slice_(*gpus(1)),), claim(name="x"), claim(name="y"))
    assert found.text == (
        "requests req of default/x, req of default/y: 2 devices wanted together, 1 free"
    )


def test_an_alternative_counts_with_the_fewest_devices_that_can_be_had() -> None:
    wants = first_available("a", alternative("ten", count=10), alternative("two", count=2))
    found = conflict((slice_(*gpus(3)),), claim(wants, request("b", count=2)))
    assert (found.needed, found.available) == (4, 3)


def test_every_set_of_requests_that_is_in_its_own_way_is_told() -> None:
    model = f'device.attributes["{DRIVER}"].model'
    devices = [device(f"gpu-{n}", attributes={"model": m}) for n, m in enumerate("xy")]
    wants = [request(f"{m}{n}", select=[f'{model} == "{m}"']) for m in "xy" for n in range(2)]
    node = report(allocator(slice_(*devices)), claim(*wants))
    assert [[name for _, name in one.requests] for one in node.conflicts] == [
        ["x0", "x1"],
        ["y0", "y1"],
    ]


def test_there_is_no_talk_of_conflicts_while_a_request_is_short_of_devices() -> None:
    wants = claim(request("a"), request("b"), request("c", count=3))
    assert report(allocator(slice_(*gpus(1))), wants).conflicts == ()


def test_a_claim_has_room_for_so_many_devices_only() -> None:
    most = alternative("most", count=20)
    other = alternative("other", select=['device.driver == "other"'])
    wants = [first_available(name, most, other) for name in "ab"]
    found = conflict((slice_(*gpus(60)),), claim(*wants))
    assert found.kind is ConflictKind.LIMIT
    assert (found.needed, found.available) == (40, 32)


# Constraints -----------------------------------------------------------------------------------


def test_the_value_that_most_devices_share_is_told() -> None:
    same = DeviceConstraint(match_attribute=NUMA)
    found = conflict((on_numa(0, 1, 1, 0, 1),), claim(request(count=4), constraints=(same,)))
    assert found.kind is ConflictKind.MATCH_ATTRIBUTE
    assert (found.name, found.value, found.needed, found.available) == (NUMA, "1", 4, 3)
    assert found.text == (f"request req: 4 devices wanted that agree in {NUMA}, at most 3, with 1")


def test_a_constraint_over_two_requests_counts_what_each_may_have() -> None:
    same = DeviceConstraint(match_attribute=NUMA)
    numa = f'device.attributes["{DRIVER}"].numa'
    wants = claim(
        request("a", select=[f"{numa} == 0"]),
        request("b", select=[f"{numa} == 1"]),
        constraints=(same,),
    )
    found = conflict((on_numa(0, 0, 1),), wants)
    assert found.kind is ConflictKind.MATCH_ATTRIBUTE
    assert (found.needed, found.available) == (2, 1)


def test_values_that_must_differ_are_counted() -> None:
    differ = DeviceConstraint(distinct_attribute=NUMA)
    found = conflict((on_numa(0, 1, 1, 0),), claim(request(count=3), constraints=(differ,)))
    assert found.kind is ConflictKind.DISTINCT_ATTRIBUTE
    assert (found.needed, found.available) == (3, 2)
    assert found.text == f"request req: 3 devices wanted that all differ in {NUMA}, at most 2 do"


def test_only_the_constraint_that_is_in_the_way_is_blamed() -> None:
    devices = [device(f"gpu-{n}", attributes={"numa": n, "rack": 7}) for n in range(2)]
    constraints = (
        DeviceConstraint(match_attribute=f"{DRIVER}/rack"),
        DeviceConstraint(match_attribute=NUMA),
    )
    found = conflict((slice_(*devices),), claim(request(count=2), constraints=constraints))
    assert found.name == NUMA


def test_constraints_that_only_together_are_in_the_way_are_both_named() -> None:
    places = [(0, 0), (0, 1), (1, 0)]
    devices = [
        device(f"gpu-{n}", attributes={"numa": numa, "rack": rack})
        for n, (numa, rack) in enumerate(places)
    ]
    constraints = (
        DeviceConstraint(match_attribute=f"{DRIVER}/rack"),
        DeviceConstraint(match_attribute=NUMA),
    )
    found = conflict((slice_(*devices),), claim(request(count=2), constraints=constraints))
    assert found.kind is ConflictKind.COMBINATION
    assert "constraint 0 (matchAttribute" in found.text
    assert "constraint 1 (matchAttribute" in found.text


# Amounts ---------------------------------------------------------------------------------------


def test_counters_are_told_with_what_the_cheapest_devices_draw() -> None:
    found = conflict(partitioned("80Gi", "40Gi", "60Gi", "50Gi"), claim(request(count=2)))
    assert found.kind is ConflictKind.COUNTERS
    assert (found.counter_set, found.name) == ("set", "memory")
    assert (found.wanted, found.left) == ("90Gi", "80Gi")
    counter = f"counter set/memory of pool {DRIVER}/pool-1"
    assert found.text == f"request req: at least 90Gi of {counter} wanted, 80Gi left"


def test_devices_that_are_not_compatible_with_each_other_are_told() -> None:
    found = conflict(
        partitioned("80Gi", "40Gi", "40Gi", groups=("a", "b")), claim(request(count=2))
    )
    assert found.kind is ConflictKind.COMPATIBILITY


def test_capacity_that_requests_take_together_is_told() -> None:
    shared = device(capacity={"memory": "80Gi"}, allow_multiple_allocations=True)
    wants = [request(name, capacity={"memory": "50Gi"}) for name in "ab"]
    found = conflict((slice_(shared),), claim(*wants))
    assert found.kind is ConflictKind.CAPACITY
    assert (found.name, found.wanted, found.left) == ("memory", "100Gi", "80Gi")
    assert found.text == "requests a, b: at least 100Gi memory of shared devices wanted, 80Gi left"


def test_a_constraint_that_only_with_counters_is_in_the_way_is_told_without_numbers() -> None:
    # Either of the two alone would leave a way; the constraint is what the claim itself can change.
    same = DeviceConstraint(match_attribute=NUMA)
    slices = partitioned("80Gi", "60Gi", "60Gi", "10Gi", "10Gi")
    devices = [
        device(one.name, consumes_counters=one.consumes_counters, attributes={"numa": at})
        for one, at in zip(slices[0].spec.devices or (), (0, 0, 1, 2), strict=True)
    ]
    found = conflict(
        (slice_(*devices, slice_count=2), slices[1]),
        claim(request(count=2), constraints=(same,)),
    )
    assert found.kind is ConflictKind.MATCH_ATTRIBUTE
    assert found.text.endswith("no choice does")


# Dealing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("needs", "served"),
    [
        pytest.param([], 0, id="nobody"),
        pytest.param([(2, 0b11), (2, 0b110)], 3, id="three-devices"),
        pytest.param([(1, 0b01), (1, 0b11)], 2, id="somebody-moves"),
        pytest.param([(1, 0b001), (1, 0b011), (1, 0b011)], 2, id="two-of-three"),
        pytest.param([(5, 0b1)], 1, id="more-than-there-are"),
    ],
)
def test_as_many_devices_are_dealt_out_as_can_be(needs: list[tuple[int, int]], served: int) -> None:
    assert most_served(needs) == served
