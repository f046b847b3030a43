"""What every call gets, whichever way the driver is reached."""

from __future__ import annotations

import asyncio

import pytest

from dray.agent.plugins.instance import Instance
from dray.agent.plugins.plugin import Change, HealthUnsupported, Plugin, PluginService
from dray.agent.plugins.services import Services
from dray.errors import DriverError, TransportError
from dray.proto.dra_v1_pb2 import NodePrepareResourcesRequest, NodeUnprepareResourcesRequest
from dray.testing import FakeClock
from tests.unit.agent.plugins.in_process import InProcess

PREPARE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
UNPREPARE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"


class Counter:
    def __init__(self) -> None:
        self.counted: list[tuple[str, str, str, float]] = []

    def observe_call(
        self, driver_name: str, method_name: str, grpc_status_code: str, seconds: float
    ) -> None:
        self.counted.append((driver_name, method_name, grpc_status_code, seconds))


class Scene:
    def __init__(self, link: InProcess, *, health: str = "") -> None:
        self.clock = FakeClock()
        self.counter = Counter()
        self.link = link
        self.changes: list[Change] = []
        self.instance = Instance(
            "gpu.example.com",
            "/dra.sock",
            link,
            Services("v1.DRAPlugin", health),
            lambda _, change: self.changes.append(change),
            number=7,
            clock=self.clock,
            call_timeout_seconds=45.0,
            observer=self.counter,
        )

    @property
    def codes(self) -> list[str]:
        return [code for _, _, code, _ in self.counter.counted]


async def turn() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_an_instance_is_a_plugin_and_a_service() -> None:
    async def run() -> None:
        at = Scene(InProcess())
        plugin: Plugin = at.instance
        service: PluginService = plugin.service
        await service.prepare(NodePrepareResourcesRequest())
        assert (plugin.driver, plugin.instance) == ("gpu.example.com", "/dra.sock#7")

    asyncio.run(run())


def test_calls_are_counted_by_method_and_code_with_their_time() -> None:
    async def run() -> None:
        at = Scene(InProcess())
        await at.instance.prepare(NodePrepareResourcesRequest())
        await at.instance.unprepare(NodeUnprepareResourcesRequest())
        for failure in (DriverError("no", driver="d"), TransportError("gone")):
            at.link.failure = failure
            with pytest.raises(type(failure)):
                await at.instance.unprepare(NodeUnprepareResourcesRequest())
        at.link.answering.clear()
        call = asyncio.ensure_future(at.instance.prepare(NodePrepareResourcesRequest()))
        await turn()
        at.clock.advance(45.0)
        with pytest.raises(TimeoutError, match="no answer within 45 s"):
            await call
        call = asyncio.ensure_future(at.instance.prepare(NodePrepareResourcesRequest()))
        await turn()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert at.counter.counted == [
            ("gpu.example.com", PREPARE, "OK", 0.0),
            ("gpu.example.com", UNPREPARE, "OK", 0.0),
            ("gpu.example.com", UNPREPARE, "Unknown", 0.0),
            ("gpu.example.com", UNPREPARE, "Unavailable", 0.0),
            ("gpu.example.com", PREPARE, "DeadlineExceeded", 45.0),
            ("gpu.example.com", PREPARE, "Canceled", 0.0),
        ]

    asyncio.run(run())


def test_a_call_that_times_out_raises_doubt_and_one_that_returns_removes_it() -> None:
    async def run() -> None:
        at = Scene(InProcess())
        at.link.answering.clear()
        call = asyncio.ensure_future(at.instance.prepare(NodePrepareResourcesRequest()))
        await turn()
        at.clock.advance(45.0)
        with pytest.raises(TimeoutError):
            await call
        doubts = [at.instance.responsive]
        await at.instance.unprepare(NodeUnprepareResourcesRequest())
        doubts.append(at.instance.responsive)
        assert doubts == [False, True]
        assert at.changes == [], "doubt alone is not worth a word"

    asyncio.run(run())


def test_losing_the_connection_ends_doubt() -> None:
    async def run() -> None:
        at = Scene(InProcess())
        at.instance.set_connected(True)
        at.link.answering.clear()
        running = asyncio.create_task(at.instance.run())
        call = asyncio.ensure_future(at.instance.prepare(NodePrepareResourcesRequest()))
        await turn()
        at.clock.advance(45.0)
        with pytest.raises(TimeoutError):
            await call
        await turn()
        at.clock.advance(5.0)
        await turn()
        assert at.instance.hung
        at.instance.set_connected(False)
        assert at.changes == [Change.CONNECTED, Change.HUNG, Change.DISCONNECTED]
        assert at.instance.responsive
        running.cancel()
        await asyncio.wait((running,))

    asyncio.run(run())


def test_health_comes_from_drivers_that_offer_it_and_from_no_other() -> None:
    async def run() -> None:
        offers = Scene(InProcess(), health="v1.DRAResourceHealth").instance
        assert offers.offers_health
        assert len([report async for report in offers.watch_health()]) == 1
        other = Scene(InProcess()).instance
        assert not other.offers_health
        stream = other.watch_health()  # asking is free, as for any other
        with pytest.raises(HealthUnsupported, match=r"driver gpu\.example\.com"):
            await anext(stream)

    asyncio.run(run())
