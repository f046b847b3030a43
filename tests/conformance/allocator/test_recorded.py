"""Thousands of generated cases are decided as Kubernetes' own allocator decides them.

The answers were recorded by tests/oracle/allocator: the same devices in the same order with the
same results, or an error with the same text, or neither.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dray.testing.conformance import SUITES
from tests.conformance.allocator.answers import difference, outcome

FIXTURE = Path(__file__).parent / "decisions.jsonl.gz"
CHUNK = 200
QUICK_CHUNKS = 3
CASES_MIN = 3500


def recorded() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with gzip.open(FIXTURE, "rt", encoding="utf-8") as lines:
        header, *cases = map(json.loads, lines)
    assert len(cases) == header["cases"]
    return header, cases


HEADER, CASES = recorded()
ANSWER = ("results", "error", "errors", "nodeOnly", "upstreamSteps")


def chunks() -> list[Any]:
    return [
        pytest.param(
            CASES[start : start + CHUNK],
            id=f"from{start}",
            marks=[pytest.mark.slow] if start >= QUICK_CHUNKS * CHUNK else [],
        )
        for start in range(0, len(CASES), CHUNK)
    ]


@pytest.mark.parametrize("cases", chunks())
def test_every_case_is_decided_as_upstream_decides_it(cases: list[dict[str, Any]]) -> None:
    different = {}
    for case in cases:
        asked = {name: value for name, value in case.items() if name not in ANSWER}
        kind = difference(case, SUITES["allocator"](asked))
        if kind is not None:
            different[case["name"]] = kind
    assert not different


def test_the_recording_has_enough_of_every_outcome_to_mean_something() -> None:
    outcomes = Counter(map(outcome, CASES))
    assert len(CASES) >= CASES_MIN
    assert outcomes["success"] >= CASES_MIN / 4
    assert outcomes["no fit"] >= CASES_MIN / 4
    assert outcomes["error"] >= CASES_MIN / 8
    assert outcomes["node only"] >= CASES_MIN / 50


@pytest.mark.parametrize("feature", sorted({name for case in CASES for name in case["features"]}))
def test_every_feature_is_on_in_successes_and_refusals(feature: str) -> None:
    outcomes = Counter(outcome(case) for case in CASES if feature in case["features"])
    assert min(outcomes["success"], outcomes["no fit"], outcomes["error"]) >= CASES_MIN / 50
