from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import replace as replaced
from pathlib import Path

import grpc
import pytest

from dray.agent.podresources import PodResourcesServer, describe_pod
from dray.api.core import (
    Container,
    ContainerExtendedResourceRequest,
    Pod,
    PodExtendedResourceClaimStatus,
    PodResourceClaim,
    PodSpec,
    PodStatus,
    ResourceClaim,
    ResourceRequirements,
)
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.errors import ConfigurationError
from dray.proto.podresources_v1_pb2 import (
    AllocatableResourcesRequest,
    AllocatableResourcesResponse,
    GetPodResourcesRequest,
    ListPodResourcesRequest,
    PodResources,
)
from dray.proto.podresources_v1_pb2_grpc import PodResourcesListerStub
from dray.testing import FakeClock
from tests.unit.agent.health.fakes import FakeClaims, prepared


def container(name: str, *picks: str, restart_policy: str | None = None) -> Container:
    named = [pick.partition("/") for pick in picks]
    claims = tuple(ResourceClaim(name=name, request=request) for name, _, request in named)
    return Container(
        name=name, restart_policy=restart_policy, resources=ResourceRequirements(claims=claims)
    )


def pod(*containers: Container, init: tuple[Container, ...] = (), name: str = "pod") -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid="pod-1"),
        spec=PodSpec(
            containers=containers or (container("main", "gpu"),),
            init_containers=init,
            resource_claims=(
                PodResourceClaim(name="gpu", resource_claim_name="gpus"),
                PodResourceClaim(name="nic", resource_claim_name="nics"),
                PodResourceClaim(name="later", resource_claim_template_name="template"),
            ),
        ),
    )


@pytest.fixture
def claims() -> FakeClaims:
    claims = FakeClaims()
    claims.put("gpus", prepared("gpu-0", "a"), prepared("gpu-1", "b", share_id="s1"))
    claims.put("nics", prepared("eth0"))
    return claims


def told(described: PodResources) -> dict[str, dict[str, list[str]]]:
    return {
        container.name: {
            claim.claim_name: [device.device_name for device in claim.claim_resources]
            for claim in container.dynamic_resources
        }
        for container in described.containers
    }


def test_every_device_has_its_own_cdi_names(claims: FakeClaims) -> None:
    (main,) = describe_pod(pod(), claims).containers
    (claim,) = main.dynamic_resources
    assert (claim.claim_name, claim.claim_namespace) == ("gpus", "default")
    assert [
        (
            device.driver_name,
            device.pool_name,
            device.device_name,
            [cdi.name for cdi in device.cdi_devices],
            device.share_id if device.HasField("share_id") else None,
        )
        for device in claim.claim_resources
    ] == [
        ("gpu.example.com", "node-1", "gpu-0", ["example.com/gpu=gpu-0"], None),
        ("gpu.example.com", "node-1", "gpu-1", ["example.com/gpu=gpu-1"], "s1"),
    ]


def test_a_container_is_listed_with_the_requests_it_uses(claims: FakeClaims) -> None:
    whole = pod(container("one", "gpu/a"), container("all", "nic", "gpu"), container("none"))
    assert told(describe_pod(whole, claims)) == {
        "one": {"gpus": ["gpu-0"]},
        "all": {"gpus": ["gpu-0", "gpu-1"], "nics": ["eth0"]},
        "none": {},
    }


def test_of_init_containers_only_sidecars_are_listed(claims: FakeClaims) -> None:
    init = (
        container("setup", "gpu"),
        container("proxy", "nic", restart_policy="Always"),
    )
    assert told(describe_pod(pod(container("main"), init=init), claims)) == {
        "proxy": {"nics": ["eth0"]},
        "main": {},
    }


@pytest.mark.parametrize("missing", ["later", "gpu"])
def test_a_container_with_a_claim_nobody_knows_is_listed_without_any(
    claims: FakeClaims, missing: str
) -> None:
    del claims.infos["default", "gpus"]
    assert told(describe_pod(pod(container("main", "nic", missing)), claims)) == {"main": {}}


def test_devices_behind_extended_resources_are_listed(claims: FakeClaims) -> None:
    claims.put("extended", prepared("gpu-7", "container-0"), prepared("gpu-8", "container-1"))
    mapping = ContainerExtendedResourceRequest(
        container_name="main", resource_name="example.com/gpu", request_name="container-1"
    )
    status = PodStatus(
        extended_resource_claim_status=PodExtendedResourceClaimStatus(
            resource_claim_name="extended", request_mappings=(mapping,)
        )
    )
    whole = replace(pod(container("main"), container("other")), status=status)
    assert told(describe_pod(whole, claims)) == {"main": {"extended": ["gpu-8"]}, "other": {}}


def test_a_claim_of_another_pod_is_not_this_ones(claims: FakeClaims) -> None:
    gpus = claims.infos["default", "gpus"]
    claims.infos["default", "gpus"] = replaced(gpus, pods=frozenset({"somebody-else"}))
    assert told(describe_pod(pod(), claims)) == {"main": {}}


# On the socket ---------------------------------------------------------------------------------


@pytest.fixture
def root() -> Iterator[Path]:
    directory = tempfile.mkdtemp(prefix="dray", dir="/tmp")
    yield Path(directory)
    shutil.rmtree(directory)


def server(root: Path, claims: FakeClaims, clock: FakeClock | None = None) -> PodResourcesServer:
    pods = [pod(), pod(name="second")]
    return PodResourcesServer(lambda: pods, claims, root=root, clock=clock or FakeClock())


def test_pods_are_listed_and_found_over_the_socket(root: Path, claims: FakeClaims) -> None:
    async def run() -> None:
        serving = server(root, claims)
        await serving.start()
        path = root / "pod-resources" / "kubelet.sock"
        assert path.stat().st_mode & 0o777 == 0o600
        async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
            stub = PodResourcesListerStub(channel)
            listed = await stub.List(ListPodResourcesRequest())
            assert [found.name for found in listed.pod_resources] == ["pod", "second"]
            one = await stub.Get(GetPodResourcesRequest(pod_name="pod", pod_namespace="default"))
            assert told(one.pod_resources) == {"main": {"gpus": ["gpu-0", "gpu-1"]}}
            everything = await stub.GetAllocatableResources(AllocatableResourcesRequest())
            assert everything == AllocatableResourcesResponse()
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await stub.Get(GetPodResourcesRequest(pod_name="x", pod_namespace="default"))
            assert failed.value.code() is grpc.StatusCode.UNKNOWN
            assert failed.value.details() == "pod x in namespace default not found"
        await serving.stop()
        assert not path.exists()
        await serving.stop()

    asyncio.run(run())


def test_too_many_calls_are_refused_until_time_has_passed(root: Path, claims: FakeClaims) -> None:
    async def run() -> None:
        clock = FakeClock()
        serving = server(root, claims, clock)
        await serving.start()
        async with grpc.aio.insecure_channel(f"unix:{root}/pod-resources/kubelet.sock") as channel:
            stub = PodResourcesListerStub(channel)

            async def answers(count: int) -> list[str]:
                refusals = []
                for _ in range(count):
                    call = stub.List(ListPodResourcesRequest())
                    refusals.append(f"{(await call.code()).name}: {await call.details()}")
                return refusals

            taken, refused = "OK: ", "RESOURCE_EXHAUSTED: rejected by rate limit"
            assert await answers(12) == [taken] * 10 + [refused] * 2
            clock.advance(0.03)
            assert await answers(4) == [taken] * 3 + [refused]
        await serving.stop()

    asyncio.run(run())


def test_a_socket_left_behind_is_replaced(root: Path, claims: FakeClaims) -> None:
    async def run() -> None:
        path = root / "pod-resources" / "kubelet.sock"
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        serving = server(root, claims)
        await serving.start()
        async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
            listed = await PodResourcesListerStub(channel).List(ListPodResourcesRequest())
            assert len(listed.pod_resources) == 2
        # A successor may be up before this one is down: its socket stays.
        successor = server(root, claims)
        await successor.start()
        await serving.stop()
        assert path.exists()
        await successor.stop()
        assert list(path.parent.iterdir()) == []

    asyncio.run(run())


def test_a_cancelled_server_cleans_up(root: Path, claims: FakeClaims) -> None:
    async def run() -> None:
        started = asyncio.Event()

        class Observed(PodResourcesServer):
            async def start(self) -> None:
                await super().start()
                started.set()

        task = asyncio.create_task(Observed(list, claims, root=root, clock=FakeClock()).run())
        await started.wait()
        task.cancel()
        await asyncio.wait((task,))
        assert list((root / "pod-resources").iterdir()) == []

    asyncio.run(run())


def test_a_path_that_no_socket_can_have_is_refused(root: Path, claims: FakeClaims) -> None:
    async def run() -> None:
        deep = root / ("x" * 100)
        with pytest.raises(ConfigurationError, match="no longer than 107 bytes"):
            await server(deep, claims).start()

    asyncio.run(run())


def test_a_directory_that_cannot_be_made_is_refused(root: Path, claims: FakeClaims) -> None:
    async def run() -> None:
        (root / "pod-resources").write_text("in the way")
        with pytest.raises(ConfigurationError, match="cannot be served"):
            await server(root, claims).start()

    asyncio.run(run())
