from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.cli.server import command as server
from dray.cli.server_options import parse_server, server_options
from dray.cli.up import command as up
from dray.server.operations.operations import OperationsSettings
from dray.server.server import Settings


@pytest.fixture(autouse=True)
def _root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def run(*arguments: str) -> tuple[Result, list[Settings]]:
    found: list[Settings] = []

    @click.command()
    @server_options
    def command(kubeconfig: Path | None, **options: Any) -> None:
        found.append(parse_server(Path("data"), **options))
        click.echo(f"kubeconfig {kubeconfig}")

    return CliRunner().invoke(command, arguments), found


def test_without_options_a_server_is_for_this_machine_at_the_usual_port() -> None:
    result, (settings,) = run()
    assert settings == Settings(
        secrets=Path("data/pki"),
        port=6443,
        versions=settings.versions,
        operations=OperationsSettings(data_directory=Path("data")),
    )
    assert result.output == "kubeconfig None\n"


def test_options_say_where_to_listen_whom_to_know_and_what_to_serve() -> None:
    result, (settings,) = run(
        *("--host", "::", "--port", "0", "--kubeconfig", "admin.conf"),
        *("--tls-san", "a.example", "--tls-san", "10.0.0.1", "--token-auth-file", "tokens"),
        *("--runtime-config", "resource.k8s.io/v1beta1=true"),
        *("--feature-gates", "DRADerivedAttributes=true", "--log-level", "error"),
        "--no-allocation-check",
    )
    assert (settings.host, settings.port) == ("::", 0)
    assert settings.names == ("a.example", "10.0.0.1")
    assert settings.token_file == Path("tokens")
    assert settings.versions is not None
    assert settings.versions("resource.k8s.io", "v1beta1")
    assert settings.gates == FeatureGates.parse("DRADerivedAttributes=true") != DEFAULT_GATES
    assert not settings.allocation_check
    assert logging.getLogger().level == logging.ERROR
    assert result.output == "kubeconfig admin.conf\n"


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        pytest.param("--runtime-config", "apps/v9=true", "--runtime-config: ", id="version"),
        pytest.param("--feature-gates", "Unheard=true", "--feature-gates: ", id="feature"),
        pytest.param("--port", "65536", "not in the range", id="port"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(option: str, value: str, told: str) -> None:
    result, found = run(option, value)
    assert (result.exit_code, found) == (2, [])
    assert told in result.output


def test_whatever_the_server_can_be_told_a_whole_cluster_can() -> None:
    names = [option.opts for option in up.params]
    assert [option.opts for option in server.params if option.opts not in names] == []
