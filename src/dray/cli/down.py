"""`dray down`: stops the cluster that `dray up` runs on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from dray.cli.data_directory import data_directory_option
from dray.cli.embedded.instance import FILE_NAME, Hold, Instance, find_instance
from dray.cli.embedded.layout import (
    DATABASE,
    FLEET,
    KEEP_PODS_SIGNAL,
    KUBECONFIG,
    NODES_DIRECTORY,
    OPTIONS,
    SECRETS,
)
from dray.cli.errors import CommandError, CommandFailed
from dray.cli.output import examples
from dray.clock import Clock, SystemClock
from dray.entropy import SystemEntropy
from dray.errors import ConfigurationError

__all__ = ["command"]

# Pods have 30 s to end at most, and the server 10 s for requests under way.
WAIT_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.05

# Everything that a cluster keeps; what else is in the directory is somebody else's.
KEPT: Final = (
    f"{DATABASE}*",
    SECRETS,
    NODES_DIRECTORY,
    KUBECONFIG,
    FLEET,
    OPTIONS,
    ".readiness*",
    FILE_NAME,
)


@click.command(
    "down",
    short_help="Stop the cluster that runs on this machine.",
    epilog=examples(
        "dray down",
        "dray down --keep-pods",
        "dray down --data-dir /tmp/dray --delete-data",
    ),
)
@data_directory_option
@click.option("--keep-pods", is_flag=True, help="Leave pods running, for the next start.")
@click.option("--delete-data", is_flag=True, help="Delete all that the cluster kept.")
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0.0),
    default=WAIT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the end.",
)
def command(data_directory: Path, keep_pods: bool, delete_data: bool, seconds: float) -> None:
    """Stop the cluster that `dray up` runs, and wait for its end.

    What pods run is ended with it, each with its grace period; the pods themselves stay, and the
    next start starts them again. With nothing to stop, that is said, and is no failure.
    """
    if keep_pods and delete_data:
        raise CommandError(
            "--keep-pods and --delete-data: pods cannot go on without the data of their cluster"
        )
    asyncio.run(_down(data_directory, keep_pods, delete_data, seconds, SystemClock()))


async def _down(
    directory: Path, keep_pods: bool, delete_data: bool, seconds: float, clock: Clock
) -> None:
    found = find_instance(directory)
    if found is None:
        click.echo(f"nothing to stop: dray up does not run in {directory}")
        if not delete_data:
            _tell_of_leftovers(directory)
    else:
        await _stop(directory, found, keep_pods, seconds, clock)
    if delete_data:
        await _delete(directory, clock)
    elif found is not None:
        click.echo(f"data stays in {directory}; dray up goes on from there")


def _tell_of_leftovers(directory: Path) -> None:
    """Say what pods of a cluster still run that was killed, or was to leave them running."""
    # Only those who have nothing to stop need it.
    from dray.agent.runtimes.process.survivors import count_survivors  # noqa: PLC0415

    count = sum(map(count_survivors, (directory / NODES_DIRECTORY).glob("*/runtime")))
    if count:
        what = (
            "1 container of its pods goes" if count == 1 else f"{count} containers of its pods go"
        )
        click.echo(
            f"{what} on running: `dray up --data-dir {directory}` takes over what runs, "
            f"`dray down --data-dir {directory} --delete-data` ends it and deletes all data"
        )


async def _stop(
    directory: Path, found: Instance, keep_pods: bool, seconds: float, clock: Clock
) -> None:
    if found.pid <= 0:
        raise CommandError(
            f"a process has {directory / FILE_NAME} locked, and does not say which it is; "
            f"`fuser {directory / FILE_NAME}` does"
        )
    try:
        os.kill(found.pid, KEEP_PODS_SIGNAL if keep_pods else signal.SIGTERM)
    except ProcessLookupError:
        # It has ended between two looks.
        pass
    except PermissionError as error:
        raise CommandError(
            f"process {found.pid} belongs to another user: stop it as that user"
        ) from error
    until = clock.monotonic() + seconds
    while (still := find_instance(directory)) is not None and still.pid == found.pid:
        if clock.monotonic() >= until:
            raise CommandFailed(
                f"process {found.pid} has not ended within {seconds:g} s. `kill -9 {found.pid}` "
                "ends it at once; its pods would go on, and the next start take them over"
            )
        await clock.sleep(LOOK_SECONDS)
    what = "pods go on running" if keep_pods or found.keep_pods else "what its pods ran has ended"
    click.echo(f"stopped process {found.pid}, {what}")


async def _delete(directory: Path, clock: Clock) -> None:
    """Delete what a cluster keeps, after ending what its pods still run."""
    if not (directory / DATABASE).exists() and not (directory / FILE_NAME).exists():
        click.echo(f"nothing to delete: {directory} has no data of a cluster")
        return
    try:
        hold = await Hold.take(directory, clock)
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    try:
        for root in sorted((directory / NODES_DIRECTORY).glob("*")):
            await _end_leftovers(root, clock)
        for pattern in KEPT:
            for path in directory.glob(pattern):
                _remove(path)
    finally:
        hold.release()
    if not any(directory.iterdir()):
        directory.rmdir()
    click.echo(f"deleted the cluster's data in {directory}")


async def _end_leftovers(root: Path, clock: Clock) -> None:
    """End processes of pods that outlived their cluster: after a crash, or on purpose."""
    if not (root / "runtime").is_dir():
        return
    # Nodes take a second to load, and most who stop a cluster keep its data.
    from dray.agent.root_lock import lock_root  # noqa: PLC0415
    from dray.cli.embedded.pod_processes import end_containers  # noqa: PLC0415
    from dray.cli.node_parts import cdi_directory, open_runtime  # noqa: PLC0415

    try:
        with lock_root(root), _starting_quietly():
            cdi = cdi_directory(None, "process", root)
            async with open_runtime("process", root, cdi, "", clock, SystemEntropy()) as runtime:
                count = await end_containers(runtime, (), clock)
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    if count:
        click.echo(f"ended {count} containers of node {root.name}, which had gone on running")


@contextmanager
def _starting_quietly() -> Iterator[None]:
    """What a runtime warns of when it starts is for whoever runs pods, and none will be.

    That a container cannot be ended is said elsewhere, and still is.
    """
    runtimes = logging.getLogger("dray.agent.runtimes")
    level = runtimes.level
    runtimes.setLevel(logging.ERROR)
    try:
        yield
    finally:
        runtimes.setLevel(level)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
