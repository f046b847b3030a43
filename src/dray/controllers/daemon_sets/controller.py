"""Runs daemon sets. What is to be done is decided in the modules beside this one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from dray.api.apps import DaemonSet
from dray.api.core import Node, Pod
from dray.api.meta import LabelSelector
from dray.api.wire import replace
from dray.controllers.daemon_sets.backoff import FailureBackoff
from dray.controllers.daemon_sets.history import hash_of
from dray.controllers.daemon_sets.placement import NOWHERE, Placement
from dray.controllers.daemon_sets.plan import Plan, Scene, plan_nodes, plan_update, survey
from dray.controllers.daemon_sets.revision_control import RevisionControl
from dray.controllers.daemon_sets.status import current_status
from dray.controllers.expectations import WAITING, Expectations
from dray.controllers.owners import Owners, gathering_seconds, is_same_wish
from dray.controllers.pod_control import (
    EVENT_NORMAL,
    EVENT_WARNING,
    PodControl,
    all_at_once,
    slow_start,
)
from dray.controllers.pod_states import seconds_to_available
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import APIError, ParseError, TransportError

__all__ = ["DaemonSetController"]

# Upstream's: all nodes pulling an image at the same time is hard on who serves it.
BURST_PODS_MAX: Final = 250

_Failure = APIError | TransportError


class DaemonSetController(Reconciler):
    """Daemon sets, and the pods and revisions they own."""

    name = "daemonset-controller"
    workers = 2

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._client: Final = context.client
        self._pods = PodControl(context)
        self._nodes = context.informers.of(Node)
        self._daemon_sets = context.informers.of(DaemonSet)
        self._written = Expectations(self._daemon_sets, context.clock)
        self._revisions = RevisionControl(context, self._pods, self._written)
        self._backoff = FailureBackoff(context.clock)
        self._expected = (self._pods.expectations, self._revisions.expectations, self._written)
        self._placements: dict[Key, tuple[DaemonSet, Placement]] = {}
        Owners(
            self._daemon_sets,
            self._pods.view,
            self.queue,
            kind="DaemonSet",
            selector=lambda daemon_set: daemon_set.spec.selector,
            count=_pods_count,
        )
        Owners(
            self._daemon_sets,
            self._revisions.view,
            self.queue,
            kind="DaemonSet",
            selector=lambda daemon_set: daemon_set.spec.selector,
        )
        self._daemon_sets.listen(self._hear)
        self._nodes.listen(self._hear_node)

    async def reconcile(self, key: Key) -> Result:
        daemon_set = self._daemon_sets.get(key.name, key.namespace)
        if daemon_set is None:
            self._forget(key)
            return DONE
        if not all(each.met(key) for each in self._expected):
            return WAITING
        if daemon_set.spec.selector == LabelSelector():
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self.context.events.record(daemon_set, EVENT_WARNING, "SelectingAll", message)
            return DONE
        if daemon_set.metadata.deletion_timestamp is not None:
            return DONE
        try:
            pods = await self._pods.dependents.claim(daemon_set, daemon_set.spec.selector)
        except ParseError:
            return DONE  # it selects nothing, and the API should never have taken it
        history = await self._revisions.keep(daemon_set, pods)
        if history is None:
            return WAITING
        scene = survey(
            daemon_set,
            self._placement(daemon_set),
            hash_of(history.current[0]),
            self._nodes.values(),
            pods,
            self.context.clock.now(),
        )
        result = await self._advance(key, scene)
        await self._revisions.forget_old(daemon_set, history, pods)
        return result

    # Private -----------------------------------------------------------------------------------

    def _hear(self, old: DaemonSet | None, new: DaemonSet | None) -> None:
        known = new or old
        assert known is not None
        seconds = 0.0
        if old is not None and new is not None and is_same_wish(old, new):
            seconds = gathering_seconds(_pods_count(new))
        self.queue.add_after(Key.of(known), seconds)

    def _hear_node(self, old: Node | None, new: Node | None) -> None:
        if old is not None and new is not None:
            same_labels = old.metadata.labels == new.metadata.labels
            if same_labels and old.spec.taints == new.spec.taints:
                return  # a heartbeat, mostly
        for daemon_set in self._daemon_sets.values():
            placement = self._placement(daemon_set)
            before = placement.fit(old) if old is not None else NOWHERE
            after = placement.fit(new) if new is not None else NOWHERE
            if before != after:
                seconds = gathering_seconds(_pods_count(daemon_set))
                self.queue.add_after(Key.of(daemon_set), seconds)

    def _placement(self, daemon_set: DaemonSet) -> Placement:
        key = Key.of(daemon_set)
        known = self._placements.get(key)
        if known is not None and known[0] is daemon_set:
            return known[1]
        placement = Placement(daemon_set)
        self._placements[key] = (daemon_set, placement)
        return placement

    def _forget(self, key: Key) -> None:
        self._placements.pop(key, None)
        self._backoff.forget(key)
        for each in self._expected:
            each.forget(key)

    async def _advance(self, key: Key, scene: Scene) -> Result:
        daemon_set = scene.daemon_set
        plan = plan_nodes(scene)
        wait = self._replace_ended(key, scene, plan)
        failure = await self._carry_out(scene, plan)
        if not plan.nodes and not plan.surplus and failure is None:
            failure = await self._carry_out(scene, plan_update(scene))
        status = current_status(scene)
        if status != daemon_set.status:
            written = await self._client.update_status(replace(daemon_set, status=status))
            self._written.changed(key, written)
        if failure is not None:
            raise failure
        seconds = daemon_set.spec.min_ready_seconds
        waits = [wait, seconds_to_available(_all_pods(scene), seconds, scene.now)]
        return Result(min((each for each in waits if each is not None), default=None))

    def _replace_ended(self, key: Key, scene: Scene, plan: Plan) -> float | None:
        """Have pods that ended deleted, those that failed not too often; when to look again."""
        daemon_set, events = scene.daemon_set, self.context.events
        self._backoff.forget_lapsed(key)
        waits: list[float] = []
        for node, pod in plan.failed:
            seconds = self._backoff.remaining_seconds(key, node)
            if seconds > 0:
                waits.append(seconds)
                continue
            self._backoff.note(key, node)
            message = f"Found failed daemon pod {_named(pod)} on node {node}, will try to kill it"
            events.record(daemon_set, EVENT_WARNING, "FailedDaemonPod", message)
            plan.surplus.append(pod)
        for node, pod in plan.succeeded:
            message = (
                f"Found succeeded daemon pod {_named(pod)} on node {node}, will try to delete it"
            )
            events.record(daemon_set, EVENT_NORMAL, "SucceededDaemonPod", message)
            plan.surplus.append(pod)
        return min(waits, default=None)

    async def _carry_out(self, scene: Scene, plan: Plan) -> _Failure | None:
        daemon_set = scene.daemon_set
        works = [partial(self._make, scene, node) for node in plan.nodes[:BURST_PODS_MAX]]
        made = await slow_start(works)
        delete = partial(self._pods.delete, daemon_set)
        deleted = await all_at_once(delete, plan.surplus[:BURST_PODS_MAX])
        return made.failure or deleted.failure

    async def _make(self, scene: Scene, node: str) -> Pod | None:
        template = scene.placement.template_for(node, scene.mark)
        return await self._pods.create(scene.daemon_set, template)


def _pods_count(daemon_set: DaemonSet) -> int:
    return daemon_set.status.desired_number_scheduled


def _all_pods(scene: Scene) -> Iterator[Pod]:
    for pods in scene.pods.values():
        yield from pods


def _named(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
