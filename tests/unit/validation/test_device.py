"""One device, rule by rule."""

from __future__ import annotations

import pytest

from dray.api.core import NodeSelector
from dray.api.features import DEFAULT_GATES
from dray.api.resource import (
    CapacityRequestPolicy,
    Device,
    DeviceAttribute,
    DeviceTaint,
    NodeAllocatableResource,
)
from dray.validation.device import check_device, declare_device
from tests.unit.validation.builders import capacity, device, quantity, text_attribute, told

NODES = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when"
PER_DEVICE = "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"


def errors(checked: Device, old: Device | None = None, *, selects_nodes: bool = False) -> list[str]:
    options = {"selects_nodes": selects_nodes, "gates": DEFAULT_GATES}
    return told(check_device, checked, old, "d", **options)


def policy(default: str) -> CapacityRequestPolicy:
    return CapacityRequestPolicy(default=quantity(default), valid_values=(quantity("1"),))


def test_a_plain_device_passes() -> None:
    plain = device(attributes={"model": text_attribute("A100")}, capacity={"m": capacity("1")})
    assert errors(plain) == []
    assert told(declare_device, plain, "d") == []


def test_a_device_needs_a_name() -> None:
    (text,) = errors(device(""))
    assert text.startswith('d.name: Invalid value: "": a lowercase RFC 1123 label')


def test_attributes_and_capacities_are_counted_together() -> None:
    attributes = {f"a{number}": text_attribute("") for number in range(32)}
    assert errors(device(attributes=attributes)) == []
    assert errors(device(attributes=attributes, capacity={"c": capacity("1")})) == [
        "d: Invalid value: 33: the total number of attributes and capacities must not exceed 32"
    ]


def test_values_in_lists_count_one_by_one() -> None:
    attributes = {
        "flags": DeviceAttribute(bool_values=(True,) * 20),
        "ids": DeviceAttribute(int_values=(1,) * 28),
    }
    assert errors(device(attributes=attributes)) == []
    attributes["model"] = text_attribute("A100")
    assert errors(device(attributes=attributes)) == [
        "d: Invalid value: 49: the total number of attribute values must not exceed 48"
    ]


def test_capacity_that_is_stored_is_not_checked_again() -> None:
    odd = device(capacity={"1m": capacity("1", request_policy=policy("2"))})
    assert len(errors(odd)) == 2
    assert errors(odd, old=odd) == []


def test_taints_that_are_stored_are_not_checked_again() -> None:
    odd = device(taints=(DeviceTaint(key="hot", effect="FromTheFuture"),))
    assert len(errors(odd)) == 1
    assert errors(odd, old=odd) == []
    assert len(told(declare_device, odd, "d")) == 1


def test_taints_are_limited() -> None:
    assert errors(device(taints=(DeviceTaint(),) * 17)) == [
        "d.taints: Too many: 17: must have at most 16 items"
    ]


@pytest.mark.parametrize(
    "placed",
    [device(node_name="n"), device(node_selector=NodeSelector()), device(all_nodes=False)],
    ids=["name", "selector", "all"],
)
def test_a_device_names_nodes_only_where_the_slice_says_so(placed: Device) -> None:
    assert errors(placed) == [
        (
            "d: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if"
            f" {PER_DEVICE}"
        )
    ]


@pytest.mark.parametrize(
    ("placed", "texts"),
    [
        pytest.param(device(node_name="node-1"), [], id="named"),
        pytest.param(device(all_nodes=True), [], id="everywhere"),
        pytest.param(device(), [f"d: Required value: {NODES} {PER_DEVICE}"], id="nowhere"),
        pytest.param(
            device(node_name="node-1", all_nodes=True),
            [f'd: Invalid value: "{{`nodeName`, `allNodes`}}": {NODES} {PER_DEVICE}'],
            id="twice",
        ),
        pytest.param(
            device(node_name="", all_nodes=False),
            [
                'd.nodeName: Invalid value: "": must not be empty',
                "d.allNodes: Invalid value: false: must be either unset or set to true",
                f"d: Required value: {NODES} {PER_DEVICE}",
            ],
            id="in-vain",
        ),
        pytest.param(
            device(node_selector=NodeSelector()),
            [
                (
                    "d.nodeSelector.nodeSelectorTerms: Required value:"
                    " must have at least one node selector term"
                )
            ],
            id="empty-selector",
        ),
    ],
)
def test_where_devices_choose_their_nodes_each_chooses_once(
    placed: Device, texts: list[str]
) -> None:
    assert errors(placed, selects_nodes=True) == texts


def test_every_part_of_a_device_is_looked_at() -> None:
    broken = device(
        attributes={"a": DeviceAttribute()},
        capacity={"c": capacity("1", request_policy=policy("1"))},
        consumes_counters=(),
        binding_conditions=("ready",),
        node_allocatable_resources={"cpu": NodeAllocatableResource()},
    )
    assert [text.split(":", 1)[0] for text in errors(broken)] == [
        "d.attributes[a]",
        "d.capacity[c].requestPolicy",
        "d.bindingFailureConditions",
        "d.nodeAllocatableResources[cpu]",
    ]
