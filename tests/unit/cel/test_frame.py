from __future__ import annotations

import pytest

from dray.cel._failures import Abort
from dray.cel._frame import Frame
from dray.cel._library.bounds import STEPS_MAX


def test_an_evaluation_ends_when_its_budget_is_spent() -> None:
    frame = Frame({}, 0, 10, None)
    frame.charge(10)
    with pytest.raises(Abort, match="cost limit exceeded"):
        frame.charge(1)


def test_a_loop_ends_when_steps_in_it_have_spent_the_budget() -> None:
    frame = Frame({}, 0, 10, None)
    frame.cost += 11
    with pytest.raises(Abort, match="cost limit exceeded"):
        frame.iterate()


def test_a_loop_asks_every_hundred_rounds_whether_anyone_waits() -> None:
    answers = iter([False, False, True])
    frame = Frame({}, 0, 10, lambda: next(answers))
    for _ in range(299):
        frame.iterate()
    with pytest.raises(Abort, match="operation interrupted"):
        frame.iterate()


def test_looking_into_lists_is_counted_over_the_whole_evaluation() -> None:
    frame = Frame({}, 0, 10, None)
    flat = [0] * (STEPS_MAX // 2)
    for _ in range(10):
        frame.look_into([flat, 1, "text"])
    large = [flat]
    frame.look_into([large])
    with pytest.raises(Abort, match="cost limit exceeded"):
        frame.look_into([large])
