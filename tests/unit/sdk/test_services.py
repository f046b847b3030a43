"""The neutral service: messages in, messages out, without any socket."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.errors import PermanentError
from dray.proto import dra_v1_pb2 as v1
from dray.sdk import Device, Health
from dray.sdk._monitor import HealthMonitor
from dray.sdk._services import DriverService
from dray.testing import FakeClock
from tests.unit.sdk.drivers import (
    DRIVER,
    Gpus,
    Machine,
    claim,
    errors_of,
    prepare_request,
    result,
    unprepare_request,
)
from tests.unit.sdk.turns import settle


class Watched(Gpus):
    async def probe(self, device: Device) -> Health:
        return Health.HEALTHY


def service(machine: Machine, driver: Gpus | None = None) -> DriverService:
    clock = FakeClock()
    made = driver or machine.driver
    monitor = HealthMonitor(made, devices=lambda: [("n1", Device(name="gpu-0"))], clock=clock)
    return DriverService(machine.start(driver=made), monitor, driver=DRIVER, clock=clock)


def test_every_claim_of_a_request_is_in_the_answer_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        one, gone = claim("uid-1"), claim("uid-2", result("gpu-1"))
        made = service(Machine(tmp_path, one))
        answer = await made.prepare(prepare_request(one, gone, one))
        assert errors_of(answer) == {
            "uid-1": "",
            "uid-2": 'retrieve claim default/claim-of-uid-2: claims "claim-of-uid-2" not found',
        }
        undone = await made.unprepare(unprepare_request(gone, one, one))
        assert {uid: each.error for uid, each in undone.claims.items()} == {
            "uid-1": "",
            "uid-2": "",
        }

    asyncio.run(scenario())


def test_requests_that_ask_for_nothing_succeed(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = service(Machine(tmp_path))
        assert not (await made.prepare(v1.NodePrepareResourcesRequest())).claims
        assert not (await made.unprepare(v1.NodeUnprepareResourcesRequest())).claims

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "hostile",
    [
        v1.Claim(),
        v1.Claim(namespace="..", name="..", uid="../../../etc/passwd"),
        v1.Claim(namespace="a", name="b", uid="x" * 100_000),
        v1.Claim(namespace="\u2028", name="%2e%2e", uid="\x01"),
    ],
)
def test_hostile_names_are_answered_like_others(tmp_path: Path, hostile: v1.Claim) -> None:
    async def scenario() -> None:
        made = service(Machine(tmp_path))
        answer = await made.prepare(v1.NodePrepareResourcesRequest(claims=[hostile]))
        assert "cannot be its UID" in answer.claims[hostile.uid].error
        undone = await made.unprepare(v1.NodeUnprepareResourcesRequest(claims=[hostile]))
        assert undone.claims[hostile.uid].error == ""
        assert not [path for path in tmp_path.rglob("*") if path.name.startswith("passwd")]

    asyncio.run(scenario())


def test_a_thousand_claims_that_do_not_exist_are_all_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = service(Machine(tmp_path))
        claims = [v1.Claim(namespace="n", name=f"c-{n}", uid=f"u-{n}") for n in range(1000)]
        answer = await made.prepare(v1.NodePrepareResourcesRequest(claims=claims))
        assert len(answer.claims) == 1000
        assert all(each.error for each in answer.claims.values())

    asyncio.run(scenario())


def test_a_share_is_named_in_the_answer(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result(share_id="s-1"), result("gpu-1"))
        answer = await service(Machine(tmp_path, one)).prepare(prepare_request(one))
        first, second = answer.claims["uid-1"].devices
        assert first.share_id == "s-1"
        assert not second.HasField("share_id")

    asyncio.run(scenario())


def test_health_is_told_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = service(Machine(tmp_path), Watched())
        assert made.offers_health
        watching = asyncio.create_task(made._monitor.run())
        await settle()
        async for report in made.watch_health():
            [word] = report.devices
            assert (word.device.pool_name, word.device.device_name) == ("n1", "gpu-0")
            break
        watching.cancel()
        await asyncio.wait((watching,))

    asyncio.run(scenario())


def test_a_driver_that_watches_nothing_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = service(Machine(tmp_path))
        assert not made.offers_health
        with pytest.raises(PermanentError, match="does not watch its devices"):
            async for _ in made.watch_health():
                pass

    asyncio.run(scenario())
