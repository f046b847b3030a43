"""Requests that can be solved apart."""

from __future__ import annotations

from typing import Any

from dray.allocator.solver.components import components, parts
from dray.allocator.solver.problem import Problem
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    ResourceClaim,
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
from tests.unit.allocator.hopes import problem_of

OWN = f'device.attributes["{DRIVER}"]'
DEVICES = [device(f"{kind}-{i}", attributes={"kind": kind}) for kind in "abc" for i in range(2)]


def of(kind: str, name: str | None = None, **fields: Any) -> DeviceRequest:
    """A request for devices of one kind, by the name of the kind unless it has another."""
    return request(name or kind, select=[f'{OWN}.?kind.orValue("") == "{kind}"'], **fields)


def together(*claims: ResourceClaim, devices: list[Device] = DEVICES) -> list[str]:
    """The requests that are solved together, by the first letter of their names."""
    return names(components(problem_of(devices, claims)))


def names(groups: list[Any]) -> list[str]:
    return ["".join(stage.wants[0].parent_name for stage in stages) for stages in groups]


def test_requests_for_different_devices_have_nothing_to_do_with_each_other() -> None:
    assert together(claim(of("a"), of("b"), of("c"))) == ["a", "b", "c"]


def test_requests_that_want_the_same_devices_are_solved_together() -> None:
    assert together(claim(of("a"), of("b"), of("a", "z"))) == ["az", "b"]


def test_so_are_those_of_different_claims() -> None:
    assert together(claim(of("a"), name="one"), claim(of("a", "z"), name="two")) == ["az"]


def test_a_request_for_anything_ties_all_together() -> None:
    assert together(claim(of("a"), of("b"), request("x"), of("c"))) == ["abxc"]


def test_one_alternative_is_enough() -> None:
    either = first_available(
        "x", *(alternative(kind, select=[f'{OWN}.kind == "{kind}"']) for kind in "ab")
    )
    assert together(claim(of("a"), of("b"), of("c"), either)) == ["abx", "c"]


def test_a_constraint_ties_those_it_names() -> None:
    constraint = DeviceConstraint(requests=("a", "c"), distinct_attribute=f"{DRIVER}/kind")
    assert together(claim(of("a"), of("b"), of("c"), constraints=(constraint,))) == ["ac", "b"]


def test_a_claim_that_may_exceed_its_limit_is_one_group() -> None:
    devices = [device(f"{kind}-{i}", attributes={"kind": kind}) for kind in "ab" for i in range(20)]
    many = first_available(
        "x",
        alternative("few", select=[f'{OWN}.kind == "b"']),
        alternative("many", select=[f'{OWN}.kind == "b"'], count=20),
    )
    assert together(claim(of("a", count=20), many), devices=devices) == ["ax"]


def test_whatever_may_end_in_an_error_keeps_everything_in_order() -> None:
    failing = request("x", select=[f"{OWN}.missing == 1"])
    assert together(claim(of("a"), of("b"), failing)) == ["abx"]


def test_counters_of_one_pool_tie_those_who_draw_from_them() -> None:
    draw = DeviceCounterConsumption(
        counter_set="set", counters={"memory": Counter(value=amount("1"))}
    )
    devices = [
        device(kind, attributes={"kind": kind}, consumes_counters=(draw,) if kind in "ab" else ())
        for kind in "abc"
    ]
    held = CounterSet(name="set", counters={"memory": Counter(value=amount("9"))})
    shared = slice_(name="counters", slice_count=2, node_name=NODE, shared_counters=(held,))
    problem = problem_of(devices, [claim(of("a"), of("b"), of("c"))], shared)
    assert names(components(problem)) == ["ab", "c"]


def test_no_claims_are_one_group_of_nothing() -> None:
    assert components(problem_of(DEVICES, [])) == [()]


# Parts -------------------------------------------------------------------------------------------


def parts_of(problem: Problem) -> list[str]:
    return names(parts(problem, problem.preparation.stages))


def test_parts_are_claims_and_those_under_one_constraint_the_small_ones_first() -> None:
    constraint = DeviceConstraint(requests=("a", "b"), match_attribute=f"{DRIVER}/kind")
    one = claim(request("a"), request("b"), request("c"), name="one", constraints=(constraint,))
    two = claim(request("d"), name="two")
    assert parts_of(problem_of(DEVICES, [one, two])) == ["d", "ab", "abc"]


def test_the_whole_is_no_part_of_itself() -> None:
    assert parts_of(problem_of(DEVICES, [claim(request("a"), request("b"))])) == []


def test_parts_come_in_one_order_however_often_they_are_asked_for() -> None:
    """Steps are counted, so what is tried first must not depend on where objects happen to be."""
    gpus = [device(f"gpu-{i}", attributes={"numa": i % 2, "rack": i % 3}) for i in range(6)]
    scopes = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    constraints = tuple(
        DeviceConstraint(requests=scope, match_attribute=f"{DRIVER}/{('numa', 'rack')[i % 2]}")
        for i, scope in enumerate(scopes)
    )
    asked = claim(*[request(name) for name in "abcd"], constraints=constraints)
    orders = set()
    for _ in range(20):
        problem = problem_of(gpus, [asked])
        stages = problem.preparation.stages
        orders.add(tuple(tuple(s.request_index for s in part) for part in parts(problem, stages)))
    assert orders == {((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))}
