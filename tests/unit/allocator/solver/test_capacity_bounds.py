"""Capacity that cannot suffice."""

from __future__ import annotations

from dray.allocator.solver.capacity_bounds import hopeless
from dray.api.resource import Device, ResourceClaim
from tests.unit.allocator.builders import claim, device, request
from tests.unit.allocator.hopes import demands_of, problem_of, start


def shared(number: int) -> Device:
    return device(f"gpu-{number}", capacity={"memory": "40Gi"}, allow_multiple_allocations=True)


def asked(count: int, memory: str) -> list[ResourceClaim]:
    return [claim(request(capacity={"memory": memory}), name=f"c{i}") for i in range(count)]


def gives_up(devices: list[Device], claims: list[ResourceClaim]) -> bool:
    problem = problem_of(devices, claims)
    return hopeless(problem, start(problem), demands_of(problem))


def test_shares_may_not_be_more_than_there_is() -> None:
    devices = [shared(0), shared(1)]
    assert gives_up(devices, asked(9, "10Gi"))
    assert not gives_up(devices, asked(8, "10Gi"))


def test_a_device_that_is_given_whole_may_serve_instead() -> None:
    devices = [shared(0), device("whole", capacity={"memory": "80Gi"})]
    assert not gives_up(devices, asked(5, "10Gi"))


def test_the_largest_wishes_get_the_devices_that_are_given_whole() -> None:
    devices = [shared(0), device("whole", capacity={"memory": "80Gi"})]
    large = claim(request(capacity={"memory": "40Gi"}), name="large")
    assert not gives_up(devices, [large, *asked(4, "10Gi")])
    assert gives_up(devices, [large, *asked(5, "10Gi")])


def test_more_whole_devices_than_wishes_are_always_enough() -> None:
    devices = [shared(0), *[device(f"whole-{i}", capacity={"memory": "80Gi"}) for i in range(5)]]
    assert not gives_up(devices, asked(3, "40Gi"))


def test_nothing_is_said_where_nothing_is_shared() -> None:
    assert not gives_up([device()], [claim(request(count=5))])
