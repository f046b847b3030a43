from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from dray.agent.node.heartbeat import NAMESPACE, RENEW_SECONDS, Heartbeat
from dray.api.coordination import Lease
from dray.api.core import Node
from dray.api.wire import MicroTime, replace
from dray.entropy import SeededEntropy
from dray.errors import TransportError
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.agent.health.fakes import settle
from tests.unit.agent.node.api import node_line


class Setting:
    def __init__(self, cluster: Cluster, clock: FakeClock, node: Node) -> None:
        self.cluster = cluster
        self.clock = clock
        self.node = node
        self.line, self.client = node_line(cluster, "n1")
        self.heartbeat = Heartbeat(self.client, "n1", clock=clock, entropy=SeededEntropy(1))
        self.heartbeat.belong_to(node)

    async def lease(self) -> Lease:
        return await self.cluster.client.get(Lease, "n1", namespace=NAMESPACE)


def in_cluster(body: Callable[[Setting], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        async def run() -> None:
            clock = FakeClock()
            async with Cluster(clock=clock) as cluster:
                await body(Setting(cluster, clock, await cluster.add_node("n1")))

        asyncio.run(run())

    test.__name__ = body.__name__
    return test


@in_cluster
async def test_a_lease_is_made_with_a_nodes_rights_and_belongs_to_the_node(
    setting: Setting,
) -> None:
    await setting.heartbeat.renew()
    lease = await setting.lease()
    assert lease.spec.holder_identity == "n1"
    assert lease.spec.lease_duration_seconds == 40
    assert lease.spec.renew_time == MicroTime(setting.clock.now())
    (owner,) = lease.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid) == ("Node", "n1", setting.node.metadata.uid)


@in_cluster
async def test_renewing_takes_one_request(setting: Setting) -> None:
    await setting.heartbeat.renew()
    setting.line.requests.clear()
    setting.clock.advance(10)
    await setting.heartbeat.renew()
    assert [request.split()[0] for request in setting.line.requests] == ["PUT"]
    assert (await setting.lease()).spec.renew_time == MicroTime(setting.clock.now())


@in_cluster
async def test_a_lease_that_somebody_changed_is_read_again(setting: Setting) -> None:
    await setting.heartbeat.renew()
    lease = await setting.lease()
    changed = replace(lease, spec=replace(lease.spec, holder_identity="thief"))
    await setting.cluster.client.update(changed)
    setting.clock.advance(10)
    await setting.heartbeat.renew()
    assert (await setting.lease()).spec.holder_identity == "n1"


@in_cluster
async def test_a_lease_that_somebody_deleted_is_made_again(setting: Setting) -> None:
    await setting.heartbeat.renew()
    await setting.cluster.client.delete(Lease, "n1", namespace=NAMESPACE)
    await setting.heartbeat.renew()
    assert (await setting.lease()).spec.holder_identity == "n1"


@in_cluster
async def test_a_lease_that_was_there_before_is_taken_over(setting: Setting) -> None:
    await setting.heartbeat.renew()
    successor = Heartbeat(setting.client, "n1", clock=setting.clock, entropy=SeededEntropy(2))
    setting.clock.advance(100)
    await successor.renew()
    lease = await setting.lease()
    assert lease.spec.renew_time == MicroTime(setting.clock.now())
    assert lease.metadata.owner_references, "nobody's business who does not know the node"


@in_cluster
async def test_a_lease_follows_its_node_when_that_is_made_again(setting: Setting) -> None:
    await setting.heartbeat.renew()
    await setting.cluster.client.delete(Node, "n1")
    again = await setting.cluster.add_node("n1")
    setting.heartbeat.belong_to(again)
    await setting.heartbeat.renew()
    (owner,) = (await setting.lease()).metadata.owner_references
    assert owner.uid == again.metadata.uid


@in_cluster
async def test_a_failure_is_told_and_the_next_renewal_starts_from_the_truth(
    setting: Setting,
) -> None:
    await setting.heartbeat.renew()
    setting.line.up = False
    with pytest.raises(TransportError):
        await setting.heartbeat.renew()
    setting.line.up = True
    await setting.heartbeat.renew()
    assert (await setting.lease()).spec.renew_time == MicroTime(setting.clock.now())


def test_an_outage_is_outlived() -> None:
    """Renewals fail, are tried again with growing pauses, and go on."""

    async def run() -> None:
        clock = FakeClock()
        attempts: list[float] = []

        class Observed(Heartbeat):
            async def renew(self) -> None:
                attempts.append(clock.monotonic())
                if 10 < clock.monotonic() < 60:
                    raise TransportError("no route to host")

        async with Cluster(clock=clock) as cluster:
            _, client = node_line(cluster, "n1")
            heartbeat = Observed(client, "n1", clock=clock, entropy=SeededEntropy(1))
            task = asyncio.create_task(heartbeat.run())
            for _ in range(1000):
                await settle()
                clock.advance(0.1)
            task.cancel()
            await asyncio.wait((task,))
        during = [at for at in attempts if 10 < at < 60]
        assert 10 < len(during) < 30
        after = [at for at in attempts if at >= 60]
        assert after[0] < 68
        assert all(
            RENEW_SECONDS <= later - earlier <= RENEW_SECONDS * 1.05
            for earlier, later in pairwise(after)
        )

    asyncio.run(run())
