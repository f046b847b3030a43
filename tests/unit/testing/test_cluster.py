"""The cluster for tests: a whole server, and whoever asks it."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.core import Namespace, Node, Pod, ServiceAccount
from dray.client import EventType
from dray.clock import Clock, SystemClock
from dray.errors import Forbidden, TransportError
from dray.testing import FakeClock
from dray.testing.cluster import Cluster


@pytest.mark.parametrize("clock", [FakeClock(), SystemClock()], ids=["fake", "system"])
def test_a_cluster_serves_whatever_its_clock_is(clock: Clock) -> None:
    async def main() -> None:
        async with Cluster(clock=clock) as cluster:
            assert cluster.clock is clock
            names = [each.metadata.name for each in (await cluster.client.list(Namespace)).items]
            assert "default" in names

    asyncio.run(main())


def test_a_client_of_somebody_has_their_rights_and_no_more() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            await cluster.add_node("n1")
            await cluster.add_node("n2")
            kubelet = cluster.client_of("system:node:n1", groups=("system:nodes",))
            assert (await kubelet.get(Node, "n1")).metadata.name == "n1"
            with pytest.raises(Forbidden, match="only its own Node object"):
                await kubelet.get(Node, "n2")

    asyncio.run(main())


def test_the_tasks_of_the_server_run() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            await cluster.add_namespace("team")
            account = await cluster.client.get(ServiceAccount, "default", namespace="team")
            version = account.metadata.resource_version
            watch = cluster.client.watch(ServiceAccount, namespace="team", resource_version=version)
            await cluster.client.delete(ServiceAccount, "default", namespace="team")
            assert (await anext(watch)).type is EventType.DELETED
            assert (await anext(watch)).type is EventType.ADDED
            await watch.aclose()

    asyncio.run(main())


def test_a_pod_can_be_added_on_a_node() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            node = await cluster.add_node("n1", labels={"zone": "a"})
            assert node.metadata.labels["zone"] == "a"
            assert node.status.conditions[0].type == "Ready"
            await cluster.add_pod("p", node="n1")
            found = await cluster.client.list(Pod, field_selector="spec.nodeName=n1")
            assert [pod.metadata.name for pod in found.items] == ["p"]

    asyncio.run(main())


def test_clients_are_closed_with_the_cluster() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            client = cluster.client
        with pytest.raises(TransportError, match="the client was closed"):
            await client.list(Pod)

    asyncio.run(main())
