from __future__ import annotations

import os
import signal
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

import dray.cli.server as module
from dray.cli.embedded.layout import DATABASE, SECRETS
from dray.cli.server import command
from dray.server.pki import write_kubeconfig

pytestmark = pytest.mark.slow


class Stopping:
    """Writes the kubeconfig, then has the command stop as an operator would."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number
        self.path: Path | None = None

    def __call__(self, path: Path, **details: Any) -> None:
        write_kubeconfig(path, **details)
        self.path = path
        os.kill(os.getpid(), self.number)


def run(
    monkeypatch: pytest.MonkeyPatch, *arguments: object, number: signal.Signals = signal.SIGTERM
) -> tuple[Result, Stopping]:
    stopping = Stopping(number)
    monkeypatch.setattr(module, "write_kubeconfig", stopping)
    result = CliRunner().invoke(command, ["--port", "0", *map(str, arguments)])
    return result, stopping


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_runs_until_it_is_told_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    data = tmp_path / "data"
    result, stopping = run(monkeypatch, "--data-dir", data, number=number)
    assert result.exit_code == 0, result.output
    assert "dray server ready at https://127.0.0.1:" in result.output
    assert stopping.path == data / "kubeconfig"
    assert (data / DATABASE).exists()
    assert (data.stat().st_mode & 0o777, (data / SECRETS).is_dir()) == (0o700, True)


def test_the_kubeconfig_is_for_the_administrator_of_this_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tmp_path / "admin.conf"
    result, _ = run(monkeypatch, "--data-dir", tmp_path / "data", "--kubeconfig", wanted)
    assert result.exit_code == 0, result.output
    config = yaml.safe_load(wanted.read_text())
    (cluster,) = config["clusters"]
    assert cluster["cluster"]["server"] in result.output
    assert config["users"][0]["user"]["client-certificate-data"]


def test_a_second_start_finds_what_the_first_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = run(monkeypatch, "--data-dir", tmp_path / "data")
    authority = (tmp_path / "data" / SECRETS / "ca.crt").read_bytes()
    second, _ = run(monkeypatch, "--data-dir", tmp_path / "data")
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert (tmp_path / "data" / SECRETS / "ca.crt").read_bytes() == authority
    assert ssl.PEM_cert_to_DER_cert(authority.decode())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--runtime-config", "apps/v9=true"], "apps/v9", id="version"),
        pytest.param(["--feature-gates", "Unheard=true"], "Unheard", id="feature"),
        pytest.param(["--token-auth-file", "/nowhere/tokens"], "/nowhere/tokens", id="tokens"),
    ],
)
def test_a_setting_that_makes_no_sense_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    result, stopping = run(monkeypatch, "--data-dir", tmp_path / "data", *arguments)
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    assert told in result.output
    assert stopping.path is None
