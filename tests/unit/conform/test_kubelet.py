"""A kubelet's half of the sockets: what it finds, asks, and says of what it is answered."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import pytest

from dray.conform.bench import Bench
from dray.conform.check import Violation
from dray.conform.cluster import uid_of
from dray.conform.kubelet import DRA_V1BETA1, HEALTH_V1, Kubelet
from tests.unit.conform.benches import FastClock, bench_of
from tests.unit.conform.defective import DRIVER
from tests.unit.sdk.drivers import short_directory

pytestmark = pytest.mark.slow


def play(scenario: Callable[[Bench], Awaitable[None]], *defects: str) -> None:
    async def body(root: Path) -> None:
        async with bench_of(root, *defects) as bench:
            await scenario(bench)

    with short_directory() as root:
        asyncio.run(body(root))


def test_only_sockets_that_somebody_listens_at_are_looked_at() -> None:
    with short_directory() as root:
        (root / "file").touch()
        (root / "deep").mkdir()
        stale, hidden, live = root / "stale.sock", root / ".hidden.sock", root / "deep" / "a.sock"
        with (
            socket.socket(socket.AF_UNIX) as dead,
            socket.socket(socket.AF_UNIX) as unseen,
            socket.socket(socket.AF_UNIX) as heard,
        ):
            dead.bind(str(stale))
            for one, path in ((unseen, hidden), (heard, live)):
                one.bind(str(path))
                one.listen()
            assert Kubelet(root, FastClock()).sockets() == [live]


def test_a_driver_is_found_among_others_and_what_was_there_is_told() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.start()
        found = await bench.kubelet.find(DRIVER, seconds=1.0)
        assert found.info.type == "DRAPlugin"
        with pytest.raises(Violation, match=f"{DRIVER}-reg.sock: a driver called '{DRIVER}'"):
            await bench.kubelet.find("missing.example.com", seconds=0.1)
        with pytest.raises(Violation, match="no registration socket"):
            await bench.kubelet.find(DRIVER, seconds=0.1, besides=[found.socket])

    play(scenario)


def test_a_driver_that_has_ended_is_looked_for_once_more_and_not_waited_for() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.start()
        found = await bench.kubelet.find(DRIVER, seconds=3600, ended=lambda: True)
        assert found.info.name == DRIVER
        with pytest.raises(Violation, match="when the driver ended"):
            await bench.kubelet.find("missing.example.com", seconds=3600, ended=lambda: True)

    play(scenario)


def test_claims_are_prepared_and_given_back_in_both_versions() -> None:
    async def scenario(bench: Bench) -> None:
        claim = await bench.cluster.claim(await bench.devices(2))
        instance, uid = await bench.registered(), claim.metadata.uid
        for version in ("", DRA_V1BETA1):
            answer = await bench.kubelet.prepare(instance, [uid_of(claim)], version=version)
            devices = answer[uid].devices
            assert [(one.name, one.requests) for one in devices] == [
                ("dev-0", ("request-0",)),
                ("dev-1", ("request-1",)),
            ]
            assert not answer[uid].error
            gone = await bench.kubelet.unprepare(instance, [uid_of(claim)], version=version)
            assert gone == {uid: ""}

    play(scenario)


def test_an_error_of_the_whole_call_is_handed_to_whoever_asked() -> None:
    async def scenario(bench: Bench) -> None:
        with pytest.raises(grpc.aio.AioRpcError, match="no claims"):
            await bench.kubelet.prepare(await bench.registered(), [])

    play(scenario, "refuses-nothing")


def test_a_driver_without_a_known_service_is_not_called() -> None:
    async def scenario(bench: Bench) -> None:
        with pytest.raises(Violation, match="no known DRAPlugin service among"):
            await bench.kubelet.prepare(await bench.registered(), [])

    play(scenario, "unknown-version")


def test_health_is_a_stream_that_is_closed_on_leaving() -> None:
    async def scenario(bench: Bench) -> None:
        async with bench.kubelet.health(await bench.registered(), HEALTH_V1) as reports:
            report = await anext(reports)
            assert report.devices[0].device.device_name == "dev-0"
        # Only one may be open, so this one shows that the first was closed.
        async with bench.kubelet.health(await bench.registered(), HEALTH_V1) as reports:
            assert (await anext(reports)).devices

    play(scenario)
