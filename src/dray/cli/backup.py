"""`dray backup`: a copy of what a server on this machine stores, made while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from dray.cli.data_directory import data_directory_option
from dray.cli.output import examples, printable
from dray.store.backup import back_up
from dray.store.sqlite import FILE_NAME

__all__ = ["command"]


@click.command(
    "backup",
    short_help="Copy the server's data to a file.",
    epilog=examples(
        "dray backup monday.db",
        "dray backup /mnt/backups/dray.db --data-dir /var/lib/dray",
    ),
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@data_directory_option
def command(file: Path, data_directory: Path) -> None:
    """Copy everything a server stores to FILE, whether or not the server runs.

    The copy is the state at one revision. It is checked before it appears under its name, replaces
    a file of that name, and is readable by its owner only: secrets are in it.
    """
    contents = back_up(data_directory / FILE_NAME, file)
    click.echo(
        f"{printable(str(file))}: revision {contents.revision}, "
        f"{contents.records_count} objects, {contents.bytes_count} bytes"
    )
