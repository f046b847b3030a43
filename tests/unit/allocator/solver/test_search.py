"""The first solution, and what there is instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dray.allocator.solver.attempt import Fault
from dray.allocator.solver.search import Exhausted, Failed, Found, Outcome, Undecided, search
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceDerivedAttribute,
    DeviceRequest,
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
    taint,
)
from tests.unit.allocator.hopes import problem_of
from tests.unit.allocator.reporting import gpus

OWN = f'device.attributes["{DRIVER}"]'
MATCH = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
DISTINCT = DeviceConstraint(distinct_attribute=f"{DRIVER}/numa")

# What pruning needs at most where trying everything would take thousands.
FEW = 300


def searched(
    devices: Sequence[Device],
    *claims: ResourceClaim,
    others: Sequence[ResourceSlice] = (),
    lists: bool = True,
    **options: Any,
) -> Outcome:
    return search(problem_of(devices, claims, *others), lists=lists, **options)


def found(
    devices: Sequence[Device], *claims: ResourceClaim, **options: Any
) -> list[tuple[int, int]]:
    """The choices: pairs of want and device."""
    outcome = searched(devices, *claims, **options)
    assert isinstance(outcome, Found), outcome
    return list(outcome.choices)


def kinds(text: str) -> list[Device]:
    return [device(f"gpu-{i}", attributes={"kind": kind}) for i, kind in enumerate(text)]


def of(kind: str, name: str = "r", **fields: Any) -> DeviceRequest:
    return request(name, select=[f'{OWN}.kind == "{kind}"'], **fields)


def numas(*values: int) -> list[Device]:
    return [device(f"gpu-{i}", attributes={"numa": value}) for i, value in enumerate(values)]


# The order ---------------------------------------------------------------------------------------


def test_no_claims_need_no_devices() -> None:
    assert found(gpus(1)) == []


def test_devices_are_taken_in_order() -> None:
    assert found(gpus(3), claim(request("a"), request("b"))) == [(0, 0), (1, 1)]


def test_devices_of_one_request_are_combinations_not_permutations() -> None:
    devices = numas(0, 1, 1)
    assert found(devices, claim(request(count=2), constraints=(MATCH,))) == [(0, 1), (0, 2)]


def test_an_earlier_request_gives_way_only_if_it_must() -> None:
    assert found(kinds("ab"), claim(request("x"), of("b", "y"))) == [(0, 0), (1, 1)]
    assert found(kinds("ab"), claim(request("x"), of("a", "y"))) == [(0, 1), (1, 0)]


def test_claims_give_way_to_each_other_too() -> None:
    claims = [claim(name="one"), claim(of("a"), name="two")]
    assert found(kinds("ab"), *claims) == [(0, 1), (1, 0)]


def test_devices_are_told_in_the_order_of_requests_however_they_were_solved() -> None:
    asked = claim(of("b", "x"), of("a", "y"), of("b", "z"))
    assert found(kinds("abb"), asked) == [(0, 1), (1, 0), (2, 2)]


# Alternatives ------------------------------------------------------------------------------------

EITHER = first_available(
    "r",
    alternative("big", select=[f'{OWN}.kind == "b"']),
    alternative("small", select=[f'{OWN}.kind == "s"']),
)


def test_the_first_alternative_that_works_is_taken() -> None:
    outcome = searched(kinds("sb"), claim(EITHER))
    assert isinstance(outcome, Found)
    assert (outcome.choices, outcome.wants) == (((0, 1),), (0,))


def test_the_second_is_taken_if_the_first_does_not_work() -> None:
    outcome = searched(kinds("s"), claim(EITHER))
    assert isinstance(outcome, Found)
    assert (outcome.choices, outcome.wants) == (((1, 0),), (1,))


def test_what_comes_earlier_outranks_what_is_preferred_later() -> None:
    assert found(kinds("bs"), claim(request("any"), EITHER)) == [(0, 0), (2, 1)]


def test_a_preference_gives_way_to_what_comes_later() -> None:
    assert found(kinds("bs"), claim(EITHER, of("b", "must"))) == [(1, 1), (2, 0)]


def test_every_stage_names_the_want_that_was_served_even_if_it_needs_nothing() -> None:
    outcome = searched(kinds("s"), claim(request("none", count=0), EITHER))
    assert isinstance(outcome, Found)
    assert outcome.wants == (0, 2)


# All devices -------------------------------------------------------------------------------------

ALL = request("all", mode="All")


def test_all_devices_are_taken_in_order() -> None:
    assert found(gpus(3), claim(ALL)) == [(0, 0), (0, 1), (0, 2)]


def test_all_of_nothing_is_not_enough() -> None:
    assert isinstance(searched([], claim(ALL)), Exhausted)


def test_all_devices_but_one_are_not_all() -> None:
    assert isinstance(searched(gpus(3), claim(ALL, request("one"))), Exhausted)
    tainted = [*gpus(2), device("tainted", taints=(taint(),))]
    assert isinstance(searched(tainted, claim(ALL)), Exhausted)


def test_all_devices_can_be_wanted_after_others_took_what_they_do_not_want() -> None:
    every_a = request("all", mode="All", select=[f'{OWN}.kind == "a"'])
    assert found(kinds("aba"), claim(request("any"), every_a)) == [(0, 1), (1, 0), (1, 2)]


def test_all_devices_that_a_constraint_rules_out_are_a_contradiction() -> None:
    outcome = searched(numas(0, 1), claim(ALL, constraints=(MATCH,)))
    assert isinstance(outcome, Failed)
    assert (outcome.stop.fault, outcome.stop.where) == (Fault.CONSTRAINT, 1)


def test_a_contradiction_that_is_never_reached_is_none() -> None:
    asked = claim(request("none", select=["false"]), ALL, constraints=(MATCH,))
    assert isinstance(searched(numas(0, 1), asked), Exhausted)


# Errors ------------------------------------------------------------------------------------------

FAILING = f"{OWN}.ok"


def judged(*good: bool | None) -> list[Device]:
    """Devices that the selector accepts or refuses, or on which it fails."""
    return [
        device(f"gpu-{i}", attributes={} if one is None else {"ok": one})
        for i, one in enumerate(good)
    ]


def test_a_selector_that_fails_after_a_solution_is_never_asked() -> None:
    assert found(judged(False, True, None), claim(request(select=[FAILING]))) == [(0, 1)]


def test_a_selector_that_fails_before_a_solution_ends_everything() -> None:
    outcome = searched(judged(False, None, True), claim(request(select=[FAILING])))
    assert isinstance(outcome, Failed)
    assert (outcome.stop.fault, outcome.stop.where) == (Fault.FIT, 1)


def test_looking_for_what_is_not_there_gets_to_every_error() -> None:
    outcome = searched(judged(True, None), claim(request(count=2, select=[FAILING])))
    assert isinstance(outcome, Failed)


def test_a_device_in_use_is_not_asked() -> None:
    asked = claim(request("any"), request("good", select=[FAILING]))
    assert found(judged(None, True), asked) == [(0, 0), (1, 1)]


def test_a_request_that_cannot_be_served_hides_errors_after_it_but_not_before() -> None:
    impossible = request("impossible", select=["false"])
    failing = request("failing", select=[FAILING])
    devices = judged(None)
    assert isinstance(searched(devices, claim(impossible, failing)), Exhausted)
    assert isinstance(searched(devices, claim(failing, impossible)), Failed)


def test_to_want_all_is_to_ask_all_before_anything_is_searched() -> None:
    asked = claim(request("no", select=["false"]), request("all", mode="All", select=[FAILING]))
    outcome = searched(judged(True, None), asked)
    assert isinstance(outcome, Failed)
    assert (outcome.stop.want, outcome.stop.where, outcome.steps) == (1, 1, 0)


def test_a_derived_attribute_that_fails_ends_everything_where_it_is_compared() -> None:
    derived = (DeviceDerivedAttribute(name=f"{DRIVER}/numa", expression=f"{OWN}.numa"),)
    asked = request("r", derived_attributes=derived)
    assert found([device()], claim(asked)) == [(0, 0)]
    outcome = searched([device()], claim(asked, constraints=(MATCH,)))
    assert isinstance(outcome, Failed)
    assert outcome.stop.fault is Fault.DERIVED


def test_mistakes_in_claims_come_before_everything() -> None:
    outcome = searched(judged(None), claim(request(select=[FAILING]), request("x", mode="Some")))
    assert isinstance(outcome, Failed)
    assert "unsupported count mode Some" in outcome.stop.message


def test_an_alternative_that_fails_is_not_skipped() -> None:
    either = first_available("r", alternative("x", select=[FAILING]), alternative("y"))
    assert isinstance(searched(judged(None), claim(either)), Failed)


# Limits ------------------------------------------------------------------------------------------


def test_an_alternative_that_is_too_many_is_passed_over() -> None:
    either = first_available("b", alternative("many", count=2), alternative("few", count=1))
    outcome = searched(gpus(40), claim(request("a", count=31), either))
    assert isinstance(outcome, Found)
    assert outcome.wants == (0, 2)
    assert len(outcome.choices) == 32


def test_an_earlier_alternative_gives_way_if_the_later_request_would_be_too_many() -> None:
    either = first_available("a", alternative("many", count=31), alternative("few", count=1))
    asked = claim(either, first_available("b", alternative("two", count=2)))
    outcome = searched(gpus(40), asked)
    assert isinstance(outcome, Found)
    assert outcome.wants == (1, 2)
    # Other devices for the first alternative would not make it fewer.
    assert outcome.steps < FEW


def test_errors_among_other_devices_are_not_reached_where_fewer_are_needed() -> None:
    # After 31 devices there is no room for two more, whichever they are: so says upstream, and
    # goes on with the next alternative before it gets to the device that cannot be judged.
    either = first_available(
        "a",
        alternative("many", count=31, select=[FAILING]),
        alternative("few", count=1, select=[FAILING]),
    )
    outcome = searched(judged(*[True] * 33, None), claim(either, request("b", count=2)))
    assert isinstance(outcome, Found)
    assert outcome.choices == ((1, 0), (2, 1), (2, 2))


def test_a_claim_that_is_too_many_whatever_it_takes_cannot_be_judged() -> None:
    outcome = searched(gpus(40), claim(request(count=33)))
    assert isinstance(outcome, Failed)
    assert outcome.stop.fault is Fault.MESSAGE


def test_too_many_steps_leave_it_undecided() -> None:
    outcome = searched(gpus(9), claim(request(count=8)), steps_max=5)
    assert isinstance(outcome, Undecided)
    assert outcome.steps == 6


def test_as_many_steps_as_needed_are_enough() -> None:
    outcome = searched(gpus(9), claim(request(count=8)))
    assert isinstance(outcome, Found)
    assert isinstance(searched(gpus(9), claim(request(count=8)), steps_max=outcome.steps), Found)
    fewer = searched(gpus(9), claim(request(count=8)), steps_max=outcome.steps - 1)
    assert isinstance(fewer, Undecided)


def test_steps_of_requests_that_were_solved_apart_add_up() -> None:
    both = searched(kinds("ab"), claim(of("a", "x"), of("b", "y")))
    alone = searched(kinds("a"), claim(of("a", "x")))
    assert both.steps == 2 * alone.steps
    assert isinstance(
        searched(kinds("ab"), claim(of("a", "x"), of("b", "y")), steps_max=alone.steps), Undecided
    )


# Shorter than trying everything ------------------------------------------------------------------


def counters(memory: int) -> ResourceSlice:
    held = CounterSet(name="set", counters={"memory": Counter(value=amount(str(memory)))})
    return slice_(name="counters", slice_count=2, node_name=NODE, shared_counters=(held,))


def partitions(*amounts: int) -> list[Device]:
    return [
        device(
            f"part-{i}",
            attributes={"numa": i % 2},
            consumes_counters=(
                DeviceCounterConsumption(
                    counter_set="set", counters={"memory": Counter(value=amount(str(each)))}
                ),
            ),
        )
        for i, each in enumerate(amounts)
    ]


@pytest.mark.parametrize(
    ("devices", "claims", "others"),
    [
        pytest.param(gpus(31), [claim(request(count=32))], [], id="more-than-there-are"),
        pytest.param(
            gpus(20), [claim(name=f"c{i}") for i in range(21)], [], id="more-claims-than-devices"
        ),
        pytest.param(
            gpus(32),
            [claim(request("a", count=16), request("b", select=["false"]))],
            [],
            id="a-request-that-nothing-serves",
        ),
        pytest.param(
            numas(*(i // 4 for i in range(32))),
            [claim(request(count=5), constraints=(MATCH,))],
            [],
            id="groups-that-are-too-small",
        ),
        pytest.param(
            numas(*(i % 7 for i in range(32))),
            [claim(request(count=8), constraints=(DISTINCT,))],
            [],
            id="too-few-different-values",
        ),
        pytest.param(
            partitions(*([2] * 20)), [claim(request(count=11))], [counters(20)], id="counters"
        ),
        pytest.param(
            gpus(4, allow_multiple_allocations=True, capacity={"memory": "3"}),
            [claim(request(capacity={"memory": "2"}), name=f"c{i}") for i in range(12)],
            [],
            id="shares",
        ),
        pytest.param(
            numas(*(i // 3 for i in range(24))),
            [claim(request(count=2), name=f"c{i}", constraints=(MATCH,)) for i in range(9)],
            [],
            id="one-group-per-claim",
        ),
    ],
)
def test_what_cannot_be_is_seen_without_trying_everything(
    devices: list[Device], claims: list[ResourceClaim], others: list[ResourceSlice]
) -> None:
    outcome = searched(devices, *claims, others=others)
    assert isinstance(outcome, Exhausted)
    assert outcome.steps < FEW


def test_a_solution_at_the_far_end_is_found_soon() -> None:
    devices = numas(*(i // 3 for i in range(30)), 10, 10, 10, 10)
    asked = claim(request("a", count=3), request("b"), constraints=(MATCH,))
    outcome = searched(devices, asked)
    assert isinstance(outcome, Found)
    assert [device for _, device in outcome.choices] == [30, 31, 32, 33]
    assert outcome.steps < FEW
