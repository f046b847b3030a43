"""Daemon sets, nodes and pods, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from dray.api.apps import (
    LABEL_CONTROLLER_REVISION_HASH,
    DaemonSet,
    DaemonSetSpec,
    DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet,
)
from dray.api.core import Node, NodeSpec, Pod, PodCondition, PodSpec, PodStatus, Taint
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.controllers.daemon_sets.placement import Placement
from dray.controllers.daemon_sets.plan import Scene, survey
from tests.unit.controllers.workloads import make_template

__all__ = ["MARK", "NOW", "make_daemon_set", "make_node", "make_pod", "make_scene"]

# The hash of the revision of now.
MARK = "new"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_daemon_set(
    *,
    surge: int | str = 0,
    unavailable: int | str = 1,
    strategy: str = "RollingUpdate",
    annotations: Mapping[str, str] | None = None,
    min_ready_seconds: int = 0,
    **template: Any,
) -> DaemonSet:
    update = RollingUpdateDaemonSet(max_surge=surge, max_unavailable=unavailable)
    return DaemonSet(
        metadata=ObjectMeta(name="agent", uid="agent", annotations=dict(annotations or {})),
        spec=DaemonSetSpec(
            template=make_template({"app": "agent"}, **template),
            update_strategy=DaemonSetUpdateStrategy(type=strategy, rolling_update=update),
            min_ready_seconds=min_ready_seconds,
        ),
    )


def make_node(
    name: str, *, labels: Mapping[str, str] | None = None, taints: Sequence[Taint] = ()
) -> Node:
    return Node(
        metadata=ObjectMeta(name=name, labels=dict(labels or {})),
        spec=NodeSpec(taints=tuple(taints)),
    )


def make_pod(
    name: str,
    node: str,
    phase: str = "Running",
    *,
    new: bool = True,
    ready: bool = True,
    going: bool = False,
    age: float = 0,
) -> Pod:
    mark = MARK if new else "old"
    at = Time(NOW - timedelta(seconds=age))
    condition = PodCondition(type="Ready", status="True", last_transition_time=at)
    return Pod(
        metadata=ObjectMeta(
            name=name,
            uid=name,
            labels={LABEL_CONTROLLER_REVISION_HASH: mark},
            creation_timestamp=at,
            deletion_timestamp=at if going else None,
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase, conditions=(condition,) if ready else ()),
    )


def make_scene(
    pods: Sequence[Pod], nodes: Sequence[Node | str], daemon_set: DaemonSet | None = None
) -> Scene:
    daemon_set = daemon_set or make_daemon_set()
    known = [node if isinstance(node, Node) else make_node(node) for node in nodes]
    return survey(daemon_set, Placement(daemon_set), MARK, known, pods, NOW)
