"""Who has to go for a pod of higher priority: no more than it takes, and where it hurts least."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest

from dray.api.core import Pod, PodSpec, PodStatus
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.policy import PodDisruptionBudget, PodDisruptionBudgetSpec
from dray.api.wire import Time
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.preemption import Sacrifice
from tests.unit.scheduler.stage import SchedulerStage, one_device


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


async def leaving(stage: SchedulerStage) -> list[str]:
    pods = (await stage.client.list(Pod)).items
    return sorted(pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is not None)


async def add_priorities(stage: SchedulerStage) -> None:
    for name, value in (("low", -10), ("middle", 100), ("high", 1000)):
        await stage.add_priority(name, value)


def test_the_least_important_go_and_no_more_than_it_takes() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            await stage.add_node("node-1", allocatable={"cpu": "3"})
            for name, priority in (("a", "low"), ("b", "middle"), ("c", "low")):
                await stage.add_pod(name, resources={"cpu": "1"}, priority_class_name=priority)
            await stage.add_pod("urgent", resources={"cpu": "2"}, priority_class_name="high")
            assert await leaving(stage) == ["a", "c"]

    run(scenario())


def test_the_node_is_chosen_where_it_hurts_least() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            for number, priority in enumerate(("middle", "low"), 1):
                await stage.add_node(f"node-{number}", allocatable={"cpu": "1"})
                await stage.add_pod(
                    f"on-{number}", resources={"cpu": "1"}, priority_class_name=priority
                )
            await stage.add_pod("urgent", resources={"cpu": "1"}, priority_class_name="high")
            assert await leaving(stage) == ["on-2"]

    run(scenario())


def test_equals_and_betters_stay() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            await stage.add_node("node-1", allocatable={"cpu": "1"})
            await stage.add_pod("first", resources={"cpu": "1"}, priority_class_name="high")
            await stage.add_pod("second", resources={"cpu": "1"}, priority_class_name="high")
            assert await leaving(stage) == []

    run(scenario())


def test_a_pod_that_evicts_nobody_waits() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            await stage.add_node("node-1", allocatable={"cpu": "1"})
            await stage.add_pod("first", resources={"cpu": "1"})
            await stage.add_priority("polite", 2000, preemption_policy="Never")
            await stage.add_pod("polite", resources={"cpu": "1"}, priority_class_name="polite")
            assert await leaving(stage) == []
            assert "Insufficient cpu" in await stage.why_not("polite")

    run(scenario())


def test_budgets_decide_who_goes_as_long_as_there_is_a_choice() -> None:
    async def scenario() -> None:
        async with SchedulerStage("disruption-controller") as stage:
            await add_priorities(stage)
            await stage.client.create(
                PodDisruptionBudget(
                    metadata=ObjectMeta(name="keep", namespace="default"),
                    spec=PodDisruptionBudgetSpec(
                        min_available=1, selector=LabelSelector(match_labels={"app": "kept"})
                    ),
                )
            )
            for number, labels in enumerate(({"app": "kept"}, {"app": "other"}), 1):
                await stage.add_node(f"node-{number}", allocatable={"cpu": "1"})
                await stage.add_pod(f"on-{number}", resources={"cpu": "1"}, labels=labels)
            await stage.pass_time(5, steps=5)
            await stage.add_pod("urgent", resources={"cpu": "1"}, priority_class_name="high")
            assert await leaving(stage) == ["on-2"]
            await stage.add_pod("urgent-too", resources={"cpu": "1"}, priority_class_name="high")
            assert await leaving(stage) == ["on-1", "on-2"], "there is no other way"

    run(scenario())


def test_of_those_who_hold_devices_only_those_go_whose_devices_are_needed() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_template("two", one_device(count=2))
            await stage.add_node("node-1", devices=3)
            for name in ("a", "b", "c"):
                await stage.add_pod(name, template="one")
            await stage.add_pod("plain")
            await stage.add_pod("urgent", template="two", priority_class_name="high")
            gone = await leaving(stage)
            assert len(gone) == 2
            assert "plain" not in gone
            for name in gone:
                await stage.client.delete(Pod, name, namespace="default", grace_period_seconds=0)
            await stage.pass_time(3, steps=3)
            assert await stage.node_of("urgent") == "node-1"
            assert len(set(await stage.devices_in_use())) == 3

    run(scenario())


def test_devices_kept_for_a_pod_are_not_taken_by_less_important_ones() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_template("two", one_device(count=2))
            await stage.add_node("node-1", devices=2)
            await stage.add_pod("a", template="one")
            await stage.add_pod("b", template="one")
            await stage.add_pod("urgent", template="two", priority_class_name="high")
            await stage.add_pod("sneaky", template="one")
            await stage.client.delete(Pod, "a", namespace="default", grace_period_seconds=0)
            await stage.pass_time(5, steps=5)
            assert not await stage.node_of("sneaky")
            assert "are kept for pods of higher priority" in await stage.why_not("sneaky")
            await stage.client.delete(Pod, "b", namespace="default", grace_period_seconds=0)
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("urgent") == "node-1"

    run(scenario())


def test_a_pod_that_is_being_bound_can_be_made_to_go_too() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_node("node-1", devices=1)
            with stage.wire.held("PATCH resourceclaims/status"):
                await stage.add_pod("low", template="one")
                await stage.add_pod("urgent", template="one", priority_class_name="high")
                assert (await stage.pod("urgent")).status.nominated_node_name == "node-1"
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("urgent") == "node-1"
            assert await stage.devices_in_use() == [("node-1", "gpu-0")]

    run(scenario())


def test_whoever_shares_devices_with_somebody_important_keeps_them() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            await stage.add_class()
            await stage.add_claim("shared")
            await stage.add_template("one")
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("important", claim="shared", priority_class_name="high")
            await stage.add_pod("other", claim="shared", priority_class_name="low")
            await stage.add_pod("urgent", template="one", priority_class_name="middle")
            assert await leaving(stage) == []

    run(scenario())


def test_devices_are_looked_for_beyond_the_many_nodes_that_have_none() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_priorities(stage)
            await stage.add_class()
            await stage.add_template("one")
            for number in range(120):
                await stage.add_node(f"plain-{number}", allocatable={"cpu": "1"})
                await stage.add_pod(f"plain-{number}", settle=False, resources={"cpu": "1"})
            await stage.add_node("with-gpu", devices=1)
            await stage.add_pod("holder", template="one")
            await stage.add_pod("urgent", template="one", priority_class_name="high")
            assert await leaving(stage) == ["holder"]

    run(scenario())


def victim(name: str, priority: int, started_at: float | None = None) -> PodInfo:
    start = Time(datetime.fromtimestamp(started_at, UTC)) if started_at is not None else None
    return PodInfo.of(
        Pod(
            metadata=ObjectMeta(name=name, namespace="default", uid=name),
            spec=PodSpec(priority=priority),
            status=PodStatus(start_time=start),
        )
    )


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(
            Sacrifice("n", (victim("a", 9), victim("b", 9)), 0),
            Sacrifice("n", (victim("a", 1),), 1),
            id="budgets before all else",
        ),
        pytest.param(
            Sacrifice("n", (victim("a", 1), victim("b", 1))),
            Sacrifice("n", (victim("a", 2),)),
            id="then the highest priority",
        ),
        pytest.param(
            Sacrifice("n", (victim("a", 2), victim("b", -5))),
            Sacrifice("n", (victim("a", 2), victim("b", 1))),
            id="then all priorities",
        ),
        pytest.param(
            Sacrifice("n", (victim("a", -3),)),
            Sacrifice("n", (victim("a", -3), victim("b", -3))),
            id="then the number",
        ),
        pytest.param(
            Sacrifice("n", (victim("a", 1, 200),)),
            Sacrifice("n", (victim("a", 1, 100),)),
            id="then who came last",
        ),
    ],
)
def test_what_hurts_more(better: Sacrifice, worse: Sacrifice) -> None:
    assert better.pain < worse.pain
