"""Where claims go when they fit in several places: what others lose by it decides."""

from __future__ import annotations

import itertools

from dray.allocator import Allocation, Allocator, Features, Fleet, Inventory, Occupancy
from dray.api.resource import DeviceRequest, ResourceClaim, ResourceClaimStatus, ResourceSlice
from dray.api.wire import replace
from tests.unit.allocator.builders import (
    CLASS,
    DRIVER,
    alternative,
    claim,
    device,
    device_class,
    first_available,
    node,
    request,
    slice_,
)

MODEL = f'device.attributes["{DRIVER}"].model == "{{}}"'


def gpus(name: str, count: int, *, model: str = "a", memory: str = "10Gi") -> ResourceSlice:
    devices = [
        device(f"gpu-{i}", attributes={"model": model}, capacity={"memory": memory})
        for i in range(count)
    ]
    return slice_(*devices, name=f"{name}-gpus", pool=name, node_name=name)


def fleet_of(*slices: ResourceSlice) -> Fleet:
    shares = itertools.count()
    allocator = Allocator(
        Inventory(Features.everything(), slices),
        Occupancy(),
        {CLASS: device_class()},
        share_id=lambda: f"share-{next(shares)}",
    )
    return Fleet(allocator, [node(one.spec.node_name or "") for one in slices])


def best(fleet: Fleet, *requests: DeviceRequest) -> list[str]:
    """The nodes where nobody loses more than elsewhere."""
    ranked = fleet.survey([claim(*requests)]).ranked()
    return [name for waste, group in ranked if waste == ranked[0][0] for name in group.nodes]


def take(fleet: Fleet, name: str, where: str, *requests: DeviceRequest) -> ResourceClaim:
    asked = claim(*requests, name=name)
    answer = fleet.survey([asked]).on(where)
    assert isinstance(answer, Allocation)
    held = replace(asked, status=ResourceClaimStatus(allocation=answer.results[0]))
    fleet.add_claim(held)
    return held


def test_an_earlier_alternative_is_worth_more_than_anything() -> None:
    fleet = fleet_of(gpus("small", 8, memory="80Gi"), gpus("other", 1, model="b", memory="1Gi"))
    preferred = alternative("best", select=[MODEL.format("a")])
    accepted = alternative("other", select=[MODEL.format("b")])
    assert best(fleet, first_available("req", preferred, accepted)) == ["small"]


def test_a_small_device_goes_before_a_large_one() -> None:
    fleet = fleet_of(gpus("large", 1, memory="80Gi"), gpus("small", 8))
    assert best(fleet) == ["small"]


def test_nodes_are_filled_up_before_others_are_begun() -> None:
    fleet = fleet_of(gpus("first", 4), gpus("second", 4), gpus("third", 4))
    held = take(fleet, "one", "second")
    assert best(fleet) == ["second"]
    fleet.remove_claim(held)
    assert sorted(best(fleet)) == ["first", "second", "third"]


def test_a_share_goes_to_a_device_that_is_shared_already() -> None:
    def shared(name: str) -> ResourceSlice:
        one = device("gpu", capacity={"memory": "40Gi"}, allow_multiple_allocations=True)
        return slice_(one, name=name, pool=name, node_name=name)

    fleet = fleet_of(shared("first"), shared("second"))
    part = request(capacity={"memory": "10Gi"})
    take(fleet, "one", "second", part)
    assert best(fleet, part) == ["second"]


def test_nodes_where_nothing_fits_are_not_ranked() -> None:
    fleet = fleet_of(gpus("only", 1))
    take(fleet, "all", "only")
    assert fleet.survey([claim()]).ranked() == []
