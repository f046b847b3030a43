"""`dray server`: the Kubernetes API on a SQLite file, for kubectl, client libraries and drivers."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

import dray
from dray.agent.garbage import keep_what_is_there
from dray.cli.errors import CommandError
from dray.cli.gates import feature_gates_option, parse_gates
from dray.cli.operations import operations_options, parse_operations
from dray.cli.output import examples
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import ConfigurationError
from dray.http.loop import run
from dray.server.pki import write_kubeconfig
from dray.server.runtime_config import parse_runtime_config
from dray.server.server import Server, Settings
from dray.server.user import SYSTEM_MASTERS
from dray.store.sqlite import SQLiteStore

_log = logging.getLogger(__name__)

__all__ = ["DEFAULT_DATA_DIR", "DEFAULT_PORT", "command"]

DEFAULT_DATA_DIR: Final = Path("~/.local/share/dray")
DEFAULT_PORT: Final = 6443

DATABASE: Final = "dray.db"
SECRETS: Final = "pki"


@click.command(
    "server",
    epilog=examples(
        "dray server",
        "dray server --data-dir /var/lib/dray --port 6443 --kubeconfig admin.conf",
        "dray server --runtime-config resource.k8s.io/v1beta1=true",
        "dray server --audit-log-path /var/log/dray/audit.log --log-format json",
    ),
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_DATA_DIR,
    show_default=True,
    help="Where the database, certificates and keys are kept.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="The port to listen at; 0 takes any that is free.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write a kubeconfig for the administrator.  [default: DATA_DIR/kubeconfig]",
)
@click.option(
    "--tls-san",
    "names",
    multiple=True,
    metavar="NAME",
    help="Another name or address by which clients call the server; may be repeated.",
)
@click.option(
    "--token-auth-file",
    "token_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help='A file of bearer tokens, a line each: token,user,uid,"group,group".',
)
@click.option(
    "--runtime-config",
    default="",
    metavar="GROUP/VERSION=BOOL,...",
    help="API versions to serve beyond the default ones, or not to serve.",
)
@feature_gates_option
@operations_options
def command(
    data_dir: Path,
    host: str,
    port: int,
    kubeconfig: Path | None,
    names: tuple[str, ...],
    token_file: Path | None,
    runtime_config: str,
    feature_gates: tuple[str, ...],
    **operations: Any,
) -> None:
    """Serve the Kubernetes API.

    Everything is kept in one directory. The server speaks TLS with a certificate of its own
    authority and writes a kubeconfig with which kubectl reaches it. It ends on SIGTERM or SIGINT.
    """
    data_dir = data_dir.expanduser()
    settings = Settings(
        secrets=data_dir / SECRETS,
        host=host,
        port=port,
        names=names,
        token_file=token_file,
        versions=_versions(runtime_config),
        gates=parse_gates(feature_gates),
        operations=parse_operations(data_directory=data_dir, **operations),
    )
    run(_serve(data_dir, settings, kubeconfig or data_dir / "kubeconfig"))


def _versions(runtime_config: str) -> Callable[[str, str], bool] | None:
    try:
        return parse_runtime_config(runtime_config)
    except ConfigurationError as error:
        raise CommandError(f"--runtime-config: {error}") from error


async def _serve(data_dir: Path, settings: Settings, kubeconfig: Path) -> None:
    clock, entropy = SystemClock(), SystemEntropy()
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not kubeconfig.parent.is_dir():
        # A misspelt path must not become a directory with an administrator's key in it.
        raise CommandError(f"--kubeconfig {kubeconfig}: there is no directory {kubeconfig.parent}")
    store = SQLiteStore.open(data_dir / DATABASE)
    _log.info(
        "dray %s opened %s: revision %d, %d objects",
        dray.__version__,
        data_dir / DATABASE,
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
