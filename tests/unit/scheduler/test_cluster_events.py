"""An update tells what changed, and nothing if no pod can care."""

from __future__ import annotations

import pytest

from dray.api.core import (
    Container,
    Node,
    NodeCondition,
    NodeStatus,
    Pod,
    PodCondition,
    PodResourceClaimStatus,
    PodSchedulingGate,
    PodStatus,
    ResourceRequirements,
    Taint,
    Toleration,
)
from dray.api.quantity import Quantity
from dray.api.wire import replace
from dray.scheduler.cluster_events import (
    ASSIGNED_POD,
    NODE,
    POD,
    RESOURCE_CLAIM,
    Action,
    ClusterEvent,
    Interest,
    node_event,
    object_event,
    pod_event,
)
from tests.unit.scheduler.queued import node, node_added, pod


def asking(cpu: str) -> tuple[Container, ...]:
    requests = {"cpu": Quantity.parse(cpu)}
    return (Container(name="main", resources=ResourceRequirements(requests=requests)),)


def ready(status: str, reason: str = "") -> NodeStatus:
    return NodeStatus(conditions=(NodeCondition(type="Ready", status=status, reason=reason),))


NODE_1 = node("node-1", allocatable={"cpu": "1"})
POD_1 = pod("a", containers=asking("1"))


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        pytest.param(
            NODE_1, node("node-1", allocatable={"cpu": "2"}), Action.ALLOCATABLE, id="more"
        ),
        pytest.param(node("n"), node("n", labels={"zone": "a"}), Action.LABELS, id="labels"),
        pytest.param(node("n"), node("n", taints=(Taint(key="x"),)), Action.TAINTS, id="taints"),
        pytest.param(
            node("n", unschedulable=True), node("n"), Action.UNSCHEDULABLE, id="schedulable-again"
        ),
        pytest.param(
            replace(node("n"), status=ready("False")),
            replace(node("n"), status=ready("True")),
            Action.CONDITIONS,
            id="ready",
        ),
        pytest.param(
            node("n", unschedulable=True),
            node("n", labels={"zone": "a"}),
            Action.UNSCHEDULABLE | Action.LABELS,
            id="two-at-once",
        ),
    ],
)
def test_an_updated_node_tells_what_changed(old: Node, new: Node, action: Action) -> None:
    assert node_event(old, new) == ClusterEvent(NODE, action, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(NODE_1, node("node-1", allocatable={"cpu": "1000m"}), id="same-amount"),
        pytest.param(
            replace(node("n"), status=ready("True", "a")),
            replace(node("n"), status=ready("True", "b")),
            id="heartbeat",
        ),
        pytest.param(node("n"), node("n", unschedulable=True), id="becomes-unschedulable"),
    ],
)
def test_an_update_of_a_node_that_helps_nobody_is_no_event(old: Node, new: Node) -> None:
    assert node_event(old, new) is None


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        pytest.param(pod("a"), pod("a", labels={"app": "x"}), Action.LABELS, id="labels"),
        pytest.param(POD_1, pod("a", containers=asking("500m")), Action.SCALE_DOWN, id="less"),
        pytest.param(POD_1, pod("a", containers=asking("2")), Action.SCALE_UP, id="more"),
        pytest.param(POD_1, pod("a", containers=asking("1000m")), Action.NONE, id="as-much"),
        pytest.param(
            pod("a"),
            pod("a", tolerations=(Toleration(key="x"),)),
            Action.TOLERATIONS,
            id="tolerates",
        ),
        pytest.param(
            pod("a", scheduling_gates=(PodSchedulingGate(name="x"),)),
            pod("a"),
            Action.GATES,
            id="gate",
        ),
        pytest.param(
            pod("a", scheduling_gates=(PodSchedulingGate(name="x"), PodSchedulingGate(name="y"))),
            pod("a", scheduling_gates=(PodSchedulingGate(name="y"),)),
            Action.OTHER,
            id="one-gate-of-two",
        ),
        pytest.param(
            pod("a"),
            pod(
                "a",
                status=PodStatus(
                    resource_claim_statuses=(
                        PodResourceClaimStatus(name="gpu", resource_claim_name="a-gpu"),
                    )
                ),
            ),
            Action.GENERATED_CLAIM,
            id="claim-made",
        ),
        pytest.param(
            pod("a"),
            pod("a", status=PodStatus(conditions=(PodCondition(type="PodScheduled"),))),
            Action.NONE,
            id="mere-status",
        ),
    ],
)
def test_an_updated_pod_tells_what_changed(old: Pod, new: Pod, action: Action) -> None:
    event = pod_event(old, new)
    assert (event.action if event is not None else Action.NONE) is action


def test_a_pod_that_has_a_node_is_an_assigned_one() -> None:
    assigned = pod("a", node_name="node-1")
    assert pod_event(None, assigned) == ClusterEvent(ASSIGNED_POD, Action.ADD, None, assigned)
    assert pod_event(assigned, None) == ClusterEvent(ASSIGNED_POD, Action.DELETE, assigned, None)
    assert pod_event(None, pod("a")) == ClusterEvent(POD, Action.ADD, None, pod("a"))


def test_what_has_no_parts_of_interest_is_added_updated_or_deleted() -> None:
    thing = pod("a")
    actions = [
        object_event("Thing", *sides).action
        for sides in ((None, thing), (thing, thing), (thing, None))
    ]
    assert actions == [Action.ADD, Action.OTHER, Action.DELETE]
    assert actions[1] & Action.UPDATE


@pytest.mark.parametrize(
    ("resource", "action", "label"),
    [
        (NODE, Action.ADD, "NodeAdd"),
        (NODE, Action.DELETE, "NodeDelete"),
        (NODE, Action.LABELS | Action.TAINTS, "NodeUpdateNodeLabel"),
        (NODE, Action.UNSCHEDULABLE, "NodeUpdateNodeTaint"),
        (NODE, Action.UPDATE, "NodeUpdate"),
        (POD, Action.TOLERATIONS, "TargetPodUpdatePodToleration"),
        (POD, Action.OTHER, "TargetPodUpdate"),
        (ASSIGNED_POD, Action.LABELS, "AssignedPodUpdatePodLabel"),
        (RESOURCE_CLAIM, Action.OTHER, "resource.k8s.io/ResourceClaimUpdate"),
    ],
)
def test_metrics_count_an_event_by_upstreams_name(
    resource: str, action: Action, label: str
) -> None:
    assert ClusterEvent(resource, action).label == label


def test_an_interest_answers_as_a_hint_does() -> None:
    keyed = Interest(
        Action.ADD, pod_keys=lambda pod: (pod.metadata.name,), event_keys=lambda _: ("a",)
    )
    assert keyed(pod("a"), node_added())
    assert not keyed(pod("b"), node_added())
    assert not keyed(pod("a"), ClusterEvent(NODE, Action.DELETE))
    assert not Interest(Action.ADD, lambda _, __: False)(pod("a"), node_added())
