"""`dray completion`: the script that teaches a shell dray's commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from dray.cli.errors import CommandError
from dray.cli.output import examples

__all__ = ["SHELLS", "command"]

SHELLS: Final = ("bash", "fish", "zsh")

# The variable through which the shell's script asks the program.
_VARIABLE: Final = "_DRAY_COMPLETE"


@click.command(
    "completion",
    epilog=examples(
        "source <(dray completion bash)",
        "dray completion zsh > ~/.zfunc/_dray",
        "dray completion fish > ~/.config/fish/completions/dray.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a completion script for a shell."""
    kind = get_completion_class(shell)
    if kind is None:
        raise CommandError(f"no completion for {shell} in this version of click")
    click.echo(kind(context.find_root().command, {}, "dray", _VARIABLE).source())
