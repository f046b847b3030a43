"""Hundreds of simulated nodes in one process, behind one watch of pods and one recorder of events.

A simulated node has an agent of its own, whose runtime only remembers and whose drivers are objects
of this process. What nodes of a real cluster each have for themselves, a connection and a watch,
they share here: their client must be one that may see the pods of all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.agent.agent import COMPONENT, Agent
from dray.agent.pods.collaborators import PodListener
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.settings import AgentSettings
from dray.api.core import Pod, Taint
from dray.api.quantity import Quantity
from dray.client import Client, EventRecorder, Informer
from dray.clock import Clock
from dray.entropy import Entropy

__all__ = ["Fleet", "SharedPods", "Traits"]

# Nowhere: simulated nodes keep no files.
_NO_ROOT: Final = Path("/nonexistent")


@dataclass(frozen=True, slots=True)
class Traits:
    """What a simulated node says of itself, beyond its name."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, Quantity] = field(default_factory=dict)


_PLAIN: Final = Traits()


class SharedPods:
    """One watch of all pods that have a node, handed out node by node."""

    def __init__(self, client: Client, *, clock: Clock, entropy: Entropy) -> None:
        self._informer = Informer(
            client, Pod, clock=clock, entropy=entropy, field_selector="spec.nodeName!="
        )
        self._nodes: dict[str, _NodePods] = {}
        self._informer.listen(self._hear)

    def of(self, node_name: str) -> _NodePods:
        """The pods of one node. Satisfies PodSource."""
        return self._nodes.setdefault(node_name, _NodePods(self._informer))

    async def run(self) -> None:
        """Watch until cancelled."""
        await self._informer.run()

    def _hear(self, before: Pod | None, now: Pod | None) -> None:
        either = now if now is not None else before
        if either is None:
            return
        node = self._nodes.get(either.spec.node_name)
        if node is not None:
            node.hear(before, now)


class _NodePods:
    def __init__(self, informer: Informer[Pod]) -> None:
        self._informer = informer
        self._pods: dict[tuple[str, str], Pod] = {}
        self._listeners: list[PodListener] = []

    def listen(self, listener: PodListener) -> None:
        self._listeners.append(listener)

    async def synced(self) -> None:
        await self._informer.synced()

    def values(self) -> Sequence[Pod]:
        return tuple(self._pods.values())

    def hear(self, before: Pod | None, now: Pod | None) -> None:
        either = now if now is not None else before
        assert either is not None, "something changed"
        key = either.metadata.namespace, either.metadata.name
        if now is None:
            self._pods.pop(key, None)
        else:
            self._pods[key] = now
        for listener in self._listeners:
            listener(before, now)


class Fleet:
    """Simulated nodes. Drivers are attached to `agents` before `run`, or while it runs."""

    def __init__(
        self,
        client: Client,
        node_names: Iterable[str],
        *,
        clock: Clock,
        entropy: Entropy,
        heartbeats: Client | None = None,
        traits: Mapping[str, Traits] | None = None,
    ) -> None:
        """`heartbeats` is a client for Nodes and Leases alone, should the other be busy.

        `traits` are by the names of nodes; a node without any is plain.
        """
        known = traits or {}
        self._pods = SharedPods(client, clock=clock, entropy=entropy)
        self._events = EventRecorder(client, component=COMPONENT, clock=clock, entropy=entropy)
        self.agents: Final = {
            name: Agent(
                client,
                MemoryRuntime(clock, network=f"10.{64 + number % 190}"),
                AgentSettings(
                    node_name=name,
                    root=_NO_ROOT,
                    simulated=True,
                    labels=known.get(name, _PLAIN).labels,
                    taints=known.get(name, _PLAIN).taints,
                    capacity=known.get(name, _PLAIN).capacity,
                    addresses=(f"10.{number // 65536}.{number // 256 % 256}.{number % 256}",),
                ),
                clock=clock,
                entropy=entropy,
                heartbeats=heartbeats,
                pods=self._pods.of(name),
                events=self._events,
            )
            for number, name in enumerate(node_names)
        }

    async def ready(self) -> None:
        """Return once all nodes are registered."""
        await asyncio.gather(*(agent.ready() for agent in self.agents.values()))

    async def run(self, *, started: Callable[[], None] | None = None) -> None:
        """Run all nodes until cancelled; `started` is called once all are registered."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pods.run())
            tasks.create_task(self._events.run())
            for agent in self.agents.values():
                tasks.create_task(agent.run())
            await self.ready()
            if started is not None:
                started()
