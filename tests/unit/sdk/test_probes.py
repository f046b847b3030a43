"""A driver's probes, over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dray.proto import registration_v1_pb2 as registration
from dray.sdk import RunningDriver, Settings, serve
from tests.unit.sdk.drivers import Claims, Gpus, as_client, claim, prepare_request, short_directory


async def get(running: RunningDriver, path: str) -> tuple[int, str]:
    assert running.probes is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", running.probes.port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


def test_a_driver_is_alive_at_once_and_ready_when_the_node_has_accepted_it() -> None:
    async def scenario(root: Path) -> None:
        one = claim()
        settings = Settings(
            node_name="n1",
            kubelet_directory=root,
            cdi_directory=root / "cdi",
            publish=False,
            health_address="127.0.0.1:0",
        )
        async with serve(Gpus(), settings, client=as_client(Claims(one))) as running:
            status, body = await get(running, "/livez")
            assert status == 200, body
            status, body = await get(running, "/readyz")
            assert status == 503
            assert "the node has not registered the driver yet" in body
            assert running.registration is not None
            await running.registration.NotifyRegistrationStatus(
                registration.RegistrationStatus(plugin_registered=True), None
            )
            assert (await get(running, "/readyz"))[0] == 200
            await running.service.prepare(prepare_request(one))
            _, metrics = await get(running, "/metrics")
            assert 'dray_driver_journal_claims{driver="gpu.example.com"} 1' in metrics
            assert 'dray_driver_registered{driver="gpu.example.com"} 1' in metrics
            assert 'dray_driver_prepare_duration_seconds_count{driver="gpu.example.com"' in metrics

    with short_directory() as root:
        asyncio.run(scenario(root))
