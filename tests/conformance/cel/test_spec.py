"""The conformance tests of CEL itself end as they do where Kubernetes evaluates device expressions.

Upstream's answers were recorded by tests/oracle/cel, each test with its variables added to the
environment of stored device expressions. What counts is upstream's answer, not the specification's:
Kubernetes leaves libraries out and has homogeneous literals, so it refuses some tests, and answers
a few in its own way. Tests that need messages, containers or functions of their own are not there.
"""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cel.answers import answer, same

FIXTURE = Path(__file__).parent / "spec.jsonl.gz"


def recorded() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with gzip.open(FIXTURE, "rt", encoding="utf-8") as lines:
        header, *cases = map(json.loads, lines)
    assert len(cases) == header["cases"]
    return header, cases


HEADER, CASES = recorded()


def sections() -> list[Any]:
    """The tests by file and section, as their names say."""
    grouped = itertools.groupby(CASES, key=lambda case: case["id"].rpartition("/")[0])
    return [pytest.param(list(cases), id=name) for name, cases in grouped]


@pytest.mark.parametrize("cases", sections())
def test_a_section_of_the_specification_ends_as_upstream_ends_it(
    cases: list[dict[str, Any]],
) -> None:
    for case in cases:
        got = answer(
            {
                **case,
                "any": True,
                "stored": True,
                "consumableCapacity": True,
                "devices": [{"driver": ""}],
            }
        )
        for member in ("error", "outputType"):
            assert got.get(member) == case.get(member), case["id"]
        if "evaluation" in case:
            theirs, (ours,) = case["evaluation"], got["evaluations"]
            assert same(theirs, ours), (case["id"], theirs, ours)


def test_most_of_the_specification_is_there() -> None:
    assert HEADER["cases"] >= 1800
    assert HEADER["asSpecified"] >= 1500
