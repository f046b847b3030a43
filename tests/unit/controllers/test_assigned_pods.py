"""Pods of a node."""

from __future__ import annotations

import asyncio

from dray.controllers.assigned_pods import AssignedPods
from tests.unit.controllers.stage import Stage


def test_pods_are_found_by_their_node() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            pods = AssignedPods(stage.informers)
            await stage.cluster.add_pod("waits")
            await stage.cluster.add_pod("here", node="n1")
            await stage.cluster.add_pod("there", node="n2")
            await stage.settle()
            assert [pod.metadata.name for pod in pods.on("n1")] == ["here"]
            assert not pods.on("")
            await stage.client.delete(
                type(pods.on("n1")[0]), "here", namespace="default", grace_period_seconds=0
            )
            await stage.settle()
            assert not pods.on("n1")

    asyncio.run(scenario())
