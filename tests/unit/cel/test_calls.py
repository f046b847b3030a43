from __future__ import annotations

import pytest

from dray.cel._calls import call_step, constant_call_step, dispatched
from dray.cel._failures import Failure
from dray.cel._frame import Frame
from dray.cel._values import Value


def frame() -> Frame:
    return Frame({}, 0, 1000, None)


def failing(text: str) -> Value:
    def step(_: Frame) -> Value:
        raise Failure(text)

    return step


def costing(value: Value) -> Value:
    def step(frame: Frame) -> Value:
        frame.cost += 100
        return value

    return step


def test_the_implementation_follows_from_the_type_of_the_first_operand() -> None:
    assert dispatched("size")("four") == 4
    assert dispatched("indexOf")([1, 2], 2) == 1
    assert dispatched("indexOf")("ab", "b") == 1


@pytest.mark.parametrize(
    ("function", "operands", "message"),
    [
        ("compareTo", ["a", 1], r"no such overload: compareTo\(string, int\)"),
        ("_+_", [True, 1], r"no such overload: _\+_"),
        ("_-_", ["a", "b"], "no such overload"),
    ],
)
def test_what_takes_no_such_operand_says_so_in_upstreams_words(
    function: str, operands: list[Value], message: str
) -> None:
    with pytest.raises(Failure, match=f"^{message}$"):
        dispatched(function)(*operands)


def test_both_sides_of_an_operator_are_evaluated_and_the_left_failure_wins() -> None:
    state = frame()
    with pytest.raises(Failure, match="left"):
        call_step("_+_", "add_int64", [failing("left"), costing(1)])(state)
    assert state.cost == 101


def test_a_function_of_three_stops_at_the_first_operand_that_fails() -> None:
    state = frame()
    step = call_step("slice", "list_slice", [failing("first"), costing(1), costing(2)])
    with pytest.raises(Failure, match="first"):
        step(state)
    assert state.cost == 0


def test_a_call_is_charged_for_by_the_size_of_its_operands() -> None:
    state = frame()
    text = "x" * 45
    assert call_step("lowerAscii", "string_lower_ascii", [lambda _: text])(state) == text
    assert state.cost == 5


def test_a_call_may_be_charged_for_by_its_result() -> None:
    state = frame()
    words = ["a" * 10, "b" * 10]
    assert len(call_step("join", "list_join", [lambda _: words])(state)) == 20
    assert state.cost == 4


def test_a_function_without_operands_is_called() -> None:
    assert str(call_step("optional.none", "optional_none", [])(frame())) != ""


def test_a_value_made_of_constants_is_made_once_and_charged_for_each_time() -> None:
    step = constant_call_step("quantity", "string_to_quantity", ["40Gi"])
    assert step is not None
    state = frame()
    assert step(state) is step(state)
    assert state.cost == 2


def test_constants_that_make_no_value_are_left_to_each_evaluation() -> None:
    assert constant_call_step("quantity", "string_to_quantity", ["lots"]) is None
