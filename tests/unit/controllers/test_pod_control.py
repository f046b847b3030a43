"""Writes, several at a time. What pods look like is told by the controllers that make them."""

from __future__ import annotations

import asyncio

import pytest

from dray.controllers.pod_control import AT_ONCE_MAX, all_at_once, slow_start
from dray.errors import Conflict


class Work:
    """Notes how many run side by side; fails from some number on."""

    def __init__(self, *, fails_from: int = 10**9) -> None:
        self.fails_from = fails_from
        self.begun = 0
        self.running = 0
        self.sizes: list[int] = []

    async def do(self, number: int = 0) -> int:
        self.begun += 1
        if not self.running:
            self.sizes.append(0)
        self.running += 1
        self.sizes[-1] += 1
        begun = self.begun
        await asyncio.sleep(0)
        self.running -= 1
        if begun >= self.fails_from:
            raise Conflict(f"no {begun}")
        return number


def test_what_works_is_done_in_batches_that_grow() -> None:
    work = Work()
    outcome = asyncio.run(slow_start([work.do] * 300))
    assert work.sizes == [1, 2, 4, 8, 16, 32, 64, AT_ONCE_MAX, 73]
    assert len(outcome.done) == 300
    outcome.check()


def test_after_a_failure_nothing_more_is_begun() -> None:
    work = Work(fails_from=3)
    outcome = asyncio.run(slow_start([work.do] * 300))
    assert work.begun == 3
    assert len(outcome.done) == 2
    with pytest.raises(Conflict, match="no 3"):
        outcome.check()


def test_a_failure_does_not_keep_the_others_from_being_done() -> None:
    work = Work(fails_from=250)
    outcome = asyncio.run(all_at_once(work.do, range(300)))
    assert work.begun == 300
    assert list(outcome.done) == list(range(249))
    assert outcome.failed_count == 51
    assert max(work.sizes) == AT_ONCE_MAX


def test_a_mistake_of_ours_is_no_outcome() -> None:
    async def fail() -> int:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        asyncio.run(slow_start([fail]))
