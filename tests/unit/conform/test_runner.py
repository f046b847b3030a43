"""A whole run against real drivers as real processes, and what it makes of what checks raise."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import grpc
import grpc.aio
import pytest

from dray.clock import SystemClock
from dray.conform.bench import Bench, Options
from dray.conform.check import Check, NotApplicable, Violation
from dray.conform.report import Report, Verdict
from dray.conform.runner import CHECKS, Setup, bench_for, run_checks
from dray.entropy import SeededEntropy, SystemEntropy
from dray.errors import NotFound
from tests.unit.conform.benches import bench_of, called, details, names
from tests.unit.sdk.drivers import short_directory

pytestmark = pytest.mark.slow

SIMULATED = (
    *(sys.executable, "-m", "dray.drivers.simulated", "--kubeconfig={kubeconfig}"),
    *("--driver-name={driver}", "--node-name={node}", "--pod-uid={pod_uid}"),
    *("--registry-directory={registry}", "--plugin-directory={plugins}/{driver}"),
    "--cdi-directory={cdi}",
)


def raising(error: Exception, *, must: bool = True) -> Check:
    async def run(bench: Bench) -> None:
        raise error

    return Check("Area", f"raises {type(error).__name__} {must}", "rule", run, must)


def refused(details: str) -> grpc.aio.AioRpcError:
    metadata = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, metadata, metadata, details=details)


def test_what_a_check_raises_decides_how_it_ended() -> None:
    async def body(root: Path) -> Report:
        async with bench_of(root) as bench:
            return await run_checks(
                bench,
                [
                    raising(Violation("not so")),
                    raising(Violation("not so"), must=False),
                    raising(NotApplicable("no health")),
                    raising(refused("no power")),
                    raising(NotFound("claim is gone")),
                ],
            )

    with short_directory() as root:
        report = asyncio.run(body(root))
    assert [(one.verdict, one.detail) for one in report.findings] == [
        (Verdict.FAILED, "not so"),
        (Verdict.WARNED, "not so"),
        (Verdict.SKIPPED, "no health"),
        (Verdict.FAILED, "INTERNAL: no power"),
        (Verdict.FAILED, "the API server: claim is gone"),
    ]


def test_every_finding_is_told_as_it_is_found() -> None:
    async def body(root: Path) -> None:
        told: list[Verdict] = []
        async with bench_of(root) as bench:
            checks = [raising(Violation("a")), raising(NotApplicable("b"))]
            report = await run_checks(bench, checks, done=lambda one: told.append(one.verdict))
        assert told == [one.verdict for one in report.findings]

    with short_directory() as root:
        asyncio.run(body(root))


def test_a_run_is_cancelled_even_if_a_check_fails_of_that() -> None:
    async def cleans_up_badly(_bench: Bench) -> None:
        running = asyncio.current_task()
        assert running is not None
        running.cancel()
        try:
            await asyncio.Event().wait()
        finally:
            raise Violation("claim was not unprepared")

    async def body(root: Path) -> None:
        async with bench_of(root) as bench:
            await run_checks(bench, [Check("Area", "ends", "rule", cleans_up_badly)])

    with short_directory() as root, pytest.raises(asyncio.CancelledError):
        asyncio.run(body(root))


def test_a_driver_written_with_the_sdk_conforms_as_a_process() -> None:
    async def body(root: Path) -> Report:
        options = Options(kills=2, watch_seconds=0.0)
        setup = Setup("gpu.simulated.dev", root, SIMULATED, options=options)
        async with bench_for(setup, SystemClock(), SystemEntropy()) as bench:
            return await run_checks(bench)

    with short_directory() as root:
        report = asyncio.run(body(root))
    assert not names(report, Verdict.FAILED, Verdict.WARNED), details(report)
    # No time to watch for silence, and it does offer health.
    assert names(report, Verdict.SKIPPED) == {"keeps_reporting", "declines"}, details(report)


@pytest.mark.parametrize(
    ("script", "seconds", "told"),
    [
        pytest.param("import sys; sys.exit('no hardware')", 3600, "no hardware", id="ends"),
        pytest.param("import time; time.sleep(600)", 0.5, "no registration socket", id="waits"),
    ],
)
def test_a_driver_that_never_registers_fails_once(script: str, seconds: float, told: str) -> None:
    async def body(root: Path) -> Report:
        command = (sys.executable, "-c", script)
        options = Options(start_seconds=seconds)
        setup = Setup("gpu.example.com", root, command, options=options)
        async with bench_for(setup, SystemClock(), SeededEntropy(1)) as bench:
            return await run_checks(bench)

    with short_directory() as root:
        report = asyncio.run(body(root))
    assert names(report, Verdict.FAILED) == {"answers"}
    assert report.count(Verdict.SKIPPED) == len(CHECKS) - 1
    assert told in report.findings[0].detail


def test_checks_are_found_by_name() -> None:
    assert [check.claim for check in called("publishes", "answers")] == [
        CHECKS[0].claim,
        "devices of the node are published",
    ]
