"""Slices: where their devices are, how many, and what an update may change."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import NodeSelector, NodeSelectorTerm
from dray.api.features import FeatureGates
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    DeviceTaint,
    ResourcePool,
    ResourceSlice,
)
from dray.validation import validate_create, validate_update
from tests.unit.validation.builders import (
    capacity,
    device,
    quantity,
    resource_slice,
    text_attribute,
    texts,
)

TYPES = FeatureGates({"DRAPartitionableDevicesType": True, "DRAResourcePoolStatus": True})
ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
COUNTERS = {"slots": Counter(value=quantity("1"))}
TAKEN = (DeviceCounterConsumption(counter_set="set", counters=COUNTERS),)


def errors(slice_: ResourceSlice, **options: Any) -> list[str]:
    return texts(validate_create(slice_, **options))


def update_errors(new: ResourceSlice, old: ResourceSlice, **options: Any) -> list[str]:
    return texts(validate_update(new, old, **options))


def many(count: int, **fields: Any) -> list[Device]:
    return [device(f"gpu-{number}", **fields) for number in range(count)]


def test_a_slice_of_devices_passes() -> None:
    devices = many(128, attributes={"model": text_attribute("A100")}, capacity={"m": capacity("1")})
    assert errors(resource_slice(*devices)) == []


def test_a_slice_of_counters_passes() -> None:
    sets = (CounterSet(name="set", counters=COUNTERS),)
    assert errors(resource_slice(devices=None, shared_counters=sets)) == []


def test_devices_and_counters_do_not_mix_even_when_empty() -> None:
    mixed = resource_slice(devices=(), shared_counters=())
    assert errors(mixed) == [
        'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'
    ]


@pytest.mark.parametrize(
    ("pool", "text"),
    [
        (
            ResourcePool(name="p"),
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        ),
        (
            ResourcePool(name="p", generation=-1, resource_slice_count=1),
            "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
        ),
        (ResourcePool(resource_slice_count=1), "spec.pool.name: Required value"),
    ],
)
def test_a_pool_has_a_name_and_a_size(pool: ResourcePool, text: str) -> None:
    assert errors(resource_slice(pool=pool)) == [text]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param({"node_name": "node-1"}, [], id="a-node"),
        pytest.param({"all_nodes": True}, [], id="all-nodes"),
        pytest.param({"per_device_node_selection": True}, [], id="per-device"),
        pytest.param(
            {"node_selector": NodeSelector(node_selector_terms=(NodeSelectorTerm(),))},
            [],
            id="selected-nodes",
        ),
        pytest.param({}, [f"spec: Required value: {ONE_PLACE}"], id="nowhere"),
        pytest.param(
            {"node_name": "node-1", "all_nodes": True},
            [
                (
                    'spec: Invalid value: "{`nodeName`, `allNodes`}":'
                    f" {ONE_PLACE}, but multiple fields are set"
                )
            ],
            id="twice",
        ),
        pytest.param(
            {"node_name": "", "all_nodes": False, "per_device_node_selection": False},
            [
                (
                    'spec.nodeName: Invalid value: "":'
                    " must be either unset or set to a non-empty string"
                ),
                "spec.allNodes: Invalid value: false: must be either unset or set to true",
                (
                    "spec.perDeviceNodeSelection: Invalid value: false:"
                    " must be either unset or set to true"
                ),
                f"spec: Required value: {ONE_PLACE}",
            ],
            id="in-vain",
        ),
        pytest.param(
            {"node_selector": NodeSelector(node_selector_terms=(NodeSelectorTerm(),) * 2)},
            [
                (
                    "spec.nodeSelector.nodeSelectorTerms: Invalid value:"
                    ' [{"MatchExpressions":null,"MatchFields":null},'
                    '{"MatchExpressions":null,"MatchFields":null}]:'
                    " must have exactly one node selector term"
                )
            ],
            id="two-terms",
        ),
    ],
)
def test_a_slice_is_in_one_place(place: dict[str, Any], expected: list[str]) -> None:
    assert errors(resource_slice(**{"node_name": None, **place})) == expected


@pytest.mark.parametrize(
    ("fields", "count_max"),
    [
        pytest.param({}, 128, id="plain"),
        pytest.param({"taints": (DeviceTaint(key="a", effect="None"),)}, 64, id="tainted"),
        pytest.param({"consumes_counters": TAKEN}, 64, id="partitions"),
        pytest.param(
            {"attributes": {"ids": DeviceAttribute(int_values=(1,))}}, 64, id="lists-of-values"
        ),
    ],
)
def test_a_slice_holds_fewer_devices_that_are_large(fields: dict[str, Any], count_max: int) -> None:
    assert errors(resource_slice(*many(count_max, **fields))) == []
    assert errors(resource_slice(*many(count_max + 1, **fields))) == [
        f"spec.devices: Too many: {count_max + 1}: must have at most {count_max} items"
    ]


def test_one_tainted_device_among_plain_ones_counts() -> None:
    devices = [*many(64), device("hot", taints=(DeviceTaint(key="a", effect="None"),))]
    assert errors(resource_slice(*devices)) == [
        "spec.devices: Too many: 65: must have at most 64 items"
    ]


def test_device_names_are_unique() -> None:
    assert errors(resource_slice(device("a"), device("b"), device("a"))) == [
        'spec.devices[2]: Duplicate value: "a"'
    ]


def test_only_the_devices_that_are_wrong_are_told_in_their_order() -> None:
    bad = {"attributes": {"a": text_attribute("x" * 65)}}
    slice_ = resource_slice(device("a"), device("b", **bad), device("c"), device("d", **bad))
    assert errors(slice_) == [
        "spec.devices[1].attributes[a].string: Too long: may not be more than 64 bytes",
        "spec.devices[3].attributes[a].string: Too long: may not be more than 64 bytes",
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"driver": "b"}, 'spec.driver: Invalid value: "b": field is immutable'),
        ({"node_name": "b"}, 'spec.nodeName: Invalid value: "b": field is immutable'),
        (
            {"node_name": None, "all_nodes": True},
            "spec.nodeName: Invalid value: null: field is immutable",
        ),
        (
            {"pool": ResourcePool(name="b", resource_slice_count=1)},
            'spec.pool.name: Invalid value: "b": field is immutable',
        ),
    ],
    ids=str,
)
def test_a_slice_stays_with_its_driver_pool_and_node(change: dict[str, Any], text: str) -> None:
    assert update_errors(resource_slice(**change), resource_slice()) == [text]


def test_devices_may_change() -> None:
    assert update_errors(resource_slice(device("b")), resource_slice(device("a"))) == []


FUTURE = (DeviceTaint(key="hot", effect="FromTheFuture"),)


def test_devices_that_are_stored_as_they_are_pass() -> None:
    stored = resource_slice(device("a", taints=FUTURE))
    assert update_errors(stored, stored) == []


def test_a_change_anywhere_in_the_list_has_the_declared_rules_look_again() -> None:
    stored = resource_slice(device("a", taints=FUTURE))
    (text,) = update_errors(resource_slice(device("a", taints=FUTURE), device("b")), stored)
    assert text.startswith("spec.devices[0].taints[0].effect: Unsupported value")


def test_declared_rules_speak_the_language_of_the_request() -> None:
    slice_ = resource_slice(device("a", attributes={"m": DeviceAttribute()}))
    assert [error.field for error in validate_create(slice_)] == ["spec.devices[0].attributes[m]"]
    assert [error.field for error in validate_create(slice_, version="v1beta1")] == [
        "spec.devices[0].basic.attributes[m]"
    ]


TYPE = "gpu.example.com/profile"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        pytest.param({"profile": text_attribute("1g")}, [], id="bare-name"),
        pytest.param({TYPE: text_attribute("1g")}, [], id="full-name"),
        pytest.param(
            {},
            [
                (
                    f"spec.devices[0].attributes[{TYPE}]: Required value: device consumes counters"
                    " and `partitionTypeAttribute` names this attribute, so it must be set"
                )
            ],
            id="missing",
        ),
        pytest.param(
            {"profile": DeviceAttribute(int_value=1)},
            [
                (
                    f'spec.devices[0].attributes[{TYPE}]: Invalid value: {{"IntValue":1,'
                    '"BoolValue":null,"StringValue":null,"VersionValue":null,"IntValues":null,'
                    '"BoolValues":null,"StringValues":null,"VersionValues":null}: must be a string'
                    " value because `partitionTypeAttribute` names this attribute"
                )
            ],
            id="no-text",
        ),
    ],
)
def test_partitions_say_of_which_type_they_are(
    attributes: dict[str, DeviceAttribute], expected: list[str]
) -> None:
    part = device(attributes=attributes, consumes_counters=TAKEN)
    slice_ = resource_slice(part, device("whole"), partition_type_attribute=TYPE)
    assert errors(slice_, gates=TYPES) == expected


def test_a_type_needs_partitions() -> None:
    assert errors(resource_slice(device(), partition_type_attribute=TYPE), gates=TYPES) == [
        (
            f'spec.partitionTypeAttribute: Invalid value: "{TYPE}":'
            " may only be set on a slice which declares devices that consume counters"
        )
    ]


def test_a_type_must_be_a_full_name_and_is_told_once() -> None:
    slice_ = resource_slice(device(consumes_counters=TAKEN), partition_type_attribute="profile")
    assert errors(slice_, gates=TYPES) == [
        (
            'spec.partitionTypeAttribute: Invalid value: "profile":'
            " a fully qualified name must be a domain and a name separated by a slash"
        )
    ]


def test_a_type_is_forbidden_while_its_feature_is_off_unless_stored() -> None:
    part = device(attributes={"profile": text_attribute("1g")}, consumes_counters=TAKEN)
    slice_ = resource_slice(part, partition_type_attribute=TYPE)
    assert errors(slice_) == ["spec.partitionTypeAttribute: Forbidden"]
    assert update_errors(slice_, slice_) == []


def test_skipped_node_operations_are_checked_from_both_sides() -> None:
    slice_ = resource_slice(skip_node_operations=("NodePrepareResources", "Sleep"))
    assert [error.field for error in validate_create(slice_)] == [
        "spec.skipNodeOperations",
        "spec.skipNodeOperations[1]",
    ]
