"""A running cluster, read as if it had been dumped."""

from __future__ import annotations

import asyncio
import io

from dray.api.features import DEFAULT_GATES
from dray.api.meta import ObjectMeta
from dray.api.resource import DeviceClass
from dray.api.wire import Time
from dray.cli.live import dump
from dray.cli.snapshot import Snapshot
from dray.testing.cluster import Cluster


def read(data: bytes, cluster: Cluster) -> Snapshot:
    now = Time(cluster.clock.now())
    return Snapshot.load(["-"], DEFAULT_GATES, now=now, standard_input=io.BytesIO(data))


def test_what_is_there_is_in_the_dump() -> None:
    async def scenario() -> None:
        async with Cluster() as cluster:
            await cluster.add_node("node-1")
            await cluster.add_pod("train")
            await cluster.client.create(DeviceClass(metadata=ObjectMeta(name="gpu")))
            found = read(await dump(cluster.client), cluster)
            assert list(found.nodes) == ["node-1"]
            assert list(found.classes) == ["gpu"]
            assert [name.name for name in found.pods] == ["train"]

    asyncio.run(scenario())
