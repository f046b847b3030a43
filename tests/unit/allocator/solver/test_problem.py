"""One node and some wants, as masks."""

from __future__ import annotations

from typing import Any

import pytest

from dray.allocator import Occupancy
from dray.allocator.solver.problem import BadPool, Problem, bits
from dray.api.resource import (
    Device,
    DeviceConstraint,
    DeviceDerivedAttribute,
    ResourceClaim,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    NODE,
    alternative,
    capacity,
    claim,
    device,
    first_available,
    node,
    node_selector,
    request,
    requirement,
    slice_,
    taint,
    term,
)
from tests.unit.allocator.reporting import allocator, gpu, gpus

OWN = f'device.attributes["{DRIVER}"]'
UNREADABLE = node_selector(term(requirement("zone", "In")))
MATCH = DeviceConstraint(match_attribute=f"{DRIVER}/numa")


def problem(devices: list[Device], *claims: ResourceClaim, **options: Any) -> Problem:
    return problem_of(slice_(*devices), *claims, **options)


def problem_of(published: ResourceSlice, *claims: ResourceClaim, **options: Any) -> Problem:
    plan = allocator(published, **options).plan(claims or [claim()])
    return plan.layout(node()).problem(plan.preparation)


def test_the_devices_in_a_set_come_in_order() -> None:
    assert list(bits(0b101001)) == [0, 3, 5]
    assert list(bits(0)) == []


# What a want sees --------------------------------------------------------------------------------


def test_candidates_are_the_devices_that_fit() -> None:
    devices = [
        device("a"),
        device("b", attributes={"no": True}),
        device("c", taints=(taint(),)),
        device("d"),
    ]
    asked = claim(request(select=[f"!{OWN}.?no.orValue(false)"]))
    assert problem(devices, asked).views[0].candidates == 0b1001


def test_what_is_held_is_a_candidate_still() -> None:
    made = problem(gpus(2), held={"somebody": ["gpu-0"]})
    assert made.allocated == 0b01
    assert made.views[0].candidates == 0b11


def test_devices_without_enough_capacity_left_are_none() -> None:
    occupancy = Occupancy()
    occupancy.consume(gpu("gpu-0"), {"memory": 10**9})
    shared = {"allow_multiple_allocations": True, "capacity": {"memory": "2"}}
    asked = claim(request(capacity={"memory": "2"}))
    made = problem(gpus(2, **shared), asked, occupancy=occupancy)
    assert made.views[0].candidates == 0b10
    assert made.shareable == 0b11


def test_those_who_want_all_devices_want_the_poor_ones_too() -> None:
    occupancy = Occupancy()
    occupancy.consume(gpu("gpu-0"), {"memory": 10**9})
    shared = {"allow_multiple_allocations": True, "capacity": {"memory": "2"}}
    asked = claim(request(mode="All", capacity={"memory": "2"}))
    made = problem(gpus(2, **shared), asked, occupancy=occupancy)
    assert (made.views[0].candidates, made.views[0].viable) == (0b11, 0b10)


@pytest.mark.parametrize(
    ("last", "asked"),
    [
        pytest.param(device("b"), request(select=[f"{OWN}.ok"]), id="a-selector-fails"),
        pytest.param(
            device(
                "b",
                capacity={"memory": capacity("10", default="1", lowest="1", step="1")},
                attributes={"ok": True},
            ),
            request(capacity={"memory": str(2**63)}),
            id="an-amount-cannot-be-rounded",
        ),
    ],
)
def test_what_ends_everything_is_known_before_anybody_gets_there(last: Device, asked: Any) -> None:
    first = device("a", attributes={"ok": True})
    assert problem([first, last], claim(asked)).views[0].raises == 0b10


@pytest.mark.parametrize(
    ("fields", "attributes", "expected"),
    [
        pytest.param({"node_selector": UNREADABLE}, {"ok": True}, (0, 0b10), id="unreadable"),
        pytest.param({"node_selector": UNREADABLE}, {"ok": False}, (0, 0), id="but-not-wanted"),
        pytest.param({"node_selector": UNREADABLE}, {}, (0, 0b10), id="the-selector-fails-first"),
        pytest.param({"node_name": "node-2"}, {"ok": True}, (0, 0), id="elsewhere"),
        pytest.param({"node_name": "node-2"}, {}, (0, 0b10), id="selectors-run-elsewhere-too"),
        pytest.param({"all_nodes": True}, {"ok": True}, (0b10, 0), id="here"),
    ],
)
def test_the_nodes_of_a_device_are_looked_at_after_selectors(
    fields: dict[str, Any], attributes: dict[str, bool], expected: tuple[int, int]
) -> None:
    first = device("a", node_name=NODE, attributes={"ok": False})
    last = device("b", attributes=attributes, **fields)
    asked = claim(request(select=[f"{OWN}.ok"]))
    view = problem_of(slice_(first, last, per_device_node_selection=True), asked).views[0]
    assert (view.candidates, view.raises) == expected


def test_a_want_is_in_the_scope_of_constraints_of_its_claim_that_name_it() -> None:
    constraints = (
        MATCH,
        DeviceConstraint(requests=("b",), match_attribute="x/y"),
        DeviceConstraint(requests=("c/x",), match_attribute="x/y"),
    )
    made = problem(
        gpus(1),
        claim(name="other", constraints=(MATCH,)),
        claim(
            request("a"),
            request("b"),
            first_available("c", alternative("x"), alternative("y")),
            constraints=constraints,
        ),
    )
    assert [view.scope for view in made.views] == [(0,), (1,), (1, 2), (1, 3), (1,)]


def test_a_derived_attribute_that_fails_matters_where_a_constraint_asks_for_it() -> None:
    derived = (DeviceDerivedAttribute(name=f"{DRIVER}/numa", expression=f"{OWN}.numa"),)
    devices = [device("a", attributes={"numa": 1}), device("b")]
    free = claim(request(derived_attributes=derived))
    bound = claim(request(derived_attributes=derived), constraints=(MATCH,))
    assert problem(devices, free).views[0].derives == 0
    assert problem(devices, bound).views[0].derives == 0b10


# All devices -------------------------------------------------------------------------------------

EVERY = claim(request(mode="All", select=[f"{OWN}.?ok.orValue(true)"]))


def everything(made: Problem) -> tuple[int, ...] | BadPool | int:
    return made.everything(made.preparation.wants[0])


def test_all_devices_are_those_the_selectors_accept_whoever_has_them() -> None:
    devices = [
        device("a"),
        device("b", attributes={"ok": False}),
        device("c", taints=(taint(),)),
        device("d"),
    ]
    assert everything(problem(devices, EVERY, held={"somebody": ["d"]})) == (0, 2, 3)


def test_devices_that_never_had_enough_are_not_among_them() -> None:
    devices = [device("a", capacity={"memory": "1"}), device("b", capacity={"memory": "3"})]
    asked = claim(request(mode="All", capacity={"memory": "2"}))
    assert everything(problem(devices, asked)) == (1,)


def bad_after(devices: list[Device]) -> Problem:
    """A problem with a pool in the middle that is not complete."""
    plan = allocator(
        slice_(*devices[:1], name="a", pool="a"),
        slice_(device("x"), name="b", pool="b", slice_count=2),
        slice_(*devices[1:], name="c", pool="c"),
    ).plan([claim(request(mode="All", select=[f"{OWN}.ok"]))])
    return plan.layout(node()).problem(plan.preparation)


def test_a_pool_that_is_not_complete_ends_it() -> None:
    fine = device("fine", attributes={"ok": True})
    assert isinstance(everything(bad_after([fine, fine])), BadPool)


def test_a_device_that_cannot_be_judged_ends_it_if_it_comes_first() -> None:
    fine, failing = device("fine", attributes={"ok": True}), device("failing")
    assert everything(bad_after([failing, fine])) == 0
    assert isinstance(everything(bad_after([fine, failing])), BadPool)


def test_what_is_ahead_is_what_may_still_be_taken() -> None:
    made = problem(gpus(4), claim(request("some", count=2), request("all", mode="All")))
    some, every = made.views
    found = made.everything(every.want)
    assert isinstance(found, tuple)
    every.everything = found
    assert some.ahead(ordinal=1, start=2) == 0b1100
    # All devices are taken one after the other, so their place is how many were taken.
    assert every.ahead(ordinal=3, start=0) == 0b1000


# Capacity, values, limits ------------------------------------------------------------------------


def test_what_others_and_this_search_took_is_not_there_any_more() -> None:
    occupancy = Occupancy()
    occupancy.consume(gpu("gpu-0"), {"memory": 2 * 10**9})
    shared = {"allow_multiple_allocations": True, "capacity": {"memory": "5"}}
    made = problem(gpus(1, **shared), claim(request(capacity={"memory": "2"})), occupancy=occupancy)
    (want,) = made.preparation.wants
    assert made.affords(want, 0)
    assert made.affords(want, 0, {"memory": 10**9})
    assert not made.affords(want, 0, {"memory": 2 * 10**9})


def test_candidates_are_known_by_what_a_constraint_finds_on_them() -> None:
    devices = [device(f"gpu-{i}", attributes={"numa": i % 2}) for i in range(4)]
    made = problem([*devices, device("none")], claim(constraints=(MATCH,)))
    assert dict(made.by_value(0, made.preparation.wants[0])) == {
        ("int", 0): 0b0101,
        ("int", 1): 0b1010,
    }
    assert made.attribute(0) == f"{DRIVER}/numa"


@pytest.mark.parametrize(
    ("asked", "exceeds"),
    [
        pytest.param([request(count=32)], False, id="just-enough"),
        pytest.param(
            [
                request("a", count=31),
                first_available("b", alternative("x"), alternative("y", count=2)),
            ],
            True,
            id="with-the-larger-alternative",
        ),
    ],
)
def test_a_claim_may_exceed_its_limit_or_cannot(asked: Any, exceeds: bool) -> None:
    assert problem(gpus(40), claim(*asked)).may_exceed is exceeds


def test_claims_do_not_exceed_limits_together() -> None:
    claims = [claim(request(count=20), name=f"c{i}") for i in range(2)]
    assert not problem(gpus(40), *claims).may_exceed
