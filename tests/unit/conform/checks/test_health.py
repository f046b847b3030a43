"""Every check of health can fail, and fails with nothing but what has the same cause."""

from __future__ import annotations

import pytest

from dray.conform.bench import Options
from dray.conform.checks.health import CHECKS
from dray.conform.report import Verdict
from tests.unit.conform.benches import called, details, judged, names

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("defect", "failed"),
    [
        ("reports-unpublished", {"names_published_devices"}),
        ("reports-nothing", {"names_published_devices"}),
        ("long-message", {"values_are_in_range"}),
        # What lasts less than no time is over at once.
        ("negative-timeout", {"values_are_in_range", "keeps_reporting"}),
        ("silent", {"keeps_reporting"}),
        ("one-stream", {"takes_several_streams"}),
        ("no-health-after-crash", {"reports_after_crash"}),
        ("unlisted-health", {"declines"}),
        ("hanging-health", {"declines"}),
        (
            "no-first-report",
            {
                "keeps_reporting",
                "names_published_devices",
                "reports_after_crash",
                "reports_at_once",
                "takes_several_streams",
                "values_are_in_range",
            },
        ),
    ],
)
def test_a_defect_fails_the_checks_that_are_about_it(defect: str, failed: set[str]) -> None:
    report = judged(defect)
    assert names(report, Verdict.FAILED, Verdict.WARNED) == failed, details(report)


def test_a_driver_without_health_is_asked_only_whether_it_says_so() -> None:
    report = judged("no-health", checks=CHECKS.listed)
    assert report.passed
    assert names(report, Verdict.PASSED) == {"declines"}, details(report)


def test_silence_is_not_waited_for_longer_than_allowed() -> None:
    report = judged(checks=called("keeps_reporting"), options=Options(watch_seconds=1.0))
    assert names(report, Verdict.SKIPPED) == {"keeps_reporting"}
    assert "--watch-seconds" in details(report)
