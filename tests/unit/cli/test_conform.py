"""`dray conform` through the command line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dray.cli import conform as module
from dray.cli.conform import command
from dray.conform.bench import Bench
from dray.conform.check import Check, NotApplicable, Violation
from dray.conform.report import Report
from dray.conform.runner import CHECKS, run_checks
from dray.conform.subject import Process


def conform(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_the_list_of_checks_says_why_each_matters() -> None:
    result = conform("--list")
    assert result.exit_code == 0
    for check in CHECKS:
        assert check.claim in result.output
        assert check.rule in result.output
    assert result.output.startswith("Registration\n  must     a registration socket appears")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "which driver? give its name with --driver"),
        (["--driver", "d"], "where is the driver? give its command after --, or --socket-dir"),
        (["--driver", "d", "--socket-dir", "/no/where"], "/no/where: no such directory"),
        (["--driver", "d", "--kubeconfig", "/nowhere", "--", "x"], "does not exist"),
    ],
    ids=["driver", "command", "directory", "kubeconfig"],
)
def test_a_question_that_cannot_be_asked_is_said_so(arguments: list[str], told: str) -> None:
    result = conform(*arguments)
    assert result.exit_code == 2
    assert told in result.output


async def passes(bench: Bench) -> None:
    assert bench.driver == "gpu.example.com"
    assert bench.cdi.path.is_dir()


async def fails(bench: Bench) -> None:
    raise Violation(f"{bench.driver} does not\nnot at all\x1b[2J")


async def skips(bench: Bench) -> None:
    raise NotApplicable("no voice")


def check(run: Any, claim: str, *, must: bool = True) -> Check:
    return Check("Area", claim, "it matters", run, must)


def with_checks(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    async def run(bench: Bench, *, done: Any = None, asked: Sequence[Check] = checks) -> Report:
        return await run_checks(bench, asked, done=done)

    monkeypatch.setattr(module, "run_checks", run)


@pytest.mark.slow
def test_findings_are_shown_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    with_checks(monkeypatch, check(passes, "works"), check(fails, "stays"), check(skips, "sings"))
    result = conform("--driver", "gpu.example.com", "--", "unused")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "Area",
        "  ok       works",
        "  FAILED   stays",
        "           gpu.example.com does not",
        "           not at all\\x1b[2J",
        "           why: it matters",
        "  skipped  sings",
        "           no voice",
        "",
        "gpu.example.com does not conform: 1 passed, 1 failed, 1 skipped",
    ]


@pytest.mark.slow
def test_a_program_gets_json_and_a_warning_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with_checks(monkeypatch, check(passes, "works"), check(fails, "shines", must=False))
    result = conform("--driver", "gpu.example.com", "-o", "json", "--", "unused")
    assert result.exit_code == 0
    told = json.loads(result.output)
    assert [one["verdict"] for one in told["findings"]] == ["passed", "warned"]


@pytest.mark.slow
def test_directories_are_made_where_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_checks(monkeypatch, check(passes, "works"))
    cdi = tmp_path / "elsewhere"
    (tmp_path / "kubelet").mkdir()
    where = ["--socket-dir", str(tmp_path / "kubelet"), "--cdi-dir", str(cdi)]
    assert conform("--driver", "gpu.example.com", *where).exit_code == 0
    assert (tmp_path / "kubelet" / "plugins" / "gpu.example.com").is_dir()
    assert cdi.is_dir()


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "plugins_registry").write_text("a file")
    result = conform("--driver", "d", "--socket-dir", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path}/plugins_registry: File exists" in result.output


@pytest.mark.slow
def test_a_driver_that_does_not_start_does_not_conform() -> None:
    driver = [sys.executable, "-c", "import sys; sys.exit('no hardware')"]
    # It has ended, so nobody waits for an hour.
    result = conform("--driver", "d", "--start-seconds", "3600", "--", *driver)
    assert result.exit_code == 1
    assert "no hardware" in result.output
    skipped = len(CHECKS) - 1
    assert f"\n\n{skipped} checks skipped: the driver is not registered\n" in result.output
    assert result.output.count("not registered") == 1
    assert f"d does not conform: 1 failed, {skipped} skipped" in result.output


@pytest.mark.slow
def test_a_run_that_is_terminated_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Process] = []

    async def terminated(bench: Bench) -> None:
        started.append(await bench.subject.start())
        assert list(tmp_path.iterdir())
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with_checks(monkeypatch, check(terminated, "waits"))
    driver = [sys.executable, "-c", "import time; time.sleep(600)"]
    result = conform("--driver", "d", "--", *driver)
    assert result.exit_code == 143
    assert not started[0].running
    assert not list(tmp_path.iterdir())
