"""Thousands of generated expressions compile, or fail to, exactly as Kubernetes' compiler does.

The answers were recorded by tests/oracle/cel. Verdict, kind and text of the error, type of the
result and estimated cost must all be the same. Where upstream panicked, refusing is enough.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dray.cel import Environment, Type, compile_derived_attribute, compile_selector
from dray.cel._functions import functions

HERE = Path(__file__).parent
CHUNK = 250
KINDS = {"invalid": "RuleInvalid", "internal": "InternalError"}


def recorded(name: str) -> list[dict[str, Any]]:
    with gzip.open(HERE / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def chunks() -> list[Any]:
    header, *cases = recorded("compilations")
    assert len(cases) == header["cases"]
    return [
        pytest.param(cases[start : start + CHUNK], id=f"seed{header['seed']}-from{start}")
        for start in range(0, len(cases), CHUNK)
    ]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What dray says, in the words of the recording."""
    environment = Environment(
        consumable_capacity=case.get("consumableCapacity", False),
        list_type_attributes=case.get("listTypeAttributes", False),
        stored=case.get("stored", False),
    )
    compiler = compile_derived_attribute if case.get("derived") else compile_selector
    compilation = compiler(case["expression"], environment)
    if compilation.error is not None:
        return {
            "kind": KINDS[compilation.error.kind],
            "error": compilation.error.detail,
            "maxCost": compilation.max_cost,
        }
    return {"outputType": str(compilation.output_type), "maxCost": compilation.max_cost}


@pytest.mark.slow
@pytest.mark.parametrize("cases", chunks())
def test_every_expression_gets_upstreams_answer(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        got = answer(case)
        if "panic" in case:
            assert "error" in got, case["expression"]
        else:
            asked = {
                key: case[key] for key in ("kind", "error", "outputType", "maxCost") if key in case
            }
            assert got == asked, case["expression"]


def signature(arguments: list[Type] | tuple[Type, ...]) -> list[str]:
    return [str(argument) for argument in arguments]


@pytest.mark.parametrize(
    ("stored", "lists"),
    [(False, False), (False, True), (True, False)],
    ids=["new", "lists", "stored"],
)
def test_every_environment_declares_upstreams_functions(stored: bool, lists: bool) -> None:
    _, *declared = recorded("functions")
    theirs = sorted(
        (row["function"], row["overload"], row["member"], row["arguments"], row["result"])
        for row in declared
        if (row["stored"], row["listTypeAttributes"]) == (stored, lists)
    )
    environment = Environment(stored=stored, list_type_attributes=lists)
    ours = sorted(
        (name, overload.id, overload.member, signature(overload.arguments), str(overload.result))
        for name, function in environment.functions.items()
        for overload in function.overloads
    )
    assert ours == theirs


@pytest.mark.parametrize("stored", [False, True], ids=["new", "stored"])
def test_overloads_stand_in_the_order_upstream_tries_them(stored: bool) -> None:
    _, *declared = recorded("functions")
    theirs: dict[str, list[str]] = {}
    for row in declared:
        if row["stored"] == stored and row["listTypeAttributes"] != stored:
            theirs.setdefault(row["function"], []).append(row["overload"])
    ours = {
        name: [overload.id for overload in function.overloads]
        for name, function in functions(includes=True, stored=stored).items()
    }
    assert ours == theirs
