"""Pods, events and a queue, with defaults, for tests of what waits to be scheduled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dray.api.core import Node, NodeSpec, NodeStatus, Pod, PodSpec, PodStatus
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.scheduler.cluster_events import NODE, Action, ClusterEvent
from dray.scheduler.queued_pod import QueuedPod


def pod(
    name: str,
    *,
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    status: PodStatus | None = None,
    **spec: Any,
) -> Pod:
    """A pod whose uid is its name."""
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=name, labels=labels or {}),
        spec=PodSpec(priority=priority, **spec),
        status=status or PodStatus(),
    )


def node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    **spec: Any,
) -> Node:
    amounts = {key: Quantity.parse(text) for key, text in (allocatable or {}).items()}
    return Node(
        metadata=ObjectMeta(name=name, labels=labels or {}),
        spec=NodeSpec(**spec),
        status=NodeStatus(allocatable=amounts),
    )


def queued(name: str, **fields: Any) -> QueuedPod:
    return QueuedPod(pod(name), name, 0, 0.0, **fields)


def node_added(name: str = "node-1") -> ClusterEvent:
    return ClusterEvent(NODE, Action.ADD, None, node(name))
