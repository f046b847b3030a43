"""Server, scheduler and controllers of one process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.api.coordination import Lease
from dray.api.core import Node
from dray.api.features import DEFAULT_GATES
from dray.api.meta import ObjectMeta
from dray.cli.embedded.control_plane import IDENTITY, ControlPlane
from dray.cli.embedded.parts import Parts
from dray.client import Call, Client, LeaderElector
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import Forbidden
from dray.server.server import Server, Settings
from dray.store.memory import MemoryStore

pytestmark = pytest.mark.slow


def test_parts_are_clients_with_rights_of_their_own_and_the_server_answers_for_them(
    tmp_path: Path,
) -> None:
    async def body() -> None:
        clock, entropy = SystemClock(), SystemEntropy()
        server = Server(MemoryStore(), Settings(secrets=tmp_path), clock, entropy)
        await server.start(listen=False)
        parts = Parts()
        plane = ControlPlane(server, parts, clock=clock, entropy=entropy, gates=DEFAULT_GATES)
        try:
            before = await readiness(plane.admin)
            assert "[-]scheduler failed: it does not know yet what there is" in before
            plane.start()
            await parts.until(plane.ready())
            after = await readiness(plane.admin)
            assert "[+]scheduler ok" in after
            assert "[+]controllers ok" in after
            page = (await ask(plane.admin, "/metrics")).decode()
            assert "workqueue_depth" in page
            assert "scheduler_" in page
            node = plane.client_of("system:node:n1", ["system:nodes"])
            await node.create(Node(metadata=ObjectMeta(name="n1")))
            with pytest.raises(Forbidden):
                await node.create(Node(metadata=ObjectMeta(name="n2")))
        finally:
            await parts.end_all()
            await plane.close()
            await server.stop(0)

    asyncio.run(asyncio.wait_for(body(), 60))


def test_copies_wait_and_a_cluster_waits_for_copies_but_is_ready(tmp_path: Path) -> None:
    async def body() -> None:
        clock, entropy = SystemClock(), SystemEntropy()
        server = Server(MemoryStore(), Settings(secrets=tmp_path), clock, entropy)
        await server.start(listen=False)
        parts = Parts()
        plane = ControlPlane(server, parts, clock=clock, entropy=entropy, gates=DEFAULT_GATES)
        other = LeaderElector(
            plane.admin, name="kube-scheduler", identity="other", clock=clock, entropy=entropy
        )
        leads, stop = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            leads.set()
            await stop.wait()

        leading = asyncio.ensure_future(other.lead(work))
        try:
            await leads.wait()
            plane.start()
            await parts.until(plane.ready())
            assert await holder(plane.admin, "kube-scheduler") == "other"
            assert await holder(plane.admin, "kube-controller-manager") == IDENTITY
            stop.set()
            await leading
            await parts.until(plane.scheduler.ready())
            assert await holder(plane.admin, "kube-scheduler") == IDENTITY
            await parts.end_all()
            # Whoever comes next need not wait.
            assert await holder(plane.admin, "kube-scheduler") == ""
        finally:
            await parts.end_all()
            await plane.close()
            await server.stop(0)

    asyncio.run(asyncio.wait_for(body(), 60))


async def holder(client: Client, lease: str) -> str | None:
    found = await client.get(Lease, lease, namespace="kube-system")
    return found.spec.holder_identity


async def ask(client: Client, path: str) -> bytes:
    return (await client._transport.request(Call("GET", path, (("verbose", ""),)))).body


async def readiness(client: Client) -> str:
    return (await ask(client, "/readyz")).decode()
