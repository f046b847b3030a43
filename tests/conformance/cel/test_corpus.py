"""Every selector recorded from upstream's own tests ends as upstream's did.

The recording is kept beside the repository, in ../shared/corpus; without it this module says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dray.testing.conformance import evaluate_case

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "cel.jsonl"


def cases() -> list[Any]:
    if not CORPUS.exists():
        skip = pytest.mark.skip(reason=f"no recording of upstream's tests at {CORPUS}")
        return [pytest.param({}, id="absent", marks=skip)]
    with CORPUS.open() as lines:
        read = [json.loads(line) for line in lines]
    return [pytest.param(case, id=case["name"]) for case in read]


@pytest.mark.parametrize("case", cases())
def test_a_selector_gets_upstreams_verdict_text_and_costs(case: dict[str, Any]) -> None:
    recorded = ("compileError", "maxCost", "match", "matchError", "actualCost")
    assert evaluate_case(case) == {name: case[name] for name in recorded if name in case}
