"""Words that are heard, told, renewed and lapse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from dray.sdk import _health_board as module
from dray.sdk._health import DeviceHealth, Health
from dray.sdk._health_board import HealthBoard
from dray.sdk._inventory import device
from dray.testing import FakeClock
from tests.unit.sdk.turns import pass_time, settle

HEALTHY = DeviceHealth("a", Health.HEALTHY, pool="p")
UNHEALTHY = DeviceHealth("a", Health.UNHEALTHY, "broken", pool="p")


class Listener:
    """Keeps what it was told."""

    def __init__(self, board: HealthBoard) -> None:
        self.reports: list[tuple[DeviceHealth, ...]] = []
        self._board = board

    async def run(self) -> None:
        async with aclosing(self._board.reports()) as reports:
            async for report in reports:
                self.reports.append(report)


@asynccontextmanager
async def listening(board: HealthBoard) -> AsyncIterator[Listener]:
    listener = Listener(board)
    tasks = [asyncio.create_task(board.run()), asyncio.create_task(listener.run())]
    await settle()
    try:
        yield listener
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_a_listener_gets_all_that_is_known_and_then_changes() -> None:
    async def body() -> None:
        board = HealthBoard(clock=FakeClock())
        board.hear([HEALTHY, DeviceHealth("b", Health.HEALTHY, pool="p")])
        async with listening(board) as listener:
            assert [len(report) for report in listener.reports] == [2]
            board.hear([UNHEALTHY])
            await settle()
            assert len(listener.reports) == 1  # changes in one moment go together
            board._clock.advance(1)  # type: ignore[attr-defined]
            await settle()
            assert listener.reports[1:] == [(UNHEALTHY,)]

    asyncio.run(body())


def test_nothing_is_reported_while_nothing_is_known() -> None:
    async def body() -> None:
        clock = FakeClock()
        board = HealthBoard(clock=clock)
        async with listening(board) as listener:
            await pass_time(clock, 60, step=5)
            assert listener.reports == []
            board.hear([HEALTHY])
            await settle()
            assert listener.reports == [(HEALTHY,)]

    asyncio.run(body())


def test_a_word_that_nothing_renews_becomes_unknown_and_says_what_it_was() -> None:
    async def body() -> None:
        clock = FakeClock()
        board = HealthBoard(clock=clock)
        board.hear([UNHEALTHY])
        async with listening(board) as listener:
            await pass_time(clock, 29)
            assert listener.reports == [(UNHEALTHY,)]
            await pass_time(clock, 2)
            (word,) = listener.reports[-1]
            assert word.health is Health.UNKNOWN
            assert "silent for 30 s" in word.message
            assert "broken" in word.message

    asyncio.run(body())


def test_renewed_words_are_told_again_three_times_per_timeout() -> None:
    async def body() -> None:
        clock = FakeClock()
        board = HealthBoard(clock=clock)
        async with listening(board) as listener:
            for _ in range(60):
                board.hear([HEALTHY])
                await pass_time(clock, 1)
            assert len(listener.reports) in range(6, 8)
            assert set(listener.reports) == {(HEALTHY,)}

    asyncio.run(body())


def test_a_word_of_shorter_life_lapses_in_its_own_time() -> None:
    async def body() -> None:
        clock = FakeClock()
        board = HealthBoard(clock=clock)
        board.hear([HEALTHY])
        async with listening(board) as listener:
            brief = DeviceHealth("b", Health.HEALTHY, pool="p", timeout_seconds=2)
            board.hear([brief])
            await pass_time(clock, 3)
            told = {word.device: word.health for report in listener.reports for word in report}
            assert told == {"a": Health.HEALTHY, "b": Health.UNKNOWN}

    asyncio.run(body())


def test_only_the_words_of_a_speaker_are_renewed_for_it() -> None:
    async def body() -> None:
        clock = FakeClock()
        board = HealthBoard(clock=clock)
        board.hear([HEALTHY], speaker=1)
        board.hear([DeviceHealth("b", Health.HEALTHY, pool="p")], speaker=2)
        async with listening(board):
            for _ in range(7):
                await pass_time(clock, 5)
                board.renew(2)
            assert [word.health for word in board.state()] == [Health.UNKNOWN, Health.HEALTHY]

    asyncio.run(body())


def test_a_slow_listener_finds_one_word_per_device() -> None:
    async def body() -> None:
        clock = FakeClock()
        board = HealthBoard(clock=clock)
        async with aclosing(board.reports()) as reports:
            board.hear([HEALTHY])
            assert await anext(reports) == (HEALTHY,)
            for n in range(10_000):
                board.hear([DeviceHealth("a", Health.UNHEALTHY, str(n), "p")])
            clock.advance(1)
            (word,) = await anext(reports)
            assert word.message == "9999"
        assert not board._listeners

    asyncio.run(body())


def test_flapping_costs_a_bounded_number_of_reports() -> None:
    async def body() -> None:
        clock = FakeClock()
        board = HealthBoard(clock=clock)
        async with listening(board) as listener:
            for n in range(300):
                board.hear([UNHEALTHY if n % 2 else HEALTHY])
                clock.advance(0.01)
                await settle(10)
            assert len(listener.reports) <= 3 / module.REPORT_GAP_SECONDS + 1

    asyncio.run(body())


def test_a_word_without_a_pool_is_about_the_device_of_that_name() -> None:
    board = HealthBoard(clock=FakeClock())
    board.place([("p", device("a"))])
    board.hear([DeviceHealth("a", Health.HEALTHY)])
    assert board.state() == (HEALTHY,)


def test_a_word_on_a_device_that_comes_later_waits_for_it() -> None:
    board = HealthBoard(clock=FakeClock())
    board.hear([DeviceHealth("a", Health.HEALTHY)])
    assert board.state() == ()
    board.place([("p", device("a"))])
    assert board.state() == (HEALTHY,)


def test_a_word_on_a_name_in_two_pools_is_not_guessed_at(
    caplog: pytest.LogCaptureFixture,
) -> None:
    board = HealthBoard(clock=FakeClock())
    board.place([("p", device("a")), ("q", device("a"))])
    board.hear([DeviceHealth("a", Health.HEALTHY)])
    assert board.state() == ()
    assert "p, q" in caplog.text


def test_devices_that_are_gone_are_forgotten() -> None:
    board = HealthBoard(clock=FakeClock())
    board.hear([HEALTHY])
    board.place([])
    assert board.state() == ()


def test_invented_names_do_not_grow_the_board(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "DEVICES_MAX", 3)
    board = HealthBoard(clock=FakeClock())
    board.hear([DeviceHealth(f"d{n}", Health.HEALTHY, pool="p") for n in range(9)])
    board.hear([DeviceHealth(f"d{n}", Health.HEALTHY) for n in range(9)])
    assert len(board.state()) == 3
    assert caplog.text.count("is not kept") == 1


def test_changes_are_told_to_the_owner_and_counted() -> None:
    changes: list[Sequence[DeviceHealth]] = []

    class Metrics:
        counts: Mapping[Health, int] = {}

        def health_states(self, counts: Mapping[Health, int]) -> None:
            self.counts = {health: count for health, count in counts.items() if count}

    metrics = Metrics()
    board = HealthBoard(clock=FakeClock(), on_change=changes.append, metrics=metrics)
    board.hear([HEALTHY])
    board.hear([HEALTHY])
    board.hear([UNHEALTHY])
    assert changes == [(HEALTHY,), (UNHEALTHY,)]
    assert metrics.counts == {Health.UNHEALTHY: 1}
    board.forget(("p", "a"))
    assert metrics.counts == {}


def test_counts_follow_what_lapses() -> None:
    class Metrics:
        counts: Mapping[Health, int] = {}

        def health_states(self, counts: Mapping[Health, int]) -> None:
            self.counts = dict(counts)

    async def body() -> None:
        clock, metrics = FakeClock(), Metrics()
        board = HealthBoard(clock=clock, metrics=metrics)
        board.hear([HEALTHY, DeviceHealth("b", Health.HEALTHY, pool="p", timeout_seconds=90)])
        async with listening(board):
            await pass_time(clock, 40, step=5)
        assert metrics.counts == {Health.HEALTHY: 1, Health.UNKNOWN: 1}

    asyncio.run(body())
