"""Every check of registration can fail, and fails alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.conform.check import Violation
from dray.conform.checks.registration import CHECKS, paths_are_short
from dray.conform.kubelet import Instance
from dray.conform.report import Verdict
from dray.proto.registration_v1_pb2 import PluginInfo
from tests.unit.conform.benches import bench_of, called, details, judged, names
from tests.unit.sdk.drivers import short_directory

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("defect", "failed"),
    [
        ("wrong-type", {"says_who_it_is"}),
        ("relative-endpoint", {"endpoint_is_there"}),
        ("changes-its-mind", {"answers_again"}),
        ("dies-of-refusal", {"survives_refusal"}),
        # Whatever asks only whether somebody is there asks with an empty list.
        ("refuses-nothing", {"empty_request", "endpoint_is_there", "starts_again"}),
        ("answers-unasked", {"empty_request"}),
    ],
)
def test_a_defect_fails_the_checks_that_are_about_it(defect: str, failed: set[str]) -> None:
    report = judged(defect)
    assert names(report, Verdict.FAILED) == failed, details(report)
    assert not names(report, Verdict.WARNED)


def test_versions_in_the_wrong_order_are_warned_of() -> None:
    report = judged("oldest-first")
    assert report.passed
    assert names(report, Verdict.WARNED) == {"newest_first"}


def test_versions_that_nobody_knows_fail() -> None:
    report = judged("unknown-version", checks=called("has_known_service", "newest_first"))
    assert names(report, Verdict.FAILED) == {"has_known_service"}
    assert names(report, Verdict.SKIPPED) == {"newest_first"}


def test_without_registration_nothing_else_is_asked() -> None:
    report = judged("wrong-name")
    assert names(report, Verdict.FAILED) == {"answers"}
    assert report.count(Verdict.SKIPPED) == len(report.findings) - 1
    assert "a driver called 'other.example.com'" in report.findings[0].detail


def test_a_path_that_no_socket_can_have_fails() -> None:
    async def body(root: Path) -> None:
        async with bench_of(root) as bench:
            info = PluginInfo(endpoint=f"/{'x' * 107}")
            bench.instance = Instance(root / "reg.sock", info)
            with pytest.raises(Violation, match="has 108"):
                await paths_are_short(bench)

    with short_directory() as root:
        asyncio.run(body(root))


def test_a_driver_without_defects_passes() -> None:
    report = judged(checks=CHECKS.listed)
    assert {finding.verdict for finding in report.findings} == {Verdict.PASSED}, details(report)
