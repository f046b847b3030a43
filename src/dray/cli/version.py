"""`dray version`: what is running, for bug reports."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import click

import dray
from dray.cli.output import examples

__all__ = ["KUBERNETES_API", "command"]

# Whose kinds, rules and texts dray has.
KUBERNETES_API: Final = "1.37"


@click.command("version", epilog=examples("dray version", "dray version -o json"))
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to say it."
)
def command(output: str) -> None:
    """Show the versions of dray and of what it stands on."""
    versions = {
        "dray": dray.__version__,
        "kubernetesAPI": KUBERNETES_API,
        "python": platform.python_version(),
        "msgspec": _installed("msgspec"),
    }
    if output == "json":
        click.echo(json.dumps(versions))
        return
    click.echo(f"dray {versions['dray']}")
    click.echo(f"Kubernetes API {versions['kubernetesAPI']}")
    click.echo(f"Python {versions['python']}")
    click.echo(f"msgspec {versions['msgspec']}")


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
