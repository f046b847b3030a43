"""`dray node`: this machine, or a fleet of simulated ones, as nodes of a cluster."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import click

from dray.agent.agent import Agent
from dray.agent.fleet import Fleet
from dray.agent.garbage import keep_what_is_there
from dray.agent.root_lock import lock_root
from dray.agent.settings import AgentSettings
from dray.cli.drivers import DEFAULT_ROOT, driver_factory
from dray.cli.errors import CommandError
from dray.cli.log_options import log_as, log_options
from dray.cli.node_parts import attached, cdi_directory, open_runtime, pods_known, settled
from dray.cli.output import examples
from dray.cli.running import either, end, only_configuration, told_to_stop
from dray.client import Client, Config, connect, load_kubeconfig
from dray.clock import Clock, SystemClock
from dray.entropy import Entropy, SystemEntropy
from dray.errors import ConfigurationError
from dray.files import write_file
from dray.http.tls import server_context
from dray.sdk import Driver, Settings, serve
from dray.server.pki import Authority

__all__ = ["command"]

_log = logging.getLogger(__name__)

# A name of one label has 63 characters at most, and numbers are added.
FLEET_NODES_MAX: Final = 10_000


@click.command(
    "node",
    short_help="Run pods of a cluster on this machine, or simulate nodes.",
    epilog=examples(
        "dray node --kubeconfig ~/.local/share/dray/kubeconfig",
        "dray node --driver simulated --driver host=devices.yaml",
        "dray node --runtime cri --cri-endpoint unix:///run/containerd/containerd.sock",
        "dray node --nodes 500 --driver simulated=fleet.yaml",
    ),
)
@click.option(
    "--kubeconfig",
    "kubeconfigs",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The cluster to join.  [default: $KUBECONFIG, ~/.kube/config]",
)
@click.option("--context", default="", help="The context of the kubeconfig to use.")
@click.option("--node-name", default="", help="The node's name.  [default: this machine's]")
@click.option(
    "--root-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_ROOT,
    show_default=True,
    help="Where plugins register and state is kept: what /var/lib/kubelet is to a kubelet.",
)
@click.option(
    "--cdi-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where bundled drivers write CDI files, and containers' devices are looked up, "
    "besides /etc/cdi and /var/run/cdi.  [default: cdi below the root; /var/run/cdi with a CRI "
    "runtime, which looks there itself]",
)
@click.option(
    "--runtime",
    type=click.Choice(["process", "cri", "memory"]),
    default="process",
    show_default=True,
    help="What runs containers: local processes, a CRI runtime, or nothing at all.",
)
@click.option(
    "--cri-endpoint",
    default="unix:///run/containerd/containerd.sock",
    show_default=True,
    help="Where the CRI runtime listens.",
)
@click.option(
    "--driver",
    "drivers",
    multiple=True,
    metavar="NAME[=FILE]",
    help="A bundled driver to run: simulated, host or nvml; may be repeated.",
)
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label of the node.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=10250,
    show_default=True,
    help="Where logs and sessions are served to the API server; 0 takes any that is free.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to serve them at."
)
@click.option(
    "--nodes",
    type=click.IntRange(0, FLEET_NODES_MAX),
    default=0,
    help="Simulate so many nodes instead, called NODE_NAME-0 and so on; nothing runs on them.",
)
@log_options
def command(
    kubeconfigs: tuple[Path, ...],
    context: str,
    node_name: str,
    root_dir: Path,
    drivers: tuple[str, ...],
    labels: tuple[str, ...],
    nodes: int,
    log_format: str,
    log_level: str,
    **options: Any,
) -> None:
    """Be a node: register, run pods, prepare their devices, and report how those are.

    Drivers of any kind find it where they would find a kubelet, below the root directory. It ends
    on SIGTERM or SIGINT; pods go on, and are taken over by the next start.
    """
    log_as(log_format, log_level)
    try:
        config = load_kubeconfig(*kubeconfigs, context=context)
        factories = [driver_factory(text) for text in drivers]
        _check_address(options["host"])
        name = node_name or socket.gethostname().lower()
        root = root_dir.expanduser().absolute()
        settings = AgentSettings(node_name=name, root=root, labels=_labels(labels))
        main = (
            _fleet(config, settings, nodes, factories)
            if nodes
            else _node(config, settings, factories, **options)
        )
        asyncio.run(main)
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    except BaseExceptionGroup as group:
        problem = only_configuration(group)
        if problem is None:
            raise
        raise CommandError(str(problem)) from group


def _check_address(host: str) -> None:
    try:
        ip_address(host)
    except ValueError as error:
        raise CommandError(f"--host {host}: must be an IP address") from error


def _labels(texts: Sequence[str]) -> dict[str, str]:
    labels = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise CommandError(f"--label {text}: must be KEY=VALUE")
        labels[key] = value
    return labels


async def _node(
    config: Config,
    settings: AgentSettings,
    factories: Sequence[Callable[[], Driver]],
    *,
    cdi_dir: Path | None,
    runtime: str,
    cri_endpoint: str,
    host: str,
    port: int,
) -> None:
    clock, entropy = SystemClock(), SystemEntropy()
    cdi = cdi_directory(cdi_dir, runtime, settings.root)
    for directory in (settings.root, settings.registry_directory, cdi):
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_root(settings.root))
        settings = replace(
            settings,
            serving_host=host,
            serving_port=port,
            # What the API server is told to call is where we listen, unless that is everywhere.
            addresses=() if ip_address(host).is_unspecified else (host,),
            tls=_serving(config, settings.root, host, clock, entropy),
        )
        client, heartbeats = _clients(config, stack, clock)
        containers = await stack.enter_async_context(
            open_runtime(runtime, settings.root, cdi, cri_endpoint, clock, entropy)
        )
        agent = Agent(
            client, containers, settings, clock=clock, entropy=entropy, heartbeats=heartbeats
        )
        release_pods = agent.hold_pods()
        running = asyncio.ensure_future(agent.run())
        stack.push_async_callback(end, running)
        await either(agent.ready(), running)
        for make in factories:
            driver = make()
            place = Settings(
                node_name=settings.node_name, kubelet_directory=settings.root, cdi_directory=cdi
            )
            served = await stack.enter_async_context(
                serve(driver, place, client=client, clock=clock, entropy=entropy)
            )
            await settled(served, clock)
        release_pods()
        await either(pods_known(agent, clock), running)
        keep_what_is_there()
        click.echo(f"dray node {settings.node_name} ready, files in {settings.root}")
        await either(told_to_stop(), running)


async def _fleet(
    config: Config,
    settings: AgentSettings,
    nodes: int,
    factories: Sequence[Callable[[], Driver]],
) -> None:
    clock, entropy = SystemClock(), SystemEntropy()
    async with AsyncExitStack() as stack:
        client, heartbeats = _clients(config, stack, clock)
        names = [f"{settings.node_name}-{number}" for number in range(nodes)]
        fleet = Fleet(client, names, clock=clock, entropy=entropy, heartbeats=heartbeats)
        release_pods = [agent.hold_pods() for agent in fleet.agents.values()]
        running = asyncio.ensure_future(fleet.run())
        stack.push_async_callback(end, running)
        await either(fleet.ready(), running)
        for (name, agent), release in zip(fleet.agents.items(), release_pods, strict=True):
            for make in factories:
                await stack.enter_async_context(attached(make(), agent, client, clock, entropy))
            release()
            _log.debug("node %s has its drivers", name)
        keep_what_is_there()
        click.echo(f"dray node: {nodes} simulated nodes ready, {names[0]} to {names[-1]}")
        await either(told_to_stop(), running)


def _clients(config: Config, stack: AsyncExitStack, clock: Clock) -> tuple[Client, Client]:
    """Two clients: connections are few, and heartbeats must not wait until pods are done."""
    client, heartbeats = connect(config, clock=clock), connect(config, clock=clock)
    for each in (client, heartbeats):
        stack.push_async_callback(each.close)
    return client, heartbeats


def _serving(
    config: Config, root: Path, host: str, clock: Clock, entropy: Entropy
) -> ssl.SSLContext:
    """TLS with a certificate of our own, for clients that the cluster's authority signed."""
    pki = root / "pki"
    authority = Authority(pki, clock, entropy)
    files = authority.server_certificate([host, "localhost"])
    known = config.trust.authority_file
    if known is None:
        if config.trust.authority is None:
            raise ConfigurationError(
                f"the kubeconfig for {config.server} names no certificate authority, by which the "
                "node would know the API server"
            )
        known = pki / "clients.crt"
        write_file(known, config.trust.authority)
    return server_context(files.certificate, files.key, client_authority=known)
