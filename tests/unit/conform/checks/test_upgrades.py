"""Every check of upgrades can fail, and fails alone."""

from __future__ import annotations

import pytest

from dray.conform.checks.upgrades import CHECKS
from dray.conform.report import Verdict
from tests.unit.conform.benches import details, judged, names

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("defect", "failed"),
    [
        ("shares-endpoint", {"takes_over"}),
        ("takes-others-along", {"takes_over"}),
        ("fears-long-names", {"long_names"}),
    ],
)
def test_a_defect_fails_the_checks_that_are_about_it(defect: str, failed: set[str]) -> None:
    report = judged(defect)
    assert names(report, Verdict.FAILED, Verdict.WARNED) == failed, details(report)


def test_a_command_that_takes_neither_is_not_asked() -> None:
    report = judged(checks=CHECKS.listed, takes=frozenset())
    assert names(report, Verdict.SKIPPED) == {"takes_over", "long_names"}
