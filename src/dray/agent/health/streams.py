"""The health streams of a node's drivers: one per driver, from the instance that is believed.

During a rolling update a driver has two instances. The newest one that is connected and offers
health is believed; the others are not asked. So the end of an old instance cannot wipe what the new
one said. Upstream opens a stream to every instance, and lets all of them write and clear the same
words.

A stream that breaks is opened again, after 1 s at first and 30 s at last, and at once when the
driver connects anew. One that the driver does not have stays closed until the driver registers
again.

What a driver does never gets out of here as an exception: it is the cause that the end of a stream
is reported with.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Final, Protocol

from dray.agent.health.words import Report, read_report
from dray.agent.plugins.plugin import (
    Change,
    HealthUnsupported,
    Plugin,
    PluginChange,
    Plugins,
)
from dray.clock import Clock
from dray.errors import DrayError, shorten
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse

__all__ = ["HealthStreams", "Sink"]

log = logging.getLogger(__name__)

BACKOFF_SECONDS_MIN: Final = 1.0
BACKOFF_SECONDS_MAX: Final = 30.0

# Reading sixteen thousand devices takes tens of milliseconds. Whoever sends such reports without
# pause gets a fifth of the event loop, and no more.
_LONG_READ_SECONDS: Final = 0.005
_REST_PER_READ: Final = 4.0


_EXPECTED: Final = (DrayError, OSError)


class Sink(Protocol):
    """Where the words go. Neither call may wait."""

    def heard(self, driver: str, report: Report) -> None:
        """The believed instance of a driver reported."""
        ...

    def ended(self, driver: str, cause: str) -> None:
        """The driver's stream is gone, and no other instance is there to take over at once."""
        ...


class HealthStreams:
    """Keeps a stream open to the believed instance of every driver."""

    def __init__(self, plugins: Plugins, sink: Sink, *, clock: Clock) -> None:
        self._plugins = plugins
        self._sink = sink
        self._clock = clock
        self._watches: dict[str, _Watch] = {}
        self._changed: set[str] = set()
        self._wake = asyncio.Event()
        plugins.listen(self._hear_of)

    async def run(self) -> None:
        """Follow all drivers until cancelled."""
        self._changed.update(self._plugins.drivers())
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    for driver in sorted(self._changed):
                        self._follow(driver, group)
                    self._changed.clear()
                    self._wake.clear()
                    await self._wake.wait()
        finally:
            self._watches.clear()

    def _hear_of(self, change: PluginChange) -> None:
        driver = change.plugin.driver
        watch = self._watches.get(driver)
        if watch is not None and change.change in (Change.REGISTERED, Change.CONNECTED):
            watch.hurry(change.plugin)
        self._changed.add(driver)
        self._wake.set()

    def _follow(self, driver: str, group: asyncio.TaskGroup) -> None:
        watch = self._watches.get(driver)
        if watch is not None:
            watch.reconsider()
        elif any(plugin.offers_health for plugin in self._plugins.instances(driver)):
            self._watches[driver] = watch = _Watch(driver, self._plugins, self._sink, self._clock)
            group.create_task(self._run(driver, watch), name=f"health of {driver}")

    async def _run(self, driver: str, watch: _Watch) -> None:
        await watch.run()
        # In the same breath as the decision that nobody is left: who comes now gets a new one.
        del self._watches[driver]


class _Watch:
    """One driver's stream, whichever instance it is to."""

    def __init__(self, driver: str, plugins: Plugins, sink: Sink, clock: Clock) -> None:
        self._driver = driver
        self._plugins = plugins
        self._sink = sink
        self._clock = clock
        self._wake = asyncio.Event()
        self._backoff_seconds = BACKOFF_SECONDS_MIN
        self._impatient = False
        # Instances that turned out to have no health service. Registering again makes a new one.
        self._unsupported: set[str] = set()
        self._believed: Plugin | None = None
        self._ignored_count = 0  # as last logged: a flood of reports must not flood the log

    def reconsider(self) -> None:
        """Something about the driver's instances changed."""
        self._wake.set()

    def hurry(self, plugin: Plugin) -> None:
        """An instance came: do not wait for the rest of a pause."""
        believed = _is_same(self._believed, plugin)
        if plugin.connected and plugin.offers_health and not believed:
            self._impatient = True

    async def run(self) -> None:
        """Watch until the driver has no instance left."""
        while instances := self._plugins.instances(self._driver):
            self._unsupported &= {plugin.instance for plugin in instances}
            self._wake.clear()
            chosen = self._choose()
            if chosen is None:
                await self._wake.wait()
                continue
            self._impatient = False
            cause = await self._watch(chosen)
            if not cause:
                continue
            log.info("%s", cause)
            self._sink.ended(self._driver, cause)
            await self._pause()

    def _choose(self) -> Plugin | None:
        """The newest connected instance that offers health; the believed one while none is."""
        offering = [
            plugin
            for plugin in self._plugins.instances(self._driver)
            if plugin.offers_health and plugin.instance not in self._unsupported
        ]
        connected = [plugin for plugin in offering if plugin.connected]
        if connected:
            return connected[-1]
        # An open stream knows better than anybody whether there is still a connection.
        return next((plugin for plugin in offering if _is_same(self._believed, plugin)), None)

    async def _watch(self, plugin: Plugin) -> str:
        """Read an instance's stream to its end; returns why it ended.

        Nothing is returned when another instance takes over: its words follow those of this one.
        """
        self._believed = plugin
        reading = asyncio.ensure_future(self._read(plugin))
        try:
            while _is_same(self._choose(), plugin) and not reading.done():
                self._wake.clear()
                waking = asyncio.ensure_future(self._wake.wait())
                try:
                    await asyncio.wait((reading, waking), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    waking.cancel()
        finally:
            ended = reading.done()
            self._believed = None
            reading.cancel()
            await asyncio.wait((reading,))
            # Asked for also when nobody wants to know: errors that nobody saw are complained of.
            error = None if reading.cancelled() else reading.exception()
        subject = f"health stream of driver {self._driver} ended"
        if ended:
            return f"{subject}: {self._cause(plugin, error)}"
        if self._choose() is not None:
            return ""
        known = any(_is_same(other, plugin) for other in self._plugins.instances(self._driver))
        return f"{subject}: the driver {'disconnected' if known else 'is no longer registered'}"

    async def _read(self, plugin: Plugin) -> None:
        reports = plugin.service.watch_health()
        try:
            async for response in reports:
                if self._believed is not plugin:
                    return
                await self._rest(self._take(response))
        finally:
            # Now, rather than when it is collected.
            if isinstance(reports, AsyncGenerator):
                await reports.aclose()

    def _take(self, response: NodeWatchResourcesResponse) -> float:
        """Pass a report on; returns how long that took."""
        began = self._clock.monotonic()
        self._backoff_seconds = BACKOFF_SECONDS_MIN
        report = read_report(self._driver, response)
        if report.ignored_count != self._ignored_count:
            self._ignored_count = report.ignored_count
            text = (
                "driver %s reports %d devices without a proper name, or beyond the limit: ignored"
            )
            log.warning(text, self._driver, report.ignored_count)
        self._sink.heard(self._driver, report)
        return self._clock.monotonic() - began

    async def _rest(self, spent_seconds: float) -> None:
        if spent_seconds > _LONG_READ_SECONDS:
            await self._clock.sleep(spent_seconds * _REST_PER_READ)
        else:
            # A driver in this process may have its next report ready and never wait for anything.
            await asyncio.sleep(0)

    def _cause(self, plugin: Plugin, error: BaseException | None) -> str:
        if error is None:
            return "the driver closed it"
        if isinstance(error, HealthUnsupported):
            self._unsupported.add(plugin.instance)
        elif not isinstance(error, _EXPECTED):
            # A bug, of a driver in this process or of ours.
            log.error("health stream of driver %s", self._driver, exc_info=error)
        return shorten(str(error)) or type(error).__name__

    async def _pause(self) -> None:
        """Wait before the next attempt; whoever connects in the meantime is not kept waiting."""
        seconds = self._backoff_seconds
        self._backoff_seconds = min(seconds * 2, BACKOFF_SECONDS_MAX)
        alarm = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            while not self._impatient and not alarm.done():
                if not self._plugins.instances(self._driver):
                    return
                self._wake.clear()
                waking = asyncio.ensure_future(self._wake.wait())
                try:
                    await asyncio.wait((alarm, waking), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    waking.cancel()
        finally:
            alarm.cancel()
        if self._impatient:
            self._backoff_seconds = BACKOFF_SECONDS_MIN


def _is_same(plugin: Plugin | None, other: Plugin) -> bool:
    return plugin is not None and plugin.instance == other.instance
