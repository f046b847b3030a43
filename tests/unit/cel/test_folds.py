from __future__ import annotations

import pytest

from dray.cel import Environment
from dray.cel._compiler import compile_any
from dray.cel._folds import quantifier_step
from dray.cel._frame import Frame
from dray.cel._program import Evaluation
from dray.cel._values import Value

STORED = Environment(stored=True)


def evaluated(text: str) -> Evaluation:
    compilation = compile_any(text, STORED)
    assert compilation.program is not None, compilation.error
    return compilation.program.evaluate({"device": {}})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2].all(x, x > 0)", True),
        ("[].exists(x, true)", False),
        ("[1, 2, 2].exists_one(x, x == 1)", True),
        ("[1, 2].map(x, x * 2)", [2, 4]),
        ("[1, 2, 3].filter(x, x > 1)", [2, 3]),
        ("{'a': 1}.map(k, k)", ["a"]),
        ("['x'].transformList(i, v, [string(i), v])", [["0", "x"]]),
        ("{1: 2}.transformMap(k, v, v + 1)", {(int, 1): 3}),
        ("[3, 4].existsOne(i, v, i == 1 && v == 4)", True),
        ("cel.bind(a, 5, a + a)", 10),
    ],
)
def test_loops(text: str, value: Value) -> None:
    assert evaluated(text).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("[1, 0].exists(x, 1 / x == 1)", True),
        ("[0, 2].all(x, 1 / x == 1)", False),
        ("cel.bind(never, 1 / 0, true)", True),
    ],
)
def test_errors_that_do_not_matter_are_absorbed(text: str, value: Value) -> None:
    assert evaluated(text).value == value


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("[0, 2].exists(x, 1 / x == 1)", "division by zero"),
        ("[1, 0].map(x, 1 / x)", "division by zero"),
        ("[0, 1].exists_one(x, 1 / x == 1)", "division by zero"),
        ("cel.bind(a, 1 / 0, a == 1)", "division by zero"),
        ("dyn(1).all(x, true)", "got 'types.Int', expected iterable type"),
        ("dyn('a').all(i, v, true)", "unsupported comprehension range type: types.String"),
        ("[1].all(x, dyn(x))", "no such overload"),
    ],
)
def test_errors_that_matter_are_the_answer(text: str, failure: str) -> None:
    assert evaluated(text).failure == failure


def test_a_bound_empty_list_is_filled_in_place() -> None:
    """Upstream's quirk: `a + [1]` changes `a`."""
    assert evaluated("cel.bind(a, [], size(a + [1]) + size(a))").value == 2


def test_an_inner_variable_hides_the_outer_one() -> None:
    assert evaluated("[1].all(x, [2].all(x, x == 2) && x == 1)").value is True


@pytest.mark.parametrize(
    ("text", "cost"), [("[1, 2].exists(x, x == 2)", 13), ("[1].all(x, true)", 4)]
)
def test_a_quantifier_costs_what_the_fold_it_stands_for_would(text: str, cost: int) -> None:
    assert evaluated(text).cost == cost


def test_a_quantifier_stops_at_the_element_that_decides() -> None:
    seen: list[Value] = []

    def ask(frame: Frame) -> Value:
        seen.append(frame.slots[0])
        return frame.slots[0] == 2

    step = quantifier_step(lambda _: [1, 2, 3], (0, None), ask, dominant=True)
    assert step(Frame({}, 1, 100, None)) is True
    assert seen == [1, 2]


def test_a_loop_stops_when_the_budget_is_spent() -> None:
    compilation = compile_any("lists.range(1000).map(x, lists.range(1000).map(y, y))", STORED)
    assert compilation.program is not None
    evaluation = compilation.program.evaluate({}, cost_limit=5000)
    assert evaluation.aborted
    assert evaluation.failure == "operation cancelled: actual cost limit exceeded"
    assert evaluation.cost < 10_000
