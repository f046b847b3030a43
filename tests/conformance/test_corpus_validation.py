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


@pytest.mark.slow
def test_dray_finds_what_upstream_finds() -> None:
    if not CORPUS.exists():
        pytest.skip("no recording of upstream's tests in ../shared/corpus")
    assert len(lines()) > 300
    assert [found for line in lines() if (found := difference(line))] == []


def difference(line: bytes) -> tuple[str, object] | None:
    """Where dray answers otherwise: the case and what dray says."""
    case = json.loads(line)
    found = answer(line, SUITES["validation"])
    name = str(case["name"])
    if name in NOT_JSON:
        agrees = found["error"].startswith("input is not an object: ")
    elif name in INCOMPLETE:
        agrees = fields(found) != fields(case)
    else:
        agrees = found["name"] == name and fields(found) == fields(case)
    return None if agrees else (name, found)
