"""Every selector recorded from upstream's own tests compiles, or fails to, as upstream's did.

The recording is kept beside the repository, in ../shared/corpus; without it this module says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dray.cel import Compilation, Environment, compile_selector

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "cel.jsonl"


def cases() -> list[Any]:
    if not CORPUS.exists():
        skip = pytest.mark.skip(reason=f"no recording of upstream's tests at {CORPUS}")
        return [pytest.param({}, id="absent", marks=skip)]
    with CORPUS.open() as lines:
        read = [json.loads(line) for line in lines]
    return [pytest.param(case, id=case["name"]) for case in read]


def compiled(case: dict[str, Any]) -> Compilation:
    environment = Environment(
        consumable_capacity=case["consumableCapacity"],
        list_type_attributes=case["listTypeAttributes"],
        stored=case["envType"] == "StoredExpressions",
    )
    return compile_selector(case["expression"], environment)


@pytest.mark.parametrize("case", cases())
def test_an_expression_gets_upstreams_verdict_and_cost(case: dict[str, Any]) -> None:
    compilation = compiled(case)
    if "compileError" in case:
        assert compilation.error is not None
        assert compilation.error.detail == case["compileError"]
    else:
        assert compilation.error is None
        assert compilation.max_cost == case["maxCost"]
