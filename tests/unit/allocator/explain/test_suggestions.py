"""Changes that may help are made from what is wrong with devices."""

from __future__ import annotations

from dray.allocator import Allocator
from dray.allocator.explain.changes import Change, ChangeKind, Unit
from dray.allocator.explain.suggestions import Suggestions, free
from dray.api.resource import DeviceConstraint, ResourceClaim
from tests.unit.allocator.builders import DRIVER, POOL, claim, device, request, slice_, taint
from tests.unit.allocator.reporting import allocator, gpu, gpus, inspector, partition, partitioned

MODEL = f'device.attributes["{DRIVER}"].model'
WANTED = claim(request(select=[f'{MODEL} == "H100"']))


def suggestions(by: Allocator, of: ResourceClaim, *, hidden: bool = False) -> Suggestions:
    return Suggestions(inspector(by, of), by.selectors, hidden=hidden)


def suggested(by: Allocator, of: ResourceClaim, *, hidden: bool = False) -> list[Change]:
    looked = inspector(by, of)
    return list(Suggestions(looked, by.selectors, hidden=hidden).of(looked.problem.views[0]))


def test_a_device_that_will_do_gives_no_idea() -> None:
    assert suggested(allocator(slice_(*gpus(2))), claim()) == []


def test_what_is_wrong_behind_something_else_is_hidden() -> None:
    odd = device(attributes={"model": "A100"}, taints=(taint(),))
    by = allocator(slice_(odd))
    plain = [change.kind for change in suggested(by, WANTED)]
    assert plain == [ChangeKind.SELECTOR]
    hidden = [change.kind for change in suggested(by, WANTED, hidden=True)]
    assert hidden == [ChangeKind.TOLERATE, ChangeKind.SELECTOR]


def test_conditions_that_stop_the_most_devices_are_kept() -> None:
    devices = [device(f"gpu-{n}", attributes={"model": "T4", "numa": n}) for n in range(3)]
    numa = f'device.attributes["{DRIVER}"].numa'
    several = claim(request(select=[" && ".join(f"{numa} != {n}" for n in range(3))]))
    found = suggested(allocator(slice_(*devices)), several)
    assert {change.conditions for change in found} == {(f"{numa} != {n}",) for n in range(3)}


def test_a_device_that_fails_two_selectors_gives_no_idea() -> None:
    by = allocator(slice_(device(attributes={"model": "T4"})))
    assert suggested(by, claim(request(select=[f'{MODEL} == "a"', f'{MODEL} == "b"']))) == []


def test_a_condition_inside_a_bind_is_dropped_where_it_stands() -> None:
    by = allocator(slice_(device(attributes={"model": "T4"})))
    expression = f'cel.bind(m, {MODEL}, m != "A100" && m == "H100")'
    (change,) = suggested(by, claim(request(select=[expression])))
    assert change.expression == f'cel.bind(m, {MODEL}, m != "A100")'


def test_constraints_are_told_by_claim_and_place() -> None:
    constraint = DeviceConstraint(distinct_attribute=f"{DRIVER}/numa")
    (change,) = suggestions(
        allocator(slice_()), claim(request(), constraints=(constraint,))
    ).constraints()
    assert (change.claim, change.constraint) == ("default/claim", 0)


def test_pools_that_cannot_be_used_are_up_to_their_drivers() -> None:
    by = allocator(
        slice_(device(), slice_count=2),
        slice_(device(), device(), name="slice-2", pool="pool-2"),
        slice_(device(), name="slice-3", pool="pool-3"),
    )
    texts = [change.text for change in suggestions(by, claim()).pools()]
    assert texts == [
        f"wait until pool {DRIVER}/pool-1 is complete",
        f"have the driver mend pool {DRIVER}/pool-2: duplicate device name gpu-0",
    ]


# Devices in use --------------------------------------------------------------------------------


def test_what_one_claim_holds_is_given_back_together() -> None:
    by = allocator(
        slice_(*gpus(4)), held={"ml/b": ["gpu-1", "gpu-2"], "ml/a": ["gpu-3"], "": ["gpu-0"]}
    )
    assert suggestions(by, claim()).units() == (
        Unit("", (gpu("gpu-0"),)),
        Unit("ml/a", (gpu("gpu-3"),)),
        Unit("ml/b", (gpu("gpu-1"), gpu("gpu-2"))),
    )


def test_devices_of_no_use_are_left_to_their_holders() -> None:
    devices = [device("gpu-0", attributes={"model": "T4"}), device("gpu-1", taints=(taint(),))]
    by = allocator(slice_(*devices), held={"ml/a": ["gpu-0"], "ml/b": ["gpu-1"]})
    assert suggestions(by, WANTED).units() == ()
    assert len(suggestions(by, WANTED, hidden=True).units()) == 2


def test_whoever_draws_from_counters_may_be_in_the_way() -> None:
    odd = partition("odd", memory="40Gi", taints=(taint(),))
    by = allocator(*partitioned(odd, memory="40Gi"), held={"ml/a": ["odd"]})
    assert [unit.holder for unit in suggestions(by, claim()).units()] == ["ml/a"]


def test_freeing_names_claims_and_devices() -> None:
    units = [Unit("ml/a", (gpu("gpu-0"), gpu("gpu-1"))), Unit("", (gpu("gpu-2"),))]
    assert free(units).text == (f"free claim ml/a (2 devices) and device {DRIVER}/{POOL}/gpu-2")
    assert free(units).weight == 2
