"""The parts of a node, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dray.agent.agent import HELD_SECONDS_MAX
from dray.agent.claims.checkpoint import decode_checkpoint
from dray.api.carried import write_part
from dray.api.core import Container, Event, Node, Pod, PodSpec, ResourceFieldSelector
from dray.api.core.parts import DownwardAPIVolumeFile, DownwardAPIVolumeSource, Volume
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import ResourceSlice
from dray.errors import ConfigurationError
from dray.proto.dra_v1_pb2 import NodePrepareResourcesResponse
from tests.unit.agent.hosts import DRIVER, NODE, Host, health_of

pytestmark = pytest.mark.slow


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running"


def is_healthy(pod: Pod) -> bool:
    return [health for health, _ in health_of(pod)] == ["Healthy"]


def test_a_pod_gets_its_devices_and_gives_them_back() -> None:
    async def scenario() -> None:
        async with Host() as host, host.driver() as driver:
            agent = await host.start()
            detach = agent.attach(DRIVER, driver.service)
            pod = await host.add("web", "gpu-0")
            await host.pass_time(5.0, steps=20)
            await host.until("web", is_running)
            assert [info.claim.name for info in agent.claims.claims_of(pod.metadata.uid)] == ["web"]
            assert [entry.name for entry in driver.journal.entries()] == ["web"]
            await host.cluster.client.delete(Pod, "web", namespace="default")
            await host.pass_time(40.0, steps=40)
            assert driver.journal.entries() == ()
            assert agent.claims.claims() == ()
            detach()

    run(scenario())


def test_what_has_no_limit_has_what_the_node_has() -> None:
    async def scenario() -> None:
        async with Host() as host:
            await host.start(capacity={"cpu": Quantity.parse("7")})
            cpu = ResourceFieldSelector(container_name="main", resource="limits.cpu")
            source = DownwardAPIVolumeSource(
                items=(DownwardAPIVolumeFile(path="cpu", resource_field_ref=cpu),)
            )
            pod = await host.cluster.client.create(
                Pod(
                    metadata=ObjectMeta(name="web", namespace="default"),
                    spec=PodSpec(
                        node_name=NODE,
                        containers=(Container(name="main", image="image"),),
                        volumes=write_part((Volume(name="facts", downward_api=source),)),
                    ),
                )
            )
            await host.pass_time(5.0, steps=20)
            await host.until("web", is_running)
            volumes = host.root / "pods" / pod.metadata.uid / "volumes"
            assert (volumes / "kubernetes.io~downward-api/facts/cpu").read_text() == "7"

    run(scenario())


def test_an_agent_that_stops_leaves_no_task_behind() -> None:
    async def scenario() -> None:
        async with Host() as host:
            await host.settle()
            before = asyncio.all_tasks()
            async with host.node(serving_port=0):
                await host.add("web", "gpu-0")
                await host.pass_time(5.0, steps=20)
                await host.until("web", is_running)
            await host.settle()
            assert asyncio.all_tasks() <= before

    run(scenario())


def test_pods_that_are_held_wait_for_their_drivers() -> None:
    async def scenario() -> None:
        async with Host() as host, host.driver() as driver:
            await host.add("web", "gpu-0")
            releases: list[Callable[[], None]] = []
            agent = await host.start(prepare=lambda agent: releases.append(agent.hold_pods()))
            await host.pass_time(5.0, steps=20)
            assert agent.pods.pods() == []
            agent.attach(DRIVER, driver.service)
            releases[0]()
            await agent.pods.recovery()
            assert [pod.metadata.name for pod in agent.pods.pods()] == ["web"]
            await host.pass_time(1.0, steps=10)
            pod = await host.until("web", is_running)
            told = [condition.type for condition in pod.status.conditions]
            assert "dray.dev/DevicesPrepared" not in told, "nothing failed first"

    run(scenario())


def test_pods_do_not_wait_for_ever_for_a_driver_that_hangs() -> None:
    async def scenario() -> None:
        async with Host() as host:
            await host.add("web", "gpu-0")
            agent = await host.start(prepare=lambda agent: agent.hold_pods())
            await host.pass_time(HELD_SECONDS_MAX - 1, steps=20)
            assert agent.pods.pods() == []
            await host.pass_time(5.0, steps=20)
            assert [pod.metadata.name for pod in agent.pods.pods()] == ["web"]

    run(scenario())


def test_a_node_that_somebody_deletes_comes_back_with_its_slices_and_pods() -> None:
    async def scenario() -> None:
        async with Host() as host, host.node():
            client = host.cluster.client
            await host.add("web", "gpu-0")
            await host.pass_time(5.0, steps=20)
            before = await host.until("web", is_healthy)
            old = await client.get(Node, NODE)
            await client.delete(Node, NODE)
            for one in (await client.list(ResourceSlice)).items:  # as their garbage is collected
                await client.delete(ResourceSlice, one.metadata.name)
            await host.pass_time(20.0, steps=80)
            new = await client.get(Node, NODE)
            assert new.metadata.uid != old.metadata.uid
            slices = (await client.list(ResourceSlice)).items
            owners = {owner.uid for one in slices for owner in one.metadata.owner_references}
            assert owners == {new.metadata.uid}
            after = await client.get(Pod, "web", namespace="default")
            assert after.status.container_statuses == before.status.container_statuses

    run(scenario())


def test_pods_go_on_and_the_next_agent_takes_them_over() -> None:
    async def scenario() -> None:
        async with Host() as host, host.driver() as driver:
            agent = await host.start()
            agent.attach(DRIVER, driver.service)
            await host.add("web", "gpu-0")
            await host.pass_time(5.0, steps=20)
            first = await host.until("web", is_healthy)
            await host.stop()
            agent = await host.start()
            agent.attach(DRIVER, driver.service)
            await host.pass_time(1.0, steps=10)
            again = await host.until("web", is_healthy)
            statuses = [pod.status.container_statuses[0] for pod in (first, again)]
            assert statuses[0].container_id == statuses[1].container_id
            assert statuses[1].restart_count == 0

    run(scenario())


def test_a_damaged_checkpoint_is_rebuilt_before_pods_are_looked_at() -> None:
    async def scenario() -> None:
        async with Host() as host, host.driver() as driver:
            agent = await host.start()
            agent.attach(DRIVER, driver.service)
            pod = await host.add("web", "gpu-0")
            await host.pass_time(5.0, steps=20)
            await host.until("web", is_running)
            await host.stop()
            file = host.settings.checkpoint_file
            file.write_bytes(file.read_bytes()[:-20])
            agent = await host.start()
            agent.attach(DRIVER, driver.service)
            await host.pass_time(5.0, steps=20)
            assert not agent.claims.needs_rebuild
            assert [info.pods for info in decode_checkpoint(file.read_bytes())] == [
                frozenset({pod.metadata.uid})
            ]
            assert [path.name for path in host.root.glob("*.damaged-*")] == [
                "dra_manager_state.damaged-0"
            ]
            await host.until("web", is_healthy)
            await host.cluster.client.delete(Pod, "web", namespace="default")
            await host.pass_time(40.0, steps=40)
            assert driver.journal.entries() == ()

    run(scenario())


def test_what_concerns_the_node_is_an_event_of_the_node() -> None:
    async def scenario() -> None:
        async with Host() as host:
            host.settings.checkpoint_file.write_bytes(b"nonsense")
            await host.start()
            await host.pass_time(1.0, steps=10)
            events = await host.cluster.client.list(Event)
            found = [one for one in events.items if one.reason == "DamagedClaimCheckpoint"]
            assert [(one.type, one.involved_object.kind) for one in found] == [("Warning", "Node")]
            assert found[0].involved_object.name == NODE
            assert "dra_manager_state.damaged-0" in found[0].message

    run(scenario())


class Hung:
    """A driver that listens, and that is all."""

    def __init__(self) -> None:
        self.woken = asyncio.Event()

    async def prepare(self, request: object) -> Any:
        del request
        await self.woken.wait()
        return NodePrepareResourcesResponse()

    async def unprepare(self, request: object) -> Any:
        raise AssertionError(f"nothing was prepared, but {request} is to be undone")

    def watch_health(self) -> Any:
        raise AssertionError("health is not offered")


def test_a_driver_that_hangs_is_told_of_on_the_node() -> None:
    async def scenario() -> None:
        async with Host() as host:
            agent = await host.start()
            driver = Hung()
            agent.attach(DRIVER, driver, offers_health=False)
            await host.add("web", "gpu-0")
            await host.pass_time(55.0, steps=110)
            driver.woken.set()
            await host.pass_time(15.0, steps=30)
            events = await host.cluster.client.list(Event)
            told = [
                (one.type, one.reason)
                for one in events.items
                if one.involved_object.kind == "Node" and one.reason.startswith("Driver")
            ]
            assert told == [("Warning", "DriverHung"), ("Normal", "DriverResponsive")]

    run(scenario())


def test_metrics_tell_of_claims_devices_and_pods() -> None:
    async def scenario() -> None:
        async with Host() as host, host.node() as agent:
            await host.add("web", "gpu-0")
            await host.pass_time(5.0, steps=20)
            await host.until("web", is_healthy)
            lines = agent.metrics_text().decode().splitlines()
            assert f'dra_resource_claims_in_use{{driver_name="{DRIVER}"}} 1' in lines
            assert f'dray_node_devices{{driver_name="{DRIVER}",health="Healthy"}} 4' in lines
            assert "dray_node_pods 1" in lines
            assert any('operation_name="PrepareResources"' in line for line in lines)

    run(scenario())


async def fetch(port: int, path: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer.decode()


def test_logs_and_metrics_are_served_where_the_node_says() -> None:
    async def scenario() -> None:
        async with Host() as host:
            await host.start(serving_port=0)
            node = await host.cluster.client.get(Node, NODE)
            endpoints = node.status.daemon_endpoints
            assert endpoints is not None
            assert endpoints.kubelet_endpoint is not None
            port = endpoints.kubelet_endpoint.port
            assert (await fetch(port, "/healthz")).endswith("ok")
            assert "dray_node_pods 0" in await fetch(port, "/metrics")
            await host.stop()
            with pytest.raises(ConnectionRefusedError):
                await fetch(port, "/healthz")

    run(scenario())


def test_an_agent_that_cannot_listen_does_not_start() -> None:
    async def scenario() -> None:
        async with Host() as host:
            server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
            async with server:
                port = server.sockets[0].getsockname()[1]
                with pytest.raises(ConfigurationError, match="in use"):
                    await host.start(serving_port=port)

    run(scenario())
