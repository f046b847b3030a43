"""Constraints that cannot hold."""

from __future__ import annotations

from collections.abc import Sequence

from dray.allocator.solver.value_bounds import hopeless
from dray.api.resource import DeviceConstraint, ResourceClaim
from tests.unit.allocator.builders import DRIVER, claim, device, request
from tests.unit.allocator.hopes import demands_of, problem_of, start

MATCH = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
DISTINCT = DeviceConstraint(distinct_attribute=f"{DRIVER}/numa")


def gives_up(values: Sequence[int], *claims: ResourceClaim) -> bool:
    devices = [device(f"gpu-{i}", attributes={"numa": v}) for i, v in enumerate(values)]
    problem = problem_of(devices, claims)
    return hopeless(problem, start(problem), demands_of(problem))


def test_groups_with_too_few_devices_are_seen_through() -> None:
    three = claim(request(count=3), constraints=(MATCH,))
    assert gives_up([0, 0, 1, 1], three)
    assert not gives_up([0, 1, 1, 1], three)


def test_requests_under_one_constraint_are_counted_together() -> None:
    asked = claim(request("a"), request("b", count=2), constraints=(MATCH,))
    assert gives_up([0, 0, 1, 1], asked)
    assert not gives_up([0, 0, 0, 1], asked)


def test_too_few_different_values_are_seen_through() -> None:
    three = claim(request(count=3), constraints=(DISTINCT,))
    assert gives_up([0, 0, 1, 1], three)
    assert not gives_up([0, 1, 2, 2], three)


def test_claims_that_each_need_a_group_need_as_many_groups() -> None:
    pairs = [claim(request(count=2), name=f"c{i}", constraints=(MATCH,)) for i in range(3)]
    assert gives_up([0, 0, 0, 1, 1, 1], *pairs)
    assert not gives_up([0, 0, 0, 0, 1, 1], *pairs)


def test_small_claims_do_not_hide_that_large_ones_have_no_group() -> None:
    large = [claim(request(count=3), name=f"l{i}", constraints=(MATCH,)) for i in range(2)]
    small = claim(request(count=1), name="small", constraints=(MATCH,))
    assert gives_up([0, 0, 0, 1, 1, 2, 2], small, *large)
    assert not gives_up([0, 0, 0, 1, 1, 1, 2], small, *large)


def test_constraints_of_one_claim_may_be_about_the_same_devices() -> None:
    twice = claim(request(count=2), constraints=(MATCH, MATCH))
    assert not gives_up([0, 0, 1], twice)


def test_attributes_that_must_match_must_do_so_on_the_same_devices() -> None:
    def crossing(numas: Sequence[int], switches: Sequence[int]) -> bool:
        both = (MATCH, DeviceConstraint(match_attribute=f"{DRIVER}/switch"))
        devices = [
            device(f"gpu-{i}", attributes={"numa": numa, "switch": switch})
            for i, (numa, switch) in enumerate(zip(numas, switches, strict=True))
        ]
        problem = problem_of(devices, [claim(request(count=2), constraints=both)])
        return hopeless(problem, start(problem), demands_of(problem))

    assert crossing([0, 0, 1, 1], [0, 1, 0, 1])
    assert not crossing([0, 0, 1, 1], [0, 1, 1, 1])


def test_requests_without_constraints_are_none_of_its_business() -> None:
    assert not gives_up([], claim(request(count=9)))
