"""What budgets say may go."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.apps import ReplicaSet, ReplicaSetSpec
from dray.api.core import Event, Pod, PodCondition, PodStatus
from dray.api.meta import ObjectMeta, OwnerReference, Status
from dray.api.policy import Eviction, PodDisruptionBudget, PodDisruptionBudgetSpec
from dray.api.wire import Time, replace
from dray.controllers.ownership import controller_reference
from dray.errors import NotFound, TooManyRequests
from tests.unit.controllers.disruption.test_scales import SELECTOR, TEMPLATE
from tests.unit.controllers.stage import Stage

NAME = "disruption-controller"


async def add_budget(
    stage: Stage,
    *,
    min_available: int | str | None = None,
    max_unavailable: int | str | None = None,
    name: str = "budget",
) -> None:
    spec = PodDisruptionBudgetSpec(
        min_available=min_available, max_unavailable=max_unavailable, selector=SELECTOR
    )
    metadata = ObjectMeta(name=name, namespace="default")
    await stage.client.create(PodDisruptionBudget(metadata=metadata, spec=spec))
    await stage.settle()


async def find(stage: Stage) -> PodDisruptionBudget:
    return await stage.client.get(PodDisruptionBudget, "budget", namespace="default")


async def numbers(stage: Stage) -> tuple[int, int, int, int]:
    """Expected, healthy, desired, allowed."""
    budget = await find(stage)
    status = budget.status
    assert status.observed_generation == budget.metadata.generation
    return (
        status.expected_pods,
        status.current_healthy,
        status.desired_healthy,
        status.disruptions_allowed,
    )


async def add_pod(
    stage: Stage, name: str, *, ready: bool = True, owner: OwnerReference | None = None
) -> None:
    pod = await stage.cluster.add_pod(name, node="n1", spec=TEMPLATE.spec)
    owners = (owner,) if owner is not None else ()
    metadata = replace(pod.metadata, labels={"app": "web"}, owner_references=owners)
    pod = await stage.client.update(replace(pod, metadata=metadata))
    condition = PodCondition(type="Ready", status="True" if ready else "False")
    status = replace(pod.status, phase="Running", conditions=(condition,))
    await stage.client.update_status(replace(pod, status=status))
    await stage.settle()


async def add_replica_set(stage: Stage, replicas: int) -> OwnerReference:
    spec = ReplicaSetSpec(replicas=replicas, selector=SELECTOR, template=TEMPLATE)
    metadata = ObjectMeta(name="web", namespace="default")
    return controller_reference(await stage.client.create(ReplicaSet(metadata=metadata, spec=spec)))


async def evict(stage: Stage, name: str) -> None:
    eviction = Eviction(metadata=ObjectMeta(name=name, namespace="default"))
    await stage.client.create_subresource(
        Pod, name, "eviction", eviction, Status, namespace="default"
    )
    await stage.settle()


async def reasons(stage: Stage) -> set[str]:
    return {event.reason for event in (await stage.client.list(Event)).items}


def test_so_many_may_go_that_enough_stay() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_budget(stage, min_available=2)
            assert await numbers(stage) == (0, 0, 2, 0)
            for name in ("a", "b", "c"):
                await add_pod(stage, name)
            await add_pod(stage, "d", ready=False)
            assert await numbers(stage) == (4, 3, 2, 1)
            (condition,) = (await find(stage)).status.conditions
            assert (condition.type, condition.status, condition.reason) == (
                "DisruptionAllowed",
                "True",
                "SufficientPods",
            )

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        pytest.param({"max_unavailable": 1}, (4, 3, 3, 0), id="a-number-may-go"),
        pytest.param({"max_unavailable": "50%"}, (4, 3, 2, 1), id="a-share-may-go"),
        pytest.param({"min_available": "30%"}, (4, 3, 2, 1), id="a-share-stays"),
        pytest.param({"max_unavailable": 9}, (4, 3, 0, 3), id="all-may-go"),
    ],
)
def test_shares_are_of_what_is_wanted_not_of_what_is_there(
    budget: dict[str, int | str], expected: tuple[int, int, int, int]
) -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            owner = await add_replica_set(stage, 4)
            for name in ("a", "b", "c"):
                await add_pod(stage, name, owner=owner)
            await add_budget(stage, **budget)  # type: ignore[arg-type]  # by their names
            assert await numbers(stage) == expected

    asyncio.run(scenario())


def test_evictions_are_paid_for_until_the_pod_is_replaced() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_budget(stage, min_available=1)
            for name in ("a", "b"):
                await add_pod(stage, name)
            await evict(stage, "a")
            assert await numbers(stage) == (2, 1, 1, 0)
            with pytest.raises(TooManyRequests):
                await evict(stage, "b")
            await add_pod(stage, "c")
            await evict(stage, "b")
            await stage.client.delete(Pod, "a", namespace="default", grace_period_seconds=0)
            await stage.settle()
            assert await numbers(stage) == (2, 1, 1, 0)
            with pytest.raises(NotFound):
                await evict(stage, "a")

    asyncio.run(scenario())


def test_a_pod_that_was_let_go_and_stays_counts_again_after_two_minutes() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_budget(stage, min_available=1)
            for name in ("a", "b"):
                await add_pod(stage, name)
            budget = await find(stage)
            disrupted = {"a": Time(stage.clock.now()), "gone": Time(stage.clock.now())}
            status = replace(budget.status, disrupted_pods=disrupted, disruptions_allowed=0)
            await stage.client.update_status(replace(budget, status=status))
            await stage.settle()
            assert await numbers(stage) == (2, 1, 1, 0)
            assert list((await find(stage)).status.disrupted_pods) == ["a"]
            await stage.pass_time(122, steps=2)
            assert await numbers(stage) == (2, 2, 1, 1)
            assert not (await find(stage)).status.disrupted_pods
            assert "NotDeleted" in await reasons(stage)

    asyncio.run(scenario())


def test_what_cannot_be_counted_is_not_disrupted() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            owner = OwnerReference(
                api_version="apps/v1", kind="DaemonSet", name="d", uid="1", controller=True
            )
            await add_pod(stage, "a", owner=owner)
            await add_budget(stage, max_unavailable=1)
            (condition,) = (await find(stage)).status.conditions
            assert (condition.status, condition.reason) == ("False", "SyncFailed")
            assert condition.message == "daemonsets.apps does not implement the scale subresource"
            assert "CalculateExpectedPodCountFailed" in await reasons(stage)

    asyncio.run(scenario())


def test_pods_that_nobody_controls_are_told_of() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_pod(stage, "a")
            await add_budget(stage, max_unavailable=1)
            found = (await stage.client.list(Event)).items
            (event,) = (each for each in found if each.reason == "UnmanagedPods")
            assert event.message.startswith(
                "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:"
                "map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) "
                "were found to be unmanaged."
            )

    asyncio.run(scenario())


def test_a_pod_of_two_budgets_is_told_of() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_budget(stage, min_available=1)
            await add_budget(stage, min_available=1, name="other")
            metadata = ObjectMeta(name="a", namespace="default", labels={"app": "web"})
            await stage.client.create(Pod(metadata=metadata, spec=TEMPLATE.spec))
            await stage.settle()
            assert "MultiplePodDisruptionBudgets" in await reasons(stage)

    asyncio.run(scenario())


def test_a_disruption_that_was_announced_and_did_not_come_is_taken_back() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            pod = await stage.cluster.add_pod("a", node="n1")
            target = PodCondition(
                type="DisruptionTarget",
                status="True",
                reason="PreemptionByScheduler",
                last_transition_time=Time(stage.clock.now()),
            )
            by_kubelet = replace(target, reason="TerminationByKubelet")
            other = await stage.cluster.add_pod("b", node="n1")
            for each, condition in ((pod, target), (other, by_kubelet)):
                status = PodStatus(phase="Running", conditions=(condition,))
                await stage.client.update_status(replace(each, status=status))
            await stage.pass_time(119)
            found = await stage.client.get(Pod, "a", namespace="default")
            assert found.status.conditions[0].status == "True"
            await stage.pass_time(1.1)
            found = await stage.client.get(Pod, "a", namespace="default")
            assert found.status.conditions[0].status == "False"
            found = await stage.client.get(Pod, "b", namespace="default")
            assert found.status.conditions[0].status == "True"

    asyncio.run(scenario())


def test_changes_that_no_budget_sees_cost_nothing() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_budget(stage, min_available=1)
            await add_pod(stage, "a")
            queue = stage.controllers.reconcilers[0].queue
            before = queue.added_count
            patch = {"metadata": {"annotations": {"a": "b"}}}
            await stage.client.patch(Pod, "a", patch, namespace="default")
            await stage.cluster.add_pod("unlabelled")
            await stage.settle()
            assert queue.added_count == before

    asyncio.run(scenario())
