from __future__ import annotations

import pytest

from dray.cel import Environment
from dray.cel._compiler import compile_any
from dray.cel._failures import Abort, Failure
from dray.cel._program import Program

STORED = Environment(stored=True)


def program(text: str) -> Program:
    compiled = compile_any(text, STORED).program
    assert compiled is not None
    return compiled


def test_an_evaluation_says_what_it_gave_and_cost() -> None:
    evaluation = program("device.driver").evaluate({"device": {"driver": "d"}})
    assert (evaluation.value, evaluation.failure, evaluation.cost) == ("d", None, 2)


def test_a_failure_is_an_answer_and_says_what_it_cost() -> None:
    evaluation = program("1 / 0 == 1").evaluate({})
    assert (evaluation.failure, evaluation.aborted) == ("division by zero", False)
    assert evaluation.cost == 2


def test_beyond_the_budget_nothing_counts_but_the_budget() -> None:
    for text in ("device.driver", "device.nope == 1 || device.driver == ''"):
        compiled = compile_any(text, Environment(stored=True)).program
        if compiled is None:
            continue
        evaluation = compiled.evaluate({"device": {"driver": "d"}}, cost_limit=1)
        assert evaluation.aborted
        assert evaluation.value is None


def test_running_gives_the_value_or_raises() -> None:
    assert program("1 + 1").run({}) == 2
    with pytest.raises(Failure, match="division by zero"):
        program("1 / 0").run({})


def test_a_caller_who_has_left_ends_a_long_loop() -> None:
    long = program("lists.range(500).all(x, lists.range(10).all(y, y >= 0))")
    with pytest.raises(Abort, match="operation interrupted"):
        long.run({}, cancelled=lambda: True)


def test_a_variable_nobody_gave_is_an_error() -> None:
    assert program("device.driver").evaluate({}).failure == "no such attribute(s): device"
