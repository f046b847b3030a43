"""Watches a driver's devices: asks its author's code how they are, or listens to it.

A driver either answers a question, `probe(device)`, asked of every device in turn, or tells by
itself, as an async generator `watch_health()`. Only what shows that the author's code still works
renews a word:

- An answered probe renews the word on its device. Heartbeats come for free.
- What the generator yields renews the words it holds. A driver that yields changes only, and whose
  waiting itself proves that all is well, sets `heartbeat = True`: then words are renewed as long as
  the generator that spoke them runs. Without it a monitor that is stuck decays to Unknown, as it
  should.

What the author's code raises, or answers by mistake, ends up in a message and a log, never here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from inspect import isawaitable
from itertools import count
from typing import Any, Final

from dray.api.resource import Device
from dray.clock import Clock
from dray.errors import DeviceFailed
from dray.sdk._health import DEFAULT_TIMEOUT_SECONDS, DeviceHealth, Health, cut_message
from dray.sdk._health_board import HealthBoard, HealthMetrics, Key

__all__ = ["HealthMonitor", "offers_health"]

_log = logging.getLogger(__name__)

PROBE_SECONDS: Final = 5.0

# Probes wait for hardware, seldom for a processor; so many at once get through 1,000 devices at
# 100 ms each in 3 s, without a thousand open files.
PROBES_MAX: Final = 32

# A generator that ends is started again after this long, then after longer and longer; one that
# held out for the longest pause has proven itself.
RESTART_SECONDS: Final = 1.0
RESTART_SECONDS_MAX: Final = 60.0


def offers_health(driver: object) -> bool:
    """Whether the driver's author wrote one of the two methods."""
    return _is_written(driver, "probe") or _is_written(driver, "watch_health")


def _is_written(driver: object, method: str) -> bool:
    """Whether the method is the author's, not what the SDK's base class has in its place."""
    for kind in type(driver).__mro__:
        if method in vars(kind):
            return not kind.__module__.startswith("dray.sdk.")
    return False


class HealthMonitor:
    """How every device is, kept current by `run`.

    `devices` lists what there is, with the pools' names; call `refresh` when it changed.
    `on_change` hears of every change as it happens, `on_forget` of devices that nothing is known of
    any more; neither may wait. Where the arguments say
    nothing, the driver's attributes `probe_seconds`, `probe_timeout_seconds` and `heartbeat` do.
    """

    def __init__(
        self,
        driver: object,
        *,
        devices: Callable[[], Sequence[tuple[str, Device]]],
        clock: Clock,
        on_change: Callable[[Sequence[DeviceHealth]], None] | None = None,
        on_forget: Callable[[str, str], None] = lambda _pool, _device: None,
        metrics: HealthMetrics | None = None,
        probe_seconds: float | None = None,
        probe_timeout_seconds: float | None = None,
    ) -> None:
        self._driver: Any = driver
        self._devices = devices
        self._clock = clock
        self._board = HealthBoard(
            clock=clock, on_change=on_change, on_forget=on_forget, metrics=metrics
        )
        self._generates = _is_written(driver, "watch_health")
        self.offers_health = offers_health(driver)
        self._probe_seconds = float(
            probe_seconds or getattr(driver, "probe_seconds", 0) or PROBE_SECONDS
        )
        self._probe_timeout_seconds = float(
            probe_timeout_seconds
            or getattr(driver, "probe_timeout_seconds", 0)
            or self._probe_seconds
        )
        # Bare answers hold long enough for the slowest probe, and for one round to get lost. With
        # thousands of devices a round takes its time, and answers hold longer.
        self._word_seconds = self._word_seconds_min = max(
            DEFAULT_TIMEOUT_SECONDS, 2 * (self._probe_seconds + self._probe_timeout_seconds)
        )
        self._heartbeat = bool(getattr(driver, "heartbeat", False))
        # Probes that were given up, and do not end.
        self._stuck: dict[Key, asyncio.Task[Any]] = {}
        self._proven_at: float | None = None
        self._problem = "the health monitor has not started"

    async def run(self) -> None:
        """Watch until cancelled; returns at once for a driver that offers no health."""
        if not self.offers_health:
            return
        self.refresh()
        self._proven_at = self._clock.monotonic()
        self._problem = ""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._board.run())
                work = self._listen_for_ever if self._generates else self._probe_for_ever
                tasks.create_task(work())
        finally:
            self._problem = "the health monitor was stopped"
            for task in self._stuck.values():
                task.cancel()
            # One turn, for those that heed it.
            await asyncio.sleep(0)

    def refresh(self) -> None:
        """The inventory changed."""
        self._board.place(self._devices())

    def state(self) -> tuple[DeviceHealth, ...]:
        """The last word on every device."""
        return self._board.state()

    def reports(self) -> AsyncGenerator[tuple[DeviceHealth, ...], None]:
        """What is known now, then what changes, and words that were renewed; without an end."""
        return self._board.reports()

    def problem(self) -> str:
        """Why the monitor cannot be trusted now; empty when it can, or when there is none."""
        if not self.offers_health:
            return ""
        if self._problem or self._generates or self._proven_at is None:
            return self._problem
        silent_seconds = self._clock.monotonic() - self._proven_at
        if silent_seconds > self._word_seconds and self._devices():
            return f"no probe has answered for {silent_seconds:.0f} s"
        return ""

    # The author's generator -----------------------------------------------------------------------

    async def _listen_for_ever(self) -> None:
        pause_seconds = RESTART_SECONDS
        for speaker in count(1):
            started_at = self._clock.monotonic()
            self._problem = ""
            error = await self._outcome(speaker)
            self._problem = f"watch_health raised {error!r}" if error else "watch_health ended"
            if self._clock.monotonic() - started_at > RESTART_SECONDS_MAX:
                pause_seconds = RESTART_SECONDS
            _log.error(
                "%s; it is started again in %g s", self._problem, pause_seconds, exc_info=error
            )
            await self._clock.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)

    async def _outcome(self, speaker: int) -> BaseException | None:
        """Listen as long as the generator lasts; returns what ended it."""
        listening = asyncio.ensure_future(self._listen(speaker))
        renewing = asyncio.ensure_future(self._renew_for_ever(speaker))
        try:
            await asyncio.wait((listening,))
        finally:
            for task in (listening, renewing):
                task.cancel()
            await asyncio.wait((listening, renewing))
        return None if listening.cancelled() else listening.exception()

    async def _listen(self, speaker: int) -> None:
        reports: AsyncIterator[object] = self._driver.watch_health()
        try:
            async for report in reports:
                self._board.hear(_words_of(report), speaker=speaker)
        finally:
            if isinstance(reports, AsyncGenerator):
                await reports.aclose()

    async def _renew_for_ever(self, speaker: int) -> None:
        while self._heartbeat:
            await self._clock.sleep(self._board.beat_seconds())
            self._board.renew(speaker)

    # The author's probe ---------------------------------------------------------------------------

    async def _probe_for_ever(self) -> None:
        while True:
            started_at = self._clock.monotonic()
            await self._probe_all()
            elapsed_seconds = self._clock.monotonic() - started_at
            await self._clock.sleep(max(self._probe_seconds - elapsed_seconds, 0.0))

    async def _probe_all(self) -> None:
        """Ask every device once; each answer counts as soon as it is there."""
        devices = self._devices()
        waiting = iter(devices)
        started_at = self._clock.monotonic()
        done = 0

        async def work() -> None:
            nonlocal done
            for pool, device in waiting:
                await self._probe((pool, device.name), device)
                done += 1
                if done % PROBES_MAX == 0:
                    elapsed_seconds = self._clock.monotonic() - started_at
                    self._hold_for(elapsed_seconds * len(devices) / done)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(PROBES_MAX, len(devices))):
                tasks.create_task(work())
        self._hold_for(self._clock.monotonic() - started_at, shrink=True)

    def _hold_for(self, round_seconds: float, *, shrink: bool = False) -> None:
        """Have answers hold for two rounds of this length.

        In powers of two, and not shorter again at once: another timeout is news to listeners.
        """
        needed_seconds = 2 * (round_seconds + self._probe_seconds)
        held_seconds = self._word_seconds
        if shrink and needed_seconds < held_seconds / 4:
            held_seconds = self._word_seconds_min
        while held_seconds < needed_seconds:
            held_seconds *= 2
        self._word_seconds = held_seconds

    async def _probe(self, key: Key, device: Device) -> None:
        stuck = self._stuck.get(key)
        if stuck is not None and not stuck.done():
            message = "an earlier probe of the device does not end, not even when it is cancelled"
            self._say(key, Health.UNKNOWN, message)
            return
        self._stuck.pop(key, None)
        probe = asyncio.ensure_future(self._ask(device))
        alarm = asyncio.ensure_future(self._clock.sleep(self._probe_timeout_seconds))
        try:
            await asyncio.wait((probe, alarm), return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            if not probe.done():
                # It may not heed this; the round goes on without it.
                probe.cancel()
                self._stuck[key] = probe
                probe.add_done_callback(_look_away)
        if probe.done():
            self._proven_at = self._clock.monotonic()
            self._conclude(key, probe)
        else:
            message = f"the probe did not answer within {self._probe_timeout_seconds:g} s"
            self._say(key, Health.UNKNOWN, message)

    async def _ask(self, device: Device) -> object:
        answer = self._driver.probe(device)
        return await answer if isawaitable(answer) else answer

    def _conclude(self, key: Key, probe: asyncio.Task[object]) -> None:
        error = asyncio.CancelledError() if probe.cancelled() else probe.exception()
        if isinstance(error, DeviceFailed):
            self._say(key, Health.UNHEALTHY, error.message)
        elif error is not None:
            before = self._board.word(key)
            message = cut_message(f"the probe raised {error!r}")
            if before is None or before.message != message:
                _log.error("probing device %s of pool %s", key[1], key[0], exc_info=error)
            self._say(key, Health.UNKNOWN, message)
        else:
            self._take(key, probe.result())

    def _take(self, key: Key, answer: object) -> None:
        pool, device = key
        match answer:
            case None:
                # No statement: the device is left out of reports.
                self._board.forget(key)
            case bool():
                self._say(key, Health.HEALTHY if answer else Health.UNHEALTHY)
            case Health():
                self._say(key, answer)
            case DeviceHealth() if answer.device in ("", device) and answer.pool in ("", pool):
                self._board.hear([replace(answer, pool=pool, device=device)])
            case DeviceHealth():
                message = f"the probe answered for another device, {answer.pool}/{answer.device}"
                self._say(key, Health.UNKNOWN, message)
            case _:
                message = f"the probe answered {answer!r}; answers are DeviceHealth, Health or bool"
                self._say(key, Health.UNKNOWN, message)

    def _say(self, key: Key, health: Health, message: str = "") -> None:
        pool, device = key
        word = DeviceHealth(device, health, cut_message(message), pool, self._word_seconds)
        self._board.hear([word])


def _words_of(report: object) -> Sequence[DeviceHealth]:
    words = [report] if isinstance(report, DeviceHealth) else report
    if not isinstance(words, Iterable):
        raise TypeError(f"watch_health yielded {report!r}, not a list of DeviceHealth")
    listed = list(words)
    for word in listed:
        if not isinstance(word, DeviceHealth):
            raise TypeError(f"watch_health yielded a list with {word!r}, not a DeviceHealth")
    return listed


def _look_away(task: asyncio.Task[Any]) -> None:
    """Nobody waits for this any more, so nobody is to be told that it failed."""
    if not task.cancelled():
        task.exception()
