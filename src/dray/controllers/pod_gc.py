"""Deletes pods that nobody else deletes.

Pods of nodes that no longer exist, pods that should have ended on a node that somebody declared out
of service, pods that were deleted before they got a node, and the oldest of those that ended when
there are too many of them. All pods are looked at every so often: none of this is urgent. A node
that is missing may just not have been heard of yet, so it is waited for, and asked for, before its
pods are given up. Upstream counterpart: pkg/controller/podgc.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from dray.api.core import (
    CONDITION_TRUE,
    NODE_CONDITION_READY,
    POD_PHASE_FAILED,
    POD_PHASE_SUCCEEDED,
    Node,
    Pod,
)
from dray.api.node_taints import TAINT_OUT_OF_SERVICE
from dray.api.wire import Time
from dray.client import PatchType
from dray.controllers.disruption_target import announce_disruption
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import NotFound
from dray.metrics import Family

__all__ = ["PodGarbageCollector"]

# Upstream's: how often pods are looked at, how long a node may be missing, and how many pods that
# ended are kept for people to look at.
CHECK_SECONDS: Final = 20.0
QUARANTINE_SECONDS: Final = 40.0
ENDED_PODS_MAX: Final = 12_500

# What is looked at without a pause: a few milliseconds, after which others in this process may run.
TURN_PODS: Final = 5000

_ENDED: Final = frozenset({POD_PHASE_SUCCEEDED, POD_PHASE_FAILED})
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class _Reason(Enum):
    """Why a pod goes: upstream's words."""

    TERMINATED = "terminated"
    ORPHANED = "orphaned"
    OUT_OF_SERVICE = "out-of-service"
    UNSCHEDULED = "unscheduled"


class PodGarbageCollector(Reconciler):
    """Keys are names of pods, and of nodes that are missing, which have no namespace."""

    name = "pod-garbage-collector-controller"

    def __init__(
        self,
        context: Context,
        *,
        check_seconds: float = CHECK_SECONDS,
        quarantine_seconds: float = QUARANTINE_SECONDS,
        ended_pods_max: int = ENDED_PODS_MAX,
    ) -> None:
        """With `ended_pods_max` of 0, pods that ended are kept."""
        super().__init__(context)
        self._check_seconds = check_seconds
        self._quarantine_seconds = quarantine_seconds
        self._ended_pods_max = ended_pods_max
        self._surplus: set[Key] = set()  # pods that ended, beyond those that are kept
        self._missing: dict[str, float] = {}  # nodes that pods name, and since when they are
        self._gone: set[str] = set()  # of those, the ones that do not exist
        self._pods = context.informers.of(Pod)
        self._nodes = context.informers.of(Node)
        self._deletions = Family(
            "pod_gc_collector_force_delete_pods_total",
            "Pods that were deleted because nobody else would.",
            kind="counter",
            labels=("namespace", "reason"),
        )

    async def reconcile(self, key: Key) -> Result:
        if not key.namespace:
            await self._look_for(key.name)
            return DONE
        pod = self._pods.get(key.name, key.namespace)
        reason = self._reason(pod) if pod is not None else None
        if pod is not None and reason is not None:
            await self._end(pod, reason)
        return DONE

    async def run(self) -> None:
        while True:
            await self._check()
            await self.context.clock.sleep(self._check_seconds)

    def families(self) -> Sequence[Family]:
        return (self._deletions,)

    # Which pods --------------------------------------------------------------------------------

    async def _check(self) -> None:
        """Look at all pods."""
        pods = self._pods.values()
        ended: list[Pod] = []
        missing: set[str] = set()
        for count, pod in enumerate(pods, 1):
            if count % TURN_PODS == 0:
                await asyncio.sleep(0)
            node = pod.spec.node_name
            if pod.status.phase in _ENDED:
                ended.append(pod)
            if node and self._nodes.get(node) is None:
                missing.add(node)
        surplus = len(ended) - self._ended_pods_max if self._ended_pods_max else 0
        self._surplus = {Key.of(pod) for pod in _oldest(ended, surplus)}
        self._note_missing(missing)
        for count, pod in enumerate(pods, 1):
            if count % TURN_PODS == 0:
                await asyncio.sleep(0)
            if self._reason(pod) is not None:
                self.queue.add(Key.of(pod))

    def _reason(self, pod: Pod) -> _Reason | None:
        """Why a pod is to go; None if it is somebody else's to say."""
        node_name = pod.spec.node_name
        if _is_ending_now(pod):
            return None
        if self._surplus and Key.of(pod) in self._surplus:
            return _Reason.TERMINATED
        if node_name in self._gone and self._nodes.get(node_name) is None:
            return _Reason.ORPHANED
        if pod.metadata.deletion_timestamp is None:
            return None
        if not node_name:
            return _Reason.UNSCHEDULED
        node = self._nodes.get(node_name)
        return _Reason.OUT_OF_SERVICE if node is not None and _is_out_of_service(node) else None

    def _note_missing(self, missing: set[str]) -> None:
        now = self.context.clock.monotonic()
        self._missing = {name: self._missing.get(name, now) for name in missing}
        self._gone &= missing
        for name, since in self._missing.items():
            if name not in self._gone and now - since >= self._quarantine_seconds:
                self.queue.add(Key("", name))

    async def _look_for(self, name: str) -> None:
        """Ask for a node that has been missing for long enough. What is gone stays so."""
        if name not in self._missing or self._nodes.get(name) is not None:
            return
        try:
            await self.context.client.get(Node, name)
        except NotFound:
            self._gone.add(name)
            for pod in self._pods.values():
                if pod.spec.node_name == name:
                    self.queue.add(Key.of(pod))
        else:
            self._missing.pop(name, None)

    # What is done ------------------------------------------------------------------------------

    async def _end(self, pod: Pod, reason: _Reason) -> None:
        """Have a pod be Failed, as there may be nobody to say so, and delete it at once."""
        client, metadata = self.context.client, pod.metadata
        try:
            if pod.status.phase not in _ENDED:
                await self._fail(pod, reason)
            await client.delete(
                Pod,
                metadata.name,
                namespace=metadata.namespace,
                uid=metadata.uid,
                grace_period_seconds=0,
            )
        except NotFound:
            return
        self._deletions.add(metadata.namespace, reason.value)

    async def _fail(self, pod: Pod, reason: _Reason) -> None:
        metadata = pod.metadata
        if reason is _Reason.ORPHANED:
            await announce_disruption(
                self.context.client,
                pod,
                reason="DeletionByPodGC",
                message="PodGC: node no longer exists",
                now=Time(self.context.clock.now()),
                phase=POD_PHASE_FAILED,
            )
            return
        await self.context.client.patch(
            Pod,
            metadata.name,
            {"metadata": {"uid": metadata.uid}, "status": {"phase": POD_PHASE_FAILED}},
            namespace=metadata.namespace,
            type=PatchType.STRATEGIC,
            subresource="status",
        )


def _oldest(ended: Iterable[Pod], count: int) -> Sequence[Pod]:
    """Those that go first: evicted ones, as no controller looks at them, then the oldest."""
    return sorted(ended, key=_age)[:count] if count > 0 else ()


def _age(pod: Pod) -> tuple[bool, datetime, str]:
    created = pod.metadata.creation_timestamp
    evicted = pod.status.phase == POD_PHASE_FAILED and pod.status.reason == "Evicted"
    return not evicted, created.instant if created else _LONG_AGO, pod.metadata.name


def _is_ending_now(pod: Pod) -> bool:
    """Whether all is done that we could do."""
    metadata = pod.metadata
    ends = metadata.deletion_timestamp is not None and not metadata.deletion_grace_period_seconds
    return ends and pod.status.phase in _ENDED


def _is_out_of_service(node: Node) -> bool:
    ready = any(
        each.type == NODE_CONDITION_READY and each.status == CONDITION_TRUE
        for each in node.status.conditions
    )
    return not ready and any(taint.key == TAINT_OUT_OF_SERVICE for taint in node.spec.taints)
