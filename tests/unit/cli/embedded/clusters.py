"""Clusters for tests, complete and small."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from dray.cli.embedded.cluster import ClusterSettings, run_cluster
from dray.cli.embedded.instance import Instance
from dray.cli.embedded.plan import NodePlan, plan_nodes
from dray.client import Client, connect, load_kubeconfig
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.server.server import Settings

__all__ = ["Visit", "run_one", "settings_for"]


def settings_for(
    directory: Path, *, nodes: list[NodePlan] | None = None, keep_pods: bool = False
) -> ClusterSettings:
    """A cluster with one simulated node, unless told otherwise."""
    if nodes is None:
        nodes = plan_nodes(count=1, fleet=None, drivers=(), runtime=None)
    return ClusterSettings(
        data_directory=directory,
        kubeconfig=directory / "kubeconfig",
        server=Settings(secrets=directory / "pki"),
        nodes=nodes,
        keep_pods=keep_pods,
    )


Visit = Callable[[Client, Instance], Awaitable[None]]


def run_one(settings: ClusterSettings, visit: Visit, *, number: int = signal.SIGTERM) -> None:
    """Run a cluster, visit it as its administrator, and tell it to stop."""
    visits: list[asyncio.Task[None]] = []

    async def look(instance: Instance) -> None:
        client = connect(load_kubeconfig(instance.kubeconfig), clock=SystemClock())
        try:
            await visit(client, instance)
        finally:
            await client.close()
            os.kill(os.getpid(), number)

    async def body() -> None:
        await run_cluster(
            settings,
            clock=SystemClock(),
            entropy=SystemEntropy(),
            ready=lambda instance: visits.append(asyncio.ensure_future(look(instance))),
        )
        for each in visits:
            await each

    asyncio.run(asyncio.wait_for(body(), 60))
