"""Upstream's own validation tests, as a recording beside this repository has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dray.testing.conformance import SUITES, answer

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "validation.jsonl"

# Inputs the recorder could not write as JSON: raw bytes that are none.
NOT_JSON = {
    "TestValidateClaim/configuration",
    "TestValidateClaimStatusUpdate/invalid-data-device-status",
    "TestValidateClaimStatusUpdate/invalid-data-device-status-disabled-feature-gate",
    "TestValidateClass/configuration",
}

# Inputs that lost in writing what they are about: empty lists, which have no JSON of their own.
INCOMPLETE = {"TestValidateResourceSlice/bad-list-attribute"}


def lines() -> list[bytes]:
    return CORPUS.read_bytes().splitlines() if CORPUS.exists() else []


def fields(case: dict[str, Any]) -> set[tuple[str, str]]:
    return {(error["type"], error["field"]) for error in case["errors"] or ()}


def name(line: bytes) -> str:
    return str(json.loads(line)["name"])


def test_the_corpus_is_there() -> None:
    if not CORPUS.exists():
        pytest.skip("no recording of upstream's tests in ../shared/corpus")
    assert len(lines()) > 300


@pytest.mark.parametrize("line", lines(), ids=name)
def test_dray_finds_what_upstream_finds(line: bytes) -> None:
    case = json.loads(line)
    found = answer(line, SUITES["validation"])
    assert found["name"] == case["name"]
    if case["name"] in NOT_JSON:
        assert found["error"].startswith("input is not an object: ")
    elif case["name"] in INCOMPLETE:
        assert fields(found) != fields(case)
    else:
        assert fields(found) == fields(case)
