"""What is free for the requests of a core, and what these are called."""

from __future__ import annotations

from dray.allocator.explain.cores import Core
from dray.api.resource import DeviceRequest, ResourceClaim
from tests.unit.allocator.builders import (
    alternative,
    claim,
    device,
    first_available,
    request,
    slice_,
    taint,
)
from tests.unit.allocator.reporting import allocator, gpus, inspector


def core(*claims: ResourceClaim) -> Core:
    """A core of all requests, on a node with four devices of which one is in use, one tainted."""
    devices = [*gpus(2), device("gpu-2", taints=(taint(),)), device("gpu-3")]
    looked = inspector(allocator(slice_(*devices), held={"ml/a": ["gpu-0"]}), *claims)
    return Core(looked, looked.problem.preparation.stages)


def of(*requests: DeviceRequest) -> Core:
    return core(claim(*requests))


def test_devices_are_free_that_nothing_is_wrong_with() -> None:
    one = of(request())
    assert one.free(one.problem.views[0]) == 0b1010


def test_alternatives_without_devices_enough_do_not_count() -> None:
    wants = first_available(
        "gpu", alternative("nine", count=9), alternative("two", count=2), alternative("one")
    )
    one = of(wants)
    (stage,) = one.stages
    assert [view.want.name for view in one.servable(stage)] == ["two", "one"]
    assert one.least(stage) == 1


def test_where_no_alternative_has_devices_enough_all_count() -> None:
    one = of(first_available("gpu", alternative("nine", count=9), alternative("eight", count=8)))
    assert one.least(one.stages[0]) == 8


def test_an_administrator_takes_nothing_from_other_claims() -> None:
    looking = claim(request(admin_access=True), name="x")
    one = core(looking, claim(name="y"))
    assert one.exclusive(one.stages[0]) == (0, 0)
    assert one.exclusive(one.stages[1]) == (1, 0b1010)


def test_an_administrator_takes_devices_from_the_same_claim() -> None:
    one = of(request("a", admin_access=True), request("b"))
    assert one.exclusive(one.stages[0]) == (1, 0b1011)


def test_shared_devices_are_no_bound() -> None:
    devices = [*gpus(1), device("shared", allow_multiple_allocations=True)]
    looked = inspector(allocator(slice_(*devices)), claim(request(count=2)))
    one = Core(looked, looked.problem.preparation.stages)
    assert one.exclusive(one.stages[0]) == (1, 0b01)


def test_requests_are_called_by_their_names() -> None:
    assert of(request("a")).say("…") == "request a: …"
    assert of(request("a"), request("b")).say("…") == "requests a, b: …"
    assert core(claim(name="x"), claim(name="y")).say("…") == (
        "requests req of default/x, req of default/y: …"
    )
