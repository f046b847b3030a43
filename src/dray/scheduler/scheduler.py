"""A scheduler: its parts put together, fed by watches, until it is told to stop.

Pods are decided one after the other on one event loop, each by code that does not wait, so that
every decision sees all earlier ones. What was decided counts at once: the pod as being on its node,
its devices as taken. Writing it down goes on beside the next decisions; if that fails, what was
counted is taken back and the pod is tried again.

Upstream counterparts: scheduler.go, schedule_one.go and eventhandlers.go of pkg/scheduler.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from dray.api.core import Namespace, Node, Pod
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.policy import PodDisruptionBudget
from dray.api.resource import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from dray.client import Client, EventRecorder, Informers
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import APIError, SchedulingError, TransportError
from dray.scheduler.backoff import Backoff
from dray.scheduler.binding import Binder, BoundByOthersError
from dray.scheduler.claims import Claims
from dray.scheduler.cluster_events import (
    ASSIGNED_POD,
    DEVICE_CLASS,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    node_event,
    object_event,
    pod_event,
)
from dray.scheduler.cycle import Cycle
from dray.scheduler.devices import Devices
from dray.scheduler.extended_resources import ExtendedResources
from dray.scheduler.feasibility import Feasibility
from dray.scheduler.hints import default_hints
from dray.scheduler.making_room import MakingRoom
from dray.scheduler.metrics import SchedulerMetrics
from dray.scheduler.nominations import Nominations
from dray.scheduler.placement import Placement, Refusal
from dray.scheduler.pod_claims import Unresolved, claim_names, resolve
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.preemption import Preemption, Sacrifice
from dray.scheduler.queue import SchedulingQueue
from dray.scheduler.queued_pod import Place, QueuedPod
from dray.scheduler.reports import Reports
from dray.scheduler.settings import SchedulerSettings
from dray.scheduler.snapshot import Snapshot

__all__ = ["Scheduler"]

_log = logging.getLogger(__name__)

_ENDED: Final = ("Succeeded", "Failed")

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"


class Scheduler:
    """Gives pods their nodes and claims their devices."""

    def __init__(
        self,
        client: Client,
        settings: SchedulerSettings | None = None,
        *,
        informers: Informers,
        clock: Clock,
        entropy: Entropy,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        """Somebody else runs the informers, which others may share."""
        self._settings = settings = settings or SchedulerSettings()
        self._informers = informers
        self._clock = clock
        self._events = EventRecorder(
            client, component=settings.name, clock=clock, entropy=entropy, series=True
        )
        self._reports = Reports(client, self._events, clock)
        self._metrics = SchedulerMetrics(settings.name)
        self._snapshot = Snapshot()
        self._devices = Devices(informers, gates, entropy, steps_max=settings.search_steps_max)
        self._claims = Claims(informers.of(ResourceClaim), self._devices)
        self._extended = ExtendedResources(
            client, self._claims, self._devices, gates, clock, self._metrics
        )
        feasibility = Feasibility(self._snapshot)
        self._nominations = Nominations()
        self._cycle = Cycle(
            self._snapshot,
            feasibility,
            self._claims,
            self._devices,
            self._extended,
            settings,
            clock,
            self._nominations,
        )
        self._slots = asyncio.Semaphore(settings.bindings_max)
        self._binder = Binder(
            client,
            self._claims,
            self._events,
            clock,
            binding_conditions=self._devices.features.binding_conditions,
            binding_timeout_seconds=settings.binding_timeout_seconds,
            special_claims=self._extended,
            slots=self._slots,
            waited=self._metrics.conditions_waited,
        )
        self._queue = SchedulingQueue(
            clock=clock,
            gate=self._gate,
            hints=default_hints(
                claim_names,
                served_by_devices=lambda name: self._extended.class_for(name) is not None,
            ),
            backoff=Backoff(
                initial_seconds=settings.backoff_seconds_first,
                max_seconds=settings.backoff_seconds_max,
            ),
        )
        preemption = Preemption(
            self._snapshot,
            self._cycle,
            self._claims,
            self._devices,
            informers.of(PodDisruptionBudget),
            self._nominations,
        )
        self._making_room = MakingRoom(
            client,
            self._claims,
            preemption if settings.preemption else None,
            clock,
            self._extended.delete,
            scheduler_name=settings.name,
        )
        self._assumed: dict[str, Placement] = {}  # by uid: decided, and not heard of yet
        self._tasks: dict[asyncio.Task[None], tuple[QueuedPod, Placement | None]] = {}
        self._synced = asyncio.Event()
        self._stopping = False
        informers.of(Namespace).listen(self._hear_namespace)
        informers.of(Node).listen(self._hear_node)
        informers.of(Pod).listen(self._hear_pod)
        self._claims.listen(self._hear_claim)
        informers.of(ResourceSlice).listen(self._hear_slice)
        informers.of(DeviceClass).listen(self._hear_class)
        if self._devices.features.device_taint_rules:
            informers.of(DeviceTaintRule).listen(self._hear_rule)

    async def ready(self) -> None:
        """Return once the scheduler knows what there is, and schedules."""
        await self._synced.wait()

    async def run(self) -> None:
        """Schedule until cancelled. What is being written then is finished first.

        What waits for drivers is not: the pod's reservations are given back, the devices stay with
        its claims, and the next scheduler goes on from there.
        """
        events = asyncio.ensure_future(self._events.run())
        try:
            await self._informers.synced()
            self._synced.set()
            while True:
                await self._slots.acquire()
                queued = await self._queue.pop()
                self._schedule(queued)
                # Others of this process have their turn, also while there is always a next pod.
                await asyncio.sleep(0)
        finally:
            self._stopping = True
            self._binder.stop()
            if self._tasks:
                await asyncio.wait(self._tasks)
            events.cancel()

    def metrics(self) -> bytes:
        """In Prometheus' format."""
        queue = self._queue
        return self._metrics.render(queue.counts(), queue.unschedulable_by_plugin(), queue.incoming)

    # Deciding ----------------------------------------------------------------------------------

    def _gate(self, pod: Pod) -> str | None:
        """Why a pod may not be tried yet."""
        if pod.spec.scheduling_gates:
            names = [gate.name for gate in pod.spec.scheduling_gates]
            return f"waiting for scheduling gates: {', '.join(names)}"
        resolved = resolve(pod, self._claims.get)
        return resolved.why if isinstance(resolved, Unresolved) else None

    def _schedule(self, queued: QueuedPod) -> None:
        began = self._clock.monotonic()
        pod = queued.pod
        if pod.metadata.deletion_timestamp is not None:
            self._queue.done(queued)
            self._slots.release()
            return
        info = PodInfo.of(pod)
        outcome = self._cycle.attempt(info)
        self._metrics.decided(self._clock.monotonic() - began)
        if isinstance(outcome, Refusal):
            sacrifice = None if outcome.failed else self._making_room.find(info, outcome)
            self._spawn(self._refuse(queued, info, outcome, sacrifice, began), queued)
            return
        self._snapshot.add_pod(info, outcome.node_name)
        self._end_nomination(info.uid)
        self._assumed[info.uid] = outcome
        for each in outcome.claims:
            if each.allocation is not None:
                self._claims.reserve(each.allocated)
        self._extended.reserve(outcome)
        self._spawn(self._bind(queued, outcome, began), queued, outcome)

    async def _bind(self, queued: QueuedPod, placement: Placement, began: float) -> None:
        pod = placement.pod.pod
        try:
            await self._binder.bind(placement)
        except BoundByOthersError as error:
            self._take_back(placement)
            self._queue.done(queued)
            self._metrics.attempted("error", self._clock.monotonic() - began)
            _log.info("pod %s/%s: %s", pod.metadata.namespace, pod.metadata.name, error)
        except (APIError, TransportError, SchedulingError) as error:
            self._take_back(placement)
            await self._failed(queued, pod, str(error), began)
        else:
            self._queue.done(queued)
            now = self._clock.monotonic()
            self._metrics.attempted("scheduled", now - began)
            since = queued.first_tried_at
            self._metrics.scheduled(queued.attempts, now - (since if since is not None else began))
            self._reports.bound(pod, placement.node_name)

    def _take_back(self, placement: Placement) -> None:
        """What was decided does not happen: others may have what was counted for it."""
        uid = placement.pod.uid
        if self._assumed.pop(uid, None) is not None:
            self._snapshot.remove_pod(uid)
        for each in placement.claims:
            if each.allocation is not None:
                self._claims.release(each.allocated)
        self._extended.release(placement)
        self._queue.move(ClusterEvent(ASSIGNED_POD, Action.DELETE, placement.pod.pod, None))

    async def _failed(self, queued: QueuedPod, pod: Pod, why: str, began: float) -> None:
        self._metrics.attempted("error", self._clock.monotonic() - began)
        _log.info("pod %s/%s: %s", pod.metadata.namespace, pod.metadata.name, why)
        if self._snapshot.has_pod(queued.uid):
            self._queue.done(queued)  # somebody else bound it meanwhile
            return
        self._queue.fail(queued)
        if not self._stopping:
            await self._report(pod, SCHEDULER_ERROR, why)

    async def _refuse(
        self,
        queued: QueuedPod,
        info: PodInfo,
        refusal: Refusal,
        sacrifice: Sacrifice | None,
        began: float,
    ) -> None:
        if refusal.failed:
            await self._failed(queued, info.pod, refusal.message, began)
            return
        self._metrics.attempted("unschedulable", self._clock.monotonic() - began)
        if sacrifice is not None:
            self._nominations.add(info, sacrifice.node_name, sacrifice.claims)
        room = await self._making_room.make(info, refusal, sacrifice)
        nominated = room.nominated
        if nominated == "" and not self._end_nomination(info.uid):
            nominated = None  # it was not we who said so
        if room.again:
            self._queue.fail(queued)
        else:
            self._queue.reject(queued, refusal.plugins)
        if room.victims:
            self._metrics.preempted(len(room.victims))
        for victim in room.victims:
            self._reports.preempted(victim, info.pod, room.node_name)
        message = f"{refusal.message} {room.message}" if room.message else refusal.message
        await self._report(info.pod, UNSCHEDULABLE, message, nominated=nominated)

    async def _report(
        self, pod: Pod, reason: str, message: str, *, nominated: str | None = None
    ) -> None:
        try:
            await self._reports.refused(pod, reason, message, nominated_node_name=nominated)
        except (APIError, TransportError) as error:
            # The next attempt tells again, if the pod is still there.
            _log.debug("pod %s was not told: %s", pod.metadata.name, error)

    def _end_nomination(self, uid: str) -> bool:
        """Whom room was being made for is there, or gone, or does without: others may come."""
        if not self._nominations.remove(uid):
            return False
        self._queue.move(ClusterEvent(ASSIGNED_POD, Action.DELETE))
        self._queue.move(ClusterEvent(RESOURCE_CLAIM, Action.DELETE))
        return True

    def _spawn(
        self,
        work: Coroutine[Any, Any, None],
        queued: QueuedPod,
        placement: Placement | None = None,
    ) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = (queued, placement)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        queued, placement = self._tasks.pop(task)
        self._slots.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("an attempt ended by a mistake of the scheduler", exc_info=error)
            if queued.place is Place.IN_FLIGHT:
                # It must not keep devices, nor the pod, for ever.
                if placement is not None:
                    self._take_back(placement)
                self._queue.fail(queued)

    # Hearing -----------------------------------------------------------------------------------

    def _hear_pod(self, old: Pod | None, new: Pod | None) -> None:
        was = old is not None and _runs(old)
        if new is not None and _runs(new):
            self._hear_running(old if was else None, new)
            return
        either = new if new is not None else old
        assert either is not None, "something changed"
        uid = either.metadata.uid
        over = new is None or bool(new.spec.node_name) or new.status.phase in _ENDED
        if over:
            self._end_nomination(uid)
        # It may have come and gone before it was heard to run.
        if (over and self._assumed.pop(uid, None) is not None) or was:
            self._snapshot.remove_pod(uid)
            self._queue.activate(self._nominations.uids())
            self._queue.move(ClusterEvent(ASSIGNED_POD, Action.DELETE, old, None))
        if either.spec.scheduler_name != self._settings.name:
            return
        if new is None or over:
            self._queue.delete(either)
        elif uid not in self._assumed or self._queue.get(uid) is not None:
            # Otherwise it is bound, which the watch has yet to say.
            self._queue.update(old, new)

    def _hear_running(self, old: Pod | None, new: Pod) -> None:
        uid = new.metadata.uid
        if old is None:
            self._end_nomination(uid)
            if self._assumed.pop(uid, None) is None:
                self._queue.delete(new)  # somebody else bound it
            self._snapshot.add_pod(PodInfo.of(new), new.spec.node_name)
            self._queue.move(ClusterEvent(ASSIGNED_POD, Action.ADD, None, new))
            return
        event = pod_event(old, new)
        if event is not None or _counts_differently(old, new):
            self._snapshot.add_pod(PodInfo.of(new), new.spec.node_name)
        if event is not None:
            self._queue.move(event)

    def _hear_node(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self._snapshot.apply_node(new)
        elif old is not None:
            self._snapshot.remove_node(old.metadata.name)
            self._queue.activate(self._nominations.uids(old.metadata.name))
        self._devices.hear_node(old, new)
        self._extended.hear_node(old, new)
        event = node_event(old, new)
        if event is not None:
            self._queue.move(event)

    def _hear_namespace(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is not None:
            self._snapshot.apply_namespace(new)
        elif old is not None:
            self._snapshot.remove_namespace(old.metadata.name)

    def _hear_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if self._nominations and _frees_devices(old, new):
            # Whom they were taken for comes before whoever else waits for some.
            self._queue.activate(self._nominations.uids())
        self._queue.move(object_event(RESOURCE_CLAIM, old, new))

    def _hear_slice(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        self._queue.move(object_event(RESOURCE_SLICE, old, new))

    def _hear_class(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        self._queue.move(object_event(DEVICE_CLASS, old, new))

    def _hear_rule(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        """A rule changes devices, wherever they are published."""
        either = new if new is not None else old
        self._queue.move(ClusterEvent(RESOURCE_SLICE, Action.OTHER, either, either))


def _frees_devices(old: ResourceClaim | None, new: ResourceClaim | None) -> bool:
    had = old is not None and old.status.allocation is not None
    return had and (new is None or new.status.allocation is None)


def _counts_differently(old: Pod, new: Pod) -> bool:
    """Whether a pod weighs something else than before, though nobody waits for that."""
    return (
        old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or old.status.node_allocatable_resource_claim_statuses
        != new.status.node_allocatable_resource_claim_statuses
    )


def _runs(pod: Pod) -> bool:
    """Whether a pod takes something of its node."""
    return bool(pod.spec.node_name) and pod.status.phase not in _ENDED
