from __future__ import annotations

import pytest

from dray.cel import Environment
from dray.cel._compiler import compile_any
from dray.cel._failures import Failure
from dray.cel._frame import Frame
from dray.cel._nodes import Call, Literal, Node
from dray.cel._stack import CALLS_ON_ONE_STACK_MAX, heights, is_deep, on_fresh_stack
from dray.cel._values import Value

STORED = Environment(stored=True)


def test_the_height_of_a_tree_counts_what_is_below() -> None:
    leaf: Node = Literal(1, 0, 1)
    inner: Node = Call(2, 0, "-_", None, (leaf,))
    assert heights(Call(3, 0, "_+_", None, (inner, leaf))) == {2: 1, 3: 2}


@pytest.mark.parametrize(
    "text",
    [
        "!" * 240 + "true",
        "[" * 200 + "]" * 200 + " != []",
        "(1 + " * 120 + "1" + ")" * 120 + " == 121",
        "false ? false : " * 120 + "true",
        "[1].all(x, " * 100 + "true" + ")" * 100,
        "cel.bind(x, 1, " * 200 + "true" + ")" * 200,
        "optional.of(1)" + ".optMap(x, x)" * 8 + ".hasValue()",
        "{'a': " * 150 + "1" + "}" * 150 + ".a != {}",
    ],
    ids=["not", "lists", "sum", "choices", "loops", "binds", "optionals", "maps"],
)
def test_what_nests_deep_is_evaluated_however_deep_the_caller_is(text: str) -> None:
    compilation = compile_any(text, STORED)
    program = compilation.program
    assert program is not None, compilation.error

    def deep(levels: int) -> Value:
        return program.evaluate({}) if levels == 0 else deep(levels - 1)

    shallow = program.evaluate({})
    assert shallow.failure is None
    assert deep(600) == shallow


def test_a_stack_knows_when_it_is_deep() -> None:
    def deep(levels: int) -> bool:
        return is_deep() if levels == 0 else deep(levels - 1)

    assert not is_deep()
    assert deep(CALLS_ON_ONE_STACK_MAX)


def test_what_a_step_raises_is_raised_to_the_caller() -> None:
    def fail(_: Frame) -> Value:
        raise Failure("deep down")

    with pytest.raises(Failure, match="deep down"):
        on_fresh_stack(fail)(Frame({}, 0, 1, None))
