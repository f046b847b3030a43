"""The smallest changes that make claims fit, by kind."""

from __future__ import annotations

import pytest

from dray.allocator import Allocation, Allocator, Occupancy
from dray.allocator.explain import relaxations as module
from dray.allocator.explain.changes import Unit
from dray.allocator.explain.relaxations import Change, ChangeKind, Relaxation, relaxations
from dray.api.resource import (
    ALLOCATION_MODE_ALL,
    AllocationResult,
    DeviceAllocationResult,
    DeviceConstraint,
    DeviceRequestAllocationResult,
    DeviceToleration,
    ResourceClaim,
    ResourceClaimStatus,
)
from dray.api.wire import replace
from tests.unit.allocator.builders import (
    DRIVER,
    POOL,
    alternative,
    amount,
    capacity,
    claim,
    device,
    device_class,
    first_available,
    node,
    request,
    slice_,
    taint,
    toleration,
)
from tests.unit.allocator.reporting import allocator, gpu, gpus, partition, partitioned

MODEL = f'device.attributes["{DRIVER}"].model'


def relaxed(by: Allocator, *claims: ResourceClaim) -> tuple[Relaxation, ...]:
    return relaxations(by, node(), claims or (claim(),))


def changes(by: Allocator, *claims: ResourceClaim, kind: ChangeKind) -> list[Change]:
    """The single changes of a kind, all of them checked."""
    found = relaxed(by, *claims)
    assert all(one.checked for one in found if one.kind is not ChangeKind.POOL)
    return [one.changes[0] for one in found if len(one.changes) == 1 and one.kind is kind]


def test_claims_that_fit_need_no_change() -> None:
    assert relaxed(allocator(slice_(*gpus(1)))) == ()


def test_claims_that_cannot_be_judged_get_no_advice() -> None:
    assert relaxed(allocator(slice_(*gpus(1))), claim(request(device_class="none"))) == ()


def test_nothing_of_what_was_asked_is_changed() -> None:
    by = allocator(slice_(device(taints=(taint(),))), held={"ml/a": []})
    asked = claim()
    relaxed(by, asked)
    assert asked == claim()
    assert len(by.occupancy) == 0


# Taints ----------------------------------------------------------------------------------------


def test_a_taint_is_to_be_tolerated() -> None:
    by = allocator(slice_(device(taints=(taint("health", value="bad"),))))
    (change,) = changes(by, kind=ChangeKind.TOLERATE)
    assert change.text == (
        "tolerate taint health=bad:NoSchedule in request req of claim default/claim"
    )
    assert change.tolerations == (
        DeviceToleration(key="health", operator="Equal", value="bad", effect="NoSchedule"),
    )


def test_a_taint_without_a_value_is_tolerated_by_its_key() -> None:
    by = allocator(slice_(device(taints=(taint("health", effect="NoExecute"),))))
    (change,) = changes(by, kind=ChangeKind.TOLERATE)
    assert change.tolerations == (toleration("health", effect="NoExecute"),)


def test_all_taints_of_a_device_are_to_be_tolerated_at_once() -> None:
    by = allocator(slice_(device(taints=(taint("a"), taint("b")))))
    (change,) = changes(by, kind=ChangeKind.TOLERATE)
    assert [one.key for one in change.tolerations] == ["a", "b"]


def test_the_taints_of_as_many_devices_as_are_wanted_are_to_be_tolerated() -> None:
    devices = [device(f"gpu-{key}", taints=(taint(key),)) for key in "ab"]
    (change,) = changes(
        allocator(slice_(*devices)), claim(request(count=2)), kind=ChangeKind.TOLERATE
    )
    assert [one.key for one in change.tolerations] == ["a", "b"]
    assert change.weight == 2


def test_the_same_taint_is_tolerated_in_every_request_that_meets_it() -> None:
    by = allocator(slice_(*gpus(3, taints=(taint(),))))
    (change,) = changes(by, claim(*map(request, "abc")), kind=ChangeKind.TOLERATE)
    assert len(change.places) == 3
    assert change.text.endswith("and 2 more")


# Selectors -------------------------------------------------------------------------------------


def test_a_condition_is_dropped_and_the_rest_of_its_selector_stays() -> None:
    by = allocator(slice_(device(attributes={"model": "A100", "numa": 0})))
    expression = f'{MODEL} == "H100" && device.attributes["{DRIVER}"].numa == 0'
    (change,) = changes(by, claim(request(select=[expression])), kind=ChangeKind.SELECTOR)
    assert change.conditions == (f'{MODEL} == "H100"',)
    assert change.expression == f'device.attributes["{DRIVER}"].numa == 0'
    assert f'drop the condition {MODEL} == "H100" of selector 0 of request req' in change.text


def test_a_guard_goes_with_what_it_guards() -> None:
    by = allocator(slice_(device()))
    expression = f'has({MODEL}) && {MODEL} == "H100"'
    (change,) = changes(by, claim(request(select=[expression])), kind=ChangeKind.SELECTOR)
    assert change.expression == "true"
    assert change.weight == 2


def test_a_condition_of_a_class_is_dropped_for_all_that_use_it() -> None:
    fast = device_class("fast", select=[f'{MODEL} == "H100"'])
    by = allocator(slice_(device(attributes={"model": "A100"})), classes=[fast])
    (change,) = changes(by, claim(request(device_class="fast")), kind=ChangeKind.CLASS_SELECTOR)
    assert (change.device_class, change.selector, change.expression) == ("fast", 0, "true")
    assert "of selector 0 of class fast, for all that use it" in change.text


def test_a_device_of_another_driver_is_not_a_lesser_one() -> None:
    nic = device_class("nic", select=['device.driver == "nic.example.com"'])
    assert (
        relaxed(allocator(slice_(device()), classes=[nic]), claim(request(device_class="nic")))
        == ()
    )


# Numbers ---------------------------------------------------------------------------------------


def test_the_most_devices_that_can_be_had_are_told() -> None:
    by = allocator(slice_(*gpus(5)), held={"": ["gpu-0"]})
    (change,) = changes(by, claim(request(count=20)), kind=ChangeKind.COUNT)
    assert change.count == 4
    assert change.text == "ask for 4 instead of 20 in request req of claim default/claim"


def test_instead_of_all_some_will_do() -> None:
    by = allocator(slice_(*gpus(3)), held={"ml/a": ["gpu-0"]})
    (change,) = changes(by, claim(request(mode=ALLOCATION_MODE_ALL)), kind=ChangeKind.COUNT)
    assert change.count == 2
    assert change.text.startswith("ask for 2 instead of all 3")


def test_fewer_may_be_an_alternative() -> None:
    by = allocator(slice_(*gpus(3)))
    (change,) = changes(by, claim(request(count=4)), kind=ChangeKind.ALTERNATIVE)
    assert change.count == 3


def test_an_alternative_of_a_list_may_ask_for_fewer() -> None:
    by = allocator(slice_(*gpus(1)))
    wants = first_available("gpu", alternative("three", count=3), alternative("two", count=2))
    found = changes(by, claim(wants), kind=ChangeKind.COUNT)
    assert [(change.request, change.count) for change in found] == [
        ("gpu/two", 1),
        ("gpu/three", 1),
    ]


def test_a_capacity_is_lowered_to_the_most_that_is_left() -> None:
    devices = [device(f"gpu-{size}", capacity={"memory": f"{size}Gi"}) for size in (24, 40)]
    wants = claim(request(capacity={"memory": "80Gi"}))
    (change,) = changes(allocator(slice_(*devices)), wants, kind=ChangeKind.CAPACITY)
    assert (change.capacity, change.amount) == ("memory", amount("40Gi"))
    assert change.text.startswith("ask for 40Gi memory instead of 80Gi")


def test_requests_that_share_a_device_may_each_ask_for_their_part() -> None:
    shared = device(capacity={"memory": "80Gi"}, allow_multiple_allocations=True)
    wants = claim(*[request(name, capacity={"memory": "100Gi"}) for name in "ab"])
    (found,) = relaxed(allocator(slice_(shared)), wants)
    assert [(one.kind, one.amount) for one in found.changes] == [
        (ChangeKind.CAPACITY, amount("40Gi"))
    ] * 2


def test_a_request_may_ask_for_what_others_leave() -> None:
    cut = capacity("24Gi", default="4Gi", lowest="2Gi", highest="16Gi", step="2Gi")
    shared = device(capacity={"memory": cut}, allow_multiple_allocations=True)
    wants = claim(*[request(name, capacity={"memory": "16Gi"}) for name in "ab"])
    found = relaxed(allocator(slice_(shared)), wants)
    assert [[(one.request, str(one.amount)) for one in each.changes] for each in found] == [
        [("a", "8Gi")],
        [("b", "8Gi")],
    ]


def test_an_amount_is_lowered_to_the_most_that_is_handed_out() -> None:
    cut = capacity("24Gi", default="4Gi", lowest="2Gi", highest="16Gi", step="2Gi")
    shared = device(capacity={"memory": cut}, allow_multiple_allocations=True)
    wants = claim(request(capacity={"memory": "20Gi"}))
    (change,) = changes(allocator(slice_(shared)), wants, kind=ChangeKind.CAPACITY)
    assert str(change.amount) == "16Gi"


def test_a_capacity_that_no_device_has_is_not_to_be_asked_for() -> None:
    wants = claim(request(capacity={"cores": "1"}))
    (change,) = changes(allocator(slice_(device())), wants, kind=ChangeKind.CAPACITY)
    assert change.amount is None
    assert change.text.startswith("do not ask for cores")


def test_a_constraint_is_dropped() -> None:
    devices = [device(f"gpu-{n}", attributes={"numa": n}) for n in range(2)]
    constraints = (
        DeviceConstraint(distinct_attribute=f"{DRIVER}/numa"),
        DeviceConstraint(match_attribute=f"{DRIVER}/numa"),
    )
    wants = claim(request(count=2), constraints=constraints)
    (change,) = changes(allocator(slice_(*devices)), wants, kind=ChangeKind.CONSTRAINT)
    assert change.constraint == 1
    assert change.text == (
        f"drop constraint 1 of claim default/claim (matchAttribute {DRIVER}/numa)"
    )


# Devices in use --------------------------------------------------------------------------------


def test_any_claim_that_would_do_is_told_up_to_a_few() -> None:
    by = allocator(slice_(*gpus(5)), held={f"ml/{n}": [f"gpu-{n}"] for n in range(5)})
    found = changes(by, kind=ChangeKind.FREE)
    assert [change.text for change in found] == [f"free claim ml/{n} (1 device)" for n in range(3)]


def test_only_a_claim_that_holds_enough_is_told() -> None:
    by = allocator(slice_(*gpus(3)), held={"ml/a": ["gpu-0"], "ml/b": ["gpu-1", "gpu-2"]})
    (change,) = changes(by, claim(request(count=2)), kind=ChangeKind.FREE)
    assert change.units == (Unit("ml/b", (gpu("gpu-1"), gpu("gpu-2"))),)


def test_two_claims_have_to_go_if_one_is_not_enough() -> None:
    by = allocator(slice_(*gpus(3)), held={f"ml/{n}": [f"gpu-{n}"] for n in range(3)})
    (change,) = changes(by, claim(request(count=2)), kind=ChangeKind.FREE)
    assert change.text == "free claims ml/0, ml/1 (2 devices)"


def test_no_more_claims_have_to_go_than_are_in_the_way() -> None:
    by = allocator(slice_(*gpus(6)), held={f"ml/{n}": [f"gpu-{n}"] for n in range(6)})
    (change,) = changes(by, claim(request(count=4)), kind=ChangeKind.FREE)
    assert len(change.units) == 4


def test_a_device_that_nobody_named_holds_is_told_itself() -> None:
    by = allocator(slice_(*gpus(1)), held={"": ["gpu-0"]})
    (change,) = changes(by, kind=ChangeKind.FREE)
    assert change.text == f"free device {DRIVER}/{POOL}/gpu-0"


def test_devices_that_would_not_do_are_not_to_be_freed() -> None:
    by = allocator(slice_(device(taints=(taint(),))), held={"ml/a": ["gpu-0"]})
    assert changes(by, kind=ChangeKind.FREE) == []


def test_a_partition_gives_back_its_counters() -> None:
    devices = [
        partition("whole", memory="80Gi"),
        partition("half", memory="40Gi", taints=(taint(),)),
    ]
    by = allocator(*partitioned(*devices, memory="80Gi"), held={"ml/a": ["half"]})
    (change,) = changes(by, kind=ChangeKind.FREE)
    assert change.text == "free claim ml/a (1 device)"


def shared_by(count: int, memory: str) -> Allocator:
    """One device of 80Gi, shared by so many claims that take this much each."""
    in_use = Occupancy()
    for number in range(count):
        in_use.add(_holding(f"ml/{number:03}", gpu("gpu-0").device, memory))
    shared = device(capacity={"memory": "80Gi"}, allow_multiple_allocations=True)
    return allocator(slice_(shared), occupancy=in_use)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("20Gi", "free claim ml/000 (1 device)"),
        ("40Gi", "free claims ml/000, ml/001 (1 device)"),
        ("60Gi", "free claims ml/000, ml/001, ml/002 (1 device)"),
        ("80Gi", "free claims ml/000, ml/001 and 2 others (1 device)"),
    ],
)
def test_of_claims_that_share_a_device_as_many_go_as_give_enough_back(
    wanted: str, text: str
) -> None:
    wants = claim(request(capacity={"memory": wanted}))
    change, *_ = changes(shared_by(4, "20Gi"), wants, kind=ChangeKind.FREE)
    assert change.text == text


def test_of_a_hundred_shares_no_more_go_than_are_needed() -> None:
    wants = claim(request(capacity={"memory": "40Gi"}))
    (change,) = changes(shared_by(160, "500Mi"), wants, kind=ChangeKind.FREE)
    # 160 of them leave 1920Mi, and 79 make that 41420Mi: enough for 40960Mi.
    assert len(change.units) == 79


def test_where_trials_run_out_fewer_may_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONFIRMING_MAX", 1)
    wants = claim(request(capacity={"memory": "60Gi"}))
    (change,) = changes(shared_by(4, "20Gi"), wants, kind=ChangeKind.FREE)
    assert change.text == "free claims ml/000, ml/001 and 2 others (1 device); fewer may do"


def _holding(key: str, name: str, memory: str) -> ResourceClaim:
    namespace, _, own = key.partition("/")
    result = DeviceRequestAllocationResult(
        request="req",
        driver=DRIVER,
        pool=POOL,
        device=name,
        share_id=own,
        consumed_capacity={"memory": amount(memory)},
    )
    holder = claim(name=own)
    return replace(
        holder,
        metadata=replace(holder.metadata, namespace=namespace),
        status=ResourceClaimStatus(
            allocation=AllocationResult(devices=DeviceAllocationResult(results=(result,)))
        ),
    )


# Pairs, pools and order ------------------------------------------------------------------------


def test_two_changes_are_told_only_where_no_single_one_helps() -> None:
    odd = device(attributes={"model": "A100"}, taints=(taint(),))
    by = allocator(slice_(odd))
    (found,) = relaxed(by, claim(request(select=[f'{MODEL} == "H100"'])))
    assert {change.kind for change in found.changes} == {ChangeKind.SELECTOR, ChangeKind.TOLERATE}
    assert ", and " in found.text


def test_a_taint_is_tolerated_only_where_it_has_to_be() -> None:
    devices = [
        device("gpu-0", attributes={"numa": 0}),
        device("gpu-1", attributes={"numa": 1}, taints=(taint(),)),
        device("gpu-2", attributes={"numa": 1}, taints=(taint(),)),
    ]
    same = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
    zero = request("a", select=[f'device.attributes["{DRIVER}"].numa == 0'])
    wants = claim(zero, request("b"), constraints=(same,))
    found = relaxed(allocator(slice_(*devices)), wants)
    (dropping,) = [
        one for one in found if any(part.kind is ChangeKind.CONSTRAINT for part in one.changes)
    ]
    (tolerating,) = [one for one in dropping.changes if one.kind is ChangeKind.TOLERATE]
    assert tolerating.request == "b"
    assert len(tolerating.places) == 1


def test_relaxations_of_several_nodes_can_be_put_in_order() -> None:
    drop = Change(kind=ChangeKind.CONSTRAINT, text="")
    tolerate = Change(kind=ChangeKind.TOLERATE, text="", weight=2)
    ordered = [
        Relaxation((tolerate,)),
        Relaxation((drop,)),
        Relaxation((tolerate, drop)),
        Relaxation((drop,), checked=False),
    ]
    assert [one.rank for one in ordered] == sorted(one.rank for one in ordered)
    assert (ordered[2].size, ordered[2].weight) == (2, 3)


def test_a_pool_to_wait_for_is_told_unchecked_and_last() -> None:
    by = allocator(
        slice_(device(taints=(taint(),))),
        slice_(device("gpu-1"), name="slice-2", pool="pool-2", slice_count=2),
    )
    found = relaxed(by)
    assert [(one.kind, one.checked) for one in found] == [
        (ChangeKind.TOLERATE, True),
        (ChangeKind.POOL, False),
    ]
    assert found[1].text == f"wait until pool {DRIVER}/pool-2 is complete"


def test_the_driver_of_an_invalid_pool_has_to_mend_it() -> None:
    (found,) = relaxed(allocator(slice_(device(), device())))
    assert found.text == (f"have the driver mend pool {DRIVER}/{POOL}: duplicate device name gpu-0")
    assert not found.checked


def test_who_was_refused_already_is_not_asked_again() -> None:
    # Whether the claims fit is not looked at; that they would is the caller's mistake.
    by = allocator(slice_(*gpus(1)))
    assert relaxations(by, node(), [claim()], refused=True) == ()


def test_small_changes_come_before_large_ones() -> None:
    devices = [
        device("gpu-0", attributes={"model": "H100"}, taints=(taint(),)),
        device("gpu-1", attributes={"model": "A100"}),
        device("gpu-2", attributes={"model": "H100"}),
        device("gpu-3", attributes={"model": "H100"}),
    ]
    by = allocator(slice_(*devices), held={"ml/a": ["gpu-2"]})
    wants = claim(request(count=2, select=[f'{MODEL} == "H100"']))
    assert [one.kind for one in relaxed(by, wants)] == [
        ChangeKind.TOLERATE,
        ChangeKind.SELECTOR,
        ChangeKind.COUNT,
        ChangeKind.ALTERNATIVE,
        ChangeKind.FREE,
    ]


def test_a_change_in_a_request_that_is_not_stuck_is_not_told() -> None:
    devices = [device("gpu-0", taints=(taint(),)), device("gpu-1")]
    by = allocator(slice_(*devices))
    found = changes(by, claim(request("a"), request("b", count=3)), kind=ChangeKind.TOLERATE)
    assert found == []


def test_trials_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRIALS_MAX", 0)
    assert relaxed(allocator(slice_(device(taints=(taint(),))))) == ()


def test_what_is_told_can_be_done() -> None:
    """The check is the allocator's own answer, so one that is repeated by hand must agree."""
    by = allocator(slice_(*gpus(2, taints=(taint(),))))
    (change,) = changes(by, claim(request(count=2)), kind=ChangeKind.TOLERATE)
    fixed = claim(request(count=2, tolerations=change.tolerations))
    assert isinstance(by.allocate(node(), [fixed]), Allocation)
