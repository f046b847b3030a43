"""Branches that are given up unseen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dray.allocator.solver.attempt import Attempt
from dray.allocator.solver.bounds import Bounds
from dray.allocator.solver.problem import Problem
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceDerivedAttribute,
    ResourceClaim,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    NODE,
    alternative,
    amount,
    claim,
    device,
    first_available,
    request,
    slice_,
)
from tests.unit.allocator.hopes import problem_of, start
from tests.unit.allocator.reporting import gpus

OWN = f'device.attributes["{DRIVER}"]'
MATCH = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
FAILING = f"{OWN}.missing == 1"


class Situation:
    """A problem, what was chosen so far, and the bounds on what is left."""

    def __init__(
        self,
        devices: Sequence[Device],
        *claims: ResourceClaim,
        others: Sequence[ResourceSlice] = (),
    ) -> None:
        self.problem: Problem = problem_of(devices, claims, *others)
        for view in self.problem.views:
            if view.want.all_devices:
                found = self.problem.everything(view.want)
                assert isinstance(found, tuple)
                view.everything, view.needed = found, len(found)
        self.attempt: Attempt = start(self.problem)
        self.bounds = Bounds(self.problem, self.attempt, self.problem.preparation.stages)

    def take(self, want: int, device: int) -> None:
        assert self.attempt.commit(self.problem.views[want], device) is not None

    def short(self, want: int, ordinal: int = 0, start: int = 0) -> bool:
        return self.bounds.short(self.problem.views[want], ordinal, start)

    def hopeless_after(self, want: int, ordinal: int = 0, start: int = 0) -> bool:
        view = self.problem.views[want]
        return self.bounds.hopeless_after(want, view, ordinal, start)


# Counting ----------------------------------------------------------------------------------------


def test_a_want_with_fewer_devices_left_than_it_needs_is_short() -> None:
    here = Situation(gpus(4), claim(request(count=3)))
    assert not here.short(0)
    assert not here.short(0, start=1)
    assert here.short(0, start=2)
    assert not here.short(0, ordinal=1, start=2)


def test_what_others_took_is_not_left() -> None:
    here = Situation(gpus(3), claim(request("a"), request("b", count=3)))
    here.take(0, 1)
    assert here.short(1)


def test_to_want_all_is_to_be_short_as_soon_as_one_is_taken() -> None:
    here = Situation(gpus(3), claim(request("a"), request("b", mode="All")))
    assert not here.short(1)
    here.take(0, 2)
    assert here.short(1)
    assert here.short(1, ordinal=2)


def test_a_want_that_may_end_in_an_error_is_never_short() -> None:
    assert not Situation(gpus(1), claim(request(count=9, select=[FAILING]))).short(0)


def test_one_stage_that_cannot_be_served_is_enough() -> None:
    asked = claim(request("a"), request("b", count=9))
    assert Situation(gpus(3), asked).bounds.hopeless(0)


def test_an_alternative_that_can_be_served_is_a_hope() -> None:
    either = first_available("r", alternative("x", count=9), alternative("y"))
    assert not Situation(gpus(3), claim(either)).bounds.hopeless(0)


def test_all_of_nothing_cannot_be_served() -> None:
    asked = claim(request(mode="All", select=["false"]))
    assert Situation(gpus(3), asked).bounds.hopeless(0)


# Up to the first error ---------------------------------------------------------------------------


def test_nothing_is_said_of_what_comes_after_a_possible_error() -> None:
    impossible = request("z", count=9)
    failing = request("b", select=[FAILING])
    assert not Situation(gpus(3), claim(request("a"), failing, impossible)).bounds.hopeless(0)
    assert Situation(gpus(3), claim(impossible, failing)).bounds.hopeless(0)


def test_stages_are_safe_up_to_the_first_that_may_end_in_an_error() -> None:
    asked = claim(request("a"), request("b"), request("c", select=[FAILING]), request("d"))
    assert Situation(gpus(3), asked).bounds.safe == 2
    assert Situation(gpus(3), claim(request("a"))).bounds.safe == 1


def test_a_stage_that_may_itself_end_in_an_error_is_not_given_up() -> None:
    asked = claim(request("a", select=[FAILING]), request("b", count=9))
    assert not Situation(gpus(3), asked).hopeless_after(0)


# Together ----------------------------------------------------------------------------------------


def kinds(text: str) -> list[Device]:
    return [device(f"gpu-{i}", attributes={"kind": kind}) for i, kind in enumerate(text)]


def of(name: str, *wanted: str, **fields: Any) -> Any:
    listed = ", ".join(f'"{kind}"' for kind in wanted)
    return request(name, select=[f"{OWN}.kind in [{listed}]"], **fields)


def test_requests_that_have_enough_alone_may_not_have_enough_together() -> None:
    asked = claim(of("r", "a", "b"), of("s", "a", "b"), of("t", "a", "b", "c", count=2))
    here = Situation(kinds("abc"), asked)
    assert not here.bounds.hopeless(0)
    assert here.bounds.hopeless_together(0)
    assert not Situation(kinds("abcc"), asked).bounds.hopeless_together(0)


@pytest.mark.parametrize(("start", "hopeless"), [(0, False), (1, False), (2, True)])
def test_the_rest_of_a_want_counts_from_where_it_stands(start: int, hopeless: bool) -> None:
    here = Situation(gpus(3), claim(request(count=2)))
    assert here.hopeless_after(0, start=start) is hopeless


def test_what_a_want_passed_over_is_left_for_those_after_it() -> None:
    here = Situation(gpus(4), claim(request("a", count=2), request("b", count=2)))
    here.take(0, 2)
    assert not here.hopeless_after(0, ordinal=1, start=3)


def test_what_does_not_match_what_was_chosen_is_not_left() -> None:
    devices = [device(f"gpu-{i}", attributes={"numa": i // 2}) for i in range(4)]
    here = Situation(devices, claim(request(count=3), constraints=(MATCH,)))
    here.take(0, 0)
    assert here.hopeless_after(0, ordinal=1, start=1)


def test_administrators_are_in_nobodys_way() -> None:
    admin = request("a", admin_access=True, count=2)
    assert not Situation(
        gpus(2), claim(admin, name="one"), claim(request(count=2))
    ).bounds.hopeless_together(0)


def test_what_others_may_not_have_is_there_for_administrators() -> None:
    admin = claim(request("a", admin_access=True, count=2), name="two")
    here = Situation(gpus(2), claim(request("r"), request("s"), name="one"), admin)
    here.take(0, 0)
    assert not here.bounds.hopeless_together(1)


def test_a_derived_attribute_is_matched_by_its_own_value() -> None:
    derived = (DeviceDerivedAttribute(name=f"{DRIVER}/numa", expression=f"{OWN}.numa - 1"),)
    devices = [device(f"gpu-{i}", attributes={"numa": value}) for i, value in enumerate((0, 0, 1))]
    lower = request("c", derived_attributes=derived)
    here = Situation(devices, claim(request("a"), request("b"), lower, constraints=(MATCH,)))
    here.take(0, 0)
    assert not here.bounds.hopeless_together(1)


def test_shares_are_many() -> None:
    shared = gpus(1, allow_multiple_allocations=True)
    asked = [claim(name=f"c{i}") for i in range(5)]
    assert not Situation(shared, *asked).bounds.hopeless_together(0)


def test_shares_that_were_used_up_are_none() -> None:
    shared = gpus(1, allow_multiple_allocations=True, capacity={"memory": "3"})
    asked = [claim(request(capacity={"memory": "2"}), name=f"c{i}") for i in range(2)]
    here = Situation(shared, *asked)
    here.take(0, 0)
    assert here.hopeless_after(1)


def test_partitions_for_which_counters_do_not_suffice_are_none() -> None:
    def partition(name: str, memory: int) -> Device:
        counters = {"memory": Counter(value=amount(str(memory)))}
        draw = DeviceCounterConsumption(counter_set="set", counters=counters)
        return device(name, consumes_counters=(draw,))

    held = CounterSet(name="set", counters={"memory": Counter(value=amount("5"))})
    counters = slice_(name="counters", slice_count=2, node_name=NODE, shared_counters=(held,))
    parts = [partition("a", 2), partition("b", 3), partition("c", 3)]
    here = Situation(parts, claim(request("a"), request("b")), others=[counters])
    assert not here.hopeless_after(0)
    here.take(0, 1)
    assert not here.hopeless_after(1)
    assert here.hopeless_after(1, start=1)
