"""The same question with something left out."""

from __future__ import annotations

from dray.allocator.explain.subproblems import Rules, Subproblems
from dray.allocator.solver.search import Exhausted, Found, Undecided
from dray.api.resource import DeviceConstraint, ResourceClaim, ResourceSlice
from tests.unit.allocator.builders import DRIVER, claim, device, request, slice_
from tests.unit.allocator.reporting import allocator, gpus, inspector, partition, partitioned


def names(of: ResourceClaim, *slices: ResourceSlice) -> list[str]:
    """The requests of the core."""
    looked = inspector(allocator(*slices), of)
    trials = Subproblems(looked.problem, lists=True)
    core = trials.core(looked.problem.preparation.stages)
    return [stage.wants[0].name for stage in core]


def test_a_core_has_no_request_to_spare() -> None:
    wants = claim(request("a"), request("b", count=3), request("c"))
    assert names(wants, slice_(*gpus(3))) == ["a", "b"]


def test_a_request_that_fails_alone_is_the_core() -> None:
    wants = claim(request("a"), request("b", count=9), request("c"))
    assert names(wants, slice_(*gpus(3))) == ["b"]


def test_rules_that_are_left_out_forbid_nothing() -> None:
    devices = [
        partition(f"part-{n}", memory="60Gi", groups=(f"{n}",), attributes={"numa": n})
        for n in range(2)
    ]
    same = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
    wants = claim(request(count=2), constraints=(same,))
    looked = inspector(allocator(*partitioned(*devices, memory="80Gi")), wants)
    stages = looked.problem.preparation.stages
    trials = Subproblems(looked.problem, lists=True)
    nothing: frozenset[int] = frozenset()
    assert trials.hopeless(stages)
    assert trials.hopeless(stages, Rules(constraints=nothing))
    assert trials.hopeless(stages, Rules(constraints=nothing, groups=False))
    assert trials.fits(stages, Rules(constraints=nothing, counters=False))


def test_without_capacity_a_shared_device_is_for_everybody() -> None:
    shared = device(capacity={"memory": "80Gi"}, allow_multiple_allocations=True)
    wants = claim(*[request(name, capacity={"memory": "50Gi"}) for name in "ab"])
    looked = inspector(allocator(slice_(shared)), wants)
    stages = looked.problem.preparation.stages
    trials = Subproblems(looked.problem, lists=True)
    assert trials.hopeless(stages)
    assert trials.fits(stages, Rules(capacity=False))


def test_the_constraints_in_the_way_are_singled_out() -> None:
    devices = [device(f"gpu-{n}", attributes={"numa": n, "rack": 0}) for n in range(2)]
    constraints = tuple(
        DeviceConstraint(match_attribute=f"{DRIVER}/{name}") for name in ("rack", "numa", "rack")
    )
    looked = inspector(
        allocator(slice_(*devices)), claim(request(count=2), constraints=constraints)
    )
    trials = Subproblems(looked.problem, lists=True)
    assert trials.constraint_core(looked.problem.preparation.stages) == (1,)


def test_steps_are_bounded_over_all_of_them() -> None:
    looked = inspector(allocator(slice_(*gpus(3))), claim(request(count=2)))
    stages = looked.problem.preparation.stages
    trials = Subproblems(looked.problem, lists=True, steps_max=5)
    outcomes = [type(trials.outcome(stages)) for _ in range(3)]
    assert outcomes == [Found, Undecided, Undecided]


def test_the_problem_itself_is_not_touched() -> None:
    same = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
    looked = inspector(allocator(slice_(*gpus(2))), claim(request(count=2), constraints=(same,)))
    stages = looked.problem.preparation.stages
    trials = Subproblems(looked.problem, lists=True)
    trials.fits(stages, Rules(constraints=frozenset()))
    assert looked.problem.views[0].scope == (0,)
    assert isinstance(trials.outcome(stages), Exhausted)
