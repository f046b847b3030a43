"""`dray status`: what it says of a cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

import dray.cli.status as module
from dray.cli.embedded.census import (
    Census,
    ClaimCounts,
    DeviceCounts,
    NodeCounts,
    PendingPod,
    PendingReason,
)
from dray.cli.embedded.instance import Hold, Instance
from dray.cli.program import run as run_program
from dray.cli.status import Status, command, lines_of, read_checks
from dray.client import Client
from dray.clock import SystemClock
from tests.unit.cli.embedded.clusters import run_one, settings_for


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments], standalone_mode=False)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Hold]:
    hold = asyncio.run(Hold.take(tmp_path, SystemClock()))
    yield hold
    hold.release()


def test_nothing_that_runs_is_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["status", "--data-dir", str(tmp_path)]) == 3
    assert f"dray up does not run in {tmp_path}" in capsys.readouterr().out
    assert run_program(["status", "--data-dir", str(tmp_path), "-o", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["running"] is False


def test_one_that_starts_is_said_to(tmp_path: Path, held: Hold) -> None:
    result = run("--data-dir", tmp_path)
    assert result.return_value == 0
    assert "it is starting, or stopping" in result.output


def test_one_that_does_not_answer_is_a_problem(
    tmp_path: Path, held: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "kubeconfig"
    held.announce(Instance(pid=1, url="https://127.0.0.1:1", kubeconfig=str(config)))
    assert f"{config}" in run("--data-dir", tmp_path).output

    async def silent(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "load_kubeconfig", lambda _path: None)
    monkeypatch.setattr(module, "_ask", silent)
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.01)
    assert "it did not answer within 0.01 s" in run("--data-dir", tmp_path).output


def test_checks_are_read_as_the_server_writes_them() -> None:
    text = "[+]ping ok\n[-]scheduler failed: not yet\n[+]store excluded: ok\nreadyz check failed\n"
    assert read_checks(text) == {"ping": "ok", "scheduler": "not yet", "store": "ok"}


CENSUS = Census(
    nodes=NodeCounts(total=2, ready=1),
    pods={"Pending": 21, "Running": 3},
    claims=ClaimCounts(total=5, allocated=4, in_use=3),
    devices=DeviceCounts(total=8, in_use=4, tainted=1, unhealthy=1),
    pending=(PendingPod(namespace="ns", name="p", reason="0/2 nodes\x1b[2J are available"),),
    pending_more=20,
    pending_reasons=(
        PendingReason(
            reason="0/2 nodes\x1b[2J are available", count=17, pods=("ns/p", "ns/q", "ns/r")
        ),
        PendingReason(reason="no image", count=2, pods=("ns/s", "ns/t")),
        PendingReason(reason="not scheduled yet", count=1, pods=("ns/u",)),
    ),
)


def test_people_are_told_everything() -> None:
    status = Status(
        running=True,
        data_directory="/data",
        pid=7,
        version="1.0",
        url="https://127.0.0.1:6443",
        kubeconfig="/data/kubeconfig",
        uptime_seconds=600,
        components={"ping": "ok", "scheduler": "not yet"},
        census=CENSUS,
        problem="slow",
    )
    assert list(lines_of(status)) == [
        "dray up runs in /data: process 7, up 10 min, dray 1.0",
        "  server      https://127.0.0.1:6443",
        "  kubeconfig  /data/kubeconfig",
        "  ready       ping",
        "  not ready   scheduler: not yet",
        "  problem     slow",
        "  nodes       2, 1 ready",
        "  pods        21 Pending, 3 Running",
        "  claims      5, 4 allocated, 3 in use",
        "  devices     8, 4 in use, 1 tainted, 1 unhealthy in use",
        "  pending     17 pods, ns/p, ns/q, ns/r, …: 0/2 nodes\\x1b[2J are available",
        "  pending     2 pods, ns/s, ns/t: no image",
        "  pending     ns/u: not scheduled yet",
        "  pending     and 1 more",
    ]


def test_a_few_pods_that_wait_are_told_one_by_one() -> None:
    few = tuple(PendingPod(namespace="ns", name=name, reason="no room") for name in "abcde")
    census = msgspec.structs.replace(CENSUS, pending=few, pending_more=0)
    status = Status(running=True, data_directory="/data", census=census)
    told = [line for line in lines_of(status) if "pending" in line]
    assert told == [f"  pending     ns/{name}: no room" for name in "abcde"]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (5.4, "up 5 s"),
        (179, "up 179 s"),
        (3600, "up 60 min"),
        (36_000, "up 10 h"),
        (864e3, "up 10 d"),
    ],
)
def test_durations_are_exact_enough(seconds: float, told: str) -> None:
    first, *_ = lines_of(Status(running=True, data_directory="/d", uptime_seconds=seconds))
    assert first.endswith(told)


@pytest.mark.slow
def test_a_cluster_that_runs_is_asked(tmp_path: Path) -> None:
    async def visit(_client: Client, _instance: Instance) -> None:
        status = await module._look(tmp_path, SystemClock())
        assert status.running
        assert status.problem == ""
        assert status.components["scheduler"] == status.components["nodes"] == "ok"
        assert status.census is not None
        assert (status.census.nodes.total, status.census.devices.total) == (1, 32)
        assert status.uptime_seconds is not None

    run_one(settings_for(tmp_path), visit)
