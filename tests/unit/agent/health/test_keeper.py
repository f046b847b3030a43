from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import grpc
import pytest

from dray.agent.health.keeper import HealthKeeper
from dray.agent.health.streams import HealthStreams
from dray.agent.health.words import Health, Report
from dray.agent.plugins.plugin import Change
from dray.api.core import (
    Container,
    ContainerStatus,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceClaim,
    ResourceRequirements,
)
from dray.api.meta import ObjectMeta
from dray.clock import SystemClock
from dray.errors import TransportError
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.agent.health.fakes import (
    FakeClaims,
    FakePlugin,
    FakePlugins,
    prepared,
    report,
    settle,
)
from tests.unit.agent.plugins.drivers import Context, TestDriver
from tests.unit.agent.plugins.drivers import running as running_plugins
from tests.unit.agent.plugins.drivers import scenario as real_drivers


def pod(uid: str = "pod-1", *, node: str = "") -> Pod:
    return Pod(
        metadata=ObjectMeta(name=uid, namespace="default", uid=uid),
        spec=PodSpec(
            node_name=node,
            containers=(
                Container(
                    name="main",
                    image="registry.example/main:1",
                    resources=ResourceRequirements(claims=(ResourceClaim(name="gpu"),)),
                ),
            ),
            init_containers=(
                Container(
                    name="side",
                    image="registry.example/side:1",
                    restart_policy="Always",
                    resources=ResourceRequirements(claims=(ResourceClaim(name="gpu"),)),
                ),
            ),
            resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="gpus"),),
        ),
    )


class Setting:
    """A node with one driver, and a pod that has its first device."""

    def __init__(self, path: Path) -> None:
        self.clock = FakeClock()
        self.path = path
        self.plugin = FakePlugin()
        self.plugins = FakePlugins(self.plugin)
        self.claims = FakeClaims()
        self.claims.put("gpus", prepared("gpu-0"))
        self.told: list[frozenset[str]] = []
        self.keeper = self.restarted()

    def restarted(self) -> HealthKeeper:
        self.keeper = HealthKeeper(self.plugins, self.claims, path=self.path, clock=self.clock)
        self.keeper.listen(self.told.append)
        return self.keeper

    def shown(self, of: Pod | None = None, container: str = "main") -> tuple[str, str | None]:
        (entry,) = self.keeper.statuses(of or pod(), container)
        (resource,) = entry.resources
        return resource.health, resource.message

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await settle()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.keeper.run())
        await settle()
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def test_a_report_reaches_the_pods_that_use_the_device(setting: Setting) -> None:
    async def run() -> None:
        setting.claims.put("others", prepared("gpu-1"), pods=["pod-2", "pod-3"])
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0", "gpu-9"))
            assert setting.told == [{"pod-1"}]
            await setting.plugin.stream.send(
                report("gpu-0", "gpu-1", health="UNHEALTHY", message="ECC error")
            )
            assert setting.told[1:] == [{"pod-1", "pod-2", "pod-3"}]
            assert setting.shown() == ("Unhealthy", "ECC error")
            await setting.plugin.stream.send(
                report("gpu-0", "gpu-1", health="UNHEALTHY", message="ECC error")
            )
            assert len(setting.told) == 2, "nothing new, nobody told"

    asyncio.run(run())


def test_flapping_within_a_turn_is_one_notification(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            stream = setting.plugin.stream
            for n in range(100):
                stream._items.put_nowait(report("gpu-0", health=("HEALTHY", "UNHEALTHY")[n % 2]))
            await settle()
            await settle()
            await settle()
            assert all(told == {"pod-1"} for told in setting.told)
            assert setting.shown()[0] == "Unhealthy"

    asyncio.run(run())


def test_silence_is_pushed_exactly_at_the_timeout(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0", timeout_seconds=10))
            setting.told.clear()
            await setting.advance(9.999)
            assert setting.told == []
            await setting.advance(0.001)
            assert setting.told == [{"pod-1"}]
            assert setting.shown() == (
                "Unknown",
                (
                    "driver gpu.example.com has not reported this device for 10 s;"
                    " last known Healthy at 2026-01-01T00:00:00Z"
                ),
            )

    asyncio.run(run())


def test_a_timeout_that_gets_shorter_rings_earlier(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0", timeout_seconds=100))
            await setting.plugin.stream.send(report("gpu-0", timeout_seconds=2))
            setting.told.clear()
            await setting.advance(2)
            assert setting.told == [{"pod-1"}]

    asyncio.run(run())


def test_heartbeats_keep_a_device_known(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0"))
            setting.told.clear()
            for _ in range(20):
                await setting.advance(29)
                await setting.plugin.stream.send(report("gpu-0"))
            assert setting.told == []
            assert setting.shown() == ("Healthy", None)

    asyncio.run(run())


def test_a_stream_that_dies_is_pushed_after_the_grace_period(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0"))
            setting.told.clear()
            setting.plugin.connected = False
            await setting.plugin.stream.end(TransportError("connection reset"))
            await setting.advance(4.9)
            assert setting.told == []
            await setting.advance(0.1)
            assert setting.told == [{"pod-1"}]
            assert setting.shown() == (
                "Unknown",
                (
                    "health stream of driver gpu.example.com ended: connection reset;"
                    " last known Healthy at 2026-01-01T00:00:00Z"
                ),
            )

    asyncio.run(run())


def test_a_driver_that_restarts_within_the_grace_period_goes_unnoticed(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0"))
            setting.told.clear()
            await setting.plugins.disconnect(setting.plugin)
            await setting.plugin.stream.end(TransportError("connection reset"))
            await setting.advance(3)
            await setting.plugins.connect(setting.plugin)
            await setting.plugin.stream.send(report("gpu-0"))
            await setting.advance(10)
            assert setting.told == []
            assert setting.shown() == ("Healthy", None)

    asyncio.run(run())


def test_a_stream_that_is_back_without_a_report_does_not_count(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0"))
            await setting.plugin.stream.end()
            await setting.advance(1)
            assert len(setting.plugin.service.streams) == 2
            setting.told.clear()
            await setting.advance(4)
            assert setting.told == [{"pod-1"}]

    asyncio.run(run())


def test_a_rolling_update_leaves_health_alone(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0"))
            new = FakePlugin(instance="2")
            await setting.plugins.register(new)
            await new.stream.send(report("gpu-0", health="UNHEALTHY"))
            setting.told.clear()
            await setting.plugins.disconnect(setting.plugin)
            await setting.plugins.deregister(setting.plugin)
            await setting.advance(10)
            assert setting.told == []
            assert setting.shown() == ("Unhealthy", None)

    asyncio.run(run())


def test_after_a_restart_nothing_old_is_shown_as_healthy(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0"))
        setting.restarted()
        assert setting.shown() == (
            "Unknown",
            (
                "not reported since the agent was restarted; last known Healthy at"
                " 2026-01-01T00:00:00Z"
            ),
        )
        setting.told.clear()
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0"))
            assert setting.told == [{"pod-1"}]
            assert setting.shown() == ("Healthy", None)

    asyncio.run(run())


def test_the_last_health_of_a_pod_stays_when_its_claims_are_gone(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(
                report("gpu-0", health="UNHEALTHY", message="fell off the bus")
            )
            setting.keeper.freeze(pod())
            setting.claims.infos.clear()
            await setting.plugin.stream.send(report("gpu-0"))
            for container in ("main", "side"):
                assert setting.shown(container=container) == ("Unhealthy", "fell off the bus")
        setting.restarted()
        assert setting.shown() == ("Unhealthy", "fell off the bus")
        setting.keeper.forget("pod-1")
        assert setting.keeper.statuses(pod(), "main") == ()

    asyncio.run(run())


def test_devices_beyond_the_limit_are_refused_and_that_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        setting = Setting(tmp_path)
        setting.keeper = HealthKeeper(
            setting.plugins, setting.claims, path=tmp_path, clock=setting.clock, devices_max=2
        )
        async with setting.running():
            for _ in range(10):
                await setting.plugin.stream.send(report("gpu-0", "gpu-1", "gpu-2", "gpu-3"))
            assert setting.shown() == ("Healthy", None)
            assert len(setting.keeper.facts()) == 2

    asyncio.run(run())
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        "driver gpu.example.com: 2 devices are too many: ignored"
    ]


def test_facts_are_up_to_date_whoever_asks_first(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running():
            await setting.plugin.stream.send(report("gpu-0"))
            setting.told.clear()
            setting.clock.advance(30)  # the timer has not run yet
            (fact,) = setting.keeper.facts()
            assert (fact.health, fact.stale) == (Health.UNKNOWN, True)
            assert fact.since == setting.clock.now()
            await settle()
            assert setting.told == [{"pod-1"}]

    asyncio.run(run())


def test_a_node_may_write_what_is_shown_into_the_status_of_its_pod(setting: Setting) -> None:
    async def run() -> None:
        async with setting.running(), Cluster() as cluster:
            await cluster.add_node("n1")
            made = await cluster.add_pod("pod", spec=pod(node="n1").spec)
            setting.claims.put(
                "gpus",
                prepared("gpu-0", cdi="example.com/gpu=all"),
                prepared("gpu-1", cdi="example.com/gpu=all"),
                pods=[made.metadata.uid],
            )
            await setting.plugin.stream.send(
                report("gpu-0", health="UNHEALTHY", message="\u20ac" * 2000)
            )
            node = cluster.client_of("system:node:n1", groups=["system:nodes"])
            statuses = {
                field: [
                    ContainerStatus(
                        name=container,
                        allocated_resources_status=setting.keeper.statuses(made, container),
                    )
                ]
                for field, container in (
                    ("containerStatuses", "main"),
                    ("initContainerStatuses", "side"),
                )
            }
            patched = await node.patch(
                Pod, "pod", {"status": statuses}, namespace="default", subresource="status"
            )
            for status in (
                *patched.status.container_statuses,
                *patched.status.init_container_statuses,
            ):
                (entry,) = status.allocated_resources_status
                assert entry.name == "claim:gpu"
                assert [item.resource_id for item in entry.resources] == [
                    "gpu.example.com/node-1/gpu-0",
                    "gpu.example.com/node-1/gpu-1",
                ]
                assert [item.health for item in entry.resources] == ["Unhealthy", "Unknown"]
                assert entry.resources[0].message == "\u20ac" * 341

    asyncio.run(run())


# With real drivers on real sockets --------------------------------------------------------------


class Listener:
    """What a keeper tells, to be waited for."""

    def __init__(self, keeper: HealthKeeper) -> None:
        self._keeper = keeper
        self._told = asyncio.Event()
        keeper.listen(lambda _: self._told.set())

    async def until(self, health: str) -> str | None:
        """Wait until the pod shows this; returns the message."""
        while True:
            (entry,) = self._keeper.statuses(pod(), "main")
            if entry.resources[0].health == health:
                return entry.resources[0].message
            self._told.clear()
            await self._told.wait()


class Monitor:
    """A driver's health service: the last report to everybody, and every report that follows."""

    def __init__(self, driver: TestDriver) -> None:
        self._report = report("gpu-0")
        self._changed = asyncio.Condition()
        driver.health = self._serve

    async def say(self, response: NodeWatchResourcesResponse) -> None:
        async with self._changed:
            self._report = response
            self._changed.notify_all()

    async def _serve(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        async with self._changed:
            while True:
                yield self._report.SerializeToString()
                await self._changed.wait()


@pytest.mark.slow
def test_health_of_a_real_driver_survives_crash_upgrade_and_recovery() -> None:
    async def body(root: Path) -> None:
        claims = FakeClaims()
        claims.put("gpus", prepared("gpu-0"))
        old = TestDriver(root, uid="old")
        before = Monitor(old)
        async with running_plugins(root) as (plugins, changes):
            keeper = HealthKeeper(
                plugins, claims, path=root, clock=SystemClock(), grace_seconds=0.01
            )
            listener = Listener(keeper)
            task = asyncio.create_task(keeper.run())
            await old.start()
            await listener.until("Healthy")
            await before.say(report("gpu-0", health="UNHEALTHY", message="ECC error"))
            assert await listener.until("Unhealthy") == "ECC error"
            # A rolling update: the new instance is believed, the end of the old one is no news.
            new = TestDriver(root, uid="new")
            after = Monitor(new)
            await new.start()
            await listener.until("Healthy")
            await old.stop()
            await changes.until(Change.DEREGISTERED)
            assert await listener.until("Healthy") is None
            # A crash: the service is gone, the registration stays.
            await new.stop_service()
            message = await listener.until("Unknown") or ""
            assert message.startswith("health stream of driver gpu.example.com ended: ")
            assert "last known Healthy at " in message
            await after.say(report("gpu-0", health="UNHEALTHY", message="after the crash"))
            await new.start_service()
            assert await listener.until("Unhealthy") == "after the crash"
            task.cancel()
            await asyncio.wait((task,))
            await new.stop()

    real_drivers(body)


def test_a_real_driver_without_the_service_it_promised_is_left_in_peace() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        asked = 0

        async def refuse(request: bytes, context: Context) -> AsyncIterator[bytes]:
            nonlocal asked
            asked += 1
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown service")
            yield b""

        driver.health = refuse
        async with running_plugins(root) as (plugins, _):
            ended = asyncio.Event()

            class Observed:
                def heard(self, driver: str, report: Report) -> None:
                    raise AssertionError

                def ended(self, driver: str, cause: str) -> None:
                    assert "unknown service" in cause
                    ended.set()

            streams = HealthStreams(plugins, Observed(), clock=FakeClock())
            task = asyncio.create_task(streams.run())
            await driver.start()
            await ended.wait()
            assert asked == 1
            task.cancel()
            await asyncio.wait((task,))
            await driver.stop()

    real_drivers(body)
