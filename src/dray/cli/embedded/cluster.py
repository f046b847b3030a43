"""A cluster from its first file to its last signal: taken, started, told of, and stopped in order.

Whatever was started is stopped in reverse, also when the start does not succeed: agents, what
their pods run, drivers, controllers and scheduler, the server, and last the store.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import dray
from dray.agent.garbage import keep_what_is_there
from dray.cli.embedded.control_plane import ADMINISTRATOR, ControlPlane
from dray.cli.embedded.instance import Hold, Instance
from dray.cli.embedded.kept_fleet import keep_fleet
from dray.cli.embedded.kept_options import NodeOptions, keep_options
from dray.cli.embedded.layout import DATABASE, KEEP_PODS_SIGNAL, NODES_DIRECTORY
from dray.cli.embedded.narrator import Narrator
from dray.cli.embedded.nodes import Nodes, StopMode
from dray.cli.embedded.parts import Parts
from dray.cli.embedded.plan import NodePlan
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import ConfigurationError
from dray.server.pki import write_kubeconfig
from dray.server.server import Server, Settings
from dray.server.user import SYSTEM_MASTERS
from dray.store.sqlite import SQLiteStore

__all__ = ["ClusterSettings", "run_cluster"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How a cluster is set up."""

    data_directory: Path
    kubeconfig: Path
    server: Settings
    nodes: Sequence[NodePlan]
    # What says so, for the next start.
    fleet: Path | None = None
    options: NodeOptions = field(default_factory=NodeOptions)
    cri_endpoint: str = ""
    keep_pods: bool = False


async def run_cluster(
    settings: ClusterSettings,
    *,
    clock: Clock,
    entropy: Entropy,
    ready: Callable[[Instance], None],
) -> None:
    """Run until told to stop by a signal. `ready` is called once everything is."""
    stop, mode = asyncio.Event(), StopMode(keep_pods=settings.keep_pods)
    _heed_signals(stop, mode)
    settings.data_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_kubeconfig(settings.kubeconfig)
    async with AsyncExitStack() as stack:
        hold = await Hold.take(settings.data_directory, clock)
        stack.callback(hold.release)
        server = await _serve(stack, settings, clock, entropy)
        parts = Parts()
        control_plane = ControlPlane(
            server, parts, clock=clock, entropy=entropy, gates=settings.server.gates
        )
        stack.push_async_callback(control_plane.close)
        stack.push_async_callback(parts.end_all)
        narrator = Narrator(control_plane.informers, clock)
        nodes = Nodes(
            settings.nodes,
            control_plane,
            parts,
            directory=settings.data_directory / NODES_DIRECTORY,
            cri_endpoint=settings.cri_endpoint,
            tls=server.serving_context,
            clock=clock,
            entropy=entropy,
        )
        server.add_component("nodes", nodes.problem, lambda: b"")
        control_plane.start()
        parts.start("narrator", narrator.run())
        started = asyncio.ensure_future(_both(control_plane.ready(), nodes.start(stack, mode)))
        if not await parts.until(_before(started, stop)):
            return
        # Not before: a start that fails is nothing to go on with.
        keep_fleet(settings.data_directory, settings.fleet)
        keep_options(settings.data_directory, settings.options)
        write_kubeconfig(
            settings.kubeconfig,
            server=server.url,
            authority=server.authority.certificate,
            credentials=server.authority.client_certificate(ADMINISTRATOR, [SYSTEM_MASTERS]),
        )
        keep_what_is_there()
        instance = Instance(
            pid=os.getpid(),
            version=dray.__version__,
            started_at=clock.now().isoformat(timespec="seconds"),
            url=server.url,
            kubeconfig=str(settings.kubeconfig),
            keep_pods=settings.keep_pods,
        )
        hold.announce(instance)
        ready(instance)
        narrator.begin()
        await parts.until(stop.wait())


async def _serve(
    stack: AsyncExitStack, settings: ClusterSettings, clock: Clock, entropy: Entropy
) -> Server:
    store = SQLiteStore.open(settings.data_directory / DATABASE)
    stack.push_async_callback(store.close)
    server = Server(store, settings.server, clock, entropy)
    await server.start()
    stack.push_async_callback(server.stop)
    return server


async def _both(one: Awaitable[None], other: Awaitable[None]) -> None:
    await asyncio.gather(one, other)


async def _before(started: asyncio.Task[None], stop: asyncio.Event) -> bool:
    """Whether the start succeeded before somebody wanted it to stop."""
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((started, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            return False
        started.result()
        return True
    finally:
        for task in (started, stopped):
            if not task.done():
                task.cancel()
                await asyncio.wait((task,))


def _check_kubeconfig(path: Path) -> None:
    if not path.parent.is_dir():
        # A misspelt path must not become a directory with an administrator's key in it.
        raise ConfigurationError(f"--kubeconfig {path}: there is no directory {path.parent}")


def _heed_signals(stop: asyncio.Event, mode: StopMode) -> None:
    """The first signal stops the cluster, the second ends the patience with its pods."""

    def told(number: signal.Signals) -> None:
        if stop.is_set():
            _log.info("ending pods at once on %s", number.name)
            mode.hurry.set()
            return
        if number is KEEP_PODS_SIGNAL:
            mode.keep_pods = True
        _log.info("stopping on %s", number.name)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, KEEP_PODS_SIGNAL):
        loop.add_signal_handler(number, told, number)
