"""Nodes and pods in the few words a test about placing them needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dray.api.core import Container, Node, NodeSpec, NodeStatus, Pod, PodSpec, ResourceRequirements
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.scheduler.feasibility import Feasibility
from dray.scheduler.filters import Rejection
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def amounts(texts: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in texts.items()}


def node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    **spec: Any,
) -> Node:
    """A node with room for ten pods and its name as its host name, unless told otherwise."""
    offered = {"pods": "10", "cpu": "4", "memory": "8Gi"} | dict(allocatable or {})
    return Node(
        metadata=ObjectMeta(name=name, labels={HOSTNAME: name} | dict(labels or {})),
        spec=NodeSpec(**spec),
        status=NodeStatus(allocatable=amounts(offered)),
    )


def container(requests: Mapping[str, str] | None = None, **rest: Any) -> Container:
    resources = ResourceRequirements(requests=amounts(requests or {}))
    return Container(name="app", resources=resources, **rest)


def pod(
    name: str = "p",
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    requests: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """A pod of one container, whose uid is its name."""
    return Pod(
        metadata=ObjectMeta(
            name=name, namespace=namespace, uid=name, labels=dict(labels or {}), **(metadata or {})
        ),
        spec=PodSpec(**({"containers": (container(requests),)} | spec)),
    )


def info(name: str = "p", **rest: Any) -> PodInfo:
    return PodInfo.of(pod(name, **rest))


def snapshot(*nodes: Node) -> Snapshot:
    found = Snapshot()
    for each in nodes:
        found.apply_node(each)
    return found


def ask(cluster: Snapshot, asked: PodInfo, node_name: str = "n") -> Rejection | None:
    """What all filters say of one node."""
    return Feasibility(cluster).check(asked).on(cluster.nodes[node_name])
