"""Every check of crashes can fail, and fails with nothing but what has the same cause."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dray.conform.checks.crashes import CHECKS
from dray.conform.report import Verdict
from dray.conform.runner import run_checks
from dray.conform.subject import Subject
from tests.unit.conform.benches import OPTIONS, bench_of, called, details, judged, names
from tests.unit.sdk.drivers import short_directory

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("defect", "failed"),
    [
        # Whether it is killed after it has written a file is a matter of chance, so it is not.
        ("forgets", {"unprepares_after_crash"}),
        ("keeps-no-files", {"survives_reboot", "rewrites_files"}),
        ("renames-devices", {"publishes_after_crash"}),
        ("leaves-sockets", {"stops_cleanly"}),
        ("ignores-sigterm", {"stops_cleanly", "takes_over", "long_names"}),
    ],
)
def test_a_defect_fails_the_checks_that_are_about_it(defect: str, failed: set[str]) -> None:
    report = judged(defect, options=replace(OPTIONS, kills=0))
    assert names(report, Verdict.FAILED, Verdict.WARNED) == failed, details(report)


def test_a_driver_that_stumbles_over_its_old_sockets_fails() -> None:
    report = judged("stumbles", checks=called("answers", "starts_again"))
    assert names(report, Verdict.FAILED) == {"starts_again"}
    assert "which has ended, wrote last:\naddress already in use" in report.findings[1].detail


def test_files_that_are_left_after_a_kill_fail() -> None:
    report = judged("leaves-files", checks=called("survives_kills"))
    assert names(report, Verdict.FAILED) == {"survives_kills"}
    # The first is not always killed after it has written something; the second is asked again.
    assert re.search(r"after kill [12], left in", details(report))


def test_what_was_not_started_here_is_not_killed() -> None:
    async def body(root: Path) -> set[str]:
        async with bench_of(root) as bench:
            await bench.start()
            # From here on it is somebody else's.
            bench.process = None
            bench.subject, own = Subject((), {}, bench.clock), bench.subject
            try:
                return names(await run_checks(bench, CHECKS.listed), Verdict.SKIPPED)
            finally:
                bench.subject = own

    with short_directory() as root:
        skipped = asyncio.run(body(root))
    assert skipped == {getattr(one.run, "__name__", "") for one in CHECKS.listed} - {
        "rewrites_files"
    }
