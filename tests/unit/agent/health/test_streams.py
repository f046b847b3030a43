from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.agent.health.streams import HealthStreams
from dray.agent.health.words import DeviceID, Health, Report
from dray.agent.plugins.plugin import HealthUnsupported
from dray.errors import TransportError
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse
from dray.testing import FakeClock
from tests.unit.agent.health.fakes import (
    DRIVER,
    POOL,
    FakePlugin,
    FakePlugins,
    FakeService,
    report,
    settle,
)

GPU0 = DeviceID(DRIVER, POOL, "gpu-0")


class Recorder:
    def __init__(self) -> None:
        self.heard_of: list[tuple[str, list[str]]] = []
        self.causes: list[str] = []
        self.last: Report | None = None

    def heard(self, driver: str, report: Report) -> None:
        self.heard_of.append((driver, [device.device for device in report.words]))
        self.last = report

    def ended(self, driver: str, cause: str) -> None:
        self.causes.append(cause)


class Setting:
    def __init__(self, *plugins: FakePlugin) -> None:
        self.clock = FakeClock()
        self.plugins = FakePlugins(*plugins)
        self.recorder = Recorder()
        self.streams = HealthStreams(self.plugins, self.recorder, clock=self.clock)

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await settle()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.streams.run())
        await settle()
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, "streams leave no tasks behind"


def scenario(
    *plugins: FakePlugin,
) -> Callable[[Callable[[Setting], Awaitable[None]]], Callable[[], None]]:
    """A test whose body runs while streams of these plugins are watched."""

    def decorate(body: Callable[[Setting], Awaitable[None]]) -> Callable[[], None]:
        def test() -> None:
            async def run() -> None:
                setting = Setting(*(replace(plugin, service=FakeService()) for plugin in plugins))
                async with setting.running():
                    await body(setting)

            asyncio.run(run())

        test.__name__ = body.__name__
        return test

    return decorate


@scenario(FakePlugin())
async def test_what_a_driver_reports_is_passed_on(setting: Setting) -> None:
    (plugin,) = setting.plugins.plugins
    await plugin.stream.send(report("gpu-0", health="UNHEALTHY", message="hot"))
    assert setting.recorder.last is not None
    word = setting.recorder.last.words[GPU0]
    assert (word.health, word.message) == (Health.UNHEALTHY, "hot")


@scenario()
async def test_a_driver_that_registers_later_is_watched(setting: Setting) -> None:
    plugin = FakePlugin()
    await setting.plugins.register(plugin)
    await plugin.stream.send(report("gpu-0"))
    assert setting.recorder.heard_of == [(DRIVER, ["gpu-0"])]


@scenario(FakePlugin(offers_health=False), FakePlugin(driver="b", connected=False))
async def test_no_stream_is_opened_to_who_offers_none_or_is_not_there(setting: Setting) -> None:
    silent, absent = setting.plugins.plugins
    assert not silent.service.streams
    assert not absent.service.streams
    await setting.plugins.connect(absent)
    assert len(absent.service.streams) == 1


@scenario(FakePlugin(instance="old"), FakePlugin(instance="new"))
async def test_only_the_newest_connected_instance_is_asked(setting: Setting) -> None:
    old, new = setting.plugins.plugins
    assert not old.service.streams
    assert len(new.service.streams) == 1


@scenario(FakePlugin(instance="old"))
async def test_a_newer_instance_takes_over_without_an_end_in_between(setting: Setting) -> None:
    (old,) = setting.plugins.plugins
    await old.stream.send(report("gpu-0"))
    new = FakePlugin(instance="new", connected=False)
    await setting.plugins.register(new)
    assert not old.stream.closed, "not before the new one is connected"
    await setting.plugins.connect(new)
    assert old.stream.closed
    await new.stream.send(report("gpu-1"))
    # The old instance goes away after that: nobody's business.
    await setting.plugins.disconnect(old)
    await setting.plugins.deregister(old)
    assert setting.recorder.causes == []
    assert setting.recorder.heard_of == [(DRIVER, ["gpu-0"]), (DRIVER, ["gpu-1"])]


@scenario(FakePlugin(instance="old"), FakePlugin(instance="new"))
async def test_the_older_instance_takes_over_when_the_newer_goes(setting: Setting) -> None:
    old, new = setting.plugins.plugins
    await setting.plugins.deregister(new)
    assert new.stream.closed
    await old.stream.send(report("gpu-0"))
    assert setting.recorder.causes == []
    assert setting.recorder.heard_of == [(DRIVER, ["gpu-0"])]


@scenario(FakePlugin())
async def test_a_stream_that_ends_tells_why_and_is_opened_again(setting: Setting) -> None:
    (plugin,) = setting.plugins.plugins
    await plugin.stream.end(TransportError("connection reset"))
    assert setting.recorder.causes == [
        "health stream of driver gpu.example.com ended: connection reset"
    ]
    await setting.advance(0.9)
    assert len(plugin.service.streams) == 1
    await setting.advance(0.1)
    assert len(plugin.service.streams) == 2
    await plugin.stream.end()
    assert setting.recorder.causes[1:] == [
        "health stream of driver gpu.example.com ended: the driver closed it"
    ]


@scenario(FakePlugin())
async def test_pauses_grow_to_half_a_minute_and_shrink_with_the_first_report(
    setting: Setting,
) -> None:
    (plugin,) = setting.plugins.plugins
    for pause in (1, 2, 4, 8, 16, 30, 30):
        await plugin.stream.end(TransportError("no"))
        opened = len(plugin.service.streams)
        await setting.advance(pause - 0.1)
        assert len(plugin.service.streams) == opened
        await setting.advance(0.1)
        assert len(plugin.service.streams) == opened + 1
    await plugin.stream.send(report("gpu-0"))
    await plugin.stream.end()
    opened = len(plugin.service.streams)
    await setting.advance(1)
    assert len(plugin.service.streams) == opened + 1


@scenario(FakePlugin())
async def test_a_driver_that_connects_anew_is_not_kept_waiting(setting: Setting) -> None:
    (plugin,) = setting.plugins.plugins
    for pause in (1, 2, 4, 8):
        await plugin.stream.end(TransportError("no"))
        await setting.advance(pause)
    await plugin.stream.end(TransportError("killed"))
    await setting.plugins.disconnect(plugin)
    opened = len(plugin.service.streams)
    await setting.plugins.connect(plugin)
    assert len(plugin.service.streams) == opened + 1


@scenario(FakePlugin())
async def test_an_open_stream_outlives_word_of_a_lost_connection(setting: Setting) -> None:
    (plugin,) = setting.plugins.plugins
    await setting.plugins.disconnect(plugin)
    assert not plugin.stream.closed
    await plugin.stream.end(TransportError("reset"))
    await setting.advance(60)
    assert len(plugin.service.streams) == 1, "nobody there to ask"


@scenario(FakePlugin())
async def test_a_driver_without_the_service_is_asked_again_only_after_registering(
    setting: Setting,
) -> None:
    (plugin,) = setting.plugins.plugins
    await plugin.stream.end(HealthUnsupported("unimplemented", driver=DRIVER))
    await setting.advance(3600)
    await setting.plugins.disconnect(plugin)
    await setting.plugins.connect(plugin)
    assert len(plugin.service.streams) == 1
    again = FakePlugin(instance="2")
    await setting.plugins.deregister(plugin)
    await setting.plugins.register(again)
    assert len(again.service.streams) == 1


@scenario(FakePlugin(instance="old"), FakePlugin(instance="new"))
async def test_an_instance_without_the_service_leaves_it_to_an_older_one(setting: Setting) -> None:
    old, new = setting.plugins.plugins
    await new.stream.end(HealthUnsupported("unimplemented", driver=DRIVER))
    await setting.advance(1)
    assert len(old.service.streams) == 1


@scenario(FakePlugin())
async def test_a_driver_that_deregisters_has_ended(setting: Setting) -> None:
    (plugin,) = setting.plugins.plugins
    await setting.plugins.deregister(plugin)
    assert plugin.stream.closed
    assert setting.recorder.causes == [
        "health stream of driver gpu.example.com ended: the driver is no longer registered"
    ]
    # And may come back, in the same turn too.
    await setting.plugins.register(plugin)
    assert len(plugin.service.streams) == 2


@scenario(FakePlugin(), FakePlugin(driver="other.example.com"))
async def test_a_bug_in_one_driver_ends_its_stream_and_nothing_else(setting: Setting) -> None:
    broken, other = setting.plugins.plugins
    broken.service.refusal = ZeroDivisionError("division by zero")
    await broken.stream.end(KeyError("device"))
    await setting.advance(1)
    assert setting.recorder.causes == [
        "health stream of driver gpu.example.com ended: 'device'",
        "health stream of driver gpu.example.com ended: division by zero",
    ]
    await other.stream.send(report("eth0"))
    assert setting.recorder.heard_of == [("other.example.com", ["eth0"])]


@scenario(FakePlugin())
async def test_a_driver_that_cancels_its_own_stream_is_not_asked_without_end(
    setting: Setting,
) -> None:
    (plugin,) = setting.plugins.plugins
    plugin.stream._items.put_nowait(asyncio.CancelledError())
    await settle()
    assert len(setting.recorder.causes) == 1
    assert len(plugin.service.streams) == 1
    await setting.advance(1)
    assert len(plugin.service.streams) == 2


@scenario(FakePlugin())
async def test_a_long_cause_is_shortened(setting: Setting) -> None:
    (plugin,) = setting.plugins.plugins
    await plugin.stream.end(TransportError("x" * 100_000))
    assert len(setting.recorder.causes[0]) < 400


@pytest.mark.parametrize(
    ("error", "is_bug"),
    [
        pytest.param(TransportError("reset"), False, id="a-lost-connection-is-no-bug"),
        pytest.param(TimeoutError("slow"), False, id="nor-is-slowness"),
        pytest.param(KeyError("device"), True, id="anything-else-is-shown-with-its-place"),
    ],
)
def test_bugs_are_logged_as_such(
    caplog: pytest.LogCaptureFixture, error: Exception, is_bug: bool
) -> None:
    async def run() -> None:
        setting = Setting(FakePlugin())
        async with setting.running():
            await setting.plugins.plugins[0].stream.end(error)

    with caplog.at_level(logging.ERROR):
        asyncio.run(run())
    assert [record.exc_info is not None for record in caplog.records] == [True] * is_bug


def test_nonsense_is_logged_once_not_at_every_report(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        setting = Setting(FakePlugin())
        async with setting.running():
            (plugin,) = setting.plugins.plugins
            for _ in range(10):
                await plugin.stream.send(report(""))

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert [record.message for record in caplog.records] == [
        (
            "driver gpu.example.com reports 1 devices without a proper name,"
            " or beyond the limit: ignored"
        )
    ]


def test_a_driver_that_never_pauses_does_not_stop_the_others() -> None:
    class Torrent(FakeService):
        def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
            async def flood() -> AsyncIterator[NodeWatchResourcesResponse]:
                while True:
                    yield report("gpu-0")

            return flood()

    async def run() -> None:
        setting = Setting(FakePlugin(service=Torrent()), FakePlugin(driver="other.example.com"))
        async with setting.running():
            other = setting.plugins.plugins[1]
            await other.stream.send(report("eth0"))
            assert ("other.example.com", ["eth0"]) in setting.recorder.heard_of

    asyncio.run(run())


def test_long_reports_leave_the_loop_to_others() -> None:
    class Slow(Recorder):
        def __init__(self, clock: FakeClock) -> None:
            super().__init__()
            self.clock = clock

        def heard(self, driver: str, report: Report) -> None:
            super().heard(driver, report)
            self.clock.advance(0.05)

    async def run() -> None:
        setting = Setting(FakePlugin())
        recorder = Slow(setting.clock)
        setting.streams._sink = recorder
        async with setting.running():
            (plugin,) = setting.plugins.plugins
            await plugin.stream.send(report("gpu-0"))
            await plugin.stream.send(report("gpu-0"))
            assert len(recorder.heard_of) == 1
            await setting.advance(0.2)
            assert len(recorder.heard_of) == 2

    asyncio.run(run())


# Whatever happens ------------------------------------------------------------------------------

events = st.lists(
    st.tuples(
        st.sampled_from(
            ["register", "deregister", "connect", "disconnect", "report", "end", "refuse", "wait"]
        ),
        st.integers(0, 2),
    ),
    max_size=30,
)


@pytest.mark.slow
@given(events)
def test_one_stream_at_a_time_and_in_the_end_the_right_one(steps: list[tuple[str, int]]) -> None:
    """Safety at every step: never two streams. Liveness once it is calm: the newest has one."""

    async def run() -> None:
        setting = Setting()
        async with setting.running():
            everyone: list[FakePlugin] = []

            def open_streams() -> list[FakePlugin]:
                return [
                    plugin
                    for plugin in everyone
                    for stream in plugin.service.streams
                    if not stream.closed
                ]

            unsupported: set[str] = set()
            for number, (event, which) in enumerate(steps):
                registered = setting.plugins.plugins
                plugin = registered[which] if which < len(registered) else None
                if event == "register" and len(registered) < 3:
                    new = FakePlugin(instance=str(number), connected=which > 0)
                    everyone.append(new)
                    await setting.plugins.register(new)
                elif event == "wait":
                    await setting.advance(float(which))
                elif plugin is None:
                    continue
                elif event == "deregister":
                    await setting.plugins.deregister(plugin)
                elif event == "connect":
                    await setting.plugins.connect(plugin)
                elif event == "disconnect":
                    await setting.plugins.disconnect(plugin)
                elif plugin in open_streams():
                    if event == "report":
                        await plugin.stream.send(report("gpu-0"))
                    elif event == "end":
                        await plugin.stream.end(TransportError("reset"))
                    else:
                        unsupported.add(plugin.instance)
                        await plugin.stream.end(HealthUnsupported("none", driver=DRIVER))
                assert len(open_streams()) <= 1
            await setting.advance(31)
            able = [
                plugin
                for plugin in setting.plugins.plugins
                if plugin.connected and plugin.instance not in unsupported
            ]
            if able:
                assert open_streams() == able[-1:]

    asyncio.run(run())
