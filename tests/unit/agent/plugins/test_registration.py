"""From a socket to a registered driver, through whatever goes wrong on the way."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dray.agent.plugins.instance import Instance
from dray.agent.plugins.registration import Registration
from dray.agent.plugins.roster import Roster
from dray.agent.plugins.services import Services
from dray.agent.plugins.sockets import RegistrationSocket, SocketDirectory
from dray.entropy import SeededEntropy
from dray.proto.registration_v1_pb2 import PluginInfo
from dray.testing import FakeClock
from tests.unit.agent.plugins.drivers import DRIVER, TestDriver, scenario
from tests.unit.agent.plugins.in_process import InProcess


class ShortestDelays(SeededEntropy):
    """Jitter at its end, so that a delay is known, and as long as no deadline."""

    def __init__(self) -> None:
        super().__init__(1)

    def uniform(self, low: float, high: float) -> float:
        return low


class SleepyClock(FakeClock):
    """Says how long is being slept, so that a test can wait for it and let it pass."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: asyncio.Queue[float] = asyncio.Queue()

    async def sleep(self, seconds: float) -> None:
        self.slept.put_nowait(seconds)
        await super().sleep(seconds)

    async def pass_retry(self) -> float:
        """Wait for a delay between attempts, let it pass, and say what it was before jitter."""
        while (seconds := await self.slept.get()) in (10.0, 1.0, 5.0):
            pass  # a deadline
        self.advance(seconds)
        return round(seconds / 0.9, 6)


class Registry:
    """Keeps what is registered, without connections."""

    def __init__(self) -> None:
        self.roster = Roster()
        self.clock = FakeClock()

    def register(
        self, source: RegistrationSocket, driver: str, endpoint: str, services: Services
    ) -> Instance:
        instance = Instance(
            driver,
            endpoint,
            InProcess(),
            services,
            self.roster.announce,
            number=1,
            clock=self.clock,
        )
        self.roster.add(instance)
        return instance

    def deregister(self, instance: Instance) -> None:
        self.roster.remove(instance)


class Attempt:
    def __init__(self, root: Path, registry: Registry | None = None) -> None:
        self.clock = SleepyClock()
        self.registry = registry or Registry()
        (source,) = SocketDirectory(root / "registry").read()
        self.registration = Registration(
            source, self.registry, clock=self.clock, entropy=ShortestDelays()
        )
        self.task = asyncio.create_task(self.registration.run())


@asynccontextmanager
async def attempt(root: Path) -> AsyncIterator[Attempt]:
    made = Attempt(root)
    try:
        yield made
    finally:
        made.task.cancel()
        await asyncio.wait((made.task,))


def test_a_driver_is_asked_registered_and_told() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root, services=("v1beta1.DRAPlugin",))
        await driver.start()
        async with attempt(root) as made:
            instance = await made.task
            assert instance.driver == DRIVER
            assert instance.endpoint == str(driver.service_path)
            assert not instance.offers_health
            status = driver.statuses.get_nowait()
            assert (status.plugin_registered, status.error) == (True, "")
        await driver.stop()

    scenario(body)


def test_without_an_endpoint_the_socket_itself_is_it() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root, endpoint="")
        await driver.start()
        async with attempt(root) as made:
            assert (await made.task).endpoint == str(driver.registration_path)
        await driver.stop()

    scenario(body)


def test_a_question_that_fails_once_is_asked_again_after_half_a_second() -> None:
    """Row 9."""

    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.info_failures = 1
        await driver.start()
        async with attempt(root) as made:
            assert await made.clock.pass_retry() == 0.5
            await made.task
        await driver.stop()

    scenario(body)


def test_a_driver_that_cannot_be_told_is_deregistered_and_tried_again() -> None:
    """Row 10."""

    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.notify_failures = 1
        await driver.start()
        async with attempt(root) as made:
            heard: list[str] = []
            made.registry.roster.listen(lambda change: heard.append(change.change.value))
            assert await made.clock.pass_retry() == 0.5
            await made.task
            assert heard == ["registered", "deregistered", "registered"]
        await driver.stop()

    scenario(body)


def test_failures_are_tried_again_after_twice_the_time_up_to_two_minutes_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.info_failures = 100
        await driver.start()
        async with attempt(root) as made:
            with caplog.at_level(logging.INFO):
                delays = [await made.clock.pass_retry() for _ in range(10)]
        assert delays == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 122.0, 122.0]
        path = driver.registration_path
        (record,) = caplog.records
        assert record.getMessage() == (
            "RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket"
            f" {path}, err: rpc error: code = Internal desc = not yet"
        )
        await driver.stop()

    scenario(body)


def test_a_socket_nobody_listens_at_is_tried_often_told_once_and_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Row 7."""

    async def body(root: Path) -> None:
        path = root / "registry" / "stale.sock"
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))
            async with attempt(root) as made:
                with caplog.at_level(logging.INFO):
                    delays = [await made.clock.pass_retry() for _ in range(7)]
            assert delays == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
        (record,) = caplog.records
        assert record.getMessage() == (
            f"RegisterPlugin error -- dial failed at socket {path}, err: connection refused:"
            " nobody listens"
        )
        assert path.exists()

    scenario(body)


def test_a_socket_that_was_left_behind_is_not_told_while_its_heir_may_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(root: Path) -> None:
        path = root / "registry" / "stale.sock"
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))
            async with attempt(root) as made:
                with caplog.at_level(logging.INFO):
                    for _ in range(4):  # the last of them 3.75 s after the first
                        await made.clock.pass_retry()
        assert caplog.records == []

    scenario(body)


def test_a_socket_that_is_bound_first_and_listens_later_is_registered() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.registration_path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as early:
            early.bind(str(driver.registration_path))
        async with attempt(root) as made:
            assert await made.clock.slept.get() == 10.0
            await driver.start()
            while not made.task.done():
                waiting = asyncio.ensure_future(made.clock.pass_retry())
                await asyncio.wait((waiting, made.task), return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                await asyncio.wait((waiting,))
            assert made.task.result().driver == DRIVER
        await driver.stop()

    scenario(body)


def test_somebody_who_never_speaks_is_given_up_after_ten_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(root: Path) -> None:
        path = root / "registry" / "silent.sock"
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(path))
            silent.listen()
            async with attempt(root) as made:
                assert await made.clock.slept.get() == 10.0
                made.clock.advance(10.0)
                assert await made.clock.pass_retry() == 0.5
        assert f"dial failed at socket {path}, err: context deadline exceeded" in caplog.text

    scenario(body)


def test_somebody_who_speaks_something_else_is_no_driver(caplog: pytest.LogCaptureFixture) -> None:
    async def body(root: Path) -> None:
        path = root / "registry" / "other.sock"
        path.parent.mkdir()

        async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_unix_server(hang_up, path)
        async with attempt(root) as made:
            assert await made.clock.pass_retry() == 0.5
        server.close()
        await server.wait_closed()
        assert "does not speak gRPC" in caplog.text

    scenario(body)


def test_a_question_without_an_answer_ends_after_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.informing.clear()
        await driver.start()
        async with attempt(root) as made:
            assert await made.clock.slept.get() == 10.0
            assert await made.clock.slept.get() == 1.0
            made.clock.advance(1.0)
            assert await made.clock.pass_retry() == 0.5
            driver.informing.set()
            await made.task
        await driver.stop()
        assert "GetInfo" in caplog.text
        assert "DeadlineExceeded" in caplog.text

    scenario(body)


@pytest.mark.parametrize("type", ["DevicePlugin", "CSIPlugin", ""])
def test_plugins_of_other_types_are_refused_politely(type: str) -> None:  # noqa: A002
    async def body(root: Path) -> None:
        driver = TestDriver(root, type=type)
        await driver.start()
        async with attempt(root) as made:
            status = await driver.statuses.get()
            assert not status.plugin_registered
            assert status.error == (
                f"RegisterPlugin error -- no handler registered for plugin type: {type}"
                f" at socket {driver.registration_path}"
            )
            assert await made.clock.pass_retry() == 0.5
            assert made.registry.roster.drivers() == ()
        await driver.stop()

    scenario(body)


NONE_KNOWN = PluginInfo(type="DRAPlugin", name=DRIVER, endpoint="/a", supported_versions=["1.0"])
HUGE_NAME = PluginInfo(type="DRAPlugin", name="x" * 60_000, supported_versions=["v1.DRAPlugin"])
MANY = PluginInfo(type="DRAPlugin", name=DRIVER, supported_versions=["v1.DRAPlugin"] * 4000)
RELATIVE = PluginInfo(
    type="DRAPlugin", name=DRIVER, endpoint="dra.sock", supported_versions=["v1.DRAPlugin"]
)


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        pytest.param(
            NONE_KNOWN,
            f"invalid supported gRPC versions of DRA driver plugin {DRIVER} at endpoint /a: none"
            ' of services supported by the plugin (["1.0"]) are supported by the kubelet',
            id="no-known-service",
        ),
        pytest.param(HUGE_NAME, "a driver's name has at most 63 bytes", id="huge-name"),
        pytest.param(MANY, "4000 supported gRPC services", id="thousands-of-services"),
        pytest.param(RELATIVE, "absolute path of a socket", id="relative-endpoint"),
    ],
)
def test_what_a_driver_says_of_itself_is_checked_and_it_is_told(
    info: PluginInfo, reason: str
) -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root, info=info.SerializeToString())
        await driver.start()
        async with attempt(root) as made:
            status = await driver.statuses.get()
            assert not status.plugin_registered
            assert status.error.startswith(
                "RegisterPlugin error -- plugin validation failed with err: "
            )
            assert reason in status.error
            assert len(status.error) < 2000
            assert made.registry.roster.drivers() == ()
        await driver.stop()

    scenario(body)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(b"\x12\x02\xff\xfe", "cannot be read", id="no-text"),
        pytest.param(b"\xff", "cannot be read", id="no-message"),
        pytest.param(b"\x12" + bytes(100_000), "ResourceExhausted", id="too-large"),
    ],
)
def test_an_answer_that_is_not_one_is_a_failure_like_any_other(
    answer: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root, info=answer)
        await driver.start()
        async with attempt(root) as made:
            assert await made.clock.pass_retry() == 0.5
        assert reason in caplog.text
        await driver.stop()

    scenario(body)


def test_a_socket_whose_name_is_no_text_is_served_and_spoken_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root, type="DevicePlugin")
        await driver.start()
        odd = os.fsencode(driver.registration_path.parent) + b"/\xff.sock"
        os.rename(driver.registration_path, odd)
        async with attempt(root) as made:
            status = await driver.statuses.get()
            assert status.error.endswith("\\udcff.sock")
            await made.clock.pass_retry()
        await driver.stop()

    scenario(body)


def test_a_registration_can_be_hurried() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.info_failures = 1
        await driver.start()
        async with attempt(root) as made:
            while await made.clock.slept.get() != 0.45:
                pass
            made.registration.hurry()
            await made.task
        await driver.stop()

    scenario(body)
