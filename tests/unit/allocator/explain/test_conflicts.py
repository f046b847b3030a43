"""Requests that could each be served, and cannot be served together."""

from __future__ import annotations

from typing import Any

from dray.allocator.answers import Conflict, ConflictKind
from dray.api.resource import (
    DeviceConstraint,
    ResourceClaim,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    alternative,
    claim,
    device,
    first_available,
    request,
    slice_,
)
from tests.unit.allocator.reporting import allocator, gpus, partition, partitioned, report

NUMA = f"{DRIVER}/numa"


def conflict(slices: tuple[ResourceSlice, ...], *claims: ResourceClaim, **options: Any) -> Conflict:
    """The one conflict that there is."""
    node = report(allocator(*slices, **options), *claims)
    (found,) = node.conflicts
    assert node.summary == found.text
    return found


def on_numa(*nodes: int) -> ResourceSlice:
    return slice_(*[device(f"gpu-{n}", attributes={"numa": at}) for n, at in enumerate(nodes)])


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


def test_one_device_agrees_with_none() -> None:
    same = DeviceConstraint(match_attribute=NUMA)
    found = conflict((on_numa(0, 1),), claim(request(count=2), constraints=(same,)))
    assert found.text.endswith(f"at most 1 device agrees: {NUMA} = 0")


def test_the_value_that_most_devices_share_is_told() -> None:
    same = DeviceConstraint(match_attribute=NUMA)
    found = conflict((on_numa(0, 1, 1, 0, 1),), claim(request(count=4), constraints=(same,)))
    assert found.kind is ConflictKind.MATCH_ATTRIBUTE
    assert (found.name, found.value, found.needed, found.available) == (NUMA, "1", 4, 3)
    assert found.text == (
        f"request req: 4 devices wanted that agree in {NUMA}, at most 3 devices agree: {NUMA} = 1"
    )


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


def test_a_constraint_that_only_with_counters_is_in_the_way_is_told_without_numbers() -> None:
    # Either of the two alone would leave a way; the constraint is what the claim itself can change.
    same = DeviceConstraint(match_attribute=NUMA)
    drawn = [("60Gi", 0), ("60Gi", 0), ("10Gi", 1), ("10Gi", 2)]
    devices = [
        partition(f"part-{n}", memory=memory, attributes={"numa": at})
        for n, (memory, at) in enumerate(drawn)
    ]
    wants = claim(request(count=2), constraints=(same,))
    found = conflict(partitioned(*devices, memory="80Gi"), wants)
    assert found.kind is ConflictKind.MATCH_ATTRIBUTE
    assert found.text.endswith("no choice does")
