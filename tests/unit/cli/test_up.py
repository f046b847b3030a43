"""`dray up` as a user runs it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dray.cli import up as module
from dray.cli.embedded.cluster import ClusterSettings
from dray.cli.embedded.instance import Hold, Instance
from dray.cli.embedded.kept_fleet import keep_fleet
from dray.cli.embedded.kept_options import keep_options
from dray.cli.up import TALKATIVE, command
from dray.clock import SystemClock
from dray.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _loggers() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.NOTSET)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["--port", "0", *map(str, arguments)])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_cluster_says_when_it_is_ready_and_ends_when_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    said = module._tell

    def tell(instance: Instance) -> None:
        said(instance)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(module, "_tell", tell)
    result = run("--data-dir", tmp_path / "data", "--nodes", "1")
    assert result.exit_code == 0, result.output
    first, hint, *_ = [line for line in result.stdout.splitlines() if "INFO" not in line]
    assert first.startswith("dray up ready at https://127.0.0.1:")
    assert f" s, kubeconfig {tmp_path}/data/kubeconfig" in first
    assert hint.startswith(f"try: kubectl --kubeconfig {tmp_path}/data/kubeconfig get ")


NAMED = "nodes: [{name: a, colour: red}]"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--driver", "tpu"], "there is no driver tpu", id="driver"),
        pytest.param(["--fleet", "/nowhere.yaml"], "/nowhere.yaml: cannot be read", id="fleet"),
        pytest.param(["--fleet", "FLEET"], "unknown field `colour` - at `$.nodes[0]`", id="typo"),
        pytest.param(["--nodes", "10001"], "not in the range", id="nodes"),
        pytest.param(["--nodes", "0"], "0 is not in the range 1<=x<=10000", id="no-nodes"),
        pytest.param(["--feature-gates", "Unheard=true"], "Unheard", id="gate"),
        pytest.param(["--runtime-config", "apps/v9=true"], "apps/v9", id="version"),
        pytest.param(["--kubeconfig", "/no/where/config"], "there is no directory", id="config"),
        pytest.param(["--token-auth-file", "/no/tokens"], "/no/tokens", id="tokens"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    tmp_path: Path, arguments: list[str], told: str
) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(NAMED)
    arguments = [str(fleet) if one == "FLEET" else one for one in arguments]
    result = run("--data-dir", tmp_path / "data", *arguments)
    assert result.exit_code == 2, result.output
    assert told in result.output
    assert "Traceback" not in result.output


FLEET = "nodes: [{name: a, runtime: memory}, {name: b, runtime: memory}]"


def planned(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> tuple[list[str], Result]:
    """Which nodes a start has."""
    names: list[str] = []

    async def start(settings: ClusterSettings, **_: object) -> None:
        settings.data_directory.mkdir(exist_ok=True)
        keep_fleet(settings.data_directory, settings.fleet)
        keep_options(settings.data_directory, settings.options)
        names.extend(one.name for one in settings.nodes)

    monkeypatch.setattr(module, "run_cluster", start)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return names, result


def test_a_start_goes_on_with_the_fleet_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, data = tmp_path / "fleet.yaml", tmp_path / "data"
    fleet.write_text(FLEET)
    first, result = planned(monkeypatch, "--data-dir", data, "--fleet", fleet)
    assert (first, "last start" in result.output) == (["a", "b"], False)
    fleet.unlink()
    for _ in range(2):
        names, result = planned(monkeypatch, "--data-dir", data)
        assert names == ["a", "b"]
        assert result.stderr == f"fleet of the last start: {data}/up.fleet.yaml\n"
        assert result.stdout == ""


@pytest.mark.parametrize("option", [("--nodes", "1"), ("--driver", "simulated")])
def test_options_for_nodes_end_the_fleet_of_the_last_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str]
) -> None:
    fleet, data = tmp_path / "fleet.yaml", tmp_path / "data"
    fleet.write_text(FLEET)
    planned(monkeypatch, "--data-dir", data, "--fleet", fleet)
    names, result = planned(monkeypatch, "--data-dir", data, *option)
    assert "a" not in names
    assert "last start" not in result.output
    assert planned(monkeypatch, "--data-dir", data)[0] == names


def test_a_start_goes_on_with_the_nodes_and_the_runtime_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    first, result = planned(monkeypatch, "--data-dir", data, "--nodes", 3, "--runtime", "process")
    assert (len(first), "last start" in result.output) == (3, False)
    for _ in range(2):
        names, result = planned(monkeypatch, "--data-dir", data)
        assert names == first
        assert result.stderr == "as at the last start: --nodes 3 --runtime process\n"
        assert result.stdout == ""


@pytest.mark.parametrize(
    ("given", "told", "names"),
    [
        (["--runtime", "memory"], "as at the last start: --nodes 3\n", 3),
        (["--nodes", "1"], "", 1),
        (["--driver", "simulated"], "", 2),
    ],
)
def test_what_is_said_now_counts_more_than_the_last_start(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: list[str],
    told: str,
    names: int,
) -> None:
    data = tmp_path / "data"
    planned(monkeypatch, "--data-dir", data, "--nodes", 3, "--runtime", "process")
    found, result = planned(monkeypatch, "--data-dir", data, *given)
    assert (len(found), result.stderr) == (names, told)
    assert planned(monkeypatch, "--data-dir", data)[0] == found


def test_a_fleet_file_lets_go_of_the_nodes_of_the_last_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, data = tmp_path / "fleet.yaml", tmp_path / "data"
    fleet.write_text(FLEET)
    planned(monkeypatch, "--data-dir", data, "--nodes", 3, "--runtime", "process")
    names, result = planned(monkeypatch, "--data-dir", data, "--fleet", fleet)
    assert (names, result.stderr) == (["a", "b"], "")


def test_options_of_the_last_start_that_make_no_sense_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "up.nodes.json").write_text("{")
    result = run("--data-dir", tmp_path)
    assert result.exit_code == 2
    assert f"{tmp_path}/up.nodes.json: " in result.output
    assert planned(monkeypatch, "--data-dir", tmp_path, "--nodes", 1)[0] == ["node-1"]


def test_a_second_start_is_refused_with_what_to_do(tmp_path: Path) -> None:
    hold = asyncio.run(Hold.take(tmp_path, SystemClock()))
    try:
        result = run("--data-dir", tmp_path, "--nodes", "1")
    finally:
        hold.release()
    assert result.exit_code == 2
    assert f"dray up runs there already (process {os.getpid()})" in result.output
    assert f"dray down --data-dir {tmp_path}" in result.output


def test_problems_of_several_parts_are_said_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise ExceptionGroup("parts", [ConfigurationError("this"), ConfigurationError("that")])

    monkeypatch.setattr(module, "run_cluster", refuse)
    result = run("--data-dir", tmp_path)
    assert (result.exit_code, "this; that" in result.output) == (2, True)


def test_a_bug_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ExceptionGroup("parts", [ZeroDivisionError("bug")])

    monkeypatch.setattr(module, "run_cluster", fail)
    assert isinstance(run("--data-dir", tmp_path).exception, ExceptionGroup)


@pytest.mark.parametrize(("level", "told"), [("info", False), ("debug", True)])
def test_steps_of_parts_are_for_those_who_ask(level: str, told: bool) -> None:
    logging.getLogger().setLevel(logging.DEBUG)
    module._hush(level)
    assert logging.getLogger("dray.agent.pods").isEnabledFor(logging.INFO) is told
    assert logging.getLogger("dray.agent.pods").isEnabledFor(logging.WARNING)
    assert logging.getLogger("dray.cluster").isEnabledFor(logging.INFO)
