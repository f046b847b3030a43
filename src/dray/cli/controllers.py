"""`dray controllers`: the controllers as a process of their own, for any cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import click

from dray.cli.component import ComponentOptions, component_options, run_component
from dray.cli.errors import CommandError
from dray.cli.gates import feature_gates_option, parse_gates
from dray.cli.log_options import log_as
from dray.cli.output import examples
from dray.client import Client, Informers
from dray.clock import Clock
from dray.controllers.controllers import CONTROLLERS, Controllers
from dray.entropy import Entropy

__all__ = ["choose_controllers", "command"]

# Upstream's, so that no two sets of the usual controllers work against each other.
DEFAULT_LEASE: Final = "kube-controller-manager"

ALL: Final = "*"


@click.command(
    "controllers",
    short_help="Run controllers for any cluster.",
    epilog=examples(
        "dray controllers --kubeconfig ~/.local/share/dray/kubeconfig",
        "dray controllers --controllers '*,-garbage-collector-controller'",
        "dray controllers --port 10257 --log-format json",
    ),
)
@click.option(
    "--controllers",
    "chosen",
    multiple=True,
    default=[ALL],
    show_default=True,
    metavar="NAME,-NAME,…",
    shell_complete=lambda _context, _parameter, typed: _complete(typed),
    help="Which to run: names, all of them by *, and -name for all but one. Repeatable.",
)
@click.option(
    "--leader-elect-resource-name",
    "lease",
    default=DEFAULT_LEASE,
    show_default=True,
    metavar="NAME",
    help="The lease.",
)
@component_options
@feature_gates_option
def command(
    chosen: tuple[str, ...],
    lease: str,
    feature_gates: tuple[str, ...],
    log_format: str,
    log_level: str,
    **options: Any,
) -> None:
    """Make a cluster become what its objects say, on dray's server or any other one.

    Names are upstream's. It ends on SIGTERM or SIGINT, and with exit code 1 when it has lost its
    lease.
    """
    log_as(log_format, log_level)
    gates = parse_gates(feature_gates)
    names = choose_controllers(chosen, CONTROLLERS)

    def make(client: Client, informers: Informers, clock: Clock, entropy: Entropy) -> Controllers:
        return Controllers(
            client, informers=informers, clock=clock, entropy=entropy, gates=gates, names=names
        )

    run_component(ComponentOptions(name="controllers", lease=lease, **options), make)


def choose_controllers(texts: Sequence[str], known: Collection[str]) -> list[str]:
    """The controllers that an option names, in their usual order.

    `*` stands for all; a name without it is that one alone; `-name` is left out whatever else is
    said, as upstream has it.
    """
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    for word in words:
        name = word.removeprefix("-")
        if word != ALL and name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise CommandError(f"--controllers {word}: there is no controller {name}, only {there}")
    everything = ALL in words
    names = [name for name in known if f"-{name}" not in words and (everything or name in words)]
    if not names:
        raise CommandError(f"--controllers {','.join(texts)}: leaves none to run")
    return names


def _complete(typed: str) -> list[str]:
    before, comma, last = typed.rpartition(",")
    minus = "-" if last.startswith("-") else ""
    begun = last.removeprefix("-")
    return [f"{before}{comma}{minus}{name}" for name in CONTROLLERS if name.startswith(begun)]
