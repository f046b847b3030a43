"""Nodes."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    Node,
    NodeAddress,
    NodeSpec,
    NodeStatus,
    NodeSwapStatus,
    NodeSystemInfo,
    Taint,
)
from dray.api.wire import replace
from tests.unit.validation.pod_builders import paths, quantities
from tests.unit.validation.workload_builders import created, metadata, status_updated, updated


def node(status: NodeStatus | None = None, **spec: Any) -> Node:
    return Node(
        metadata=metadata(name="node-1", namespace=""),
        spec=NodeSpec(**spec),
        status=status or NodeStatus(),
    )


def tainted(*taints: Taint) -> Node:
    return node(taints=taints)


GPU = Taint(key="gpu", value="broken", effect="NoSchedule")


def test_a_plain_node_may_be_created_and_written_back() -> None:
    plain = node(NodeStatus(capacity=quantities({"cpu": "4"})), taints=(GPU,), unschedulable=True)
    assert created(plain) == updated(plain, plain) == status_updated(plain, plain) == []


@pytest.mark.parametrize(
    ("taint", "where"),
    [
        pytest.param(Taint(key="A!", effect="NoExecute"), ["key"], id="key"),
        pytest.param(Taint(key="a", value="v!", effect="NoExecute"), ["value"], id="value"),
        pytest.param(Taint(key="a"), ["effect"], id="no-effect"),
        pytest.param(Taint(key="a", effect="X"), ["effect"], id="unknown-effect"),
    ],
)
def test_taints_are_labels_with_an_effect(taint: Taint, where: list[str]) -> None:
    expected = [f"metadata.taints[0].{name}" for name in where]
    assert paths(created(tainted(taint))) == expected
    assert paths(updated(tainted(taint), node())) == expected


def test_a_taint_is_there_once() -> None:
    assert created(tainted(GPU, replace(GPU, value="other"))) == [
        (
            "metadata.taints[1]: Duplicate value: "
            '{"Key":"gpu","Value":"other","Effect":"NoSchedule","TimeAdded":null}: '
            "taints must be unique by key and effect pair"
        )
    ]
    assert created(tainted(GPU, replace(GPU, effect="NoExecute"))) == []


def test_amounts_are_not_negative_and_devices_are_whole() -> None:
    status = NodeStatus(
        capacity=quantities({"cpu": "-1"}), allocatable=quantities({"a.io/gpu": "500m"})
    )
    texts = [
        'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
        'status.allocatable.a.io/gpu: Invalid value: "500m": must be an integer',
    ]
    assert created(node(status)) == texts
    assert status_updated(node(status), node()) == texts


def test_swap_is_more_than_none() -> None:
    info = NodeSystemInfo(swap=NodeSwapStatus(capacity=0))
    assert created(node(NodeStatus(node_info=info))) == [
        "metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"
    ]


@pytest.mark.parametrize(
    ("features", "where"),
    [
        (("A", "B/c"), []),
        (("a",), ["[0]"]),
        (("A" * 254,), ["[0]"]),
        (("A", "A"), ["[1]"]),
        (("B", "A"), ["[1]"]),
    ],
)
def test_features_are_names_in_order(features: tuple[str, ...], where: list[str]) -> None:
    status = NodeStatus(declared_features=features)
    expected = [f"status.declaredFeatures{index}" for index in where]
    assert paths(created(node(status))) == expected
    assert paths(status_updated(node(status), node())) == expected


def test_an_address_is_there_once() -> None:
    address = NodeAddress(type="Hostname", address="a")
    assert status_updated(node(NodeStatus(addresses=(address, address))), node()) == [
        'status.addresses[1]: Duplicate value: {"Type":"Hostname","Address":"a"}'
    ]


@pytest.mark.parametrize(
    ("new", "old", "text"),
    [
        (
            {"pod_cidrs": ("10.0.1.0/24",)},
            {"pod_cidrs": ("10.0.0.0/24",)},
            'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        ),
        (
            {"provider_id": "b"},
            {"provider_id": "a"},
            "spec.providerID: Invalid value: null: field cannot be modified once set",
        ),
        (
            {},
            {"provider_id": "a"},
            "spec.providerID: Invalid value: null: field cannot be cleared once set",
        ),
        ({"external_id": "b"}, {}, "spec.externalID: Forbidden: may not be updated"),
    ],
)
def test_what_a_node_keeps_for_life(new: dict[str, Any], old: dict[str, Any], text: str) -> None:
    assert updated(node(**new), node(**old)) == [text]


def test_what_a_node_lacked_it_may_get() -> None:
    assert updated(node(provider_id="a", pod_cidrs=("10.0.0.0/24",)), node()) == []
