"""Devices and states that make no difference."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest

from dray.allocator.solver.symmetry import Symmetry
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    ResourceClaim,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    NODE,
    amount,
    claim,
    device,
    request,
    slice_,
)
from tests.unit.allocator.hopes import problem_of, start
from tests.unit.allocator.reporting import gpus

OWN = f'device.attributes["{DRIVER}"]'
MATCH = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
DISTINCT = DeviceConstraint(distinct_attribute=f"{DRIVER}/numa")
BIG = f"{OWN}.?big.orValue(false)"


class Situation:
    """A problem, what was chosen so far, and what is told apart."""

    def __init__(
        self,
        devices: Sequence[Device],
        *claims: ResourceClaim,
        others: Sequence[ResourceSlice] = (),
    ) -> None:
        self.problem = problem_of(devices, claims, *others)
        self.attempt = start(self.problem)
        self.symmetry = Symmetry(self.problem, self.attempt, self.problem.preparation.stages)

    def take(self, *choices: tuple[int, int]) -> Situation:
        for want, one in choices:
            assert self.attempt.commit(self.problem.views[want], one) is not None
        return self

    def kinds(self, want: int, *devices: int, last: bool = True) -> list[Hashable]:
        view = self.problem.views[want]
        return [self.symmetry.kind(want, view, one, last=last) for one in devices]

    def alike(self, want: int, one: int, other: int, *, last: bool = True) -> bool:
        first, second = self.kinds(want, one, other, last=last)
        return first == second

    def key(self, want: int, ordinal: int = 0, start: int = 0) -> Hashable:
        return self.symmetry.key(want, self.problem.views[want], ordinal, start)


def numas(*values: int) -> list[Device]:
    return [device(f"gpu-{i}", attributes={"numa": value}) for i, value in enumerate(values)]


# Kinds of devices --------------------------------------------------------------------------------


def test_devices_that_nobody_tells_apart_are_of_one_kind() -> None:
    assert Situation(gpus(2), claim()).alike(0, 0, 1)


def test_devices_that_a_later_request_tells_apart_are_not() -> None:
    devices = [device("a"), device("b", attributes={"big": True})]
    here = Situation(devices, claim(request("a"), request("b", select=[BIG])))
    assert not here.alike(0, 0, 1)


def test_what_only_earlier_requests_tell_apart_makes_no_difference() -> None:
    devices = [device("a"), device("b", attributes={"big": True})]
    here = Situation(devices, claim(request("a", select=[BIG]), request("b")))
    assert here.alike(1, 0, 1)


def test_values_of_an_attribute_may_be_exchanged() -> None:
    here = Situation(numas(0, 0, 1, 1), claim(request(count=2), constraints=(MATCH,)))
    assert here.alike(0, 0, 2)


def test_but_not_if_the_place_of_the_device_matters_to_what_comes() -> None:
    here = Situation(numas(0, 0, 1, 1), claim(request(count=2), constraints=(MATCH,)))
    assert not here.alike(0, 0, 2, last=False)


def test_nor_if_fewer_devices_have_the_value() -> None:
    here = Situation(numas(0, 0, 1), claim(request(count=2), constraints=(MATCH,)))
    assert not here.alike(0, 0, 2)


def test_nor_if_something_is_settled_on_one_of_them() -> None:
    asked = claim(request("a"), request("b"), constraints=(DISTINCT,))
    here = Situation(numas(0, 0, 1, 1, 2, 2), asked).take((0, 0))
    assert not here.alike(1, 1, 2)
    assert here.alike(1, 2, 4)


def test_a_share_that_was_taken_from_is_another_kind() -> None:
    shared = gpus(2, allow_multiple_allocations=True, capacity={"memory": "4"})
    asked = [claim(request(capacity={"memory": "1"}), name=f"c{i}") for i in range(2)]
    here = Situation(shared, *asked)
    assert here.alike(1, 0, 1)
    here.take((0, 0))
    assert not here.alike(1, 0, 1)


def test_to_administrators_what_was_chosen_is_another_kind() -> None:
    admin = claim(request(admin_access=True), name="two")
    here = Situation(gpus(2), claim(name="one"), admin).take((0, 0))
    assert not here.alike(1, 0, 1)


def partition(name: str, memory: int, kind: str = "") -> Device:
    draw = DeviceCounterConsumption(
        counter_set="set", counters={"memory": Counter(value=amount(str(memory)))}
    )
    return device(name, attributes={"kind": kind}, consumes_counters=(draw,))


def test_partitions_that_draw_differently_are_of_different_kinds() -> None:
    held = CounterSet(name="set", counters={"memory": Counter(value=amount("9"))})
    counters = slice_(name="counters", slice_count=2, node_name=NODE, shared_counters=(held,))
    parts = [partition("a", 1), partition("b", 1), partition("c", 2)]
    here = Situation(parts, claim(), others=[counters])
    assert here.alike(0, 0, 1)
    assert not here.alike(0, 0, 2)


# States ------------------------------------------------------------------------------------------

TWO = claim(request("a"), request("b"))


def test_states_that_differ_by_like_devices_are_one_state() -> None:
    one = Situation(gpus(3), TWO).take((0, 0))
    other = Situation(gpus(3), TWO).take((0, 1))
    assert one.key(1) == other.key(1)


def test_states_that_differ_by_unlike_devices_are_two() -> None:
    devices = [device("a"), device("b", attributes={"big": True})]
    asked = claim(request("a"), request("b", select=[BIG]))
    one = Situation(devices, asked).take((0, 0))
    other = Situation(devices, asked).take((0, 1))
    assert one.key(1) != other.key(1)


@pytest.mark.parametrize(("start", "equal"), [(1, True), (2, False)])
def test_where_a_want_stands_counts_by_what_is_ahead(start: int, equal: bool) -> None:
    here = Situation(gpus(3), claim(request(count=2)))
    here.take((0, 0))
    assert (here.key(0, 1, 1) == here.key(0, 1, start)) is equal


def test_how_far_a_want_got_is_part_of_a_state() -> None:
    here = Situation(gpus(3), claim(request(count=2)))
    assert here.key(0, 0) != here.key(0, 1)


def test_which_value_is_settled_on_makes_no_difference_if_as_many_are_left() -> None:
    asked = claim(request("a"), request("b"), constraints=(MATCH,))
    one = Situation(numas(0, 0, 1, 1), asked).take((0, 0))
    other = Situation(numas(0, 0, 1, 1), asked).take((0, 2))
    assert one.key(1) == other.key(1)
    fewer = Situation(numas(0, 0, 0, 1), asked).take((0, 0))
    least = Situation(numas(0, 0, 0, 1), asked).take((0, 3))
    assert fewer.key(1) != least.key(1)


def of(kind: str, name: str) -> DeviceRequest:
    return request(name, select=[f'{OWN}.kind == "{kind}"'])


def test_a_value_that_may_not_be_exchanged_is_part_of_a_state() -> None:
    # Later requests see neither of the devices that were chosen, but must match their rack.
    rack = DeviceConstraint(match_attribute=f"{DRIVER}/rack")
    devices = [
        device(f"{kind}-{value}", attributes={"kind": kind, "numa": 0, "rack": value})
        for kind in "ab"
        for value in range(2)
    ]
    asked = claim(of("a", "a"), of("b", "b"), constraints=(MATCH, rack))
    one = Situation(devices, asked).take((0, 0))
    other = Situation(devices, asked).take((0, 1))
    assert one.key(1) != other.key(1)


def test_what_is_left_of_counters_is_part_of_a_state() -> None:
    held = CounterSet(name="set", counters={"memory": Counter(value=amount("9"))})
    counters = slice_(name="counters", slice_count=2, node_name=NODE, shared_counters=(held,))
    parts = [
        partition("a0", 1, kind="a"),
        partition("a1", 2, kind="a"),
        partition("b0", 3, kind="b"),
    ]
    asked = claim(of("a", "a"), of("b", "b"))
    one = Situation(parts, asked, others=[counters]).take((0, 0))
    other = Situation(parts, asked, others=[counters]).take((0, 1))
    assert one.key(1) != other.key(1)


def test_which_of_all_devices_are_still_to_be_taken_is_part_of_a_state() -> None:
    shared = gpus(2, allow_multiple_allocations=True, capacity={"memory": "4"})
    asked = [
        claim(request(capacity={"memory": "1"}), name="one"),
        claim(request(mode="All", capacity={"memory": "1"}), name="two"),
    ]

    def after(first: int) -> Hashable:
        here = Situation(shared, *asked)
        here.problem.views[1].everything = (0, 1)
        here.take((0, first), (1, 0))
        return here.key(1, ordinal=1)

    assert after(0) != after(1)


def test_what_failed_is_remembered() -> None:
    here = Situation(gpus(2), claim())
    key = here.key(0)
    assert not here.symmetry.failed_before(key)
    here.symmetry.remember(key)
    assert here.symmetry.failed_before(here.key(0))
