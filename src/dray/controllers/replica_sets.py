"""Keeps as many pods of a template as a replica set says. Upstream's: pkg/controller/replicaset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from dray.api.apps import (
    REPLICA_SET_CONDITION_REPLICA_FAILURE,
    ReplicaSet,
    ReplicaSetCondition,
    ReplicaSetStatus,
)
from dray.api.core import Pod
from dray.api.wire import Time, replace
from dray.controllers.deletion_order import by_deletion_cost
from dray.controllers.expectations import WAITING, Expectations
from dray.controllers.owners import Owners, gathering_seconds, is_same_wish
from dray.controllers.ownership import (
    controlled_by,
    controller_of,
    index_by_controller,
    selector_of,
)
from dray.controllers.pod_control import BURST_PODS_MAX, PodControl, all_at_once, slow_start
from dray.controllers.pod_states import (
    is_active,
    is_available,
    is_ready,
    is_terminating,
    seconds_to_available,
)
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import APIError, ParseError, TransportError

__all__ = ["ReplicaSetController"]

_Failure = APIError | TransportError


class ReplicaSetController(Reconciler):
    """Replica sets, and the pods they own."""

    name = "replicaset-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._client: Final = context.client
        self._pods = PodControl(context)
        self._replica_sets = context.informers.of(ReplicaSet)
        self._written = Expectations(self._replica_sets, context.clock)
        index_by_controller(self._replica_sets)
        Owners(
            self._replica_sets,
            self._pods.view,
            self.queue,
            kind="ReplicaSet",
            selector=lambda replica_set: replica_set.spec.selector,
            count=lambda replica_set: replica_set.spec.replicas or 0,
        )
        self._replica_sets.listen(self._hear)

    async def reconcile(self, key: Key) -> Result:
        replica_set = self._replica_sets.get(key.name, key.namespace)
        if replica_set is None:
            self._pods.expectations.forget(key)
            self._written.forget(key)
            return DONE
        if not self._pods.expectations.met(key) or not self._written.met(key):
            return WAITING
        try:
            active = await self._claim(replica_set)
        except ParseError:
            return DONE  # it selects nothing, and the API should never have taken it
        failure: _Failure | None = None
        if replica_set.metadata.deletion_timestamp is None:
            failure = await self._scale(replica_set, active)
        status = self._status(replica_set, active, failure)
        await self._write(replica_set, status)
        if failure is not None:
            raise failure
        wait = None
        if status.ready_replicas != status.available_replicas:
            seconds = replica_set.spec.min_ready_seconds
            wait = seconds_to_available(active, seconds, self.context.clock.now())
        return Result(wait)

    # Private -----------------------------------------------------------------------------------

    def _hear(self, old: ReplicaSet | None, new: ReplicaSet | None) -> None:
        known = new or old
        assert known is not None
        seconds = 0.0
        if old is not None and new is not None and is_same_wish(old, new):
            seconds = gathering_seconds(new.spec.replicas or 0)
        self.queue.add_after(Key.of(known), seconds)

    async def _claim(self, replica_set: ReplicaSet) -> list[Pod]:
        return await self._pods.dependents.claim(
            replica_set, replica_set.spec.selector, only=is_active
        )

    async def _scale(self, replica_set: ReplicaSet, active: Sequence[Pod]) -> _Failure | None:
        missing = _wanted(replica_set) - len(active)
        if missing > 0:
            template = replica_set.spec.template
            make = partial(self._pods.create, replica_set, template)
            return (await slow_start([make] * min(missing, BURST_PODS_MAX))).failure
        if missing < 0:
            count = min(-missing, BURST_PODS_MAX)
            chosen = self._chosen(replica_set, active, count)
            delete = partial(self._pods.delete, replica_set)
            return (await all_at_once(delete, chosen)).failure
        return None

    def _chosen(self, replica_set: ReplicaSet, active: Sequence[Pod], count: int) -> Sequence[Pod]:
        """Of the active ones, those to delete."""
        if count >= len(active):
            return active
        related = list(self._related(replica_set)) or active
        return by_deletion_cost(active, related, self.context.clock.now())[:count]

    def _related(self, replica_set: ReplicaSet) -> Iterator[Pod]:
        """The pods of all replica sets of the same deployment."""
        reference = controller_of(replica_set)
        if reference is None:
            return
        for sibling in controlled_by(self._replica_sets, reference.uid):
            yield from self._pods.dependents.of(sibling)

    def _status(
        self, replica_set: ReplicaSet, active: Sequence[Pod], failure: _Failure | None
    ) -> ReplicaSetStatus:
        now = self.context.clock.now()
        template = replica_set.spec.template.metadata.labels.items()
        seconds = replica_set.spec.min_ready_seconds
        matches = selector_of(replica_set.spec.selector).matcher()
        return replace(
            replica_set.status,
            replicas=len(active),
            fully_labeled_replicas=sum(template <= pod.metadata.labels.items() for pod in active),
            ready_replicas=sum(map(is_ready, active)),
            available_replicas=sum(is_available(pod, seconds, now) for pod in active),
            terminating_replicas=sum(
                is_terminating(pod) and matches(pod.metadata.labels)
                for pod in self._pods.dependents.of(replica_set)
            ),
            observed_generation=replica_set.metadata.generation,
            conditions=self._conditions(replica_set, len(active), failure),
        )

    def _conditions(
        self, replica_set: ReplicaSet, active_count: int, failure: _Failure | None
    ) -> tuple[ReplicaSetCondition, ...]:
        failed = REPLICA_SET_CONDITION_REPLICA_FAILURE
        conditions = replica_set.status.conditions
        if failure is None:
            return tuple(each for each in conditions if each.type != failed)
        if any(each.type == failed for each in conditions):
            return conditions
        missing = _wanted(replica_set) > active_count
        condition = ReplicaSetCondition(
            type=failed,
            status="True",
            last_transition_time=Time(self.context.clock.now()),
            reason="FailedCreate" if missing else "FailedDelete",
            message=str(failure),
        )
        return (*conditions, condition)

    async def _write(self, replica_set: ReplicaSet, status: ReplicaSetStatus) -> None:
        if status == replica_set.status:
            return
        written = await self._client.update_status(replace(replica_set, status=status))
        self._written.changed(Key.of(replica_set), written)


def _wanted(replica_set: ReplicaSet) -> int:
    wanted = replica_set.spec.replicas
    return 1 if wanted is None else wanted
