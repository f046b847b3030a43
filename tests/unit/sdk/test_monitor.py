"""Probing devices, and listening to a driver that tells by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dray.api.resource import Device
from dray.errors import DeviceFailed
from dray.sdk._health import DeviceHealth, Health
from dray.sdk._inventory import device
from dray.sdk._monitor import PROBES_MAX, HealthMonitor, offers_health
from dray.testing import FakeClock
from tests.unit.sdk.turns import pass_time, settle


class Prober:
    """Answers what it is told to."""

    def __init__(self, answer: Callable[[Device], Any]) -> None:
        self._answer = answer

    async def probe(self, device: Device) -> Any:
        answer = self._answer(device)
        return await answer if asyncio.iscoroutine(answer) else answer


@asynccontextmanager
async def watching(driver: object, clock: FakeClock, *names: str) -> AsyncIterator[HealthMonitor]:
    devices = [("p", device(name)) for name in names or ("a",)]
    monitor = HealthMonitor(driver, devices=lambda: devices, clock=clock)
    task = asyncio.create_task(monitor.run())
    await settle()
    try:
        yield monitor
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def healths(monitor: HealthMonitor) -> list[Health]:
    return [word.health for word in monitor.state()]


@pytest.mark.parametrize(
    ("answer", "health", "message"),
    [
        pytest.param(True, Health.HEALTHY, "", id="yes"),
        pytest.param(False, Health.UNHEALTHY, "", id="no"),
        pytest.param(Health.DEGRADED, Health.DEGRADED, "", id="health"),
        pytest.param(
            DeviceHealth("a", Health.UNHEALTHY, "hot"), Health.UNHEALTHY, "hot", id="word"
        ),
        pytest.param(
            DeviceHealth("b", Health.HEALTHY), Health.UNKNOWN, "another device", id="wrong-device"
        ),
        pytest.param("fine", Health.UNKNOWN, "'fine'", id="nonsense"),
    ],
)
def test_an_answer_is_a_word_on_the_device(answer: Any, health: Health, message: str) -> None:
    async def body() -> None:
        async with watching(Prober(lambda _: answer), FakeClock()) as monitor:
            (word,) = monitor.state()
            assert word.health is health
            assert message in word.message
            assert (word.pool, word.device) == ("p", "a")

    asyncio.run(body())


def test_no_answer_leaves_the_device_out() -> None:
    async def body() -> None:
        clock = FakeClock()
        answers: list[bool | None] = [True, None]
        async with watching(Prober(lambda _: answers.pop(0)), clock) as monitor:
            assert healths(monitor) == [Health.HEALTHY]
            await pass_time(clock, 6)
            assert monitor.state() == ()

    asyncio.run(body())


def test_a_probe_that_raises_says_so_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def answer(device: Device) -> bool:
        if device.name == "a":
            raise OSError("no such bus")
        return True

    async def body() -> None:
        clock = FakeClock()
        async with watching(Prober(answer), clock, "a", "b") as monitor:
            await pass_time(clock, 30)
            assert healths(monitor) == [Health.UNKNOWN, Health.HEALTHY]
            assert "no such bus" in monitor.state()[0].message

    asyncio.run(body())
    assert caplog.text.count("probing device a") == 1  # once, not at every round


def test_a_device_that_failed_is_unhealthy() -> None:
    def answer(device: Device) -> bool:
        raise DeviceFailed("fell off the bus", driver="d", device=device.name)

    async def body() -> None:
        async with watching(Prober(answer), FakeClock()) as monitor:
            (word,) = monitor.state()
            assert (word.health, word.message) == (Health.UNHEALTHY, "fell off the bus")

    asyncio.run(body())


def test_a_probe_that_takes_too_long_is_given_up_and_tried_again() -> None:
    clock = FakeClock()
    slow = [True, True]

    async def answer() -> bool:
        if slow.pop() if slow else False:
            await asyncio.Event().wait()
        return True

    async def body() -> None:
        async with watching(Prober(lambda _: answer()), clock) as monitor:
            assert monitor.state() == ()
            await pass_time(clock, 5)
            assert healths(monitor) == [Health.UNKNOWN]
            assert "within 5 s" in monitor.state()[0].message
            await pass_time(clock, 6)
            assert healths(monitor) == [Health.HEALTHY]

    asyncio.run(body())


def test_a_probe_that_ignores_its_end_holds_up_nobody() -> None:
    clock = FakeClock()
    release = asyncio.Event()
    calls = []

    async def stubborn(device: Device) -> bool:
        calls.append(device.name)
        while device.name == "a" and not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return True

    async def body() -> None:
        async with watching(Prober(stubborn), clock, "a", "b") as monitor:
            await pass_time(clock, 40)
            assert healths(monitor) == [Health.HEALTHY, Health.UNKNOWN]
            assert "not even when it is cancelled" in monitor.state()[1].message
            assert calls.count("a") == 1
            assert not monitor.problem()
            release.set()
            await pass_time(clock, 6)
            assert healths(monitor) == [Health.HEALTHY, Health.HEALTHY]

    asyncio.run(body())


def test_a_bounded_number_of_probes_runs_at_once() -> None:
    clock = FakeClock()
    running = most = 0

    async def answer() -> bool:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await clock.sleep(0.1)
        running -= 1
        return True

    async def body() -> None:
        names = [f"d{n}" for n in range(200)]
        async with watching(Prober(lambda _: answer()), clock, *names) as monitor:
            await pass_time(clock, 1, step=0.1)
            assert len(monitor.state()) == 200
            assert most == PROBES_MAX

    asyncio.run(body())


def test_words_hold_through_rounds_that_take_long() -> None:
    clock = FakeClock()

    async def answer() -> bool:
        await clock.sleep(4)
        return True

    async def body() -> None:
        names = [f"d{n}" for n in range(32 * 16)]
        async with watching(Prober(lambda _: answer()), clock, *names) as monitor:
            # Sixteen times four seconds. Only the first words are spoken before that is known.
            await pass_time(clock, 68, step=2)
            for _ in range(70):
                await pass_time(clock, 2, step=2)
                assert set(healths(monitor)) == {Health.HEALTHY}
            assert {word.timeout_seconds for word in monitor.state()} == {240.0}

    asyncio.run(body())


def test_probes_that_answer_keep_words_fresh() -> None:
    async def body() -> None:
        clock = FakeClock()
        async with watching(Prober(lambda _: True), clock) as monitor:
            await pass_time(clock, 300, step=2.5)
            assert healths(monitor) == [Health.HEALTHY]
            assert monitor.problem() == ""

    asyncio.run(body())


class Teller:
    """Yields what is put in."""

    def __init__(self, *, heartbeat: bool = False) -> None:
        self.heartbeat = heartbeat
        self.words: asyncio.Queue[Any] = asyncio.Queue(maxsize=10)
        self.starts = 0
        self.closed = 0

    async def watch_health(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        self.starts += 1
        try:
            while (words := await self.words.get()) is not None:
                if isinstance(words, BaseException):
                    raise words
                yield words
        finally:
            self.closed += 1


WORD = DeviceHealth("a", Health.HEALTHY)


def test_what_the_generator_yields_is_known() -> None:
    async def body() -> None:
        teller = Teller()
        async with watching(teller, FakeClock()) as monitor:
            await teller.words.put([WORD])
            await settle()
            assert healths(monitor) == [Health.HEALTHY]
            await teller.words.put(DeviceHealth("a", Health.UNHEALTHY))
            await settle()
            assert healths(monitor) == [Health.UNHEALTHY]
        assert teller.closed == 1

    asyncio.run(body())


def test_a_generator_that_is_stuck_decays_to_unknown() -> None:
    async def body() -> None:
        clock, teller = FakeClock(), Teller()
        async with watching(teller, clock) as monitor:
            await teller.words.put([WORD])
            await pass_time(clock, 31)
            assert healths(monitor) == [Health.UNKNOWN]

    asyncio.run(body())


def test_a_generator_that_is_vouched_for_keeps_its_words() -> None:
    async def body() -> None:
        clock, teller = FakeClock(), Teller(heartbeat=True)
        async with watching(teller, clock) as monitor:
            await teller.words.put([WORD])
            await pass_time(clock, 120)
            assert healths(monitor) == [Health.HEALTHY]

    asyncio.run(body())


@pytest.mark.parametrize("end", [None, OSError("gone"), 7, [7]], ids=str)
def test_a_generator_that_ends_is_started_again_and_again_later(
    end: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        clock, teller = FakeClock(), Teller(heartbeat=True)
        async with watching(teller, clock) as monitor:
            await teller.words.put([WORD])
            await teller.words.put(end)
            await settle()
            assert "watch_health" in monitor.problem()
            await pass_time(clock, 1)
            assert (teller.starts, monitor.problem()) == (2, "")
            await teller.words.put(end)
            await pass_time(clock, 1)
            assert teller.starts == 2
            await pass_time(clock, 1)
            assert teller.starts == 3
            # The third has said nothing yet, so nobody vouches for what the first said.
            await pass_time(clock, 30)
            assert healths(monitor) == [Health.UNKNOWN]

    asyncio.run(body())
    assert "started again" in caplog.text


def test_a_driver_without_health_is_left_in_peace() -> None:
    class Silent:
        async def probe(self, device: Device) -> None:
            """As the SDK's base class has it."""

    Silent.__module__ = "dray.sdk._driver"

    class Speaking(Silent):
        async def probe(self, device: Device) -> None:
            """As an author has it."""

    assert not offers_health(object())
    assert not offers_health(Silent())
    assert offers_health(Speaking())

    async def body() -> None:
        monitor = HealthMonitor(Silent(), devices=list, clock=FakeClock())
        await monitor.run()
        assert monitor.problem() == ""

    asyncio.run(body())


def test_reports_reach_any_number_of_listeners() -> None:
    async def body() -> None:
        async with watching(Prober(lambda _: True), FakeClock()) as monitor:
            first, second = monitor.reports(), monitor.reports()
            assert await anext(first) == await anext(second)
            await first.aclose()
            await second.aclose()

    asyncio.run(body())


def test_a_monitor_says_when_nothing_answers() -> None:
    async def body() -> None:
        clock = FakeClock()
        monitor = HealthMonitor(Prober(lambda _: True), devices=list, clock=clock)
        assert "not started" in monitor.problem()
        async with watching(Prober(lambda _: asyncio.Event().wait()), clock) as watched:
            await pass_time(clock, 60)
            assert "no probe has answered" in watched.problem()

    asyncio.run(body())
