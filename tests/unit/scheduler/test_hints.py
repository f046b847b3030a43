"""Each plugin's hints: what could help a pod that it rejected, and what could not."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    Affinity,
    Container,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSchedulingGate,
    PodStatus,
    ResourceRequirements,
    Taint,
    Toleration,
)
from dray.api.meta import ObjectMeta
from dray.api.pod_claims import references
from dray.api.quantity import Quantity
from dray.api.resource import (
    AllocationResult,
    Device,
    DeviceClass,
    DeviceClassSpec,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.wire import replace
from dray.scheduler.cluster_events import (
    ASSIGNED_POD,
    DEVICE_CLASS,
    GATE,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    node_event,
    object_event,
    pod_event,
)
from dray.scheduler.hints import default_hints
from dray.scheduler.interests import Interests
from dray.scheduler.queue import SchedulingQueue
from dray.testing import FakeClock
from tests.unit.scheduler.queued import node, pod


def claim_names(pod: Pod) -> tuple[str, ...] | None:
    found = tuple(references(pod))
    return None if any(each.error for each in found) else tuple(each.claim_name for each in found)


INTERESTS = Interests(default_hints(claim_names))
TAINT = Taint(key="dedicated", value="a", effect="NoSchedule")
ADVICE = Taint(key="dedicated", value="a", effect="PreferNoSchedule")
TOLERATION = Toleration(key="dedicated", operator="Exists")


def worth(plugin: str, waiting: Pod, event: ClusterEvent | None) -> bool:
    return event is not None and INTERESTS.worth(waiting, frozenset({plugin}), event)


def container(ports: tuple[int, ...] = (), /, **requests: str) -> Container:
    amounts = {
        name.replace("__", "/").replace("_", "."): Quantity.parse(text)
        for name, text in requests.items()
    }
    return Container(
        name="main",
        ports=tuple(ContainerPort(container_port=80, host_port=port) for port in ports),
        resources=ResourceRequirements(requests=amounts),
    )


def asking(**requests: str) -> Pod:
    return pod("waiting", containers=(container(**requests),))


def assigned(name: str = "other", **fields: Any) -> Pod:
    return pod(name, node_name="node-1", **fields)


# Nodes -----------------------------------------------------------------------------------------


def test_a_new_node_may_be_the_one_that_is_named() -> None:
    assert worth("NodeName", pod("a"), node_event(None, node("n")))
    assert not worth("NodeName", pod("a"), node_event(node("n"), node("n", labels={"a": "b"})))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, node("n"), True, id="new"),
        pytest.param(None, node("n", unschedulable=True), False, id="new-and-cordoned"),
        pytest.param(node("n", unschedulable=True), node("n"), True, id="uncordoned"),
        pytest.param(
            node("n", unschedulable=True),
            node("n", unschedulable=True, taints=(TAINT,)),
            False,
            id="still-cordoned",
        ),
    ],
)
def test_a_node_that_may_be_used_helps_against_cordons(
    old: Node | None, new: Node, expected: bool
) -> None:
    assert worth("NodeUnschedulable", pod("a"), node_event(old, new)) is expected


@pytest.mark.parametrize(
    ("key", "expected"), [("node.kubernetes.io/unschedulable", True), ("other", False)]
)
def test_a_pod_that_tolerates_cordons_now_is_helped(key: str, expected: bool) -> None:
    tolerant = pod("a", tolerations=(Toleration(key=key, operator="Exists"),))
    assert worth("NodeUnschedulable", tolerant, pod_event(pod("a"), tolerant)) is expected


@pytest.mark.parametrize(
    ("tolerations", "old", "new", "expected"),
    [
        pytest.param((), None, node("n"), True, id="new"),
        pytest.param((), None, node("n", taints=(TAINT,)), False, id="new-and-tainted"),
        pytest.param((), None, node("n", taints=(ADVICE,)), True, id="new-with-advice"),
        pytest.param((TOLERATION,), None, node("n", taints=(TAINT,)), True, id="tolerated"),
        pytest.param((), node("n", taints=(TAINT,)), node("n"), True, id="taint-went"),
        pytest.param((), node("n"), node("n", taints=(ADVICE,)), False, id="was-free-before"),
        pytest.param(
            (),
            node("n", taints=(TAINT, ADVICE)),
            node("n", taints=(TAINT,)),
            False,
            id="another-taint-went",
        ),
    ],
)
def test_a_node_that_becomes_bearable_helps_against_taints(
    tolerations: tuple[Toleration, ...], old: Node | None, new: Node, expected: bool
) -> None:
    waiting = pod("a", tolerations=tolerations)
    assert worth("TaintToleration", waiting, node_event(old, new)) is expected


def test_a_new_toleration_helps_against_taints() -> None:
    tolerant = pod("a", tolerations=(TOLERATION,))
    assert worth("TaintToleration", tolerant, pod_event(pod("a"), tolerant))
    assert not worth("NodeAffinity", tolerant, pod_event(pod("a"), tolerant))


def wanting(zone: str) -> Pod:
    term = NodeSelectorTerm(
        match_expressions=(NodeSelectorRequirement(key="zone", operator="In", values=(zone,)),)
    )
    required = NodeSelector(node_selector_terms=(term,))
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    return pod("a", affinity=Affinity(node_affinity=affinity))


@pytest.mark.parametrize(
    "waiting", [wanting("a"), pod("a", node_selector={"zone": "a"})], ids=["affinity", "selector"]
)
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, node("n", labels={"zone": "a"}), True, id="new"),
        pytest.param(None, node("n", labels={"zone": "b"}), False, id="new-elsewhere"),
        pytest.param(node("n"), node("n", labels={"zone": "a"}), True, id="label-came"),
        pytest.param(
            node("n", labels={"zone": "a"}),
            node("n", labels={"zone": "a", "other": "x"}),
            False,
            id="matched-before",
        ),
    ],
)
def test_a_node_that_begins_to_match_helps(
    waiting: Pod, old: Node | None, new: Node, expected: bool
) -> None:
    assert worth("NodeAffinity", waiting, node_event(old, new)) is expected


def test_a_selector_that_cannot_be_read_is_left_to_the_filter() -> None:
    term = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="a", operator="??"),))
    required = NodeSelector(node_selector_terms=(term,))
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    waiting = pod("a", affinity=Affinity(node_affinity=affinity))
    assert worth("NodeAffinity", waiting, node_event(None, node("n")))


# Ports and amounts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        pytest.param((80,), True, id="the-port"),
        pytest.param((81,), False, id="another-port"),
        pytest.param((), False, id="no-port"),
    ],
)
def test_a_pod_that_goes_frees_its_ports(ports: tuple[int, ...], expected: bool) -> None:
    waiting = pod("a", containers=(container((80,)),))
    gone = pod_event(assigned(containers=(container(ports),)), None)
    assert worth("NodePorts", waiting, gone) is expected


def test_a_new_node_has_free_ports() -> None:
    assert worth("NodePorts", pod("a"), node_event(None, node("n")))


def offering(**amounts: str) -> Node:
    named = {name.replace("__", "/").replace("_", "."): text for name, text in amounts.items()}
    return node("n", allocatable=named)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, offering(cpu="2", pods="10"), True, id="new"),
        pytest.param(None, offering(cpu="500m", pods="10"), False, id="new-and-small"),
        pytest.param(None, offering(cpu="2"), False, id="new-without-room-for-pods"),
        pytest.param(
            offering(cpu="1", pods="10"), offering(cpu="2", pods="10"), True, id="more-of-it"
        ),
        pytest.param(
            offering(cpu="2", pods="10"), offering(cpu="2", pods="11"), True, id="more-pods"
        ),
        pytest.param(
            offering(cpu="2", pods="10"), offering(cpu="1", pods="10"), False, id="less-of-it"
        ),
        pytest.param(
            offering(cpu="2", memory="1", pods="10"),
            offering(cpu="2", memory="2", pods="10"),
            False,
            id="more-of-something-else",
        ),
    ],
)
def test_a_node_with_more_to_offer_helps_if_the_pod_fits(
    old: Node | None, new: Node, expected: bool
) -> None:
    assert worth("NodeResourcesFit", asking(cpu="1"), node_event(old, new)) is expected


def test_what_devices_may_stand_for_a_node_need_not_offer() -> None:
    waiting, event = asking(example_com__gpu="1"), node_event(None, offering(pods="10"))
    assert event is not None
    assert worth("NodeResourcesFit", waiting, event)
    known = Interests(default_hints(claim_names, served_by_devices=lambda _: False))
    assert not known.worth(waiting, frozenset({"NodeResourcesFit"}), event)


def test_a_pod_that_goes_leaves_room() -> None:
    assert worth("NodeResourcesFit", asking(cpu="1"), pod_event(assigned(), None))
    # As after a failed binding: the pod in question has no node any more.
    gone = ClusterEvent(ASSIGNED_POD, Action.DELETE, pod("other"), None)
    assert worth("NodeResourcesFit", asking(cpu="1"), gone)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"cpu": "2"}, {"cpu": "1"}, True, id="of-what-is-wanted"),
        pytest.param({"memory": "2"}, {"memory": "1"}, False, id="of-something-else"),
        pytest.param({"cpu": "1"}, {"cpu": "2"}, False, id="it-grew"),
    ],
)
def test_a_pod_that_shrinks_leaves_room(
    before: dict[str, str], after: dict[str, str], expected: bool
) -> None:
    event = pod_event(
        assigned(containers=(container(**before),)), assigned(containers=(container(**after),))
    )
    assert worth("NodeResourcesFit", asking(cpu="1"), event) is expected


def test_a_pod_that_wants_less_may_fit() -> None:
    assert worth("NodeResourcesFit", asking(cpu="1"), pod_event(asking(cpu="2"), asking(cpu="1")))


def device_class(name: str, resource: str | None = None) -> DeviceClass:
    return DeviceClass(
        metadata=ObjectMeta(name=name), spec=DeviceClassSpec(extended_resource_name=resource)
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, device_class("c", "example.com/gpu"), True, id="new"),
        pytest.param(None, device_class("c", "example.com/nic"), False, id="new-for-others"),
        pytest.param(None, device_class("c"), False, id="new-for-none"),
        pytest.param(
            device_class("c"), device_class("c", "example.com/gpu"), True, id="now-stands-for-it"
        ),
        pytest.param(
            device_class("c", "example.com/gpu"),
            device_class("c", "example.com/gpu"),
            False,
            id="stood-for-it-before",
        ),
    ],
)
def test_a_class_that_stands_for_a_wanted_resource_helps(
    old: DeviceClass | None, new: DeviceClass, expected: bool
) -> None:
    event = object_event(DEVICE_CLASS, old, new)
    assert worth("NodeResourcesFit", asking(example_com__gpu="1"), event) is expected


def test_a_class_may_be_wanted_by_its_name() -> None:
    waiting = asking(deviceclass_resource_kubernetes_io__gpu="1")
    event = object_event(DEVICE_CLASS, None, device_class("gpu"))
    assert worth("NodeResourcesFit", waiting, event)


# Claims ----------------------------------------------------------------------------------------


def claim(
    name: str, *, allocated: bool = False, reserved: bool = False, namespace: str = "default"
) -> ResourceClaim:
    consumer = ResourceClaimConsumerReference(resource="pods", name="x", uid="x")
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace=namespace),
        status=ResourceClaimStatus(
            allocation=AllocationResult() if allocated else None,
            reserved_for=(consumer,) if reserved else (),
        ),
    )


def using(*names: str) -> Pod:
    return pod(
        "a",
        resource_claims=tuple(PodResourceClaim(name=n, resource_claim_name=n) for n in names),
    )


TEMPLATED = pod(
    "a", resource_claims=(PodResourceClaim(name="gpu", resource_claim_template_name="t"),)
)
GENERATED = replace(
    TEMPLATED,
    status=PodStatus(
        resource_claim_statuses=(PodResourceClaimStatus(name="gpu", resource_claim_name="mine"),)
    ),
)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(using("mine"), None, claim("mine"), True, id="created"),
        pytest.param(using("mine"), None, claim("other"), False, id="another-created"),
        pytest.param(
            using("mine"), None, claim("mine", namespace="b"), False, id="in-another-namespace"
        ),
        pytest.param(
            using("mine"), claim("mine"), claim("mine", allocated=True), True, id="allocated"
        ),
        pytest.param(
            using("mine"), claim("other"), claim("other", allocated=True), False, id="not-mine"
        ),
        pytest.param(
            using("mine"), claim("other", allocated=True), claim("other"), True, id="devices-free"
        ),
        pytest.param(using("mine"), claim("mine"), claim("mine"), False, id="same-status"),
        pytest.param(
            using("mine"),
            claim("mine", allocated=True, reserved=True),
            claim("mine", allocated=True),
            True,
            id="reservation-gone",
        ),
        pytest.param(using("mine"), claim("other", allocated=True), None, True, id="freed-by-end"),
        pytest.param(using("mine"), claim("other"), None, False, id="deleted-without-devices"),
        pytest.param(
            TEMPLATED, claim("other", allocated=True), claim("other"), False, id="unresolved"
        ),
        pytest.param(GENERATED, None, claim("mine"), True, id="generated"),
    ],
)
def test_a_claim_helps_its_pods_or_all_when_devices_become_free(
    waiting: Pod, old: ResourceClaim | None, new: ResourceClaim | None, expected: bool
) -> None:
    event = object_event(RESOURCE_CLAIM, old, new)
    assert worth("DynamicResources", waiting, event) is expected


def test_a_pod_whose_claim_was_made_is_helped() -> None:
    assert worth("DynamicResources", GENERATED, pod_event(TEMPLATED, GENERATED))


def test_a_pod_of_whose_claims_one_is_still_missing_is_not_helped() -> None:
    other = PodResourceClaim(name="nic", resource_claim_template_name="t")
    spec = replace(GENERATED.spec, resource_claims=(*GENERATED.spec.resource_claims, other))
    before, after = replace(TEMPLATED, spec=spec), replace(GENERATED, spec=spec)
    assert not worth("DynamicResources", after, pod_event(before, after))


SLICE = ResourceSlice(spec=ResourceSliceSpec(driver="gpu.example.com"))
SAME = replace(SLICE, metadata=ObjectMeta(labels={"a": "b"}))
MORE = replace(SLICE, spec=replace(SLICE.spec, devices=(Device(name="gpu-0"),)))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(node_event(None, node("n")), True, id="node"),
        pytest.param(node_event(node("n"), node("n", labels={"a": "b"})), True, id="labels"),
        pytest.param(node_event(node("n"), node("n", taints=(TAINT,))), False, id="taints"),
        pytest.param(node_event(node("n"), None), False, id="node-gone"),
        pytest.param(object_event(RESOURCE_SLICE, None, ResourceSlice()), True, id="slice"),
        pytest.param(object_event(RESOURCE_SLICE, ResourceSlice(), None), False, id="slice-gone"),
        pytest.param(object_event(RESOURCE_SLICE, SLICE, MORE), True, id="slice-with-more"),
        pytest.param(object_event(RESOURCE_SLICE, SLICE, SAME), False, id="slice-as-before"),
        pytest.param(object_event(RESOURCE_SLICE, node("n"), node("n")), True, id="taint-rule"),
        pytest.param(object_event(DEVICE_CLASS, None, device_class("c")), True, id="class"),
        pytest.param(
            object_event(DEVICE_CLASS, device_class("c"), device_class("c")), False, id="same-class"
        ),
        pytest.param(
            object_event(DEVICE_CLASS, device_class("c"), device_class("c", "example.com/gpu")),
            True,
            id="another-class",
        ),
    ],
)
def test_what_may_bring_devices_helps(event: ClusterEvent | None, expected: bool) -> None:
    assert worth("DynamicResources", using("mine"), event) is expected


# Gates -----------------------------------------------------------------------------------------


def test_the_last_gate_counts() -> None:
    gated = pod("a", scheduling_gates=(PodSchedulingGate(name="x"),))
    assert worth("SchedulingGates", pod("a"), pod_event(gated, pod("a")))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(object_event(RESOURCE_CLAIM, None, claim("mine")), True, id="its-claim"),
        pytest.param(object_event(RESOURCE_CLAIM, None, claim("other")), False, id="another"),
        pytest.param(
            object_event(RESOURCE_CLAIM, claim("other", allocated=True), claim("other")),
            False,
            id="free-devices",
        ),
        pytest.param(node_event(None, node("n")), False, id="node"),
    ],
)
def test_a_gated_pod_waits_for_its_claims(event: ClusterEvent | None, expected: bool) -> None:
    assert worth(GATE, using("mine"), event) is expected


# In the queue ----------------------------------------------------------------------------------


def test_events_about_one_claim_leave_the_pods_of_others_alone() -> None:
    asked: list[str] = []

    def counted(pod: Pod) -> tuple[str, ...] | None:
        asked.append(pod.metadata.name)
        return claim_names(pod)

    queue = SchedulingQueue(clock=FakeClock(), gate=lambda _: None, hints=default_hints(counted))
    for number in range(100):
        claims = (PodResourceClaim(name="gpu", resource_claim_name=f"claim-{number}"),)
        queue.add(pod(f"pod-{number}", resource_claims=claims))
    while (queued := queue.pop_ready()) is not None:
        queue.reject(queued, frozenset({"DynamicResources"}))
    queue.move(object_event(RESOURCE_CLAIM, None, claim("claim-7")))
    assert asked == ["pod-7"]
    woken = queue.pop_ready()
    assert woken is not None
    assert woken.uid == "pod-7"
    assert queue.pop_ready() is None
    queue.move(object_event(RESOURCE_CLAIM, claim("claim-7", allocated=True), claim("claim-7")))
    assert queue.counts()["backoff"] == 99


def test_pods_of_one_template_cost_one_question() -> None:
    asked: list[str] = []

    def served_by_devices(name: str) -> bool:
        asked.append(name)
        return False

    hints = default_hints(claim_names, served_by_devices=served_by_devices)
    queue = SchedulingQueue(clock=FakeClock(), gate=lambda _: None, hints=hints)
    for number in range(100):
        spec = asking(example_com__gpu="1").spec
        queue.add(replace(pod(f"pod-{number}"), spec=spec))
    while (queued := queue.pop_ready()) is not None:
        queue.reject(queued, frozenset({"NodeResourcesFit"}))
    event = node_event(None, offering(pods="10"))
    assert event is not None
    queue.move(event)
    assert asked == ["example.com/gpu"]
    event = node_event(None, offering(pods="10", example_com__gpu="1"))
    assert event is not None
    queue.move(event)
    assert queue.counts()["backoff"] == 100
