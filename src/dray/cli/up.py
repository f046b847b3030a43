"""`dray up`: a whole cluster on this machine, in one process."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

import click

from dray.cli.data_directory import data_directory_option
from dray.cli.embedded.cluster import ClusterSettings, run_cluster
from dray.cli.embedded.fleet_file import NODES_MAX
from dray.cli.embedded.instance import Instance
from dray.cli.embedded.kept_fleet import find_fleet
from dray.cli.embedded.kept_options import NodeOptions, find_options
from dray.cli.embedded.layout import KUBECONFIG
from dray.cli.embedded.plan import plan_nodes
from dray.cli.embedded.process_age import process_seconds
from dray.cli.errors import CommandError
from dray.cli.output import examples
from dray.cli.running import only_configuration
from dray.cli.server_options import parse_server, server_options
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import ConfigurationError
from dray.http.loop import run

__all__ = ["command"]

# Parts that log every step of theirs, which one who watches a whole cluster did not ask for.
TALKATIVE: Final = ("dray.agent", "dray.controllers", "dray.scheduler", "dray.sdk")

# Where containerd listens unless told otherwise.
CRI_ENDPOINT: Final = "unix:///run/containerd/containerd.sock"


@click.command(
    "up",
    short_help="Run a whole cluster on this machine.",
    epilog=examples(
        "dray up",
        "dray up --port 0 --kubeconfig ./kubeconfig",
        "dray up --driver host=devices.yaml",
        "dray up --nodes 500",
        "dray up --fleet fleet.yaml",
    ),
)
@data_directory_option
@click.option(
    "--nodes",
    type=click.IntRange(1, NODES_MAX),
    help="Simulate so many nodes, called node-1 and so on; nothing runs on them.  "
    "[default: as at the last start; at first two nodes, which are this machine]",
)
@click.option(
    "--fleet",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file that says which nodes there are, and with which devices.  "
    "[default: that of the last start, unless --nodes or --driver is given]",
)
@click.option(
    "--driver",
    "drivers",
    multiple=True,
    metavar="NAME[=FILE]",
    help="A bundled driver for every node: simulated, host or nvml; may be repeated.  "
    "[default: simulated GPUs]",
)
@click.option(
    "--runtime",
    type=click.Choice(["process", "memory", "cri"]),
    help="What runs containers: local processes, nothing at all, or a CRI runtime.  "
    "[default: as at the last start; at first process, or memory with --nodes]",
)
@click.option(
    "--cri-endpoint",
    help=f"Where the CRI runtime listens.  [default: as at the last start; {CRI_ENDPOINT}]",
)
@click.option(
    "--keep-pods",
    is_flag=True,
    help="Leave pods running when the cluster stops; the next start takes them over.",
)
@server_options
def command(
    data_directory: Path,
    nodes: int | None,
    fleet: Path | None,
    drivers: tuple[str, ...],
    runtime: str | None,
    cri_endpoint: str | None,
    keep_pods: bool,
    kubeconfig: Path | None,
    **server: Any,
) -> None:
    """Run a whole cluster: API server, scheduler, controllers and nodes, in one process.

    Without options there are two nodes, on which pods really run as processes of this machine,
    with simulated GPUs. Everything is kept in one directory, and survives the process. SIGTERM and
    SIGINT stop it, with what pods run; the next start starts pods again.
    """
    data_directory = data_directory.absolute()
    options = NodeOptions(nodes, runtime, cri_endpoint)
    try:
        if fleet is None and nodes is None and not drivers:
            fleet = _fleet_of_last_start(data_directory)
            options = _options_of_last_start(data_directory, options)
        settings = ClusterSettings(
            data_directory=data_directory,
            kubeconfig=(kubeconfig or data_directory / KUBECONFIG).absolute(),
            server=parse_server(data_directory, **server),
            nodes=plan_nodes(
                count=options.nodes, fleet=fleet, drivers=drivers, runtime=options.runtime
            ),
            fleet=fleet,
            options=options,
            cri_endpoint=options.cri_endpoint or CRI_ENDPOINT,
            keep_pods=keep_pods,
        )
        _hush(server["log_level"])
        run(run_cluster(settings, clock=SystemClock(), entropy=SystemEntropy(), ready=_tell))
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    except BaseExceptionGroup as group:
        problem = only_configuration(group)
        if problem is None:
            raise
        raise CommandError(str(problem)) from group


def _fleet_of_last_start(data_directory: Path) -> Path | None:
    found = find_fleet(data_directory)
    if found is not None:
        # Standard output begins with where the cluster is.
        click.echo(f"fleet of the last start: {found}", err=True)
    return found


def _options_of_last_start(data_directory: Path, said: NodeOptions) -> NodeOptions:
    """What is said now, and what was said then of the rest."""
    kept = find_options(data_directory).besides(said)
    if kept != NodeOptions():
        click.echo(f"as at the last start: {kept}", err=True)
    return said.or_else(kept)


def _hush(level: str) -> None:
    """Leave to the narrator what happens; parts say what is wrong, and the rest to whoever asks."""
    if level == "info":
        for name in TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)


def _tell(instance: Instance) -> None:
    took = process_seconds()
    within = "" if took is None else f" in {took:.1f} s"
    click.echo(f"dray up ready at {instance.url}{within}, kubeconfig {instance.kubeconfig}")
    click.echo(f"try: kubectl --kubeconfig {instance.kubeconfig} get nodes,resourceslices")
