"""All pods of a node: hears of them, their containers and their devices, and tells the workers.

One task per pod, plus one that listens to the runtime and one that writes statuses. A start is a
recovery: what runs is adopted by the worker of its pod, and what runs for a pod that is gone is
ended, its devices given back. Upstream counterpart: the sync loop in pkg/kubelet/kubelet.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dray.agent.plugins.plugin import Change, PluginChange
from dray.agent.pods.collaborators import (
    WARNING,
    Claims,
    Events,
    Health,
    ImageUsers,
    PluginChanges,
    PodSource,
)
from dray.agent.pods.container_config import Configurer
from dray.agent.pods.downward import PodFacts
from dray.agent.pods.environment import Environment
from dray.agent.pods.observer import Observer
from dray.agent.pods.phase import TERMINAL
from dray.agent.pods.pod_changes import asks_anew
from dray.agent.pods.pod_state import PodState
from dray.agent.pods.starting import pod_text
from dray.agent.pods.status import Verdict
from dray.agent.pods.status_writer import StatusWriter
from dray.agent.pods.storage import NoStorage, PodStorage
from dray.agent.pods.surroundings import Storage, Surroundings
from dray.agent.pods.worker import PodWorker
from dray.agent.retry import RetrySchedule
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import PodIdentity, Runtime
from dray.api.core import RESOURCE_PODS, Pod
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.client import Client, Informer
from dray.clock import Clock, within
from dray.entropy import Entropy

__all__ = ["PodManager"]

# A runtime that does not answer is mostly restarting.
RUNTIME_RETRY_SECONDS: Final = 1.0

OUT_OF_PODS: Final = f"OutOf{RESOURCE_PODS}"

_log = logging.getLogger(__name__)


class PodManager:
    """The pods of one node."""

    def __init__(
        self,
        client: Client,
        runtime: Runtime,
        claims: Claims,
        health: Health,
        *,
        node_name: str,
        root: Path,
        clock: Clock,
        entropy: Entropy,
        events: Events,
        pods: PodSource | None = None,
        plugins: PluginChanges | None = None,
        host_addresses: Sequence[str] = (),
        allocatable: Mapping[str, Quantity] | None = None,
        pods_max: int | None = None,
        simulated: bool = False,
        storage: Storage | None = None,
    ) -> None:
        """`pods` is run by whoever passes it; without, the node watches its own.

        Those that come when `pods_max` are there are rejected.
        A simulated node keeps no files: containers that do not run need none.
        """
        self._node_name = node_name
        self._pods_max = pods_max
        self._informer: Informer[Pod] | None = None
        if pods is None:
            self._informer = pods = Informer(
                client,
                Pod,
                clock=clock,
                entropy=entropy,
                field_selector=f"spec.nodeName={node_name}",
            )
        self._pods = pods
        self._runtime = runtime
        self._observer = Observer(runtime)
        self._writer = StatusWriter(client, clock=clock, entropy=entropy)
        facts = PodFacts(host_addresses=tuple(host_addresses), allocatable=allocatable)
        files = None if simulated else PodStorage(client, root, clock=clock, facts=facts)
        self._around = Surroundings(
            api=client,
            runtime=runtime,
            observer=self._observer,
            claims=claims,
            health=health,
            events=events,
            writer=self._writer,
            storage=storage or files or NoStorage(),
            configure=Configurer(
                Environment(client),
                claims,
                facts=facts,
                storage=files,
                images=runtime if isinstance(runtime, ImageUsers) else None,
            ),
            clock=clock,
            entropy=entropy,
            root=root,
            host_addresses=tuple(host_addresses),
        )
        self._workers: dict[str, PodWorker] = {}
        self._told: dict[str, asyncio.Event] = {}  # of pods that wait after a bug
        self._tasks: asyncio.TaskGroup | None = None
        self._dirty: set[str] = set()  # pods of which the runtime said something
        self._heard = asyncio.Event()
        self._recovered = asyncio.Event()
        pods.listen(self._pod_changed)
        health.listen(self.refresh)
        if plugins is not None:
            plugins.listen(self._plugin_changed)

    def pods(self) -> Sequence[Pod]:
        """Pods that are in the API, those that are over among them: their logs are asked for."""
        return [worker.pod for worker in self._workers.values() if not worker.vanished]

    def active_pods(self) -> Sequence[Pod]:
        """Pods that may still run or hold devices."""
        return [worker.pod for worker in self._workers.values() if worker.active]

    @property
    def recovered(self) -> bool:
        """Whether every pod there is has its worker: before that, active pods are not all."""
        return self._recovered.is_set()

    async def recovery(self) -> None:
        """Return once every pod that was there has its worker."""
        await self._recovered.wait()

    def pod(self, uid: str) -> Pod | None:
        """A pod by its UID."""
        worker = self._workers.get(uid)
        return None if worker is None else worker.pod

    def refresh(self, pod_uids: Iterable[str]) -> None:
        """The devices of these pods changed: report that at once, whatever else they wait for."""
        for uid in pod_uids:
            worker = self._workers.get(uid)
            if worker is not None:
                worker.report()

    async def run(self) -> None:
        """Run until cancelled. Pods go on running without."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                if self._informer is not None:
                    tasks.create_task(self._informer.run())
                tasks.create_task(self._writer.run())
                tasks.create_task(self._listen())
                tasks.create_task(self._spread())
                await self._pods.synced()
                await self._recover()
                await asyncio.Event().wait()
            finally:
                self._tasks = None

    # Pods ---------------------------------------------------------------------------------------

    async def _recover(self) -> None:
        while True:
            try:
                look = await self._observer.look()
                break
            except RuntimeFailed as error:
                _log.warning("cannot look at containers, asking again: %s", error)
                await self._around.clock.sleep(RUNTIME_RETRY_SECONDS)
        self._recovered.set()
        # What runs was taken already; of the others, those that have waited longest come first.
        running = {identity.uid for identity in look.pods}
        for pod in sorted(self._pods.values(), key=lambda pod: _arrival(pod, running)):
            self._pod_changed(None, pod)
        for identity in look.pods:
            if identity.uid not in self._workers:
                self._end_orphan(identity, look.state(identity.uid))
        # What else was kept is of pods that went while no agent was there, before they ran.
        known = frozenset(self._workers)
        self._around.health.retain(known)
        await self._around.storage.retain(known)

    def _pod_changed(self, before: Pod | None, now: Pod | None) -> None:
        if not self.recovered:
            return
        if before is not None and (now is None or now.metadata.uid != before.metadata.uid):
            worker = self._workers.get(before.metadata.uid)
            if worker is not None:
                worker.vanish()
                self._tell(before.metadata.uid)
        if now is None or now.spec.node_name != self._node_name:
            return
        worker = self._workers.get(now.metadata.uid)
        if worker is not None:
            if asks_anew(worker.pod, now):
                self._tell(now.metadata.uid)
            worker.update(now)
        else:
            self._add(now, self._rejection(now))

    def _rejection(self, pod: Pod) -> Verdict | None:
        """Why the node does not take a pod that is new to it, with upstream's words."""
        if self._pods_max is None or _ends(pod):
            return None
        used = sum(
            worker.active and worker.rejection is None and worker.pod.status.phase not in TERMINAL
            for worker in self._workers.values()
        )
        if used < self._pods_max:
            return None
        message = (
            f"Node didn't have enough resource: {RESOURCE_PODS}, requested: 1, used: {used}, "
            f"capacity: {self._pods_max}"
        )
        self._around.events.record(pod, WARNING, OUT_OF_PODS, message)
        return Verdict(OUT_OF_PODS, f"Pod was rejected: {message}")

    def _add(self, pod: Pod, rejection: Verdict | None = None) -> PodWorker:
        worker = PodWorker(pod, self._around, rejection=rejection)
        self._workers[pod.metadata.uid] = worker
        assert self._tasks is not None
        self._tasks.create_task(self._run(pod.metadata.uid, worker))
        return worker

    async def _run(self, uid: str, worker: PodWorker) -> None:
        """The life of a pod. A bug that one pod runs into is not the end of the others.

        A new worker starts from what the runtime shows, as after a restart of the agent.
        """
        backoff = RetrySchedule(self._around.entropy)
        clock = self._around.clock
        while (error := await _outcome(worker.run())) is not None:
            pod = worker.pod
            _log.error("pod %s met a bug", pod_text(pod), exc_info=error)
            first = _first(error)
            message = f"{type(first).__name__}: {first}; looked after again in a while"
            self._around.events.record(pod, WARNING, "PodWorkerFailed", message)
            told = self._told[uid] = asyncio.Event()
            with suppress(TimeoutError):
                await within(clock, backoff.fail(clock.monotonic()), told.wait())
            del self._told[uid]
            again = PodWorker(worker.pod, self._around, rejection=worker.rejection)
            if worker.vanished:
                again.vanish()
            worker = self._workers[uid] = again
        del self._workers[uid]

    def _tell(self, uid: str) -> None:
        """Somebody wants something else of a pod, and maybe nothing that met a bug."""
        told = self._told.get(uid)
        if told is not None:
            told.set()

    def _end_orphan(self, identity: PodIdentity, state: PodState) -> None:
        """End what runs for a pod that was deleted while no agent was there."""
        _log.info(
            "pod %s/%s (%s) is gone: ending %d containers",
            identity.namespace,
            identity.name,
            identity.uid,
            len(state.running),
        )
        metadata = ObjectMeta(name=identity.name, namespace=identity.namespace, uid=identity.uid)
        self._add(Pod(metadata=metadata)).vanish()

    # Containers and drivers ---------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            try:
                async for uid in self._runtime.changes():
                    self._dirty.add(uid)
                    self._heard.set()
            except RuntimeFailed as error:
                _log.warning("the runtime says nothing more, asking again: %s", error)
            # What happened in between nobody knows: look at everything.
            await self._around.clock.sleep(RUNTIME_RETRY_SECONDS)
            self._dirty.update(self._workers)
            self._heard.set()

    async def _spread(self) -> None:
        """Tell workers what the runtime shows of their pods: one look for all that changed."""
        while True:
            await self._heard.wait()
            self._heard.clear()
            dirty, self._dirty = self._dirty, set()
            try:
                look = await self._observer.look()
            except RuntimeFailed as error:
                _log.warning("cannot look at containers: %s", error)
                self._dirty |= dirty
                await self._around.clock.sleep(RUNTIME_RETRY_SECONDS)
                self._heard.set()
                continue
            for uid in dirty:
                worker = self._workers.get(uid)
                if worker is not None:
                    worker.observed(look.state(uid))

    def _plugin_changed(self, change: PluginChange) -> None:
        if change.change in (Change.REGISTERED, Change.CONNECTED):
            for worker in self._workers.values():
                worker.driver_returned(change.plugin.driver)


def _arrival(pod: Pod, running: Collection[str]) -> tuple[bool, str, str, str]:
    """In which order pods are taken by an agent that finds them all at once."""
    metadata = pod.metadata
    created = metadata.creation_timestamp
    when = created.instant.isoformat() if created is not None else ""
    return metadata.uid not in running, when, metadata.namespace, metadata.name


def _ends(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in TERMINAL


async def _outcome(work: Coroutine[Any, Any, None]) -> BaseException | None:
    """What work failed with; None if it came to its end."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,))
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
    return task.exception()


def _first(error: BaseException) -> BaseException:
    """What went wrong first, of what came together."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
