"""Ends pods on nodes with NoExecute taints that they do not tolerate, or no longer.

A pod leaves at once if a taint is not tolerated at all, and after the shortest of its tolerations'
times otherwise, counted from when we first saw it on the tainted node. The time stands once it is
set, unless the pod turns out to tolerate everything, or the taints go. Upstream counterpart:
pkg/controller/tainteviction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dray.api.core import Node, Pod, Toleration
from dray.api.node_taints import evicting_taints, matching_tolerations
from dray.api.wire import Time
from dray.controllers.assigned_pods import AssignedPods
from dray.controllers.disruption_target import announce_disruption
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import NotFound
from dray.metrics import Family

__all__ = ["TaintEvictionController"]


class TaintEvictionController(Reconciler):
    """Keys are names of pods."""

    name = "taint-eviction-controller"
    workers = 8

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._due: dict[Key, float] = {}  # when pods have to leave, by the monotonic clock
        self._deletions = Family(
            "taint_eviction_controller_pod_deletions_total",
            "Pods that were deleted because of a taint.",
            kind="counter",
        )
        self._nodes = context.informers.of(Node)
        self._pods = context.informers.of(Pod)
        self._assigned = AssignedPods(context.informers)
        self._nodes.listen(self._node_changed)
        self._pods.listen(self._pod_changed)

    async def reconcile(self, key: Key) -> Result:
        pod = self._pods.get(key.name, key.namespace)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            self._due.pop(key, None)
            return DONE
        node = self._nodes.get(pod.spec.node_name)
        now = self.context.clock.monotonic()
        due = self._due.get(key)
        if node is not None:
            due = self._judge(key, pod, node, now)
        elif due is None:
            return DONE  # pods of nodes that are gone are garbage, not evicted
        if due is None:
            self._cancel(key, pod)
            return DONE
        if due > now:
            return Result(due - now)
        await self._evict(key, pod)
        return DONE

    def families(self) -> Sequence[Family]:
        return (self._deletions,)

    # Private -----------------------------------------------------------------------------------

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            return
        if evicting_taints(new) != (evicting_taints(old) if old is not None else ()):
            for pod in self._assigned.on(new.metadata.name):
                self.queue.add(Key.of(pod))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None and self._due:
                self._due.pop(Key.of(old), None)
            return
        if (
            old is not None
            and old.spec.node_name == new.spec.node_name
            and old.spec.tolerations == new.spec.tolerations
        ):
            return
        node = self._nodes.get(new.spec.node_name)
        if node is not None and (evicting_taints(node) or Key.of(new) in self._due):
            self.queue.add(Key.of(new))

    def _judge(self, key: Key, pod: Pod, node: Node, now: float) -> float | None:
        """When a pod has to leave its node; None if it may stay."""
        taints = evicting_taints(node)
        tolerations = matching_tolerations(pod.spec.tolerations, taints)
        if tolerations is None:
            return now
        seconds = _shortest(tolerations)
        if seconds is None:
            return None
        return self._due.setdefault(key, now + seconds)

    async def _evict(self, key: Key, pod: Pod) -> None:
        client = self.context.client
        if not self.queue.failures_count(key):
            self._tell(pod, f"Marking for deletion Pod {key}")
        try:
            await announce_disruption(
                client,
                pod,
                reason="DeletionByTaintManager",
                message="Taint manager: deleting due to NoExecute taint",
                now=Time(self.context.clock.now()),
            )
            await client.delete(Pod, key.name, namespace=key.namespace, uid=pod.metadata.uid)
        except NotFound:
            pass
        else:
            self._deletions.add()
        self._due.pop(key, None)

    def _cancel(self, key: Key, pod: Pod) -> None:
        if self._due.pop(key, None) is not None:
            self._tell(pod, f"Cancelling deletion of Pod {key}")

    def _tell(self, pod: Pod, message: str) -> None:
        self.context.events.record(pod, "Normal", "TaintManagerEviction", message)


def _shortest(tolerations: Iterable[Toleration]) -> float | None:
    """For how long all of them hold; None if for ever."""
    limits = [
        max(each.toleration_seconds, 0)
        for each in tolerations
        if each.toleration_seconds is not None
    ]
    return min(limits, default=None)
