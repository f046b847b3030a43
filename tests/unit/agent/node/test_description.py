from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dray.agent.node.description import (
    KUBELET_VERSION,
    NodeDescription,
    initial_node,
    node_status,
)
from dray.agent.node.machine import Machine
from dray.agent.runtimes.runtime import RuntimeInfo
from dray.api.core import NodeStatus, Taint
from dray.api.quantity import Quantity
from dray.api.wire import Time
from dray.errors import ConfigurationError
from dray.server.discovery import version_document

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MACHINE = Machine(
    hostname="host-1",
    addresses=("192.0.2.7", "2001:db8::7"),
    cpu_count=8,
    memory_bytes=16 * 1024**3,
    storage_bytes=100 * 1024**3,
)
NODE = NodeDescription("n1", MACHINE, RuntimeInfo("process", "0.1.0"))


def test_a_new_node_has_its_labels_and_taints() -> None:
    taint = Taint(key="example.com/new", effect="NoSchedule")
    described = NodeDescription(
        "n1",
        MACHINE,
        RuntimeInfo("process", "0.1.0"),
        labels={"rack": "7", "kubernetes.io/os": "plan9"},
        taints=(taint,),
    )
    node = initial_node(described, now=NOW)
    assert node.metadata.labels == {
        "rack": "7",
        "kubernetes.io/hostname": "host-1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
    }
    assert node.spec.taints == (taint,)


def test_capacity_is_the_machines_unless_told_otherwise() -> None:
    described = NodeDescription(
        "n1",
        MACHINE,
        RuntimeInfo("process", "0.1.0"),
        pods_max=20,
        capacity={"cpu": Quantity.parse("64"), "example.com/thing": Quantity.parse("3")},
        reserved={"cpu": Quantity.parse("500m"), "memory": Quantity.parse("1Ti")},
    )
    status = node_status(described, NodeStatus(), now=NOW)
    assert {name: str(amount) for name, amount in status.capacity.items()} == {
        "cpu": "64",
        "memory": "16Gi",
        "ephemeral-storage": "100Gi",
        "pods": "20",
        "example.com/thing": "3",
    }
    assert str(status.allocatable["cpu"]) == "63500m"
    assert status.allocatable["memory"].is_zero, "never less than nothing"


def test_a_ready_node_says_so_in_upstreams_words() -> None:
    status = node_status(NODE, NodeStatus(), now=NOW)
    assert [(item.type, item.status, item.reason, item.message) for item in status.conditions] == [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        (
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]


def test_problems_keep_a_node_from_being_ready() -> None:
    one = node_status(NODE, NodeStatus(), problems=["no runtime"], now=NOW).conditions[-1]
    assert (one.status, one.reason, one.message) == ("False", "KubeletNotReady", "no runtime")
    two = node_status(NODE, NodeStatus(), problems=["no runtime", "no disk"], now=NOW)
    assert two.conditions[-1].message == "[no runtime, no disk]"


def test_a_condition_keeps_its_time_until_it_changes() -> None:
    first = node_status(NODE, NodeStatus(), now=NOW)
    later = NOW + timedelta(minutes=5)
    second = node_status(NODE, first, now=later)
    third = node_status(NODE, second, problems=["no runtime"], now=later)
    assert {item.last_transition_time for item in second.conditions} == {Time(NOW)}
    assert {item.last_heartbeat_time for item in second.conditions} == {Time(later)}
    assert third.conditions[-1].last_transition_time == Time(later)


def test_addresses_endpoint_and_versions_are_told() -> None:
    status = node_status(NODE, NodeStatus(), now=NOW)
    assert [(item.type, item.address) for item in status.addresses] == [
        ("InternalIP", "192.0.2.7"),
        ("InternalIP", "2001:db8::7"),
        ("Hostname", "host-1"),
    ]
    assert status.daemon_endpoints.kubelet_endpoint.port == 10250
    assert status.node_info.container_runtime_version == "process://0.1.0"
    assert status.node_info.kubelet_version == KUBELET_VERSION
    assert version_document()["gitVersion"] == KUBELET_VERSION, "of one release with the server"


def test_a_machine_without_a_name_has_that_of_its_node() -> None:
    node = initial_node(NodeDescription("n7", Machine(), RuntimeInfo("memory", "1")), now=NOW)
    assert node.metadata.labels["kubernetes.io/hostname"] == "n7"
    assert node.status.addresses[-1].address == "n7"


def test_an_address_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match='node n1: address "host" must be an IP address'):
        NodeDescription("n1", Machine(addresses=("host",)), RuntimeInfo("memory", "1"))
