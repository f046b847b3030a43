from __future__ import annotations

import pytest

from dray.api.core import Binding, ObjectReference
from dray.api.meta import ObjectMeta
from dray.server.admission.pod_topology_labels import PodTopologyLabels
from dray.server.state import FixedState
from tests.unit.server.admission.builders import PODS, create, node, pod

ZONE = "topology.kubernetes.io/zone"
THERE = FixedState(node(labels={ZONE: "z", "other": "x"}))


def binding(kind: str = "Node", **labels: str) -> Binding:
    return Binding(
        metadata=ObjectMeta(name="p", namespace="ns", labels=labels),
        target=ObjectReference(kind=kind, name="n1"),
    )


def test_a_binding_gets_the_zone_of_its_node_and_keeps_its_own_labels() -> None:
    request = create(PODS, binding(a="b"), subresource="binding")
    assert PodTopologyLabels(THERE).admit(request).metadata.labels == {"a": "b", ZONE: "z"}


def test_a_pod_created_on_a_node_has_its_zone_whatever_it_says() -> None:
    made = pod(node_name="n1", metadata={"labels": {ZONE: "elsewhere"}})
    assert PodTopologyLabels(THERE).admit(create(PODS, made)).metadata.labels == {ZONE: "z"}


@pytest.mark.parametrize(
    ("obj", "state"),
    [
        pytest.param(pod(), THERE, id="unscheduled"),
        pytest.param(pod(node_name="n1"), FixedState(), id="no-such-node"),
        pytest.param(pod(node_name="n1"), FixedState(node()), id="node-without-zone"),
        pytest.param(binding("Other"), THERE, id="not-to-a-node"),
    ],
)
def test_without_a_zone_nothing_changes(obj: object, state: FixedState) -> None:
    assert PodTopologyLabels(state).admit(create(PODS, obj)) is obj
