"""`dray server`: the Kubernetes API on a SQLite file, for kubectl, client libraries and drivers."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path
from typing import Any

import click

import dray
from dray.agent.garbage import keep_what_is_there
from dray.cli.data_directory import data_directory_option
from dray.cli.embedded.layout import DATABASE, KUBECONFIG
from dray.cli.errors import CommandError
from dray.cli.output import examples
from dray.cli.server_options import parse_server, server_options
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import ConfigurationError
from dray.http.loop import run
from dray.server.pki import write_kubeconfig
from dray.server.server import Server, Settings
from dray.server.user import SYSTEM_MASTERS
from dray.store.sqlite import SQLiteStore

_log = logging.getLogger(__name__)

__all__ = ["command"]


@click.command(
    "server",
    epilog=examples(
        "dray server",
        "dray server --data-dir /var/lib/dray --port 6443 --kubeconfig admin.conf",
        "dray server --runtime-config resource.k8s.io/v1beta1=true",
        "dray server --audit-log-path /var/log/dray/audit.log --log-format json",
    ),
)
@data_directory_option
@server_options
def command(data_directory: Path, kubeconfig: Path | None, **server: Any) -> None:
    """Serve the Kubernetes API.

    Everything is kept in one directory. The server speaks TLS with a certificate of its own
    authority and writes a kubeconfig with which kubectl reaches it. It ends on SIGTERM or SIGINT.
    """
    settings = parse_server(data_directory, **server)
    run(_serve(data_directory, settings, kubeconfig or data_directory / KUBECONFIG))


async def _serve(data_directory: Path, settings: Settings, kubeconfig: Path) -> None:
    clock, entropy = SystemClock(), SystemEntropy()
    data_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not kubeconfig.parent.is_dir():
        # A misspelt path must not become a directory with an administrator's key in it.
        raise CommandError(f"--kubeconfig {kubeconfig}: there is no directory {kubeconfig.parent}")
    store = SQLiteStore.open(data_directory / DATABASE)
    _log.info(
        "dray %s opened %s: revision %d, %d objects",
        dray.__version__,
        data_directory / DATABASE,
        store.revision,
        store.count(""),
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop, stop, number)
    try:
        server = Server(store, settings, clock, entropy)
        await server.start()
        try:
            write_kubeconfig(
                kubeconfig,
                server=server.url,
                authority=server.authority.certificate,
                credentials=server.authority.client_certificate("dray-admin", [SYSTEM_MASTERS]),
            )
            keep_what_is_there()
            click.echo(f"dray server ready at {server.url}, kubeconfig {kubeconfig}")
            await stop.wait()
        finally:
            await server.stop()
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    finally:
        await store.close()
        _log.info("stopped at revision %d", store.revision)


def _stop(stop: asyncio.Event, number: signal.Signals) -> None:
    _log.info("stopping on %s", number.name)
    stop.set()
