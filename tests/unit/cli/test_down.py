"""`dray down`: what it stops, what it deletes, what it says."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dray.agent.runtimes.process.shim.identity import identify
from dray.cli.down import command
from dray.cli.embedded.instance import FILE_NAME, find_instance

# Takes the directory, and ends as it is told: by which signal, it says.
HOLDER = """
import asyncio, os, signal, sys
from pathlib import Path
from dray.cli.embedded.instance import Hold, Instance
from dray.clock import SystemClock

async def main():
    hold = await Hold.take(Path(sys.argv[1]), SystemClock())
    hold.announce(Instance(pid=os.getpid(), keep_pods=sys.argv[2] == "keeps pods"))
    told = asyncio.get_running_loop().create_future()
    for number in (signal.SIGTERM, signal.SIGUSR1):
        handler = (lambda _: None) if sys.argv[2] == "ignores" else told.set_result
        asyncio.get_running_loop().add_signal_handler(number, handler, number)
    print("ready", flush=True)
    print((await told).name, flush=True)

asyncio.run(main())
"""


@contextmanager
def holder(directory: Path, how: str = "obeys") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, str(directory), how]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments])


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "options", "number", "told"),
    [
        pytest.param("obeys", [], "SIGTERM", "what its pods ran has ended", id="pods-end"),
        pytest.param("obeys", ["--keep-pods"], "SIGUSR1", "pods go on running", id="pods-stay"),
        pytest.param("keeps pods", [], "SIGTERM", "pods go on running", id="pods-always-stay"),
    ],
)
def test_a_running_cluster_is_told_to_stop(
    tmp_path: Path, how: str, options: list[str], number: str, told: str
) -> None:
    with holder(tmp_path, how) as process:
        result = run("--data-dir", tmp_path, *options)
        assert result.exit_code == 0, result.output
        assert f"stopped process {process.pid}" in result.output
        assert told in result.output
        assert f"data stays in {tmp_path}" in result.output
        assert said(process) == number
    assert find_instance(tmp_path) is None


def test_nothing_to_stop_is_no_failure(tmp_path: Path) -> None:
    result = run("--data-dir", tmp_path / "nowhere")
    assert result.exit_code == 0
    assert result.output == f"nothing to stop: dray up does not run in {tmp_path}/nowhere\n"


@pytest.mark.parametrize(
    ("count", "told"), [(1, "1 container of its pods goes"), (3, "3 containers")]
)
def test_what_outlived_its_cluster_is_told_of_with_what_to_do(
    tmp_path: Path, count: int, told: str
) -> None:
    me = identify(os.getpid())
    assert me is not None
    for number in range(count):
        container = tmp_path / f"nodes/node-{number}/runtime/containers/c"
        container.mkdir(parents=True)
        (container / "supervisor.json").write_text(json.dumps({"supervisor": me.as_json()}))
    result = run("--data-dir", tmp_path)
    assert result.exit_code == 0
    nothing, leftovers = result.output.splitlines()
    assert nothing.startswith("nothing to stop")
    assert leftovers.startswith(told)
    assert f"`dray up --data-dir {tmp_path}` takes over" in leftovers
    assert f"`dray down --data-dir {tmp_path} --delete-data` ends it" in leftovers


@pytest.mark.slow
def test_one_that_does_not_stop_is_told_of_with_what_to_do(tmp_path: Path) -> None:
    with holder(tmp_path, "ignores") as process:
        result = run("--data-dir", tmp_path, "--timeout", "0.1")
        assert result.exit_code == 1
        assert f"process {process.pid} has not ended within 0.1 s" in result.output
        assert f"kill -9 {process.pid}" in result.output


@pytest.mark.slow
def test_one_that_does_not_say_who_it_is_is_not_guessed(tmp_path: Path) -> None:
    with holder(tmp_path):
        (tmp_path / FILE_NAME).write_text("nonsense")
        result = run("--data-dir", tmp_path)
        assert result.exit_code == 2
        assert "does not say which it is" in result.output


@pytest.mark.slow
def test_one_of_another_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _number: int) -> None:
        raise PermissionError

    with holder(tmp_path) as process:
        with monkeypatch.context() as patched:
            patched.setattr(os, "kill", refuse)
            result = run("--data-dir", tmp_path)
        assert result.exit_code == 2
        assert f"process {process.pid} belongs to another user" in result.output


def test_pods_cannot_outlive_their_data(tmp_path: Path) -> None:
    result = run("--data-dir", tmp_path, "--keep-pods", "--delete-data")
    assert result.exit_code == 2
    assert "pods cannot go on without the data" in result.output


def kept(directory: Path) -> None:
    for name in (
        "dray.db",
        "dray.db-wal",
        "dray.db.lock",
        "kubeconfig",
        "up.fleet.yaml",
        "pki/ca.key",
    ):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (directory / "nodes" / "node-1").mkdir(parents=True)


def test_what_the_cluster_kept_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept(data)
    (data / "mine.txt").write_text("precious")
    result = run("--data-dir", data, "--delete-data")
    assert result.exit_code == 0, result.output
    assert f"deleted the cluster's data in {data}" in result.output
    assert [path.name for path in data.iterdir()] == ["mine.txt"]


def test_a_directory_that_is_empty_by_then_goes_too(tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept(data)
    assert run("--data-dir", data, "--delete-data").exit_code == 0
    assert not data.exists()


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("another cluster's")
    result = run("--data-dir", tmp_path, "--delete-data")
    assert result.exit_code == 0
    assert "nothing to delete" in result.output
    assert (tmp_path / "kubeconfig").exists()


def test_what_only_those_who_run_pods_want_to_know_is_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("dray.agent.runtimes.process.cgroups")
    asked = []

    def warn(root: Path) -> None:
        asked.append(root)
        logger.warning("limits of cpu are not kept: no such controllers")

    monkeypatch.setattr("dray.agent.runtimes.process.runtime.find_cgroups", warn)
    kept(tmp_path)
    (tmp_path / "nodes" / "node-1" / "runtime").mkdir()
    result = run("--data-dir", tmp_path, "--delete-data")
    assert result.exit_code == 0, result.output
    assert asked
    assert not caplog.records
    assert logger.isEnabledFor(logging.WARNING), "for the others"
