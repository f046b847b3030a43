"""`dray scheduler`: the scheduler as a process of its own, for any cluster."""

from __future__ import annotations

from typing import Any, Final

import click

from dray.cli.component import ComponentOptions, component_options, run_component
from dray.cli.gates import feature_gates_option, parse_gates
from dray.cli.log_options import log_as
from dray.cli.output import examples
from dray.client import Client, Informers
from dray.clock import Clock
from dray.entropy import Entropy
from dray.scheduler.scheduler import Scheduler
from dray.scheduler.settings import DEFAULT_SCHEDULER_NAME, SchedulerSettings

__all__ = ["command"]

# Upstream's, so that there is never a second scheduler of the default name at work.
DEFAULT_LEASE: Final = "kube-scheduler"


@click.command(
    "scheduler",
    short_help="Schedule pods of any cluster.",
    epilog=examples(
        "dray scheduler --kubeconfig ~/.local/share/dray/kubeconfig",
        "dray scheduler --scheduler-name gpu-scheduler --port 10259",
    ),
)
@click.option(
    "--scheduler-name",
    default=DEFAULT_SCHEDULER_NAME,
    show_default=True,
    metavar="NAME",
    help="Whose pods to schedule: those whose spec.schedulerName it is.",
)
@click.option(
    "--leader-elect-resource-name",
    "lease",
    metavar="NAME",
    help="The lease.  [default: kube-scheduler, or the scheduler's name if it has another]",
)
@component_options
@feature_gates_option
def command(
    scheduler_name: str,
    lease: str | None,
    feature_gates: tuple[str, ...],
    log_format: str,
    log_level: str,
    **options: Any,
) -> None:
    """Find nodes and devices for pods, on dray's server or any other Kubernetes API server.

    It ends on SIGTERM or SIGINT, and with exit code 1 when it has lost its lease.
    """
    log_as(log_format, log_level)
    gates = parse_gates(feature_gates)
    usual = DEFAULT_LEASE if scheduler_name == DEFAULT_SCHEDULER_NAME else scheduler_name

    def make(client: Client, informers: Informers, clock: Clock, entropy: Entropy) -> Scheduler:
        settings = SchedulerSettings(name=scheduler_name)
        return Scheduler(
            client, settings, informers=informers, clock=clock, entropy=entropy, gates=gates
        )

    run_component(
        ComponentOptions(name="scheduler", lease=lease or usual, exclusive=True, **options), make
    )
