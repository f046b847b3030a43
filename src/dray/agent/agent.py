"""A node: its parts put together, started and stopped.

Parts know each other through small protocols and meet here. Order matters in one place: claims are
rebuilt, if their file was lost, before any pod is looked at. Upstream counterparts: cmd/kubelet/app
and pkg/kubelet/kubelet.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from dray.agent.claims.manager import ClaimManager
from dray.agent.health.keeper import HealthKeeper
from dray.agent.kubelet_api.api import KubeletAPI
from dray.agent.metrics import AgentMetrics
from dray.agent.node.calls import Backoff
from dray.agent.node.description import NodeDescription, capacity_of
from dray.agent.node.machine import SIMULATED, Machine, read_machine
from dray.agent.node.registration import NodeKeeper
from dray.agent.plugins.manager import PluginManager
from dray.agent.plugins.plugin import Change, PluginChange, PluginService
from dray.agent.plugins.slice_cleanup import SliceCleanup
from dray.agent.podresources import PodResourcesServer
from dray.agent.pods.collaborators import NORMAL, WARNING, PodSource
from dray.agent.pods.manager import PodManager
from dray.agent.runtimes.runtime import Runtime
from dray.agent.settings import AgentSettings
from dray.api.core import Node, Pod
from dray.api.meta import ObjectMeta
from dray.client import Client, EventRecorder
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import APIError, TransportError

__all__ = ["Agent"]

_log = logging.getLogger(__name__)

COMPONENT: Final = "kubelet"

# Plugins end calls that take too long, and learn from it that they hang: they must be the first.
# Claims have a deadline of their own, for whatever else may keep an answer from arriving.
CALL_GRACE_SECONDS: Final = 1.0

# Drivers take a moment, and where thousands of nodes start at once half a minute. One that hangs
# must not keep pods from running, and from ending, that want nothing of it.
HELD_SECONDS_MAX: Final = 60.0


class Agent:
    """One node's agent. `run` is its whole life; pods go on running without it."""

    def __init__(
        self,
        client: Client,
        runtime: Runtime,
        settings: AgentSettings,
        *,
        clock: Clock,
        entropy: Entropy,
        heartbeats: Client | None = None,
        pods: PodSource | None = None,
        events: EventRecorder | None = None,
    ) -> None:
        """`heartbeats` is a client for the Node and its Lease: over a socket they need their own.

        `pods` and `events` are for fleets, whose nodes share one of each and do not run it.
        """
        settings.check()
        self.settings: Final = settings
        self._client = client
        self._heartbeats = heartbeats or client
        self._runtime = runtime
        self._clock = clock
        self._entropy = entropy
        if not settings.simulated:
            settings.root.mkdir(mode=0o750, parents=True, exist_ok=True)
        self._own_events = None if events is not None else self._recorder()
        self.events: Final = events or self._own_events or self._recorder()
        self.metrics: Final = AgentMetrics()
        self.plugins: Final = PluginManager(
            None if settings.simulated else settings.registry_directory,
            clock=clock,
            entropy=entropy,
            call_timeout_seconds=settings.call_timeout_seconds,
            observer=self.metrics,
        )
        self.claims: Final = ClaimManager(
            client,
            self.plugins,
            path=None if settings.simulated else settings.checkpoint_file,
            node_name=settings.node_name,
            clock=clock,
            entropy=entropy,
            call_timeout_seconds=settings.call_timeout_seconds + CALL_GRACE_SECONDS,
            observer=self.metrics,
            on_event=self._node_event,
        )
        self.health: Final = HealthKeeper(
            self.plugins,
            self.claims,
            path=None if settings.simulated else settings.root,
            clock=clock,
        )
        self._machine = self._look_at_machine()
        self.pods: Final = PodManager(
            client,
            runtime,
            self.claims,
            self.health,
            node_name=settings.node_name,
            root=settings.root,
            clock=clock,
            entropy=entropy,
            events=self.events,
            pods=pods,
            plugins=self.plugins,
            host_addresses=self._machine.addresses,
            # The agent keeps nothing of it for itself.
            allocatable=capacity_of(
                self._machine, pods_max=settings.pods_max, instead=settings.capacity
            ),
            pods_max=settings.pods_max,
            simulated=settings.simulated,
        )
        self._cleanup = SliceCleanup(
            client,
            self.plugins,
            settings.node_name,
            clock=clock,
            entropy=entropy,
            delay_seconds=settings.slice_cleanup_seconds,
        )
        self._ready = asyncio.Event()
        self._pods_wanted = asyncio.Event()
        self._pods_wanted.set()
        self.plugins.listen(self._tell_of_hangs)

    def _recorder(self) -> EventRecorder:
        return EventRecorder(
            self._client,
            component=COMPONENT,
            clock=self._clock,
            entropy=self._entropy,
            host=self.settings.node_name,
        )

    def _look_at_machine(self) -> Machine:
        settings = self.settings
        machine = SIMULATED if settings.simulated else read_machine(settings.root)
        machine = replace(machine, hostname=settings.node_name)
        return replace(machine, addresses=settings.addresses or machine.addresses)

    def attach(
        self, driver: str, service: PluginService, *, offers_health: bool = True
    ) -> Callable[[], None]:
        """Have a driver of this process as if it were registered; returns what takes it away."""
        return self.plugins.attach(driver, service, offers_health=offers_health)

    def hold_pods(self) -> Callable[[], None]:
        """Look after no pods until what this returns is called: their drivers are to come first.

        Without, pods that are there when a node starts would fail once for want of their drivers.
        After HELD_SECONDS_MAX they are looked after all the same.
        """
        self._pods_wanted.clear()
        return self._pods_wanted.set

    async def ready(self) -> None:
        """Return once the node is registered."""
        await self._ready.wait()

    async def run(self) -> None:
        """Run until cancelled."""
        api = self._kubelet_api()
        if api is not None:
            await api.start()
        node = NodeKeeper(
            self._heartbeats,
            await self._describe(api),
            clock=self._clock,
            entropy=self._entropy,
            events=self.events,
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(node.run())
                tasks.create_task(self.plugins.run())
                tasks.create_task(self.health.run())
                tasks.create_task(self._cleanup.run())
                if self._own_events is not None:
                    tasks.create_task(self._own_events.run())
                if not self.settings.simulated:
                    tasks.create_task(self._monitors().run())
                tasks.create_task(self._look_after_pods(tasks))
                await node.registered()
                self._ready.set()
        finally:
            self._ready.clear()
            if api is not None:
                await api.stop()

    async def _look_after_pods(self, tasks: asyncio.TaskGroup) -> None:
        try:
            await within(self._clock, HELD_SECONDS_MAX, self._pods_wanted.wait())
        except TimeoutError as error:
            name = self.settings.node_name
            _log.warning("node %s looks after pods without its drivers: %s", name, error)
        if self.claims.needs_rebuild and not self.settings.simulated:
            await self._rebuild_claims()
        tasks.create_task(self.claims.run(self._active_pods))
        await self.pods.run()

    async def _rebuild_claims(self) -> None:
        """Take what is reserved for our pods for ours, since the file that said so is gone.

        Without the API there is nothing to rebuild from, and nothing to start either.
        """
        backoff = Backoff(self._clock, self._entropy)
        while True:
            try:
                pods = await self._client.list(
                    Pod, field_selector=f"spec.nodeName={self.settings.node_name}"
                )
                break
            except (APIError, TransportError) as error:
                _log.warning("pods of this node cannot be listed yet: %s", error)
                await backoff.pause()
        for failure in await self.claims.rebuild(pods.items):
            _log.warning("claim %s/%s: %s", *failure.claim[:2], failure.message)

    def _active_pods(self) -> Collection[str] | None:
        if not self.pods.recovered:
            return None
        return {pod.metadata.uid for pod in self.pods.active_pods()}

    def _monitors(self) -> PodResourcesServer:
        return PodResourcesServer(
            self.pods.active_pods, self.claims, root=self.settings.root, clock=self._clock
        )

    def _kubelet_api(self) -> KubeletAPI | None:
        settings = self.settings
        if settings.serving_port is None:
            return None
        return KubeletAPI(
            self._runtime,
            self.pods,
            clock=self._clock,
            host=settings.serving_host,
            port=settings.serving_port,
            tls=settings.tls,
            client_groups=settings.client_groups,
            metrics=self.metrics_text,
        )

    async def _describe(self, api: KubeletAPI | None) -> NodeDescription:
        settings = self.settings
        return NodeDescription(
            name=settings.node_name,
            machine=self._machine,
            runtime=await self._runtime.info(),
            labels=settings.labels,
            taints=settings.taints,
            port=0 if api is None else api.port,
            pods_max=settings.pods_max,
            capacity=settings.capacity,
        )

    def metrics_text(self) -> bytes:
        """What the node counted, for a scraper."""
        return self.metrics.text(
            claims_in_use=self.claims.claims_in_use(),
            device_health=[(fact.device.driver, fact.health.value) for fact in self.health.facts()],
            pods_count=len(self.pods.active_pods()),
        )

    def _tell_of_hangs(self, change: PluginChange) -> None:
        """A driver that hangs looks well to all others: its slices and its sockets are there."""
        plugin = change.plugin
        where = f"driver {plugin.driver} at {plugin.instance}"
        if change.change is Change.HUNG:
            self._node_event("DriverHung", f"{where} is connected, but answers no calls")
        elif change.change is Change.RESPONSIVE:
            self._node_event("DriverResponsive", f"{where} answers again", kind=NORMAL)

    def _node_event(self, reason: str, message: str, *, kind: str = WARNING) -> None:
        """Tell of what concerns the node, and not one pod."""
        name = self.settings.node_name
        _log.log(logging.WARNING if kind == WARNING else logging.INFO, "%s: %s", reason, message)
        # Events of nodes name themselves for a UID: the object may not be there yet.
        node = Node(metadata=ObjectMeta(name=name, uid=name))
        self.events.record(node, kind, reason, message)
