"""Watches over nodes: whether they live, what taints them, who may still count on them.

A node's own words take effect at once: its conditions become taints, and the taints of a node that
is ready again go, as soon as it says so. Silence is noticed by a look at all nodes every few
seconds, and takes longer to be believed: conditions become Unknown, pods are no longer ready, and
the node is marked for eviction when its zone allows it. Before a node is declared dead its lease is
read once more, should our view of leases be what is late. Upstream counterpart:
pkg/controller/nodelifecycle; unlike there, a restart does not take the marks off nodes that are
still sick.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from dray.api.coordination import Lease
from dray.api.core import (
    CONDITION_FALSE,
    CONDITION_TRUE,
    CONDITION_UNKNOWN,
    NODE_CONDITION_DISK_PRESSURE,
    NODE_CONDITION_MEMORY_PRESSURE,
    NODE_CONDITION_PID_PRESSURE,
    NODE_CONDITION_READY,
    POD_CONDITION_READY,
    Node,
    NodeCondition,
    Pod,
)
from dray.api.node_taints import TAINT_UNREACHABLE
from dray.api.wire import Time, replace
from dray.controllers.assigned_pods import AssignedPods
from dray.controllers.node_lifecycle.condition_taints import evicting_key, is_marked, wanted_taints
from dray.controllers.node_lifecycle.health import HealthBook, node_condition
from dray.controllers.node_lifecycle.zones import Zones, zone_of
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import APIError, NotFound, TransportError
from dray.metrics import Family

__all__ = ["NodeLifecycleController"]

_log = logging.getLogger(__name__)

# Upstream's: how often all nodes are looked at, how long a node may be silent, and how long one may
# be that was just created.
MONITOR_SECONDS: Final = 5.0
GRACE_SECONDS: Final = 50.0
STARTUP_GRACE_SECONDS: Final = 60.0

# What is looked at without a pause: a few milliseconds, after which others in this process may run.
TURN_NODES: Final = 500

LEASE_NAMESPACE: Final = "kube-node-lease"
LABEL_EXCLUDE_DISRUPTION: Final = "node.kubernetes.io/exclude-disruption"

# Labels that have an older name, under which some still look for them.
_OLDER_LABELS: Final = (
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
)

# What is no longer known of a silent node; whether its network works is not the node's to say.
_OF_THE_NODE: Final = (
    NODE_CONDITION_READY,
    NODE_CONDITION_MEMORY_PRESSURE,
    NODE_CONDITION_DISK_PRESSURE,
    NODE_CONDITION_PID_PRESSURE,
)


class NodeLifecycleController(Reconciler):
    """Keys are names of nodes and, with their namespaces, of pods that may have to be unready."""

    name = "node-lifecycle-controller"
    component = "node-controller"
    workers = 8

    def __init__(
        self,
        context: Context,
        *,
        monitor_seconds: float = MONITOR_SECONDS,
        grace_seconds: float = GRACE_SECONDS,
        startup_grace_seconds: float = STARTUP_GRACE_SECONDS,
        zones: Zones | None = None,
    ) -> None:
        super().__init__(context)
        self._monitor_seconds = monitor_seconds
        self._grace_seconds = grace_seconds
        self._startup_grace_seconds = startup_grace_seconds
        self._zones = zones or Zones(context.clock)
        self._health = HealthBook(context.clock)
        self._known: dict[str, Node] = {}
        self._doomed: set[str] = set()  # nodes to be marked for eviction, once their zone allows it
        self._evictions = Family(
            "node_collector_evictions_total",
            "Nodes that were marked for eviction.",
            kind="counter",
            labels=("zone",),
        )
        self._leases = context.informers.of(Lease)
        self._pods = context.informers.of(Pod)
        self._assigned = AssignedPods(context.informers)
        self._nodes = context.informers.of(Node)
        self._nodes.listen(self._node_changed)
        self._pods.listen(self._pod_changed)

    async def reconcile(self, key: Key) -> Result:
        if key.namespace:
            await self._unready(key)
            return DONE
        node = self._nodes.get(key.name)
        return await self._taint(node) if node is not None else DONE

    async def run(self) -> None:
        while True:
            await self._monitor()
            await self.context.clock.sleep(self._monitor_seconds)

    def families(self) -> Sequence[Family]:
        return (self._evictions,)

    # What is heard -----------------------------------------------------------------------------

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self.queue.add(Key.of(new))
            # A node that speaks sees to its pods itself.
            if evicting_key(new) == TAINT_UNREACHABLE and (old is None or not evicting_key(old)):
                for pod in self._assigned.on(new.metadata.name):
                    self.queue.add(Key.of(pod))
        elif old is not None:
            self._doomed.discard(old.metadata.name)
            self._zones.give_back(old.metadata.name)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None or not new.spec.node_name:
            return
        if old is not None and old.spec.node_name == new.spec.node_name:
            return
        node = self._nodes.get(new.spec.node_name)
        if node is not None and evicting_key(node):
            self.queue.add(Key.of(new))

    # Taints ------------------------------------------------------------------------------------

    async def _taint(self, node: Node) -> Result:
        """Give a node the taints and labels that it should have; nothing is written if it has."""
        name, zone = node.metadata.name, zone_of(node)
        marked = is_marked(node)
        wait_seconds: float | None = None
        evict = marked and not self._zones.all_disrupted
        if name in self._doomed and evicting_key(node) and not marked:
            wait_seconds = self._zones.ask(zone, name)
            evict = wait_seconds == 0
        taints = wanted_taints(node, evict=evict, now=Time(self.context.clock.now()))
        labels = _missing_labels(node)
        patch: dict[str, Any] = {}
        if taints != node.spec.taints:
            patch["spec"] = {"taints": taints}
        if labels:
            patch["metadata"] = {"labels": labels}
        if patch:
            await self._patch(node, patch)
            if evict and not marked:
                self._evictions.add(zone)
        if evict or not evicting_key(node):
            self._doomed.discard(name)
            self._zones.give_back(name)
        return Result(wait_seconds) if wait_seconds else DONE

    async def _patch(
        self, node: Node, patch: dict[str, Any], *, subresource: str = ""
    ) -> Node | None:
        """Change a node if it is still as we know it; None if it is gone. Raises Conflict."""
        metadata = patch.setdefault("metadata", {})
        metadata["resourceVersion"] = node.metadata.resource_version
        try:
            return await self.context.client.patch(
                Node, node.metadata.name, patch, subresource=subresource
            )
        except NotFound:
            return None

    # Pods --------------------------------------------------------------------------------------

    async def _unready(self, key: Key) -> None:
        """A pod of a node that does not answer serves nobody."""
        pod = self._pods.get(key.name, key.namespace)
        node = self._nodes.get(pod.spec.node_name) if pod is not None else None
        if pod is None or node is None or not evicting_key(node):
            return
        conditions = tuple(
            replace(
                each,
                status=CONDITION_FALSE,
                last_transition_time=Time(self.context.clock.now()),
            )
            if each.type == POD_CONDITION_READY and each.status == CONDITION_TRUE
            else each
            for each in pod.status.conditions
        )
        if conditions == pod.status.conditions:
            return
        status = replace(pod.status, conditions=conditions)
        try:
            await self.context.client.update_status(replace(pod, status=status))
        except NotFound:
            return
        self.context.events.record(pod, "Warning", "NodeNotReady", "Node is not ready")

    # Silence -----------------------------------------------------------------------------------

    async def _monitor(self) -> None:
        """Look at all nodes: who is new, gone or silent, and what that says of the zones."""
        nodes = self._nodes.values()
        self._introduce(nodes)
        ready: dict[str, list[bool]] = {}
        sick: list[Node] = []
        for count, node in enumerate(nodes, 1):
            if count % TURN_NODES == 0:
                await asyncio.sleep(0)
            try:
                current = await self._check(node)
            except (APIError, TransportError) as error:
                # Another look follows soon; until then nothing is held against the node.
                _log.info("the health of node %s is not known: %s", node.metadata.name, error)
                continue
            counted = ready.setdefault(zone_of(current), [])
            if LABEL_EXCLUDE_DISRUPTION not in current.metadata.labels:
                condition = node_condition(current, NODE_CONDITION_READY)
                counted.append(condition is not None and condition.status == CONDITION_TRUE)
            if evicting_key(current) and not is_marked(current):
                sick.append(current)
        was_disrupted = self._zones.all_disrupted
        if self._zones.judge(ready):
            _log.info("some nodes are ready: evictions go on")
            self._health.refresh()
        elif self._zones.all_disrupted and not was_disrupted:
            _log.warning("no node is ready: nothing is evicted")
            for node in nodes:
                self.queue.add(Key.of(node))  # marks are taken off
        for node in sick:
            self._doomed.add(node.metadata.name)
            self.queue.add(Key.of(node))

    def _introduce(self, nodes: Sequence[Node]) -> None:
        """Say which nodes came and went since the last look."""
        present = {node.metadata.name: node for node in nodes}
        for name, node in present.items():
            known = self._known.get(name)
            if known is None or known.metadata.uid != node.metadata.uid:
                if known is not None:
                    self._health.forget(name)
                self._tell(node, "RegisteredNode", f"Registered Node {name} in Controller")
        for name in self._known.keys() - present.keys():
            self._health.forget(name)
            self._tell(self._known[name], "RemovingNode", f"Removing Node {name} from Controller")
        self._known = present

    def _tell(self, node: Node, reason: str, message: str) -> None:
        told = f"Node {node.metadata.name} event: {message}"
        self.context.events.record(node, "Normal", reason, told)

    async def _check(self, node: Node) -> Node:
        """The node, as it is after what its silence says of it was written down."""
        name = node.metadata.name
        self._health.note(node, self._leases.get(name, LEASE_NAMESPACE))
        ready = node_condition(node, NODE_CONDITION_READY)
        grace = self._grace_seconds if ready is not None else self._startup_grace_seconds
        if self._health.silent_seconds(name) <= grace:
            return node
        conditions = _unknown(node, Time(self.context.clock.now()))
        if conditions == node.status.conditions or await self._was_renewed(name):
            return node
        patch = {"status": {"conditions": conditions}}
        written = await self._patch(node, patch, subresource="status")
        if written is None:
            return node
        if ready is not None and ready.status == CONDITION_TRUE:
            told = f"Node {name} status is now: NodeNotReady"
            self.context.events.record(node, "Normal", "NodeNotReady", told)
        return written

    async def _was_renewed(self, name: str) -> bool:
        """Whether the node is heard of after all: our view of leases may lag behind."""
        try:
            lease = await self.context.client.get(Lease, name, namespace=LEASE_NAMESPACE)
        except NotFound:
            return False
        return self._health.is_news(name, lease)


def _unknown(node: Node, now: Time) -> tuple[NodeCondition, ...]:
    """The conditions of a node that fell silent, or never spoke."""
    silent = tuple(
        replace(
            each,
            status=CONDITION_UNKNOWN,
            reason="NodeStatusUnknown",
            message="Kubelet stopped posting node status.",
            last_transition_time=now,
        )
        if each.type in _OF_THE_NODE and each.status != CONDITION_UNKNOWN
        else each
        for each in node.status.conditions
    )
    known = {each.type for each in silent}
    never = (
        NodeCondition(
            type=kind,
            status=CONDITION_UNKNOWN,
            reason="NodeStatusNeverUpdated",
            message="Kubelet never posted node status.",
            last_heartbeat_time=node.metadata.creation_timestamp,
            last_transition_time=now,
        )
        for kind in _OF_THE_NODE
        if kind not in known
    )
    return (*silent, *never)


def _missing_labels(node: Node) -> dict[str, str]:
    labels = node.metadata.labels
    return {
        older: labels[name]
        for name, older in _OLDER_LABELS
        if name in labels and labels.get(older) != labels[name]
    }
