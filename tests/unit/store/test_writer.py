from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from dray.errors import InternalError, StoreUnavailable
from dray.store.log import BATCH_BYTES_MAX, BATCH_ROWS_MAX
from dray.store.rows import put_row
from dray.store.store import Record
from dray.store.writer import (
    COMPACTION_LAG_REVISIONS,
    GATHERED_MIN,
    TURNS_MAX,
    Committed,
    Compacted,
    Failed,
    Report,
    Stopped,
    Writer,
)
from dray.store.writes import Write
from tests.unit.store.logs import ScriptedLog


class Desk:
    """Collects reports, and waits for them."""

    def __init__(self) -> None:
        self.log = ScriptedLog()
        self.reports: asyncio.Queue[Report] = asyncio.Queue()
        self.writer = Writer(self.log, self.reports.put_nowait)
        self.writer.start()

    def submit(self, revision: int, *, epoch: int = 0, size: int = 0) -> None:
        record = Record("/a", bytes(size), revision, revision)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.writer.submit(Write(put_row(record, 1, 0), record, future, epoch))

    def end_turn(self) -> None:
        """What the loop does after every turn; a test that keeps it from doing so must itself."""
        self.writer._hand_over()

    def hold(self) -> None:
        """Let the thread begin a commit, and keep it there."""
        self.log.gate.clear()
        self.submit(0)
        self.end_turn()
        self.log.entered.acquire()


def with_desk(steps: Callable[[Desk], Awaitable[None]]) -> None:
    async def main() -> None:
        desk = Desk()
        try:
            await steps(desk)
        finally:
            desk.log.gate.set()
            desk.writer.stop()
            await asyncio.get_running_loop().run_in_executor(None, desk.writer._thread.join)

    asyncio.run(main())


def test_what_queues_up_during_a_commit_is_the_next_one() -> None:
    async def steps(desk: Desk) -> None:
        desk.hold()
        for revision in range(1, 6):
            desk.submit(revision)
        desk.log.gate.set()
        first, second = await desk.reports.get(), await desk.reports.get()
        assert isinstance(first, Committed)
        assert isinstance(second, Committed)
        assert [write.revision for write in second.writes] == [1, 2, 3, 4, 5]
        assert [len(batch) for batch in desk.log.batches] == [1, 5]

    with_desk(steps)


def test_batches_are_bounded_by_rows_and_bytes() -> None:
    async def steps(desk: Desk) -> None:
        desk.hold()
        for revision in range(1, BATCH_ROWS_MAX + 2):
            desk.submit(revision)
        for revision in range(1000, 1003):
            desk.submit(revision, size=BATCH_BYTES_MAX // 2)
        desk.log.gate.set()
        sizes: list[int] = []
        while sum(sizes) < BATCH_ROWS_MAX + 5:
            report = await desk.reports.get()
            assert isinstance(report, Committed)
            sizes.append(len(report.writes))
        assert sizes == [1, BATCH_ROWS_MAX, 3, 1]

    with_desk(steps)


def test_what_was_accepted_before_a_failure_was_known_is_not_written() -> None:
    async def steps(desk: Desk) -> None:
        desk.log.fail()
        desk.hold()
        desk.submit(1)  # on top of what fails
        desk.log.gate.set()
        report = await desk.reports.get()
        assert isinstance(report, Failed)
        assert report.epoch == 0
        desk.submit(2, epoch=0)
        desk.submit(3, epoch=1)
        assert isinstance(await desk.reports.get(), Committed)
        assert [row[0] for row in desk.log.rows] == [3]

    with_desk(steps)


def test_a_revision_is_noted_after_it_is_committed() -> None:
    async def steps(desk: Desk) -> None:
        desk.submit(1)
        await desk.reports.get()
        desk.log.fail()
        desk.submit(2)
        await desk.reports.get()
        desk.writer.stop()
        await desk.reports.get()
        assert desk.log.noted == [1]

    with_desk(steps)


@pytest.mark.parametrize(("allowed", "compacts"), [(-1, False), (0, True)])
def test_compaction_waits_until_it_is_worth_it(allowed: int, compacts: bool) -> None:
    async def steps(desk: Desk) -> None:
        desk.writer.allow_compaction(COMPACTION_LAG_REVISIONS + allowed)
        desk.submit(1)
        await desk.reports.get()
        desk.writer.stop()
        await desk.reports.get()
        assert bool(desk.log.compactions) is compacts

    with_desk(steps)


def test_compaction_asked_for_is_done_in_steps_and_reported() -> None:
    async def steps(desk: Desk) -> None:
        desk.writer.compact(35)
        report = await desk.reports.get()
        assert report == Compacted(35)
        assert desk.log.compactions == [10, 20, 30, 35]
        desk.writer.compact(20)
        assert await desk.reports.get() == Compacted(20)  # the scripted log knows no better

    with_desk(steps)


def test_compaction_that_fails_is_reported_and_tried_again_later() -> None:
    async def steps(desk: Desk) -> None:
        desk.log.fail()
        desk.writer.compact(5)
        report = await desk.reports.get()
        assert isinstance(report, Compacted)
        assert isinstance(report.error, StoreUnavailable)
        desk.writer.compact(5)
        assert await desk.reports.get() == Compacted(5)

    with_desk(steps)


def test_writes_go_on_between_the_steps_of_compaction() -> None:
    async def steps(desk: Desk) -> None:
        desk.hold()
        desk.writer.compact(35)
        desk.submit(1)
        desk.end_turn()
        desk.log.gate.set()
        reports = [await desk.reports.get() for _ in range(3)]
        assert [type(report) for report in reports] == [Committed, Committed, Compacted]

    with_desk(steps)


def test_pages_that_compaction_freed_are_given_back_while_nobody_writes() -> None:
    async def steps(desk: Desk) -> None:
        desk.submit(1)
        await desk.reports.get()
        desk.log.free = 3
        desk.writer.compact(5)
        await desk.reports.get()
        loop = asyncio.get_running_loop()
        for _ in range(3):
            await loop.run_in_executor(None, desk.log.vacuumed.acquire)
        desk.submit(2)
        assert isinstance(await desk.reports.get(), Committed)

    with_desk(steps)


def test_stopping_finishes_what_is_queued() -> None:
    async def steps(desk: Desk) -> None:
        desk.hold()
        desk.submit(1)
        desk.writer.stop()
        desk.log.gate.set()
        reports = [await desk.reports.get() for _ in range(3)]
        assert [type(report) for report in reports] == [Committed, Committed, Stopped]
        assert reports[2] == Stopped(None)
        assert desk.log.closed

    with_desk(steps)


def test_a_file_that_cannot_be_closed_is_reported() -> None:
    async def steps(desk: Desk) -> None:
        desk.submit(1)
        await desk.reports.get()
        desk.log.fail()
        desk.writer.stop()
        report = await desk.reports.get()
        assert isinstance(report, Stopped)
        assert isinstance(report.error, StoreUnavailable)

    with_desk(steps)


def test_a_bug_in_the_thread_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda told: seen.append(told.exc_value))

    async def steps(desk: Desk) -> None:
        desk.log.fail(ZeroDivisionError("a bug"))
        desk.submit(1)
        report = await desk.reports.get()
        assert isinstance(report, Stopped)
        assert isinstance(report.error, InternalError)

    with_desk(steps)
    assert [str(error) for error in seen] == ["a bug"]


def test_a_loop_that_is_gone_ends_the_thread() -> None:
    desk: list[Desk] = []

    async def main() -> None:
        desk.append(Desk())
        desk[0].hold()

    asyncio.run(main())
    desk[0].log.gate.set()
    desk[0].writer._thread.join()
    assert len(desk[0].log.rows) == 1
    assert desk[0].log.closed


def test_the_thread_hears_of_a_turn_of_the_loop_as_a_whole() -> None:
    async def steps(desk: Desk) -> None:
        for revision in range(1, 4):
            desk.submit(revision)
        report = await desk.reports.get()
        assert isinstance(report, Committed)
        assert [write.revision for write in report.writes] == [1, 2, 3]

    with_desk(steps)


def test_the_thread_hears_of_turns_in_a_row_together() -> None:
    async def steps(desk: Desk) -> None:
        for revision in range(1, 4):
            desk.submit(revision)
            await asyncio.sleep(0)
        report = await desk.reports.get()
        assert isinstance(report, Committed)
        assert [write.revision for write in report.writes] == [1, 2, 3]

    with_desk(steps)


@pytest.mark.parametrize(
    ("turns", "writes_per_turn", "heard"),
    [
        pytest.param(TURNS_MAX, 1, 0, id="a-few"),
        pytest.param(2 * (TURNS_MAX + 1) + 1, 1, 2, id="many"),
        pytest.param(1, GATHERED_MIN - 1, 0, id="nearly-enough-for-a-batch"),
        pytest.param(1, GATHERED_MIN, 1, id="enough-for-a-batch"),
    ],
)
def test_no_write_waits_for_more_than_some_turns_or_a_good_batch(
    turns: int, writes_per_turn: int, heard: int
) -> None:
    async def steps(desk: Desk) -> None:
        desk.hold()
        await asyncio.sleep(0)  # it is over for what was held
        for turn in range(turns):
            for number in range(writes_per_turn):
                desk.submit(1 + turn * writes_per_turn + number)
            await asyncio.sleep(0)
        assert desk.writer._queue.qsize() == heard
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not desk.writer._gathered  # a turn brought nothing

    with_desk(steps)


def test_what_was_gathered_is_written_before_the_thread_ends() -> None:
    async def steps(desk: Desk) -> None:
        desk.submit(1)
        desk.writer.stop()
        assert isinstance(await desk.reports.get(), Committed)
        assert await desk.reports.get() == Stopped()

    with_desk(steps)
