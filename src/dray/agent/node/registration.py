"""The Node object: created or adopted, and its status kept true.

Every ten seconds the node is read and compared with what it should say. It is written when
something differs, also when somebody else changed it (a controller that took the node for dead, a
person who deleted it), and every five minutes anyway. Only what is ours is written, so that what
others put into conditions, labels and capacity stays.

A node that stops says nothing, as a kubelet: its pods may go on without the agent, and the lease
tells everybody who needs to know. Upstream counterpart: pkg/kubelet/kubelet_node_status.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from dray.agent.node.calls import FAILURES, Backoff, call, jittered
from dray.agent.node.description import NodeDescription, initial_node, node_status
from dray.agent.node.heartbeat import Heartbeat
from dray.api.core import NODE_CONDITION_READY, Node, NodeCondition, NodeStatus
from dray.api.equality import semantically_equal
from dray.api.meta import Object
from dray.api.wire import replace
from dray.client import Client, PatchType
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import AlreadyExists, NotFound

__all__ = ["NodeEvents", "NodeKeeper"]

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 10.0
REPORT_SECONDS: Final = 300.0


class NodeEvents(Protocol):
    """Where events go."""

    def record(self, regarding: Object, type: str, reason: str, message: str) -> None:  # noqa: A002 - the event's field
        """Take an event, now."""
        ...


class NodeKeeper:
    """Keeps a node's objects: the Node, and its Lease."""

    def __init__(
        self,
        client: Client,
        description: NodeDescription,
        *,
        clock: Clock,
        entropy: Entropy,
        problems: Callable[[], Sequence[str]] = tuple,
        events: NodeEvents | None = None,
    ) -> None:
        """`problems` says what keeps the node from being ready, now; nothing if it is."""
        self._client = client
        self._description = description
        self._clock = clock
        self._entropy = entropy
        self._problems = problems
        self._events = events
        self._heartbeat = Heartbeat(client, description.name, clock=clock, entropy=entropy)
        self._changed = asyncio.Event()
        self._registered = asyncio.Event()
        self._node: Node | None = None
        self._report_at = 0.0

    @property
    def node(self) -> Node | None:
        """The object as last seen; None before the node is registered."""
        return self._node

    async def registered(self) -> Node:
        """Wait until there is a Node."""
        await self._registered.wait()
        assert self._node is not None
        return self._node

    def refresh(self) -> None:
        """Something about the node changed: look at once."""
        self._changed.set()

    async def run(self) -> None:
        """Register, and keep the node's objects until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep(), name=f"node {self._description.name}")
            await self._registered.wait()
            group.create_task(self._heartbeat.run(), name=f"lease of {self._description.name}")

    async def _keep(self) -> None:
        backoff = Backoff(self._clock, self._entropy)
        while True:
            self._changed.clear()
            try:
                await self.sync()
            except FAILURES as error:
                log.warning("node %s: its status is not written: %s", self._description.name, error)
                await backoff.pause()
            else:
                backoff.reset()
                await self._rest()

    async def sync(self) -> None:
        """Make the Node what it should be, once."""
        try:
            found = await call(self._clock, self._client.get(Node, self._description.name))
        except NotFound:
            await self._create()
        else:
            await self._adopt(found)

    # Registration ------------------------------------------------------------------------------

    async def _create(self) -> None:
        node = initial_node(self._description, problems=self._problems(), now=self._clock.now())
        try:
            created = await call(self._clock, self._client.create(node))
        except AlreadyExists:
            # Since we looked. The next look adopts it.
            self._changed.set()
            return
        log.info("node %s is registered", self._description.name)
        self._tell_readiness(created.status, NodeStatus(), created)
        self._settle(created)

    async def _adopt(self, found: Node) -> None:
        name = self._description.name
        wrong = {
            key: value
            for key, value in self._description.own_labels.items()
            if found.metadata.labels.get(key) != value
        }
        if wrong:
            labels = {"metadata": {"labels": wrong}}
            found = await call(self._clock, self._client.patch(Node, name, labels))
        status = node_status(
            self._description, found.status, problems=self._problems(), now=self._clock.now()
        )
        due = self._clock.monotonic() >= self._report_at
        if due or self._node is None or _differs(status, found.status):
            patch = {"status": _status_patch(status)}
            patching = self._client.patch(
                Node, name, patch, type=PatchType.STRATEGIC, subresource="status"
            )
            written = await call(self._clock, patching)
            self._tell_readiness(status, found.status, written)
            self._settle(written)
        else:
            self._node = found

    def _settle(self, node: Node) -> None:
        self._node = node
        # Spread over the period, so that a fleet that started at once does not report at once.
        spread = self._entropy.uniform(0.5, 1.5)
        self._report_at = self._clock.monotonic() + REPORT_SECONDS * spread
        self._heartbeat.belong_to(node)
        self._registered.set()

    def _tell_readiness(self, status: NodeStatus, before: NodeStatus, node: Node) -> None:
        if self._events is None:
            return
        ready, was_ready = _is_ready(status), _is_ready(before)
        if ready != was_ready:
            reason = "NodeReady" if ready else "NodeNotReady"
            text = f"Node {self._description.name} status is now: {reason}"
            self._events.record(node, "Normal", reason, text)

    async def _rest(self) -> None:
        """Until the next look is due, or somebody asks for it."""
        seconds = jittered(self._entropy, LOOK_SECONDS)
        alarm = asyncio.ensure_future(self._clock.sleep(seconds))
        asked = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait((alarm, asked), return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            asked.cancel()


def _is_ready(status: NodeStatus) -> bool:
    return any(
        condition.type == NODE_CONDITION_READY and condition.status == "True"
        for condition in status.conditions
    )


def _differs(ours: NodeStatus, found: NodeStatus) -> bool:
    """Whether anything that is ours is not so; the time of a heartbeat does not count."""
    conditions = {condition.type: condition for condition in found.conditions}
    return (
        any(found.capacity.get(name) != amount for name, amount in ours.capacity.items())
        or any(found.allocatable.get(name) != amount for name, amount in ours.allocatable.items())
        or any(_changed(condition, conditions) for condition in ours.conditions)
        or not semantically_equal(ours.addresses, found.addresses)
        or not semantically_equal(ours.daemon_endpoints, found.daemon_endpoints)
        or not semantically_equal(ours.node_info, found.node_info)
    )


def _changed(condition: NodeCondition, found: Mapping[str, NodeCondition]) -> bool:
    known = found.get(condition.type)
    return known is None or condition != replace(
        known, last_heartbeat_time=condition.last_heartbeat_time
    )


def _status_patch(status: NodeStatus) -> dict[str, Any]:
    """A strategic merge: conditions by type, amounts by name, and all addresses as they are."""
    return {
        "capacity": status.capacity,
        "allocatable": status.allocatable,
        "conditions": status.conditions,
        # Two addresses of one type would be merged into one.
        "addresses": [*status.addresses, {"$patch": "replace"}],
        "daemonEndpoints": status.daemon_endpoints,
        "nodeInfo": status.node_info,
    }
