from __future__ import annotations

import pytest

from dray.cel._trampoline import Steps, done, run

DEPTH = 100_000


def counted(depth: int) -> Steps[int]:
    if depth == 0:
        return 0
    below: int = yield counted(depth - 1)
    return below + 1


def test_depth_is_not_bounded_by_the_stack() -> None:
    assert run(counted(DEPTH)) == DEPTH


def test_a_walk_that_is_over_answers_at_once() -> None:
    assert run(done("answer")) == "answer"


def test_an_error_in_a_child_ends_the_run() -> None:
    def broken() -> Steps[None]:
        yield counted(1)
        raise ValueError("broken")

    def parent() -> Steps[None]:
        yield broken()

    with pytest.raises(ValueError, match="broken"):
        run(parent())
