"""What a stage still needs."""

from __future__ import annotations

from tests.unit.allocator.builders import alternative, claim, device, first_available, request
from tests.unit.allocator.hopes import demands_of, problem_of

GPUS = [device(f"gpu-{i}") for i in range(3)]


def test_a_request_needs_its_devices_for_itself() -> None:
    problem = problem_of(GPUS, [claim(request(count=2))])
    (demand,) = demands_of(problem)
    assert demand.exclusive(problem.shareable) == (2, 0b111)


def test_devices_to_share_are_needed_by_nobody_alone() -> None:
    shared = device("shared", allow_multiple_allocations=True)
    problem = problem_of([*GPUS, shared], [claim(request(count=2))])
    (demand,) = demands_of(problem)
    assert demand.exclusive(problem.shareable) == (1, 0b111)


def test_of_alternatives_the_one_that_needs_least_counts() -> None:
    asked = first_available("r", alternative("many", count=3), alternative("few"))
    problem = problem_of(GPUS, [claim(asked)])
    (demand,) = demands_of(problem)
    assert demand.exclusive(problem.shareable) == (1, 0b111)


def test_administrators_take_nothing_from_anybody() -> None:
    problem = problem_of(GPUS, [claim(request(admin_access=True))])
    (demand,) = demands_of(problem)
    assert demand.exclusive(problem.shareable) is None


def test_a_demand_can_be_looked_at_with_fewer_devices() -> None:
    problem = problem_of(GPUS, [claim(request(count=2))])
    (demand,) = demands_of(problem)
    assert demand.restricted({0: 0b101}).masks == (0b101,)
