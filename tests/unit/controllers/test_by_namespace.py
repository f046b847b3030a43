"""Objects of a namespace."""

from __future__ import annotations

import asyncio

from dray.api.core import Pod
from dray.controllers.by_namespace import in_namespace, index_by_namespace
from tests.unit.controllers.stage import Stage


def test_objects_are_found_by_their_namespace() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            await stage.cluster.add_namespace("other")
            await stage.cluster.add_pod("here")
            await stage.cluster.add_pod("there", namespace="other")
            pods = stage.informers.of(Pod)
            index_by_namespace(pods)
            await stage.settle()
            assert [pod.metadata.name for pod in in_namespace(pods, "other")] == ["there"]
            assert not in_namespace(pods, "none")

    asyncio.run(scenario())
