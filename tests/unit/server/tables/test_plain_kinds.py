"""The remaining kinds as rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dray.api import coordination, core, rbac, scheduling
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.wire import MicroTime, Time
from dray.server.tables.plain_kinds import (
    binding_cells,
    config_map_cells,
    event_cells,
    lease_cells,
    namespace_cells,
    node_cells,
    priority_class_cells,
    quota_cells,
    secret_cells,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
META = ObjectMeta(name="x", creation_timestamp=Time.parse("2025-12-31T23:59:00Z"))


def node(
    ready: str | None = "True", labels: dict[str, str] | None = None, *, cordoned: bool = False
) -> core.Node:
    conditions = (core.NodeCondition(type="Ready", status=ready),) if ready else ()
    return core.Node(
        metadata=ObjectMeta(name="x", labels=labels or {}),
        spec=core.NodeSpec(unschedulable=cordoned),
        status=core.NodeStatus(conditions=conditions),
    )


@pytest.mark.parametrize(
    ("machine", "status"),
    [
        pytest.param(node(), "Ready", id="ready"),
        pytest.param(node("False"), "NotReady", id="not-ready"),
        pytest.param(node("Unknown"), "NotReady", id="silent"),
        pytest.param(node(None), "Unknown", id="never-heard-of"),
        pytest.param(node(cordoned=True), "Ready,SchedulingDisabled", id="cordoned"),
    ],
)
def test_a_node_says_whether_it_takes_pods(machine: core.Node, status: str) -> None:
    assert node_cells(machine, NOW)[1] == status


@pytest.mark.parametrize(
    ("labels", "roles"),
    [
        ({}, "<none>"),
        ({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/etcd": ""}, "etcd,worker"),
        ({"kubernetes.io/role": "old", "node-role.kubernetes.io/": ""}, "old"),
        ({"kubernetes.io/role": ""}, "<none>"),
    ],
)
def test_a_nodes_roles_are_in_its_labels(labels: dict[str, str], roles: str) -> None:
    assert node_cells(node(labels=labels), NOW)[2] == roles


def test_a_node_tells_what_it_is_made_of() -> None:
    machine = core.Node(
        metadata=META,
        status=core.NodeStatus(
            addresses=(
                core.NodeAddress(type="InternalIP", address="10.0.0.1"),
                core.NodeAddress(type="InternalIP", address="10.0.0.2"),
            ),
            node_info=core.NodeSystemInfo(
                kubelet_version="v1.37.1", kernel_version="6.1", architecture="arm64"
            ),
        ),
    )
    assert node_cells(machine, NOW)[3:] == [
        "60s",
        "v1.37.1",
        "10.0.0.1",
        "<none>",
        "<unknown>",
        "6.1 (arm64)",
        "<unknown>",
    ]


def test_namespaces_and_configuration_say_what_there_is() -> None:
    namespace = core.Namespace(metadata=META, status=core.NamespaceStatus(phase="Active"))
    assert namespace_cells(namespace, NOW) == ["x", "Active", "60s"]
    config_map = core.ConfigMap(metadata=META, data={"a": "1"}, binary_data={"b": "eA=="})
    assert config_map_cells(config_map, NOW) == ["x", 2, "60s"]
    secret = core.Secret(metadata=META, data={"a": "eA=="}, type="Opaque")
    assert secret_cells(secret, NOW) == ["x", "Opaque", 1, "60s"]


def test_a_quota_tells_requests_from_limits() -> None:
    def amounts(**texts: str) -> dict[str, Quantity]:
        return {name.replace("_", "."): Quantity.parse(text) for name, text in texts.items()}

    quota = core.ResourceQuota(
        metadata=META,
        status=core.ResourceQuotaStatus(
            hard=amounts(pods="10", limits_cpu="4", requests_cpu="1500m"), used=amounts(pods="3")
        ),
    )
    assert quota_cells(quota, NOW) == ["x", "pods: 3/10, requests.cpu: 0/1500m", "limits.cpu: 0/4", "60s"]  # fmt: skip  # noqa: E501


POD = core.ObjectReference(kind="Pod", name="web", field_path="spec.containers{app}")


def test_an_event_says_what_happened_to_what() -> None:
    event = core.Event(
        metadata=META,
        involved_object=POD,
        type="Warning",
        reason="BackOff",
        message=" restarting \n",
        source=core.EventSource(component="kubelet", host="node-1"),
        first_timestamp=Time.parse("2025-12-31T23:50:00Z"),
        last_timestamp=Time.parse("2025-12-31T23:59:50Z"),
        count=7,
    )
    assert event_cells(event, NOW) == [
        "10s",
        "Warning",
        "BackOff",
        "pod/web",
        "spec.containers{app}",
        "kubelet, node-1",
        "restarting",
        "10m",
        7,
        "x",
    ]


def test_an_event_of_the_newer_kind_counts_by_its_series() -> None:
    single = core.Event(
        involved_object=core.ObjectReference(kind="Node"),
        event_time=MicroTime.parse("2025-12-31T23:59:00.000000Z"),
        reporting_component="scheduler",
    )
    shown = event_cells(single, NOW)
    assert (shown[0], shown[3], shown[5], shown[7], shown[8]) == (
        "60s",
        "node",
        "scheduler",
        "60s",
        1,
    )
    last = MicroTime.parse("2025-12-31T23:59:58.000000Z")
    series = core.Event(series=core.EventSeries(count=3, last_observed_time=last))
    shown = event_cells(series, NOW)
    assert (shown[0], shown[7], shown[8]) == ("2s", "<unknown>", 3)


def test_a_binding_lists_its_subjects_by_kind() -> None:
    binding = rbac.RoleBinding(
        metadata=META,
        role_ref=rbac.RoleRef(kind="ClusterRole", name="view"),
        subjects=(
            rbac.Subject(kind="User", name="ann"),
            rbac.Subject(kind="User", name="bob"),
            rbac.Subject(kind="Group", name="devs"),
            rbac.Subject(kind="ServiceAccount", name="bot", namespace="ci"),
            rbac.Subject(kind="Robot", name="r2"),
        ),
    )
    shown = binding_cells(binding, NOW)
    assert shown == ["x", "ClusterRole/view", "60s", "ann, bob", "devs", "ci/bot"]


def test_leases_and_priority_classes_show_their_fields() -> None:
    lease = coordination.Lease(metadata=META, spec=coordination.LeaseSpec(holder_identity="n1"))
    assert lease_cells(lease, NOW) == ["x", "n1", "60s"]
    assert lease_cells(coordination.Lease(), NOW)[1] == ""
    priority = scheduling.PriorityClass(metadata=META, value=5, preemption_policy="Never")
    assert priority_class_cells(priority, NOW) == ["x", 5, False, "60s", "Never"]
