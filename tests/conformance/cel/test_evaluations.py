"""Thousands of pairs of an expression and a device end as Kubernetes' evaluation of them does.

The answers were recorded by tests/oracle/cel. Match or error, the text of the error and the actual
cost must be the same. Where upstream contradicts itself from one evaluation to the next, because
Go iterates over maps at random, only what stays the same was recorded, and only that is compared.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dray.cel._functions import functions
from tests.conformance.cel.answers import answer, same

FIXTURE = Path(__file__).parent / "evaluations.jsonl.gz"
CHUNK = 100
PAIRS_MIN = 2500


def recorded() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with gzip.open(FIXTURE, "rt", encoding="utf-8") as lines:
        header, *cases = map(json.loads, lines)
    assert len(cases) == header["cases"]
    for case in cases:
        case["devices"] = [header["devices"][number] for number in case["devices"]]
    return header, cases


HEADER, CASES = recorded()


def chunks() -> list[Any]:
    return [
        pytest.param(CASES[start : start + CHUNK], id=f"seed{HEADER['seed']}-from{start}")
        for start in range(0, len(CASES), CHUNK)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("cases", chunks())
def test_every_pair_gets_upstreams_answer(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        got = answer(case)
        assert got.get("error") == case.get("error"), case["expression"]
        if "error" in case:
            continue
        assert got["maxCost"] == case["maxCost"], case["expression"]
        for device, theirs, ours in zip(
            case["devices"], case["evaluations"], got["evaluations"], strict=True
        ):
            assert same(theirs, ours), (case["expression"], device, theirs, ours)


def test_the_recording_is_large_enough_to_mean_something() -> None:
    evaluations = [one for case in CASES for one in case.get("evaluations", ())]
    assert len(evaluations) >= PAIRS_MIN
    assert sum(one.get("unstable") == "answer" for one in evaluations) < len(evaluations) / 100
    for outcome in ("match", "error", "attribute"):
        assert sum(outcome in one for one in evaluations) >= 100, outcome


# What has no name of its own in an expression, or no value to be called on.
_UNWRITTEN = {"@not_strictly_false", "@sortByAssociatedKeys", "cel.@mapInsert"}
_AUTHORIZATION = {
    "allowed", "check", "error", "errored", "fieldSelector", "group", "labelSelector", "name",
    "namespace", "path", "reason", "resource", "serviceAccount", "subresource",
}  # fmt: skip


def written(name: str) -> str:
    """How a function shows in an expression."""
    operators = {"@in": " in ", "_?_:_": " ? ", "_[_]": "[", "_[?_]": "[?", "_?._": ".?"}
    if name in operators:
        return operators[name]
    return name.strip("_") if "_" in name else f"{name}("


@pytest.mark.parametrize(
    "name", sorted(functions(includes=True).keys() - _UNWRITTEN - _AUTHORIZATION)
)
def test_every_function_is_asked_about_and_answers(name: str) -> None:
    assert any(
        written(name) in case["expression"] and "error" not in one and "unstable" not in one
        for case in CASES
        for one in case.get("evaluations", ())
    )
