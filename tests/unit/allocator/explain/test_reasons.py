"""Each device is counted once, by what is wrong with it, and the text says what that is."""

from __future__ import annotations

from typing import Any

import pytest

from dray.allocator import Features, Occupancy
from dray.allocator.answers import (
    AmountFacts,
    AttributeFacts,
    Cause,
    Exclusion,
    HolderFacts,
    NodeReport,
    SelectorFacts,
    TaintFacts,
)
from dray.api.resource import (
    ALLOCATION_MODE_ALL,
    DeviceConstraint,
    DeviceCounterConsumption,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    alternative,
    amount,
    capacity,
    claim,
    device,
    device_class,
    first_available,
    request,
    slice_,
    taint,
    toleration,
)
from tests.unit.allocator.reporting import (
    allocator,
    gpu,
    gpus,
    partition,
    partitioned,
    refused,
    report,
)

MODEL = f'device.attributes["{DRIVER}"].model'


def only(node: NodeReport) -> Exclusion:
    """The one thing that is wrong with devices of the one request."""
    (request,) = node.requests
    (exclusion,) = request.exclusions
    return exclusion


# In use ----------------------------------------------------------------------------------------


def test_devices_in_use_are_told_with_their_holders() -> None:
    by = allocator(slice_(*gpus(3)), held={"ml/a": ["gpu-0", "gpu-1"], "ml/b": ["gpu-2"]})
    exclusion = only(report(by))
    assert exclusion.cause is Cause.IN_USE
    assert exclusion.count == 3
    assert exclusion.text == "3 in use by ml/a, ml/b"
    assert exclusion.facts == HolderFacts((("ml/a", 2), ("ml/b", 1)))


def test_many_holders_are_counted() -> None:
    by = allocator(slice_(*gpus(5)), held={f"ml/{n}": [f"gpu-{n}"] for n in range(5)})
    assert only(report(by)).text == "5 in use by ml/0, ml/1 and 3 others"


def test_holders_that_nobody_named_are_not_told() -> None:
    by = allocator(slice_(*gpus(1)), held={"": ["gpu-0"]})
    assert only(report(by)).text == "1 in use"


def test_a_device_in_use_that_would_not_do_anyway_is_counted_by_why() -> None:
    devices = [
        device("gpu-0", attributes={"model": "H100"}, taints=(taint(),)),
        device("gpu-1", attributes={"model": "T4"}),
        device("gpu-2", attributes={"model": "H100"}),
    ]
    by = allocator(slice_(*devices), held={"ml/a": ["gpu-0", "gpu-1", "gpu-2"]})
    (request_,) = report(by, claim(request(select=[f'{MODEL} != "T4"']))).requests
    assert {exclusion.cause: exclusion.count for exclusion in request_.exclusions} == {
        Cause.IN_USE: 1,
        Cause.SELECTOR: 1,
        Cause.TAINT: 1,
    }
    assert (request_.candidates, request_.free) == (1, 0)


def test_an_administrator_does_not_mind_who_has_a_device() -> None:
    by = allocator(slice_(*gpus(1)), held={"ml/a": ["gpu-0"]})
    (request_,) = report(by, claim(request(count=2, admin_access=True))).requests
    assert (request_.free, request_.exclusions) == (1, ())


def test_only_a_few_devices_are_named() -> None:
    by = allocator(slice_(*gpus(5)), held={"ml/a": [f"gpu-{n}" for n in range(5)]})
    assert only(report(by)).examples == (gpu("gpu-0"), gpu("gpu-1"), gpu("gpu-2"))


# Selectors -------------------------------------------------------------------------------------


def models(*names: str) -> ResourceSlice:
    return slice_(*[device(f"gpu-{n}", attributes={"model": name}) for n, name in enumerate(names)])


def test_the_condition_that_decided_is_told_with_what_devices_have_there() -> None:
    by = allocator(models("A100", "T4", "A100"))
    expression = f'true && {MODEL} == "H100"'
    exclusion = only(report(by, claim(request(select=[expression]))))
    assert exclusion.text == '3 not matching (model is "A100" on 2, "T4" on 1, wanted "H100")'
    assert exclusion.facts == SelectorFacts(
        source="claim",
        index=0,
        conjunct=f'{MODEL} == "H100"',
        conjunct_index=1,
        found=(('"A100"', 2), ('"T4"', 1)),
    )


def test_a_selector_of_the_class_is_told_as_such() -> None:
    fast = device_class("fast", select=["true", f'{MODEL} == "H100"'])
    by = allocator(models("A100"), classes=[fast])
    exclusion = only(report(by, claim(request(device_class="fast"))))
    assert exclusion.text == '1 not of class fast (model is "A100", wanted "H100")'
    assert isinstance(exclusion.facts, SelectorFacts)
    assert (exclusion.facts.source, exclusion.facts.index) == ("class fast", 1)


def test_devices_of_other_drivers_are_called_that() -> None:
    nic = device_class("nic", select=['device.driver == "nic.example.com"'])
    by = allocator(models("A100", "T4"), classes=[nic])
    assert only(report(by, claim(request(device_class="nic")))).text == "2 of other drivers"


def test_conditions_that_decide_on_different_devices_are_told_apart() -> None:
    by = allocator(models("A100", "T4"))
    select = [f'{MODEL} != "A100"', f'{MODEL} != "T4"']
    (request_,) = report(by, claim(request(select=select))).requests
    assert [exclusion.text for exclusion in request_.exclusions] == [
        '1 not matching (model is "A100", wanted anything but "A100")',
        '1 not matching (model is "T4", wanted anything but "T4")',
    ]


def test_values_beyond_a_few_are_counted() -> None:
    by = allocator(models(*(f"model-{n}" for n in range(9))))
    exclusion = only(report(by, claim(request(select=[f'{MODEL} == "H100"']))))
    assert isinstance(exclusion.facts, SelectorFacts)
    assert len(exclusion.facts.found) == 5
    assert exclusion.facts.found[-1] == ("5 other values", 5)
    assert sum(count for _, count in exclusion.facts.found) == exclusion.count


def test_a_selector_that_fails_is_told_with_its_error() -> None:
    # The first request is refused before the second, whose selector fails, is looked at.
    by = allocator(slice_(device()))
    answer = refused(by, claim(request("a", count=2), request("b", select=[f'{MODEL} == "x"'])))
    exclusion = answer.report.requests[1].exclusions[0]
    assert exclusion.cause is Cause.SELECTOR
    assert exclusion.text.startswith("1 failing selector 0 of claim (CEL runtime error: no such")
    assert isinstance(exclusion.facts, SelectorFacts)
    assert "no such key: model" in exclusion.facts.error


# Everything else that a device may be ----------------------------------------------------------


def test_a_taint_is_told_in_full() -> None:
    devices = [device("gpu-0", taints=(taint("health", value="bad"),)), device("gpu-1")]
    by = allocator(slice_(*devices), held={"ml/a": ["gpu-1"]})
    (request_,) = report(by).requests
    tainted = request_.exclusions[1]
    assert tainted.text == "1 tainted health=bad:NoSchedule"
    assert tainted.facts == TaintFacts("health", "bad", "NoSchedule")


def test_the_first_taint_that_is_not_tolerated_is_told() -> None:
    by = allocator(slice_(device(taints=(taint("a"), taint("b")))))
    exclusion = only(report(by, claim(request(tolerations=(toleration("a"),)))))
    assert exclusion.text == "1 tainted b:NoSchedule"


@pytest.mark.parametrize(
    ("spec", "cause", "text"),
    [
        pytest.param(
            {"per_device_node_selection": True}, Cause.NODE, "1 for other nodes", id="node"
        ),
        pytest.param(
            {"skip_node_operations": ("Prepare",)},
            Cause.NODE_OPERATIONS,
            "1 for nodes that declare DRAOptionalNodeOperations only",
            id="node-operations",
        ),
    ],
)
def test_devices_for_other_nodes_are_counted(spec: dict[str, Any], cause: Cause, text: str) -> None:
    there = device("gpu-0", node_name="elsewhere")
    here = device("gpu-1", node_name="node-1")
    if cause is Cause.NODE_OPERATIONS:
        there, here = device("gpu-0"), device("gpu-1")
        spec = {**spec, "node_name": "node-1"}
        by = allocator(slice_(there, **spec))
    else:
        by = allocator(slice_(there, here, **spec), held={"ml/a": ["gpu-1"]})
    exclusion = report(by).requests[0].exclusions[-1]
    assert (exclusion.cause, exclusion.text) == (cause, text)


@pytest.mark.parametrize(
    ("features", "fields", "cause", "gate"),
    [
        pytest.param(
            Features(),
            {"binding_conditions": ("ready",)},
            Cause.BINDING_CONDITIONS,
            "DRADeviceBindingConditions",
            id="binding-conditions",
        ),
        pytest.param(
            Features(),
            {"consumes_counters": (DeviceCounterConsumption(counter_set="set"),)},
            Cause.PARTITIONS,
            "DRAPartitionableDevices",
            id="partitions",
        ),
    ],
)
def test_what_a_feature_would_allow_is_told_with_its_gate(
    features: Features, fields: dict[str, Any], cause: Cause, gate: str
) -> None:
    exclusion = only(report(allocator(slice_(device(**fields)), features=features)))
    assert exclusion.cause is cause
    assert f"{gate} is off" in exclusion.text


def test_too_little_capacity_is_told_with_the_most_there_is() -> None:
    devices = [
        device("gpu-0", capacity={"memory": "40Gi"}),
        device("gpu-1", capacity={"memory": "24Gi"}),
    ]
    exclusion = only(
        report(allocator(slice_(*devices)), claim(request(capacity={"memory": "80Gi"})))
    )
    assert exclusion.text == "2 with less than 80Gi memory (at most 40Gi)"
    assert exclusion.facts == AmountFacts("memory", wanted="80Gi", left="40Gi", total="40Gi")


def test_capacity_that_others_took_is_told_with_who_they_are() -> None:
    shared = device("gpu-0", capacity={"memory": "80Gi"}, allow_multiple_allocations=True)
    in_use = Occupancy()
    in_use.hold_share(gpu("gpu-0"), "ml/a")
    in_use.consume(gpu("gpu-0"), {"memory": amount("60Gi").nano})
    by = allocator(slice_(shared), occupancy=in_use)
    exclusion = only(report(by, claim(request(capacity={"memory": "40Gi"}))))
    assert exclusion.text == (
        "1 with less than 40Gi memory (at most 20Gi left of 80Gi, the rest in use by ml/a)"
    )


def test_a_capacity_that_devices_lack_is_named() -> None:
    by = allocator(slice_(device(capacity={"memory": "1Gi"})))
    exclusion = only(report(by, claim(request(capacity={"cores": "1"}))))
    assert exclusion.text == "1 without capacity cores"


def test_an_amount_that_is_not_handed_out_is_told() -> None:
    cut = capacity("80Gi", default="10Gi", values=["10Gi", "20Gi"])
    shared = device(capacity={"memory": cut}, allow_multiple_allocations=True)
    exclusion = only(report(allocator(slice_(shared)), claim(request(capacity={"memory": "30Gi"}))))
    assert exclusion.text == "1 not handing out 30Gi memory (one of 10Gi, 20Gi)"


def test_a_capacity_that_is_misspelt_comes_with_the_name_that_is_close() -> None:
    by = allocator(slice_(device(capacity={"memory": "1Gi"})))
    exclusion = only(report(by, claim(request(capacity={"memry": "1"}))))
    assert exclusion.text == "1 without capacity memry (did you mean memory?)"


def test_an_attribute_that_is_misspelt_comes_with_the_name_that_is_close() -> None:
    by = allocator(slice_(device(attributes={"numa": 0})))
    constraint = DeviceConstraint(match_attribute=f"{DRIVER}/nuna")
    exclusion = only(report(by, claim(request(), constraints=(constraint,))))
    assert f"attribute {DRIVER}/nuna (did you mean {DRIVER}/numa?), which" in exclusion.text


def test_counters_are_told_with_what_is_left() -> None:
    whole, half = partition("whole", memory="80Gi"), partition("half", memory="40Gi")
    by = allocator(*partitioned(whole, half, memory="80Gi"), held={"ml/a": ["half"]})
    (request_,) = report(by).requests
    exclusion = request_.exclusions[1]
    assert exclusion.cause is Cause.COUNTERS
    assert exclusion.text == (
        "1 drawing more than is left of counter set/memory (40Gi of 80Gi left, 80Gi wanted)"
    )
    assert isinstance(exclusion.facts, AmountFacts)
    assert str(exclusion.facts.pool) == f"{DRIVER}/pool-1"


def test_a_partition_in_use_is_in_use_and_not_short_of_the_counters_it_draws() -> None:
    by = allocator(
        *partitioned(partition("half", memory="40Gi"), memory="40Gi"), held={"ml/a": ["half"]}
    )
    exclusion = only(report(by))
    assert exclusion.cause is Cause.IN_USE


def test_devices_that_are_not_compatible_with_those_in_use_are_counted() -> None:
    one = partition("one", groups=("a",), memory="1")
    other = partition("other", groups=("b",), memory="1")
    by = allocator(*partitioned(one, other, memory="9"), held={"ml/a": ["one"]})
    (request_,) = report(by).requests
    assert request_.exclusions[1].text == "1 not compatible with what is in use"


def test_devices_without_the_attribute_of_a_constraint_are_counted() -> None:
    by = allocator(slice_(device()))
    constraint = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
    exclusion = only(report(by, claim(request(), constraints=(constraint,))))
    assert exclusion.facts == AttributeFacts(f"{DRIVER}/numa", 0)
    assert exclusion.text == f"1 without attribute {DRIVER}/numa, which constraint 0 compares"


# Requests and pools ----------------------------------------------------------------------------


def test_all_devices_are_wanted_and_one_is_in_use() -> None:
    by = allocator(slice_(*gpus(3)), held={"ml/a": ["gpu-1"]})
    node = report(by, claim(request(mode=ALLOCATION_MODE_ALL)))
    (request_,) = node.requests
    assert (request_.wanted, request_.needed, request_.free) == ("all", 3, 2)
    assert node.summary == "request req: 3 devices: 2 free, 1 in use by ml/a; all 3 wanted"


def test_all_devices_are_wanted_and_there_are_none() -> None:
    node = report(allocator(slice_()), claim(request(mode=ALLOCATION_MODE_ALL)))
    assert node.summary == "request req: no devices; all wanted, and there are none"


def test_every_alternative_of_a_list_has_a_report() -> None:
    by = allocator(slice_(*gpus(2)))
    wants = first_available("gpu", alternative("four", count=4), alternative("three", count=3))
    node = report(by, claim(wants))
    assert [(one.request, one.alternative) for one in node.requests] == [
        ("gpu/four", 0),
        ("gpu/three", 1),
    ]
    assert node.summary == (
        "request gpu/four: 2 devices: 2 free; 4 wanted; or gpu/three: 2 devices: 2 free; 3 wanted"
    )


def test_a_pool_that_misses_slices_is_told_with_how_many() -> None:
    node = report(allocator(slice_(device(), slice_count=3)))
    (trouble,) = node.pools
    assert trouble.text == f"pool {DRIVER}/pool-1 is incomplete (1 of 3 slices)"
    assert (trouble.slices_seen, trouble.slices_expected) == (1, 3)
    assert node.summary.endswith(trouble.text)


def test_slices_of_an_older_generation_are_not_counted() -> None:
    old = slice_(device(), name="old", slice_count=2)
    new = slice_(device("gpu-1"), name="new", generation=2, slice_count=2)
    (trouble,) = report(allocator(old, new)).pools
    assert (trouble.slices_seen, trouble.slices_expected) == (1, 2)


def test_a_pool_with_more_slices_than_it_says_is_incomplete_too() -> None:
    slices = [slice_(device(f"gpu-{n}"), name=f"slice-{n}") for n in range(2)]
    (trouble,) = report(allocator(*slices)).pools
    assert trouble.text.endswith("is incomplete (2 slices, and says it has 1)")


def test_a_pool_that_contradicts_itself_is_told_with_why() -> None:
    answer = refused(allocator(slice_(device(), device())))
    assert answer.message == "invalid resource pools were encountered"
    (trouble,) = answer.report.pools
    assert trouble.text == f"pool {DRIVER}/pool-1 is invalid: duplicate device name gpu-0"
