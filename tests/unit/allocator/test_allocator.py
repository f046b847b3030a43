"""Claims in, devices out."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from dray.allocator import Allocation, Allocator, Features, Inventory, Occupancy, Unsatisfiable
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceConstraint,
    DeviceRequestAllocationResult,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourceClaim,
    ResourceClaimStatus,
)
from dray.api.wire import replace
from dray.errors import AllocationError
from dray.testing.allocation import allocator_of
from tests.unit.allocator.builders import (
    CLASS,
    DRIVER,
    NODE,
    POOL,
    alternative,
    capacity,
    claim,
    device,
    device_class,
    first_available,
    node,
    request,
    slice_,
    taint,
)
from tests.unit.allocator.reporting import allocator, gpus, refused

OWN = f'device.attributes["{DRIVER}"]'


def given(by: Allocator, *claims: ResourceClaim, to: str = "node-1") -> list[list[str]]:
    """Per claim, the devices by request."""
    answer = by.allocate(node(to), claims)
    assert isinstance(answer, Allocation), answer
    return [
        [f"{one.request}: {one.device}" for one in result.devices.results]
        for result in answer.results
    ]


def test_every_claim_gets_a_result_in_its_order() -> None:
    claims = [claim(request("a", count=2), name="one"), claim(request("b"), name="two")]
    assert given(allocator(slice_(*gpus(3))), *claims) == [
        ["a: gpu-0", "a: gpu-1"],
        ["b: gpu-2"],
    ]


def test_no_claims_get_no_results() -> None:
    answer = allocator(slice_(*gpus(1))).allocate(node(), [])
    assert answer == Allocation((), answer.steps)


def test_a_claim_without_requests_gets_a_result_without_devices() -> None:
    empty = replace(
        claim(), spec=replace(claim().spec, devices=replace(claim().spec.devices, requests=()))
    )
    assert given(allocator(), empty) == [[]]


def test_an_alternative_is_named_with_its_request() -> None:
    asked = claim(first_available("r", alternative("x", count=9), alternative("y")))
    assert given(allocator(slice_(*gpus(2))), asked) == [["r/y: gpu-0"]]


def test_what_does_not_fit_is_an_answer() -> None:
    answer = refused(allocator(slice_(*gpus(1))), claim(request(count=2)))
    assert answer.node == "node-1"
    assert not answer.undecided
    assert answer.message == ""


def test_what_cannot_be_judged_is_an_error() -> None:
    with pytest.raises(AllocationError, match="could not retrieve device class nope"):
        allocator(slice_(*gpus(1))).allocate(node(), [claim(request(device_class="nope"))])


def test_a_search_that_takes_too_long_is_left_undecided() -> None:
    answer = refused(allocator(slice_(*gpus(9)), steps_max=5), claim(request(count=8)))
    assert answer.undecided


def test_invalid_pools_are_mentioned_where_nothing_fits() -> None:
    invalid = slice_(device("twice"), device("twice"), name="a", pool="a")
    fine = slice_(*gpus(1), name="b", pool="b")
    assert given(allocator(invalid, fine), claim()) == [["req: gpu-0"]]
    answer = refused(allocator(invalid, fine), claim(request(count=2)))
    assert answer.message == "invalid resource pools were encountered"


def test_an_undecided_search_blames_no_pool() -> None:
    invalid = slice_(device("twice"), device("twice"), name="a", pool="a")
    fine = slice_(*gpus(9), name="b", pool="b")
    answer = refused(allocator(invalid, fine, steps_max=5), claim(request(count=8)))
    assert (answer.undecided, answer.message) == (True, "")


def test_incomplete_pools_are_passed_over() -> None:
    incomplete = slice_(device("x"), name="a", pool="a", slice_count=2)
    assert given(allocator(incomplete, slice_(*gpus(1))), claim()) == [["req: gpu-0"]]


# Shares ------------------------------------------------------------------------------------------


def shares(*claims: ResourceClaim) -> list[tuple[str | None, dict[str, str]]]:
    shared = gpus(
        2, allow_multiple_allocations=True, capacity={"memory": capacity("4Gi", default="1Gi")}
    )
    names = map("share-{}".format, itertools.count())
    by = Allocator(
        Inventory(Features.everything(), [slice_(*shared)]),
        Occupancy(),
        {CLASS: device_class()},
        share_id=lambda: next(names),
    )
    answer = by.allocate(node(), claims)
    assert isinstance(answer, Allocation)
    return [
        (one.share_id, {name: str(taken) for name, taken in one.consumed_capacity.items()})
        for result in answer.results
        for one in result.devices.results
    ]


def test_every_share_has_a_name_of_its_own_and_says_what_it_takes() -> None:
    asked = claim(request("a"), request("b", capacity={"memory": "2Gi"}))
    assert shares(asked) == [("share-0", {"memory": "1Gi"}), ("share-1", {"memory": "2Gi"})]


def test_a_device_given_whole_has_neither() -> None:
    answer = allocator(slice_(device(capacity={"memory": "4Gi"}))).allocate(node(), [claim()])
    assert isinstance(answer, Allocation)
    (one,) = answer.results[0].devices.results
    assert one.share_id is None
    assert not one.consumed_capacity


# Plans -------------------------------------------------------------------------------------------


def test_a_plan_can_be_tried_on_any_node() -> None:
    by = allocator(
        slice_(*gpus(2), name="one", pool="one", node_name="node-1"),
        slice_(*gpus(1), name="two", pool="two", node_name="node-2"),
    )
    plan = by.plan([claim(request(count=2))])
    assert isinstance(plan.on(node("node-1")), Allocation)
    assert isinstance(plan.on(node("node-2")), Unsatisfiable)
    assert isinstance(plan.on(node("node-3")), Unsatisfiable)


def test_an_outcome_holds_for_every_node_of_an_equal_layout() -> None:
    by = allocator(
        *(slice_(*gpus(2), name=name, pool=name, node_name=name) for name in ("node-1", "node-2"))
    )
    plan = by.plan([claim()])
    one, other = plan.layout(node("node-1")), plan.layout(node("node-2"))
    assert one.key == other.key
    answer = plan.answer(other, plan.solve(one))
    assert isinstance(answer, Allocation)
    (result,) = answer.results[0].devices.results
    assert (result.pool, result.device) == ("node-2", "gpu-0")


def test_an_allocator_sees_what_changes() -> None:
    by = allocator(slice_(*gpus(2)))
    asked = claim(name="first")
    answer = by.allocate(node(), [asked])
    assert isinstance(answer, Allocation)
    allocated = replace(asked, status=ResourceClaimStatus(allocation=answer.results[0]))
    by.occupancy.add(allocated)
    assert given(by, claim()) == [["req: gpu-1"]]
    by.occupancy.remove(allocated)
    by.inventory.apply(slice_(device("new")))
    assert given(by, claim()) == [["req: new"]]


def test_a_plan_sees_taints_that_come_later() -> None:
    by = allocator(slice_(*gpus(2)))
    plan = by.plan([claim()])
    assert isinstance(plan.on(node()), Allocation)
    selector = DeviceTaintSelector(driver=DRIVER)
    by.inventory.apply_rule(
        DeviceTaintRule(spec=DeviceTaintRuleSpec(device_selector=selector, taint=taint()))
    )
    assert isinstance(plan.on(node()), Unsatisfiable)


def test_asking_changes_nothing() -> None:
    by = allocator(slice_(*(device(f"gpu-{i}", attributes={"numa": i % 2}) for i in range(4))))
    constraint = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
    asked = claim(request(count=2), constraints=(constraint,))
    assert given(by, asked) == given(by, asked) == [["req: gpu-0", "req: gpu-2"]]


# Objects of other times and places -------------------------------------------------------------


def test_a_reason_does_not_change_with_what_happens_later() -> None:
    holder = replace(
        claim(name="holder"),
        status=ResourceClaimStatus(
            allocation=AllocationResult(
                devices=DeviceAllocationResult(
                    results=(
                        DeviceRequestAllocationResult(
                            request="req", driver=DRIVER, pool=POOL, device="gpu-0"
                        ),
                    )
                )
            )
        ),
    )
    occupancy = Occupancy.of([holder])
    judge = Allocator(
        Inventory(Features.everything(), [slice_(device())]),
        occupancy,
        {CLASS: device_class()},
        share_id=lambda: "share",
    )
    answer = judge.allocate(node(), [claim()])
    occupancy.remove(holder)
    assert isinstance(answer, Unsatisfiable)
    assert answer.report.summary == "request req: 1 device: 1 in use by default/holder; 1 wanted"


def test_a_claim_that_has_devices_is_not_given_more() -> None:
    judge = Allocator(
        Inventory(Features.everything(), [slice_(device())]),
        Occupancy(),
        {CLASS: device_class()},
        share_id=lambda: "share",
    )
    done = replace(claim(), status=ResourceClaimStatus(allocation=AllocationResult()))
    with pytest.raises(AllocationError, match="claim default/claim: has devices already"):
        judge.allocate(node(), [done])


@pytest.mark.parametrize(
    ("where", "asked"),
    [
        pytest.param({"attributes": {"size": {"quantity": "1Gi"}}}, {}, id="attribute"),
        pytest.param(
            {"taints": [{"key": "k", "effect": "None", "new": {"a": []}}]}, {}, id="taint"
        ),
        pytest.param({}, {"tolerations": [{"operator": "Exists", "new": {}}]}, id="toleration"),
        pytest.param(
            {}, {"selectors": [{"cel": {"expression": "true", "new": {}}}]}, id="selector"
        ),
    ],
)
def test_members_of_times_to_come_do_no_harm(where: dict[str, Any], asked: dict[str, Any]) -> None:
    case = {
        "features": ["DRADeviceTaints"],
        "node": {"metadata": {"name": NODE}},
        "classes": [{"metadata": {"name": CLASS}, "spec": {}}],
        "slices": [
            {
                "metadata": {"name": "s"},
                "spec": {
                    "driver": DRIVER,
                    "nodeName": NODE,
                    "pool": {"name": POOL, "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": "gpu-0", **where}],
                },
            }
        ],
        "claims": [
            {
                "metadata": {"name": "c"},
                "spec": {
                    "devices": {
                        "requests": [
                            {
                                "name": "r",
                                "exactly": {
                                    "deviceClassName": CLASS,
                                    "allocationMode": "ExactCount",
                                    "count": 1,
                                    **asked,
                                },
                            }
                        ]
                    }
                },
            }
        ],
    }
    judge, where_to, claims = allocator_of(case)
    assert isinstance(judge.allocate(where_to, claims), Allocation)
