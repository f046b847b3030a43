"""Taking a selector apart does not change its answer, for every recorded expression."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.cel import (
    Compilation,
    DeviceView,
    Environment,
    Selector,
    compile_selector,
    describe,
    explain,
    failing_issue,
    hints,
    hints_for_error,
)

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parent / "evaluations.jsonl.gz"
COST_MAX = 100_000  # beyond, a few expressions would take most of the time
VIEWS = (
    DeviceView.of(
        "d.com",
        Device(
            attributes={
                "str": DeviceAttribute(string_value="fish"),
                "i": DeviceAttribute(int_value=3),
                "b": DeviceAttribute(bool_value=True),
                "ver": DeviceAttribute(version_value="1.2.3"),
                "strs": DeviceAttribute(string_values=("a", "b")),
            },
            capacity={"mem": DeviceCapacity(value=Quantity.parse("40Gi"))},
        ),
    ),
    DeviceView.of("e.com", Device()),
    DeviceView(None, "attribute x: unsupported attribute value"),
)


def compilations() -> list[Compilation]:
    with gzip.open(RECORDED, "rt") as lines:
        texts = {case["expression"] for case in map(json.loads, lines) if "expression" in case}
    return [compile_selector(text, Environment(stored=True)) for text in sorted(texts)]


def test_the_parts_decide_as_the_whole_does() -> None:
    asked = 0
    for compilation in compilations():
        hints(compilation, VIEWS)
        if not compilation.ok or compilation.max_cost > COST_MAX:
            continue
        selector = Selector(compilation)
        for view in VIEWS:
            asked += 1
            explanation = explain(selector, view)
            verdicts = {one.verdict for one in explanation.decisions}
            deciding = explanation.deciding
            if explanation.verdict == "true":
                assert verdicts == {"true"}, compilation.expression
            else:
                assert deciding is not None, compilation.expression
                assert deciding.verdict == explanation.verdict, compilation.expression
                assert deciding.error == explanation.error, compilation.expression
            assert all(describe(one, view) for one in explanation.decisions)
            if explanation.error is not None:
                failing_issue(selector, view)
                hints_for_error(selector, view, explanation.error, VIEWS)
    assert asked > 1000
