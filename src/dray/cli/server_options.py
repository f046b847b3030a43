"""The options of commands that serve the API: of `dray server`, and of `dray up`, which has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from dray.cli.embedded.layout import SECRETS
from dray.cli.errors import CommandError
from dray.cli.gates import feature_gates_option, parse_gates
from dray.cli.operations import operations_options, parse_operations
from dray.errors import ConfigurationError
from dray.server.runtime_config import parse_runtime_config
from dray.server.server import Settings

__all__ = ["parse_server", "server_options"]

F = TypeVar("F", bound=Callable[..., Any])

# That of an API server upstream.
DEFAULT_PORT: Final = 6443

_OPTIONS: Final = (
    click.option(
        "--host", default="127.0.0.1", show_default=True, help="The address to listen at."
    ),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=DEFAULT_PORT,
        show_default=True,
        help="The port to listen at; 0 takes any that is free.",
    ),
    click.option(
        "--kubeconfig",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Where to write a kubeconfig for the administrator.  [default: DATA_DIR/kubeconfig]",
    ),
    click.option(
        "--tls-san",
        "names",
        multiple=True,
        metavar="NAME",
        help="Another name or address by which clients call the server; may be repeated.",
    ),
    click.option(
        "--token-auth-file",
        "token_file",
        type=click.Path(dir_okay=False, path_type=Path),
        help='A file of bearer tokens, a line each: token,user,uid,"group,group".',
    ),
    click.option(
        "--runtime-config",
        default="",
        metavar="GROUP/VERSION=BOOL,...",
        help="API versions to serve beyond the default ones, or not to serve.",
    ),
    feature_gates_option,
    click.option(
        "--allocation-check/--no-allocation-check",
        default=True,
        show_default=True,
        help="Refuse to give away devices that other claims hold.",
    ),
    operations_options,
)


def server_options(command: F) -> F:
    """Give a command these options. All but `kubeconfig` are for `parse_server`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def parse_server(
    data_directory: Path,
    *,
    host: str,
    port: int,
    names: tuple[str, ...],
    token_file: Path | None,
    runtime_config: str,
    feature_gates: Sequence[str],
    allocation_check: bool,
    **operations: Any,
) -> Settings:
    """What the options say; the log is set up by them at once."""
    return Settings(
        secrets=data_directory / SECRETS,
        host=host,
        port=port,
        names=names,
        token_file=token_file,
        versions=_versions(runtime_config),
        gates=parse_gates(feature_gates),
        allocation_check=allocation_check,
        operations=parse_operations(data_directory=data_directory, **operations),
    )


def _versions(runtime_config: str) -> Callable[[str, str], bool] | None:
    try:
        return parse_runtime_config(runtime_config)
    except ConfigurationError as error:
        raise CommandError(f"--runtime-config: {error}") from error
