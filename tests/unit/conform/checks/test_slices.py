"""Every check of slices can fail, and fails alone."""

from __future__ import annotations

import pytest

from dray.conform.checks.slices import CHECKS
from dray.conform.report import Verdict
from tests.unit.conform.benches import IMPATIENT, details, judged, names

pytestmark = pytest.mark.slow


def test_a_pool_with_missing_slices_fails() -> None:
    report = judged("incomplete-pool")
    assert names(report, Verdict.FAILED) == {"pools_are_complete"}, details(report)
    assert "1 of 2 slices" in details(report)


def test_slices_that_outlive_their_node_are_warned_of() -> None:
    report = judged("no-owner")
    assert report.passed
    assert names(report, Verdict.WARNED) == {"owned_by_node"}


def test_slices_that_are_not_published_again_fail() -> None:
    report = judged("publishes-once", checks=CHECKS.listed, options=IMPATIENT)
    assert names(report, Verdict.FAILED) == {"publishes_again"}


def test_a_driver_that_publishes_nothing_fails() -> None:
    report = judged("publishes-nothing", checks=CHECKS.listed, options=IMPATIENT)
    assert "publishes" in names(report, Verdict.FAILED)
    assert "no devices published after 1 s" in details(report)
