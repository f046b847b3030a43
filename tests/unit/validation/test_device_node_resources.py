"""Devices that count as cpu, memory or huge pages of their node."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.resource import (
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    NodeAllocatableResource,
)
from dray.validation.device_node_resources import check_node_resources, declare_node_resources
from dray.validation.findings import Findings, merge
from tests.unit.validation.builders import quantity, told

ONE, MINUS = quantity("1"), quantity("-1")


def mapping(
    key: str | None = None, *, by_key: str | None = None, by_device: str | None = None
) -> NodeAllocatableResource:
    return NodeAllocatableResource(
        mapping=NodeAllocatableMapping(
            capacity_key=key,
            capacity_multiplier=None if by_key is None else quantity(by_key),
            device_multiplier=None if by_device is None else quantity(by_device),
        )
    )


def overhead(**amounts: str) -> NodeAllocatableResource:
    quantities: dict[str, Any] = {name: quantity(text) for name, text in amounts.items()}
    return NodeAllocatableResource(overhead=NodeAllocatableOverhead(**quantities))


ONE_OF = "must specify one of: `capacityKey`, `deviceMultiplier`"


@pytest.mark.parametrize(
    ("name", "resource", "texts"),
    [
        pytest.param("cpu", mapping("cores", by_key="1"), [], id="by-capacity"),
        pytest.param("memory", mapping(by_device="1Gi"), [], id="by-device"),
        pytest.param("hugepages-2Mi", overhead(per_pod="0", per_container="1"), [], id="overhead"),
        pytest.param(
            "pods",
            mapping(by_device="1"),
            ['r[pods]: Invalid value: "pods": must be a node allocatable resource name'],
            id="another-resource",
        ),
        pytest.param(
            "cpu",
            NodeAllocatableResource(),
            ["r[cpu]: Required value: at least one of mapping or overhead must be set"],
            id="nothing",
        ),
        pytest.param(
            "cpu",
            mapping("", by_key="1"),
            [
                (
                    'r[cpu].mapping.capacityKey: Invalid value: "":'
                    " capacityKey must not be an empty string"
                )
            ],
            id="empty-key",
        ),
        pytest.param(
            "cpu",
            mapping("lanes", by_key="0"),
            [
                'r[cpu].mapping.capacityKey: Not found: "lanes"',
                'r[cpu].mapping.capacityMultiplier: Invalid value: "0": must be positive',
            ],
            id="no-such-capacity",
        ),
        pytest.param(
            "cpu",
            mapping("cores"),
            [
                (
                    "r[cpu].mapping.capacityMultiplier: Required value:"
                    " capacityMultiplier is required when capacityKey is set"
                )
            ],
            id="key-without-multiplier",
        ),
        pytest.param(
            "cpu",
            mapping(by_key="1"),
            [
                (
                    "r[cpu].mapping.capacityKey: Required value:"
                    " capacityKey is required when capacityMultiplier is set"
                ),
                f'r[cpu].mapping: Invalid value: "": {ONE_OF}',
            ],
            id="multiplier-without-key",
        ),
        pytest.param(
            "cpu",
            mapping("cores", by_key="1", by_device="-1"),
            [
                'r[cpu].mapping.deviceMultiplier: Invalid value: "-1": must be positive',
                (
                    'r[cpu].mapping: Invalid value: "{capacityKey, deviceMultiplier}":'
                    " must specify exactly one of: `capacityKey`, `deviceMultiplier`"
                ),
            ],
            id="both",
        ),
        pytest.param(
            "cpu",
            overhead(),
            [
                (
                    'r[cpu].overhead: Invalid value: "":'
                    " at least one of perPod or perContainer must be set"
                )
            ],
            id="no-overhead",
        ),
        pytest.param(
            "cpu",
            overhead(per_pod="-1", per_container="-1"),
            [
                'r[cpu].overhead.perPod: Invalid value: "-1": must be non-negative',
                'r[cpu].overhead.perContainer: Invalid value: "-1": must be non-negative',
            ],
            id="negative-overhead",
        ),
    ],
)
def test_a_device_bears_on_its_node_in_one_way(
    name: str, resource: NodeAllocatableResource, texts: list[str]
) -> None:
    handwritten, declared = Findings(), Findings(shared=True)
    check_node_resources(handwritten, {name: resource}, {"cores"}, "r")
    declare_node_resources(declared, {name: resource}, "r")
    assert [str(error) for error in merge(handwritten, declared)] == texts


def test_an_overhead_alone_declares_no_mapping() -> None:
    assert told(declare_node_resources, {"cpu": overhead(per_pod="1")}, "r") == []
