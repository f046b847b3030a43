"""A whole driver over real sockets, called as a kubelet calls it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc.aio

from dray.proto import dra_v1_pb2_grpc, registration_v1_pb2_grpc
from dray.proto import registration_v1_pb2 as registration
from dray.sdk import Settings, serve
from tests.unit.sdk.drivers import (
    Claims,
    Gpus,
    as_client,
    claim,
    prepare_request,
    short_directory,
    unprepare_request,
)


def settings(root: Path, **more: Any) -> Settings:
    return Settings(
        **(
            {
                "node_name": "n1",
                "kubelet_directory": root,
                "cdi_directory": root / "cdi",
                "publish": False,
            }
            | more
        )
    )


def test_a_kubelet_registers_the_driver_and_has_a_claim_prepared() -> None:
    async def scenario(root: Path) -> None:
        one = claim()
        async with serve(Gpus(), settings(root), client=as_client(Claims(one))) as running:
            async with grpc.aio.insecure_channel(
                f"unix:{root}/plugins_registry/gpu.example.com-reg.sock"
            ) as channel:
                stub = registration_v1_pb2_grpc.RegistrationStub(channel)
                info = await stub.GetInfo(registration.InfoRequest())
                assert info.type == "DRAPlugin"
                assert list(info.supported_versions) == ["v1.DRAPlugin", "v1beta1.DRAPlugin"]
                await stub.NotifyRegistrationStatus(
                    registration.RegistrationStatus(plugin_registered=True)
                )
                assert running.registration is not None
                await running.registration.registered()
            async with grpc.aio.insecure_channel(f"unix:{info.endpoint}") as channel:
                plugin = dra_v1_pb2_grpc.DRAPluginStub(channel)
                response = await plugin.NodePrepareResources(prepare_request(one))
                assert response.claims["uid-1"].error == ""
                again = await plugin.NodePrepareResources(prepare_request(one))
                assert again == response
                await plugin.NodeUnprepareResources(unprepare_request(one))

    with short_directory() as root:
        asyncio.run(scenario(root))
