"""Choosing devices and taking it back."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator import Occupancy
from dray.allocator.solver.attempt import Attempt, Fault, Stop
from dray.allocator.solver.problem import Problem
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceDerivedAttribute,
    ResourceClaim,
)
from tests.unit.allocator.builders import DRIVER, amount, claim, device, node, request, slice_
from tests.unit.allocator.reporting import allocator, gpu, gpus

MATCH = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
DISTINCT = DeviceConstraint(distinct_attribute=f"{DRIVER}/model")


def partition(name: str, memory: int, *groups: str, **fields: Any) -> Device:
    draw = DeviceCounterConsumption(
        counter_set="set",
        counters={"memory": Counter(value=amount(str(memory)))},
        compatibility_groups=groups,
    )
    return device(name, consumes_counters=(draw,), **fields)


def start(
    devices: list[Device], *claims: ResourceClaim, memory: int = 4, **options: Any
) -> Attempt:
    """An attempt on one pool, whose counters have so much memory."""
    counters = {"memory": str(memory), "cores": "9"}
    held = CounterSet(
        name="set",
        counters={name: Counter(value=amount(value)) for name, value in counters.items()},
    )
    plan = allocator(
        slice_(*devices, slice_count=2),
        slice_(name="counters", slice_count=2, shared_counters=(held,)),
        **options,
    ).plan(claims or [claim()])
    problem = plan.layout(node()).problem(plan.preparation)
    for view in problem.views:
        if view.want.all_devices:
            found = problem.everything(view.want)
            assert isinstance(found, tuple)
            view.everything = found
    return Attempt(problem, lists=False)


def takes(attempt: Attempt, want: int, device: int) -> bool:
    return attempt.commit(attempt.problem.views[want], device) is not None


# Who may have what -------------------------------------------------------------------------------


def test_a_device_is_given_once() -> None:
    attempt = start(gpus(2), claim(name="one"), claim(name="two"))
    assert takes(attempt, 0, 0)
    assert not takes(attempt, 1, 0)
    assert takes(attempt, 1, 1)


def test_a_device_that_is_allocated_is_given_to_administrators_only() -> None:
    asked = claim(request("a"), request("b", admin_access=True))
    attempt = start(gpus(1), asked, held={"somebody": ["gpu-0"]})
    assert not takes(attempt, 0, 0)
    assert takes(attempt, 1, 0)


def test_administrators_have_a_device_once_per_claim() -> None:
    admin = request("a", admin_access=True)
    attempt = start(gpus(1), claim(request("r"), admin, name="one"), claim(admin, name="two"))
    assert takes(attempt, 0, 0)
    assert not takes(attempt, 1, 0)
    assert takes(attempt, 2, 0)


def test_what_an_administrator_chose_first_is_kept_from_others_in_the_same_pod() -> None:
    admin = claim(request("a", admin_access=True), name="one")
    attempt = start(gpus(1), admin, claim(name="two"))
    assert takes(attempt, 0, 0)
    assert not takes(attempt, 1, 0)


def test_a_device_that_an_administrator_lets_go_stays_with_its_claim() -> None:
    admin = claim(request("a", admin_access=True), name="two")
    attempt = start(gpus(1), claim(name="one"), admin, claim(name="three"))
    assert takes(attempt, 0, 0)
    view = attempt.problem.views[1]
    commitment = attempt.commit(view, 0)
    assert commitment is not None
    attempt.undo(view, 0, commitment)
    assert not takes(attempt, 2, 0)


def test_shares_are_given_while_there_is_enough() -> None:
    shared = {"allow_multiple_allocations": True, "capacity": {"memory": "3"}}
    asked = [claim(request(capacity={"memory": "2"}), name="one")]
    asked += [claim(request(capacity={"memory": "1"}), name=name) for name in ("two", "three")]
    attempt = start(gpus(1, **shared), *asked)
    assert [takes(attempt, want, 0) for want in range(3)] == [True, True, False]


def test_those_who_want_all_are_refused_a_share_that_is_too_small() -> None:
    shared = {"allow_multiple_allocations": True, "capacity": {"memory": "3"}}
    asked = request(mode="All", capacity={"memory": "2"})
    attempt = start(gpus(1, **shared), claim(asked, name="one"), claim(asked, name="two"))
    assert [takes(attempt, want, 0) for want in range(2)] == [True, False]


# Counters ----------------------------------------------------------------------------------------


def test_partitions_are_given_while_counters_last() -> None:
    parts = [partition(f"p{i}", 2) for i in range(3)]
    attempt = start(parts, claim(request(count=3)), memory=4)
    assert [takes(attempt, 0, device) for device in range(3)] == [True, True, False]


def test_an_over_drawn_counter_keeps_even_those_who_draw_nothing_from_it() -> None:
    # A partition that draws from another counter of the pool.
    draw = DeviceCounterConsumption(
        counter_set="set", counters={"cores": Counter(value=amount("1"))}
    )
    other = device("other", consumes_counters=(draw,))
    large = partition("large", 9)
    assert takes(start([large, other]), 0, 1)
    assert not takes(start([large, other], held={"somebody": ["large"]}), 0, 1)


def test_devices_without_counters_do_not_care() -> None:
    devices = [partition("large", 9), device("whole")]
    assert takes(start(devices, held={"somebody": ["large"]}), 0, 1)


def test_the_counters_of_a_shared_partition_are_charged_once() -> None:
    shared = {"allow_multiple_allocations": True}
    parts = [partition("p0", 3, **shared), partition("p1", 2)]
    attempt = start(parts, claim(name="one"), claim(name="two"), claim(name="three"), memory=4)
    assert [takes(attempt, 0, 0), takes(attempt, 1, 0), takes(attempt, 2, 1)] == [True, True, False]


def test_somebody_who_has_a_share_paid_for_all() -> None:
    occupancy = Occupancy()
    occupancy.hold_share(gpu("p0"))
    parts = [partition("p0", 3, allow_multiple_allocations=True)]
    assert takes(start(parts, memory=3, occupancy=occupancy), 0, 0)


def test_partitions_must_be_compatible() -> None:
    parts = [partition("p0", 1, "x"), partition("p1", 1, "y"), partition("p2", 1, "x", "y")]
    attempt = start(parts, claim(request(count=3)))
    assert [takes(attempt, 0, device) for device in range(3)] == [True, False, True]


def test_those_who_hold_partitions_already_settle_what_is_compatible() -> None:
    parts = [partition("p0", 1, "x"), partition("p1", 1, "y"), partition("p2", 1, "x")]
    attempt = start(parts, claim(request(count=2)), held={"somebody": ["p0"]})
    assert [takes(attempt, 0, device) for device in (1, 2)] == [False, True]


# Constraints -------------------------------------------------------------------------------------


def with_numa(*values: int) -> list[Device]:
    return [device(f"gpu-{i}", attributes={"numa": value}) for i, value in enumerate(values)]


def test_a_constraint_refuses_what_does_not_match() -> None:
    attempt = start(with_numa(0, 1, 0), claim(request(count=2), constraints=(MATCH,)))
    assert [takes(attempt, 0, device) for device in range(3)] == [True, False, True]


def test_a_refusal_by_the_second_constraint_leaves_nothing_in_the_first() -> None:
    devices = [
        device("a", attributes={"numa": 0}),
        device("b", attributes={"numa": 1, "model": "x"}),
    ]
    attempt = start(devices, claim(constraints=(MATCH, DISTINCT)))
    assert not takes(attempt, 0, 0)
    assert takes(attempt, 0, 1)


def test_to_want_all_and_to_rule_one_out_ends_everything() -> None:
    attempt = start(with_numa(0, 1), claim(request(mode="All"), constraints=(MATCH,)))
    assert takes(attempt, 0, 0)
    with pytest.raises(Stop) as stopped:
        takes(attempt, 0, 1)
    assert (stopped.value.fault, stopped.value.where) == (Fault.CONSTRAINT, 1)


def test_a_derived_attribute_that_fails_ends_everything_where_it_is_compared() -> None:
    derived = DeviceDerivedAttribute(
        name=f"{DRIVER}/numa", expression=f'device.attributes["{DRIVER}"].numa'
    )
    asked = claim(request(derived_attributes=(derived,)), constraints=(DISTINCT, MATCH))
    attempt = start([device("a", attributes={"model": "x"})], asked)
    with pytest.raises(Stop) as stopped:
        takes(attempt, 0, 0)
    assert (stopped.value.fault, stopped.value.number) == (Fault.DERIVED, 1)


# Taking back -------------------------------------------------------------------------------------

MIXED = [
    device("d0", attributes={"numa": 0, "model": "a"}),
    device("d1", attributes={"numa": 1, "model": "a"}),
    partition("p0", 2, "x", attributes={"numa": 0, "model": "b"}),
    partition("p1", 2, "x", "y", attributes={"numa": 0, "model": "c"}),
    partition("p2", 1, "y", attributes={"numa": 0, "model": "d"}),
    partition("s0", 1, attributes={"numa": 0, "model": "e"}, allow_multiple_allocations=True),
    device(
        "s1",
        attributes={"numa": 0, "model": "f"},
        allow_multiple_allocations=True,
        capacity={"memory": "2"},
    ),
]
CLAIMS = [
    claim(request("a", count=3), request("b"), name="one", constraints=(MATCH,)),
    claim(request("c", count=2), name="two", constraints=(DISTINCT, MATCH)),
    claim(request("d", admin_access=True), name="three"),
    claim(request("e", mode="All"), name="four"),
]


def state(attempt: Attempt) -> object:
    return copy.deepcopy(
        (
            attempt.chosen,
            attempt.chosen_for,
            attempt.results,
            attempt.taken,
            attempt.shares,
            attempt.left,
            attempt.compatibility,
            [one.key() for one in attempt.constraints],
        )
    )


PROBLEM: Problem = start(MIXED, *CLAIMS).problem


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, len(MIXED) - 1)), max_size=12))
def test_what_was_taken_back_was_never_taken(steps: list[tuple[int, int]]) -> None:
    attempt = Attempt(PROBLEM, lists=False)
    done = []
    for want, one in steps:
        view = PROBLEM.views[want]
        before = state(attempt)
        commitment = attempt.commit(view, one)
        if commitment is None:
            assert state(attempt) == before
        else:
            done.append((view, one, commitment, before))
    for view, one, commitment, before in reversed(done):
        attempt.undo(view, one, commitment)
        assert state(attempt) == before
    assert state(attempt) == state(Attempt(PROBLEM, lists=False))
