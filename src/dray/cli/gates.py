"""The option by which every command takes feature gates, written as Kubernetes' components do."""

from __future__ import annotations

from collections.abc import Sequence

import click

from dray.api.features import FEATURES, FeatureGates
from dray.cli.errors import CommandError
from dray.errors import ConfigurationError

__all__ = ["feature_gates_option", "parse_gates"]


def _complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    before, comma, last = typed.rpartition(",")
    switchable = (name for name, feature in sorted(FEATURES.items()) if not feature.locked)
    return [f"{before}{comma}{name}=" for name in switchable if name.startswith(last)]


feature_gates_option = click.option(
    "--feature-gates",
    multiple=True,
    metavar="NAME=BOOL,…",
    shell_complete=_complete,
    help="Features to switch on or off, as on a Kubernetes API server. Repeatable.",
)


def parse_gates(texts: Sequence[str]) -> FeatureGates:
    """What the option says, all times it was given together."""
    try:
        return FeatureGates.parse(",".join(texts))
    except ConfigurationError as error:
        raise CommandError(f"--feature-gates: {error}") from error
