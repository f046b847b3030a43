"""What a run found, for people and for programs."""

from __future__ import annotations

import json

from dray.conform.report import Finding, Report, Verdict

FINDINGS = [
    Finding("One", "it is there", Verdict.PASSED, rule="not shown", seconds=0.12345),
    Finding("One", "it works", Verdict.FAILED, "it did not\nat all", "it must"),
    Finding("Two", "it is nice", Verdict.WARNED, "it is not"),
    Finding("Two", "it sings", Verdict.SKIPPED, "it has no voice", "not shown"),
]


def test_a_report_reads_area_by_area() -> None:
    assert Report("gpu.example.com", FINDINGS).lines() == [
        "One",
        "  ok       it is there",
        "  FAILED   it works",
        "           it did not",
        "           at all",
        "           why: it must",
        "",
        "Two",
        "  warning  it is nice",
        "           it is not",
        "  skipped  it sings",
        "           it has no voice",
        "",
        "gpu.example.com does not conform: 1 passed, 1 failed, 1 warned, 1 skipped",
    ]


def test_only_failures_keep_a_driver_from_conforming() -> None:
    assert not Report("d", FINDINGS).passed
    fine = Report("d", [one for one in FINDINGS if one.verdict is not Verdict.FAILED])
    assert fine.passed
    assert fine.lines()[-1] == "d conforms: 1 passed, 1 warned, 1 skipped"


def test_a_program_gets_everything() -> None:
    told = json.loads(Report("d", FINDINGS).as_json())
    assert (told["schema"], told["driver"], told["passed"]) == ("dray.dev/conform/v1", "d", False)
    assert told["findings"][1] == {
        "area": "One",
        "claim": "it works",
        "verdict": "failed",
        "detail": "it did not\nat all",
        "rule": "it must",
        "seconds": 0.0,
    }
    assert told["findings"][0]["seconds"] == 0.123
