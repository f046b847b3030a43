"""Counters that cannot suffice."""

from __future__ import annotations

from collections.abc import Sequence

from dray.allocator.solver.counter_bounds import hopeless
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceCounterConsumption,
    ResourceClaim,
)
from tests.unit.allocator.builders import NODE, amount, claim, device, request, slice_
from tests.unit.allocator.hopes import demands_of, problem_of, start


def counters(**amounts: int) -> dict[str, Counter]:
    return {name: Counter(value=amount(str(value))) for name, value in amounts.items()}


def partition(number: int, **draws: int) -> Device:
    consumption = DeviceCounterConsumption(counter_set="set", counters=counters(**draws))
    return device(f"part-{number}", consumes_counters=(consumption,))


def gives_up(devices: Sequence[Device], *claims: ResourceClaim, **left: int) -> bool:
    shared = slice_(
        name="counters",
        slice_count=2,
        node_name=NODE,
        shared_counters=(CounterSet(name="set", counters=counters(**left)),),
    )
    problem = problem_of(devices, claims, shared)
    assert problem.seats
    return hopeless(problem, start(problem), demands_of(problem))


def test_the_cheapest_partitions_must_fit_together() -> None:
    parts = [partition(i, memory=10) for i in range(4)]
    assert gives_up(parts, claim(request(count=4)), memory=30)
    assert not gives_up(parts, claim(request(count=3)), memory=30)


def test_requests_that_choose_from_the_same_partitions_are_counted_together() -> None:
    parts = [partition(i, memory=10 * (i + 1)) for i in range(3)]
    requests = [request(f"r{i}") for i in range(3)]
    assert gives_up(parts, claim(*requests), memory=59)
    assert not gives_up(parts, claim(*requests), memory=60)


def test_what_is_cheap_in_one_counter_cannot_hide_that_it_is_dear_in_another() -> None:
    parts = [partition(i, memory=1, cores=9) for i in range(2)]
    parts += [partition(i + 2, memory=9, cores=1) for i in range(2)]
    assert gives_up(parts, claim(request(count=2)), memory=9, cores=9)
    assert not gives_up(parts, claim(request(count=2)), memory=10, cores=10)


def test_devices_that_draw_nothing_are_the_cheapest() -> None:
    parts = [partition(0, memory=10), device("whole")]
    assert not gives_up(parts, claim(request()), memory=5)
    assert gives_up(parts, claim(request(count=2)), memory=5)
