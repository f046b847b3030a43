"""The word on why a pod is ended."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.core import Pod, PodCondition
from dray.api.wire import Time, replace
from dray.controllers.disruption_target import announce_disruption
from dray.errors import Conflict, Invalid
from tests.unit.controllers.stage import Stage


def test_the_condition_joins_those_that_the_pod_has() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            pod = await stage.cluster.add_pod("web")
            ready = PodCondition(type="Ready", status="True")
            status = replace(pod.status, conditions=(ready,))
            pod = await stage.client.update_status(replace(pod, status=status))
            now = Time(stage.clock.now())
            for _ in range(2):
                await announce_disruption(
                    stage.client, pod, reason="Why", message="because", now=now, phase="Failed"
                )
                pod = await stage.client.get(Pod, "web", namespace="default")
            version = pod.metadata.resource_version
            await announce_disruption(
                stage.client, pod, reason="Why", message="because", now=now, phase="Failed"
            )
            pod = await stage.client.get(Pod, "web", namespace="default")
            assert pod.metadata.resource_version == version, "said twice is written once"
            assert pod.status.phase == "Failed"
            found = {each.type: each for each in pod.status.conditions}
            assert found["Ready"].status == "True"
            target = found["DisruptionTarget"]
            assert (target.status, target.reason, target.message) == ("True", "Why", "because")
            assert target.last_transition_time == now
            assert target.observed_generation == pod.metadata.generation

    asyncio.run(scenario())


def test_another_pod_by_that_name_is_left_alone() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            pod = await stage.cluster.add_pod("web")
            other = replace(pod, metadata=replace(pod.metadata, uid="another"))
            with pytest.raises((Conflict, Invalid)):
                await announce_disruption(
                    stage.client, other, reason="Why", message="", now=Time(stage.clock.now())
                )

    asyncio.run(scenario())
