"""The nodes of a cluster in one process: this machine, once or several times, or nothing at all.

A node that is this machine has an agent with its own identity, its own files, and its drivers at
sockets, where drivers of any other kind may join. Nodes that are simulated share one watch, and
have their drivers attached.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.agent.agent import Agent
from dray.agent.fleet import Fleet
from dray.agent.root_lock import lock_root
from dray.agent.runtimes.runtime import Runtime
from dray.agent.settings import AgentSettings
from dray.cli.embedded.control_plane import ControlPlane
from dray.cli.embedded.device_classes import classes_of, ensure_classes
from dray.cli.embedded.parts import Parts
from dray.cli.embedded.plan import PROCESS, NodePlan
from dray.cli.embedded.pod_processes import end_containers
from dray.cli.node_parts import attached, cdi_directory, open_runtime, pods_known, settled
from dray.client import Client
from dray.clock import Clock
from dray.entropy import Entropy
from dray.sdk import Driver, RunningDriver, Settings, serve

__all__ = ["Nodes", "StopMode"]

_log = logging.getLogger(__name__)

NODES_GROUP: Final = "system:nodes"

# Drivers of simulated nodes that publish side by side; more would only wait for each other.
PUBLISHING_MAX: Final = 64


@dataclass(slots=True)
class StopMode:
    """What becomes of pods when the cluster stops."""

    keep_pods: bool = False
    hurry: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class _Node:
    """A node that is this machine, ready to be started."""

    plan: NodePlan
    client: Client
    runtime: Runtime
    agent: Agent
    place: Settings
    drivers: AsyncExitStack


class Nodes:
    """All nodes, from `start` to the end of the stack they were started on."""

    def __init__(
        self,
        plans: Sequence[NodePlan],
        control_plane: ControlPlane,
        parts: Parts,
        *,
        directory: Path,
        cri_endpoint: str,
        tls: Callable[[], ssl.SSLContext],
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._plans = plans
        self._control_plane = control_plane
        self._parts = parts
        self._directory = directory
        self._cri_endpoint = cri_endpoint
        self._tls = tls
        self._clock = clock
        self._entropy = entropy
        self._with_classes: set[str] = set()
        self._ready = False

    async def start(self, stack: AsyncExitStack, mode: StopMode) -> None:
        """Start all, and return once they are registered and their devices published."""
        ready: list[Awaitable[None]] = []
        real = [plan for plan in self._plans if not plan.simulated]
        if real:
            context = self._tls()
            opened = [await self._open_node(stack, plan, context) for plan in real]
            # What is begun last is ended first: agents, then all pods at once, then drivers.
            stack.push_async_callback(self._end_pods, opened, mode)
            ready += [self._start_node(stack, node) for node in opened]
        simulated = [plan for plan in self._plans if plan.simulated]
        if simulated:
            ready.append(await self._start_fleet(stack, simulated))
        await asyncio.gather(*ready)
        self._ready = True

    def problem(self) -> str | None:
        """What is wrong, as /readyz asks."""
        return None if self._ready else "not all are registered with their devices yet"

    # This machine ------------------------------------------------------------------------------

    async def _open_node(
        self, stack: AsyncExitStack, plan: NodePlan, context: ssl.SSLContext
    ) -> _Node:
        clock, entropy = self._clock, self._entropy
        root = self._directory / plan.name
        settings = AgentSettings(
            node_name=plan.name,
            root=root,
            labels=plan.traits.labels,
            taints=plan.traits.taints,
            capacity=plan.traits.capacity,
            serving_port=0,
            addresses=("127.0.0.1",),
            tls=context,
        )
        settings.check()
        cdi = cdi_directory(None, plan.runtime, root)
        for directory in (root, settings.registry_directory, cdi):
            directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        stack.enter_context(lock_root(root))
        client = self._control_plane.client_of(f"system:node:{plan.name}", [NODES_GROUP])
        runtime = await stack.enter_async_context(
            open_runtime(plan.runtime, root, cdi, self._cri_endpoint, clock, entropy)
        )
        return _Node(
            plan=plan,
            client=client,
            runtime=runtime,
            agent=Agent(client, runtime, settings, clock=clock, entropy=entropy),
            place=Settings(node_name=plan.name, kubelet_directory=root, cdi_directory=cdi),
            drivers=await stack.enter_async_context(AsyncExitStack()),
        )

    def _start_node(self, stack: AsyncExitStack, node: _Node) -> Awaitable[None]:
        name = f"node {node.plan.name}"
        release_pods = node.agent.hold_pods()
        self._parts.start(name, node.agent.run())
        stack.push_async_callback(self._parts.end, name)
        return self._join(node, release_pods)

    async def _join(self, node: _Node, release_pods: Callable[[], None]) -> None:
        await node.agent.ready()
        for make in node.plan.drivers:
            driver = make()
            await self._ensure_classes(driver)
            serving = serve(
                driver, node.place, client=node.client, clock=self._clock, entropy=self._entropy
            )
            running = await node.drivers.enter_async_context(serving)
            self._watch(node.drivers, running, node.plan.name)
            await settled(running, self._clock)
        release_pods()
        await pods_known(node.agent, self._clock)

    async def _end_pods(self, nodes: Sequence[_Node], mode: StopMode) -> None:
        if mode.keep_pods:
            return
        counts = await asyncio.gather(
            *(
                end_containers(
                    node.runtime,
                    node.agent.pods.active_pods(),
                    self._clock,
                    hurry=mode.hurry,
                    others=node.plan.runtime == PROCESS,
                )
                for node in nodes
            )
        )
        if sum(counts):
            _log.info("%d containers of pods ended", sum(counts))

    # Nodes that only seem to be there ----------------------------------------------------------

    async def _start_fleet(
        self, stack: AsyncExitStack, plans: Sequence[NodePlan]
    ) -> Awaitable[None]:
        fleet = Fleet(
            self._control_plane.admin,
            [plan.name for plan in plans],
            clock=self._clock,
            entropy=self._entropy,
            traits={plan.name: plan.traits for plan in plans},
        )
        drivers = await stack.enter_async_context(AsyncExitStack())
        release_pods = {name: agent.hold_pods() for name, agent in fleet.agents.items()}
        self._parts.start("simulated nodes", fleet.run())
        stack.push_async_callback(self._parts.end, "simulated nodes")
        return self._join_fleet(drivers, plans, fleet, release_pods)

    async def _join_fleet(
        self,
        stack: AsyncExitStack,
        plans: Sequence[NodePlan],
        fleet: Fleet,
        release_pods: Mapping[str, Callable[[], None]],
    ) -> None:
        await fleet.ready()
        turns = asyncio.Semaphore(PUBLISHING_MAX)

        async def join(plan: NodePlan) -> None:
            for make in plan.drivers:
                driver = make()
                await self._ensure_classes(driver)
                async with turns:
                    running = await stack.enter_async_context(
                        attached(
                            driver,
                            fleet.agents[plan.name],
                            self._control_plane.admin,
                            self._clock,
                            self._entropy,
                        )
                    )
                    self._watch(stack, running, plan.name)
                    await settled(running, self._clock)
            release_pods[plan.name]()

        await asyncio.gather(*(join(plan) for plan in plans))

    async def _ensure_classes(self, driver: Driver) -> None:
        """Once for each driver: nodes have the same ones."""
        if driver.name in self._with_classes:
            return
        self._with_classes.add(driver.name)
        made = await ensure_classes(self._control_plane.admin, classes_of(driver))
        for name in made:
            _log.info("device class %s created", name)

    def _watch(self, stack: AsyncExitStack, running: RunningDriver, node: str) -> None:
        """Have the cluster fail with the driver: a mistake in it must not go unnoticed."""
        name = f"driver {running.driver.name} of node {node}"
        self._parts.start(name, _failing(running))
        stack.push_async_callback(self._parts.end, name)


async def _failing(running: RunningDriver) -> None:
    raise await running.failure()
