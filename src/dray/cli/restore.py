"""`dray restore`: what a server stores, from a backup."""

from __future__ import annotations

from pathlib import Path

import click

from dray.cli.data_directory import data_directory_option
from dray.cli.errors import CommandError
from dray.cli.output import examples, printable
from dray.store.backup import restore, set_aside_name
from dray.store.sqlite import FILE_NAME

__all__ = ["command"]


@click.command(
    "restore",
    short_help="Put a backup in place of the server's data.",
    epilog=examples(
        "dray restore monday.db",
        "dray restore monday.db --force --data-dir /var/lib/dray",
    ),
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@data_directory_option
@click.option("--force", is_flag=True, help="Replace data that is there.")
def command(file: Path, data_directory: Path, force: bool) -> None:
    """Make the data of a server from FILE, a backup. The server must not run.

    The backup is checked before anything is touched. Data that is replaced is kept beside the new.
    Clients that knew the old data list everything anew, because the revision goes on far beyond
    any they have seen.
    """
    database = data_directory / FILE_NAME
    replaced = database.exists()
    if replaced and not force:
        raise CommandError(f"{database} exists; --force replaces it")
    contents = restore(file, database, force=force)
    click.echo(
        f"{printable(str(database))}: {contents.records_count} objects, "
        f"goes on at revision {contents.revision}"
    )
    if replaced:
        click.echo(f"what was there is now {printable(str(set_aside_name(database)))}")
