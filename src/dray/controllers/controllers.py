"""All controllers of a cluster, side by side in one process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.client import Client, EventRecorder, Informers
from dray.clock import Clock
from dray.controllers.daemon_sets.controller import DaemonSetController
from dray.controllers.deployments.controller import DeploymentController
from dray.controllers.device_taint_eviction.controller import DeviceTaintEvictionController
from dray.controllers.disruption.controller import DisruptionController
from dray.controllers.garbage_collection.controller import GarbageCollector
from dray.controllers.jobs.controller import JobController
from dray.controllers.namespaces.controller import NamespaceController
from dray.controllers.node_lifecycle.controller import NodeLifecycleController
from dray.controllers.pod_gc import PodGarbageCollector
from dray.controllers.reconciler import Context, Key, Reconciler
from dray.controllers.replica_sets import ReplicaSetController
from dray.controllers.resource_claims.controller import ResourceClaimController
from dray.controllers.resource_quota import ResourceQuotaController
from dray.controllers.taint_eviction import TaintEvictionController
from dray.controllers.ttl_after_finished import TTLAfterFinishedController
from dray.entropy import Entropy
from dray.errors import APIError, Conflict, TransportError
from dray.metrics import render

__all__ = ["CONTROLLERS", "Controllers"]

_log = logging.getLogger(__name__)

COMPONENT: Final = "kube-controller-manager"

# What was seen to fail because of a mistake of ours is tried again, but not at once.
CRASH_SECONDS: Final = 5.0

CONTROLLERS: Final[Mapping[str, type[Reconciler]]] = {
    ReplicaSetController.name: ReplicaSetController,
    DeploymentController.name: DeploymentController,
    DaemonSetController.name: DaemonSetController,
    JobController.name: JobController,
    TTLAfterFinishedController.name: TTLAfterFinishedController,
    NodeLifecycleController.name: NodeLifecycleController,
    TaintEvictionController.name: TaintEvictionController,
    ResourceClaimController.name: ResourceClaimController,
    DeviceTaintEvictionController.name: DeviceTaintEvictionController,
    GarbageCollector.name: GarbageCollector,
    NamespaceController.name: NamespaceController,
    PodGarbageCollector.name: PodGarbageCollector,
    ResourceQuotaController.name: ResourceQuotaController,
    DisruptionController.name: DisruptionController,
}
"""Every controller there is, by name."""


class Controllers:
    """Runs controllers. The same may run twice by mistake: each write says what it is based on."""

    def __init__(
        self,
        client: Client,
        *,
        informers: Informers,
        clock: Clock,
        entropy: Entropy,
        gates: FeatureGates = DEFAULT_GATES,
        names: Iterable[str] | None = None,
    ) -> None:
        """`names` are the controllers to run; without, all. Somebody else runs the informers."""
        self._events = EventRecorder(client, component=COMPONENT, clock=clock, entropy=entropy)
        self._informers = informers
        self._clock = clock
        context = Context(client, informers, self._events, clock, entropy, gates)
        chosen = CONTROLLERS if names is None else {name: CONTROLLERS[name] for name in names}
        self.context: Final = context
        self.reconcilers: Final = [self._make(kind) for kind in chosen.values()]
        self._synced = asyncio.Event()

    def _make(self, kind: type[Reconciler]) -> Reconciler:
        """A controller, which speaks for itself in events."""
        component = kind.component or kind.name
        return kind(replace(self.context, events=self._events.as_component(component)))

    async def ready(self) -> None:
        """Return once controllers know what there is, and work."""
        await self._synced.wait()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._events.run())
            await self._informers.synced()
            self._synced.set()
            for reconciler in self.reconcilers:
                tasks.create_task(self._kept(reconciler.name, reconciler.run))
                for _ in range(reconciler.workers):
                    worker = partial(self._work, reconciler)
                    tasks.create_task(self._kept(reconciler.name, worker))

    def metrics(self) -> bytes:
        """In Prometheus' format."""
        queues = {reconciler.name: reconciler.queue for reconciler in self.reconcilers}
        families = [*self.context.queues.families(queues)]
        for reconciler in self.reconcilers:
            families += reconciler.families()
        return render(families)

    # Private -----------------------------------------------------------------------------------

    async def _work(self, reconciler: Reconciler) -> None:
        queue = reconciler.queue
        while True:
            key = await queue.get()
            looked = False
            try:
                await self._look(reconciler, key)
                looked = True
            finally:
                if not looked:
                    queue.retry(key)
                queue.done(key)

    async def _look(self, reconciler: Reconciler, key: Key) -> None:
        queue = reconciler.queue
        try:
            result = await reconciler.reconcile(key)
        except (APIError, TransportError) as error:
            # Somebody else wrote first, which is how several can share an object.
            level = logging.DEBUG if isinstance(error, Conflict) else logging.INFO
            _log.log(level, "%s: %s is tried again: %s", reconciler.name, key, error)
            queue.retry(key)
        else:
            queue.forget(key)
            if result.requeue_after_seconds is not None:
                queue.add_after(key, result.requeue_after_seconds)

    async def _kept(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Work that is begun again should a mistake of ours end it: others depend on it too."""
        while True:
            task = asyncio.ensure_future(work())
            try:
                await asyncio.wait((task,))
            finally:
                task.cancel()
            error = task.exception()
            if error is None:
                return
            _log.error("%s failed, and goes on in a while", name, exc_info=error)
            await self._clock.sleep(CRASH_SECONDS)
