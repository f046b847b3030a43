"""Every check of preparing can fail, and fails with nothing but what has the same cause."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from dray.conform.check import Violation
from dray.conform.checks.preparation import all_of
from dray.conform.report import Verdict
from tests.unit.conform.benches import OPTIONS, QuickCluster, called, details, judged, names

pytestmark = pytest.mark.slow

# Whatever needs to find the devices of an answer in the CDI directory.
RESOLVING = {
    "cdi_ids_resolve",
    "prepares_again",
    "prepares_and_unprepares",
    "prepares_at_once",
    "prepares_several",
    "refuses_double_use",
    "remembers",
    "rewrites_files",
    "survives_kills",
    "survives_reboot",
}
# Whatever compares the devices of an answer with those of the claim.
COMPARING = {
    "leaves_others_alone",
    "prepares",
    "prepares_batch",
    "prepares_several",
    "survives_kills",
}


@pytest.mark.parametrize(
    ("defect", "failed"),
    [
        ("wrong-device", COMPARING),
        ("wrong-request", COMPARING),
        ("malformed-ids", RESOLVING),
        ("unwritten-ids", RESOLVING),
        ("broken-files", RESOLVING | {"cdi_files_are_valid"}),
        ("invalid-files", RESOLVING | {"cdi_files_are_valid"}),
        ("prepares-one", {"prepares_several"}),
        ("forgets-claims", {"prepares_batch", "siblings_are_independent"}),
        ("takes-foreign-devices", {"leaves_others_alone"}),
        (
            "answers-differ",
            {"prepares_again", "prepares_at_once", "remembers", "takes_over", "versions_agree"},
        ),
        ("one-at-a-time", {"prepares_at_once"}),
        ("prepares-missing", {"refuses_missing", "siblings_are_independent"}),
        ("prepares-unallocated", {"refuses_unallocated"}),
        ("prepares-stale", {"refuses_stale"}),
        ("all-or-nothing", {"siblings_are_independent"}),
        ("double-use", {"refuses_double_use"}),
        ("refuses-admin", {"allows_admin_access"}),
        (
            "leaves-files",
            {"survives_kills", "unprepares", "unprepares_after_crash", "unprepares_deleted"},
        ),
        ("versions-differ", {"versions_agree"}),
    ],
)
def test_a_defect_fails_the_checks_that_are_about_it(defect: str, failed: set[str]) -> None:
    report = judged(defect)
    assert names(report, Verdict.FAILED, Verdict.WARNED) == failed, details(report)


def test_unpreparing_what_is_not_prepared_has_to_work_wherever_it_comes_up() -> None:
    report = judged("unprepare-unknown-fails", options=replace(OPTIONS, kills=0))
    failed = names(report, Verdict.FAILED, Verdict.WARNED)
    # Whether unpreparing comes first when both come at the same time is a matter of chance.
    assert failed - {"prepares_and_unprepares"} == {
        "unprepares_again",
        "unprepares_unknown",
        # The refused claim is unprepared as well.
        "refuses_double_use",
    }, details(report)


@pytest.mark.parametrize(
    ("defect", "check"),
    [
        # What is wrong is never made good, so later checks meet it too.
        ("keeps-devices", "frees_devices"),
        ("unprepare-asks-the-api", "unprepares_deleted"),
    ],
)
def test_a_defect_that_stays_fails_the_check_that_is_about_it(defect: str, check: str) -> None:
    report = judged(defect, checks=called(check))
    assert names(report, Verdict.FAILED) == {check}


@pytest.mark.parametrize(
    ("defect", "skipped"),
    [
        ("shared", {"refuses_double_use"}),
        ("only-v1", {"versions_agree"}),
        ("one-device", {"prepares_several", "prepares_batch"}),
    ],
)
def test_what_cannot_be_asked_is_skipped_with_its_reason(defect: str, skipped: set[str]) -> None:
    report = judged(defect, checks=called("answers", *skipped))
    assert names(report, Verdict.SKIPPED) == skipped, details(report)
    assert all(one.detail for one in report.findings if one.verdict is Verdict.SKIPPED)


def test_a_server_that_gives_no_device_to_two_claims_leaves_the_driver_unasked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(QuickCluster, "allocation_check", True)
    report = judged(checks=called("answers", "refuses_double_use", "prepares_again"))
    assert names(report, Verdict.SKIPPED) == {"refuses_double_use"}, details(report)
    assert names(report, Verdict.FAILED) == set(), details(report)


def test_calls_at_the_same_time_are_all_waited_for_before_one_is_told_of() -> None:
    ended = []

    async def call(number: int) -> int:
        for _ in range(number):
            await asyncio.sleep(0)
        ended.append(number)
        if number == 1:
            raise Violation("one of them")
        return number

    assert asyncio.run(all_of(call(0), call(2))) == [0, 2]
    with pytest.raises(Violation, match="one of them"):
        asyncio.run(all_of(call(1), call(3)))
    assert ended[-1] == 3
