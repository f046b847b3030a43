"""Metadata of claims' devices, written with the claim and gone with it."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dray.errors import TransportError
from dray.sdk import Settings, device, serve
from dray.testing import FakeClock
from tests.unit.sdk.drivers import (
    Claims,
    Gpus,
    as_client,
    claim,
    prepare_request,
    result,
    short_directory,
    unprepare_request,
)
from tests.unit.sdk.turns import pass_time


class Telling(Gpus):
    tell_containers = True

    async def discover(self) -> Any:
        return [device("gpu-0", attributes={"model": "a100"})]


def test_containers_find_what_was_published_in_files_that_come_and_go_with_the_claim() -> None:
    async def scenario(root: Path) -> None:
        one = claim("uid-1", result(request="gpu/fast"))
        settings = Settings(
            node_name="n1", kubelet_directory=root, cdi_directory=root / "cdi", publish=False
        )
        async with serve(Telling(), settings, client=as_client(Claims(one))) as running:
            answer = await running.service.prepare(prepare_request(one))
            [prepared] = answer.claims["uid-1"].devices
            own, metadata = prepared.cdi_device_ids
            assert own == "k8s.gpu.example.com/claim=uid-1-gpu-0"
            assert "metadata" in metadata
            folder = running.settings.plugin_path("gpu.example.com") / "dra-device-metadata"
            [path] = [each for each in folder.rglob("*") if each.is_file()]
            first = json.JSONDecoder().raw_decode(path.read_text())[0]
            assert "a100" in json.dumps(first)
            assert "gpu/fast" in json.dumps(first)
            names = sorted(each.name for each in (root / "cdi").iterdir())
            assert len(names) == 2
            for each in (root / "cdi").iterdir():
                each.unlink()
            assert await running.service.prepare(prepare_request(one)) == answer
            assert sorted(each.name for each in (root / "cdi").iterdir()) == names
            await running.service.unprepare(unprepare_request(one))
            assert list((root / "cdi").iterdir()) == []
            assert [each for each in folder.rglob("*") if each.is_file()] == []

    with short_directory() as root:
        asyncio.run(scenario(root))


@pytest.mark.parametrize("lost", ["cdi", "plugins/gpu.example.com/dra-device-metadata"])
def test_no_answer_names_files_that_are_lost_while_the_api_is_away(lost: str) -> None:
    async def scenario(root: Path) -> None:
        one = claim()
        claims, clock = Claims(one), FakeClock()
        settings = Settings(
            node_name="n1", kubelet_directory=root, cdi_directory=root / "cdi", publish=False
        )
        async with serve(Telling(), settings, client=as_client(claims), clock=clock) as running:
            answer = await running.service.prepare(prepare_request(one))
            claims.failures = [TransportError("no route")]
            assert await running.service.prepare(prepare_request(one)) == answer
            shutil.rmtree(root / lost)
            claims.failures = [TransportError("no route")] * 99
            asking = asyncio.create_task(running.service.prepare(prepare_request(one)))
            await pass_time(clock, 30)
            assert "no route" in (await asking).claims["uid-1"].error
            claims.failures = []
            assert await running.service.prepare(prepare_request(one)) == answer
            assert len(list((root / "cdi").iterdir())) == 2

    with short_directory() as root:
        asyncio.run(scenario(root))
