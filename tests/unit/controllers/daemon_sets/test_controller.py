"""Daemon sets from beginning to end, on a real server."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import (
    LABEL_CONTROLLER_REVISION_HASH,
    DaemonSet,
    DaemonSetSpec,
    DaemonSetStatus,
    DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet,
)
from dray.api.core import Node, Pod
from dray.api.meta import ObjectMeta
from dray.controllers.daemon_sets.placement import target_node
from tests.unit.controllers.stage import Stage
from tests.unit.controllers.workloads import (
    NAMESPACE,
    LateStage,
    events_of,
    finish,
    make_ready,
    make_template,
    on_stage,
    pods_of,
    select,
)

NAME = "daemonset-controller"
LABELS = {"app": "agent"}


def make_daemon_set(*, surge: int | str = 0, unavailable: int | str = 1, **spec: Any) -> DaemonSet:
    update = RollingUpdateDaemonSet(max_surge=surge, max_unavailable=unavailable)
    strategy = DaemonSetUpdateStrategy(type="RollingUpdate", rolling_update=update)
    return DaemonSet(
        metadata=ObjectMeta(name="agent", namespace=NAMESPACE),
        spec=DaemonSetSpec(
            selector=select(LABELS),
            **{"template": make_template(LABELS), "update_strategy": strategy, **spec},
        ),
    )


async def add_nodes(stage: Stage, *names: str, labels: dict[str, str] | None = None) -> None:
    """Nodes that are ready, so that nothing marks them any more."""
    for name in names:
        await stage.cluster.add_node(name, labels=labels)
        await stage.client.patch(Node, name, {"spec": {"taints": None}})


async def status_of(stage: Stage) -> DaemonSetStatus:
    await stage.settle()
    return (await stage.client.get(DaemonSet, "agent", namespace=NAMESPACE)).status


async def set_image(stage: Stage, image: str) -> None:
    containers = [{"name": "main", "image": image}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    await stage.client.patch(DaemonSet, "agent", patch, namespace=NAMESPACE)
    await stage.settle()


async def taint(stage: Stage, node: str, effect: str, key: str = "example.com/trouble") -> None:
    taints = [{"key": key, "effect": effect}]
    await stage.client.patch(Node, node, {"spec": {"taints": taints}})
    await stage.settle()


async def nodes_of(stage: Stage) -> list[str]:
    return sorted(target_node(pod) for pod in await pods_of(stage))


async def make_all_ready(stage: Stage) -> None:
    while waiting := [pod for pod in await pods_of(stage) if pod.status.phase == "Pending"]:
        await make_ready(stage, *waiting)


def image_of(pod: Pod) -> str:
    return (pod.spec.containers or ())[0].image


@on_stage(NAME)
async def test_every_node_gets_a_pod_that_asks_for_it(stage: Stage) -> None:
    await add_nodes(stage, "n1", "n2")
    await stage.client.create(make_daemon_set())
    assert await nodes_of(stage) == ["n1", "n2"]
    pod = (await pods_of(stage))[0]
    assert pod.spec.node_name == ""
    assert pod.metadata.owner_references[0].kind == "DaemonSet"
    assert LABEL_CONTROLLER_REVISION_HASH in pod.metadata.labels
    keys = {toleration.key for toleration in pod.spec.tolerations}
    assert {"node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"} <= keys

    await add_nodes(stage, "n3")
    assert await nodes_of(stage) == ["n1", "n2", "n3"]
    await make_all_ready(stage)
    status = await status_of(stage)
    assert (status.desired_number_scheduled, status.current_number_scheduled) == (3, 3)
    assert (status.number_ready, status.number_available, status.number_unavailable) == (3, 3, 0)
    assert (status.updated_number_scheduled, status.observed_generation) == (3, 1)


@on_stage(NAME)
async def test_only_nodes_that_fit_get_one(stage: Stage) -> None:
    await add_nodes(stage, "n1")
    await add_nodes(stage, "n2", labels={"disk": "fast"})
    template = make_template(LABELS, node_selector={"disk": "fast"})
    await stage.client.create(make_daemon_set(template=template))
    assert await nodes_of(stage) == ["n2"]
    await stage.client.patch(Node, "n1", {"metadata": {"labels": {"disk": "fast"}}})
    assert await nodes_of(stage) == ["n1", "n2"]
    await stage.client.patch(Node, "n2", {"metadata": {"labels": {"disk": "slow"}}})
    assert await nodes_of(stage) == ["n1"]
    assert (await status_of(stage)).number_misscheduled == 0


@on_stage(NAME)
async def test_a_taint_keeps_new_pods_away_or_drives_old_ones_out(stage: Stage) -> None:
    await add_nodes(stage, "n1", "n2", "n3")
    await taint(stage, "n1", "NoSchedule")
    await stage.client.create(make_daemon_set())
    assert await nodes_of(stage) == ["n2", "n3"]
    await taint(stage, "n2", "NoSchedule")
    assert await nodes_of(stage) == ["n2", "n3"]
    assert (await status_of(stage)).number_misscheduled == 1
    await taint(stage, "n2", "NoExecute")
    assert await nodes_of(stage) == ["n3"]
    await taint(stage, "n3", "NoExecute", "node.kubernetes.io/not-ready")
    assert await nodes_of(stage) == ["n3"]


@on_stage(NAME)
async def test_a_pod_for_a_node_that_is_gone_is_deleted(stage: Stage) -> None:
    await add_nodes(stage, "n1", "n2")
    await stage.client.create(make_daemon_set())
    assert await nodes_of(stage) == ["n1", "n2"]
    await stage.client.delete(Node, "n1")
    assert await nodes_of(stage) == ["n2"]


@on_stage(NAME)
async def test_a_failed_pod_is_replaced_but_not_all_the_time(stage: Stage) -> None:
    await add_nodes(stage, "n1")
    await stage.client.create(make_daemon_set())
    (pod,) = await pods_of(stage)
    await finish(stage, pod, exit_code=1)
    (again,) = await pods_of(stage)
    assert again.metadata.uid != pod.metadata.uid
    told = (
        f"Found failed daemon pod {NAMESPACE}/{pod.metadata.name} on node n1, will try to kill it"
    )
    assert ("FailedDaemonPod", told) in await events_of(stage, "agent")
    await finish(stage, again, exit_code=1)
    assert [each.metadata.uid for each in await pods_of(stage)] == [again.metadata.uid]
    await stage.pass_time(1)
    (third,) = await pods_of(stage)
    assert third.metadata.uid != again.metadata.uid
    await finish(stage, third)
    assert (await pods_of(stage))[0].metadata.uid != third.metadata.uid


@on_stage(NAME)
async def test_pods_are_replaced_as_many_at_a_time_as_may_be_unavailable(stage: Stage) -> None:
    await add_nodes(stage, "n1", "n2", "n3", "n4")
    await stage.client.create(make_daemon_set(unavailable="50%"))
    await make_all_ready(stage)
    await set_image(stage, "registry.example/main:2")
    seen = []
    while waiting := [pod for pod in await pods_of(stage) if pod.status.phase == "Pending"]:
        pods = await pods_of(stage)
        assert len(pods) == 4
        seen.append(len(waiting))
        assert len(waiting) <= 2
        await make_ready(stage, waiting[0])
    assert seen[0] == 2
    assert {image_of(pod) for pod in await pods_of(stage)} == {"registry.example/main:2"}
    status = await status_of(stage)
    assert (status.updated_number_scheduled, status.number_available) == (4, 4)
    assert status.observed_generation == 2


@on_stage(NAME)
async def test_with_a_surge_the_old_pod_stays_until_the_new_one_is_available(
    stage: Stage,
) -> None:
    await add_nodes(stage, "n1", "n2", "n3")
    await stage.client.create(make_daemon_set(surge=1, unavailable=0))
    await make_all_ready(stage)
    await set_image(stage, "registry.example/main:2")
    while waiting := [pod for pod in await pods_of(stage) if pod.status.phase == "Pending"]:
        pods = await pods_of(stage)
        assert len(pods) == 4
        assert len([pod for pod in pods if pod.status.phase == "Running"]) == 3
        await make_ready(stage, *waiting)
    pods = await pods_of(stage)
    assert [image_of(pod) for pod in pods] == ["registry.example/main:2"] * 3
    assert await nodes_of(stage) == ["n1", "n2", "n3"]


@on_stage(NAME)
async def test_on_delete_old_pods_stay_until_somebody_deletes_them(stage: Stage) -> None:
    await add_nodes(stage, "n1", "n2")
    await stage.client.create(
        make_daemon_set(update_strategy=DaemonSetUpdateStrategy(type="OnDelete"))
    )
    await make_all_ready(stage)
    await set_image(stage, "registry.example/main:2")
    assert {image_of(pod) for pod in await pods_of(stage)} == {"registry.example/main:1"}
    assert (await status_of(stage)).updated_number_scheduled == 0
    pod = (await pods_of(stage))[0]
    await stage.client.delete(Pod, pod.metadata.name, namespace=NAMESPACE)
    images = sorted(image_of(pod) for pod in await pods_of(stage))
    assert images == ["registry.example/main:1", "registry.example/main:2"]
    assert (await status_of(stage)).updated_number_scheduled == 1


@on_stage(NAME)
async def test_a_pod_is_available_once_it_stayed_ready(stage: Stage) -> None:
    await add_nodes(stage, "n1")
    await stage.client.create(make_daemon_set(min_ready_seconds=10))
    await make_all_ready(stage)
    assert (await status_of(stage)).number_available == 0
    await stage.pass_time(10)
    assert (await status_of(stage)).number_available == 1


@on_stage(NAME, kind=LateStage)
async def test_what_is_heard_of_late_is_not_done_twice(stage: Stage) -> None:
    await add_nodes(stage, "n1", "n2", "n3")
    await stage.client.create(make_daemon_set())
    await stage.pass_time(20, steps=40)
    await make_all_ready(stage)
    await set_image(stage, "registry.example/main:2")
    for _ in range(6):
        await stage.pass_time(20, steps=40)
        assert len(await pods_of(stage)) >= 2
        await make_all_ready(stage)
    assert {image_of(pod) for pod in await pods_of(stage)} == {"registry.example/main:2"}
    assert stage.traffic.calls["POST pods"] == 6


@on_stage(NAME)
async def test_nothing_is_written_when_nothing_changed(stage: Stage) -> None:
    await add_nodes(stage, "n1", "n2")
    await stage.client.create(make_daemon_set())
    await make_all_ready(stage)
    stage.traffic.writes()
    heartbeat = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "x"}]}}
    await stage.client.patch(Node, "n1", heartbeat, subresource="status")
    patch = {"metadata": {"annotations": {"note": "1"}}}
    await stage.client.patch(DaemonSet, "agent", patch, namespace=NAMESPACE)
    await stage.settle()
    assert stage.traffic.writes() == {}


@pytest.mark.slow
@on_stage(NAME)
async def test_three_hundred_nodes_take_few_looks(stage: Stage) -> None:
    await stage.client.create(make_daemon_set())
    await add_nodes(stage, *(f"n{number}" for number in range(300)))
    await stage.pass_time(5, steps=5)
    assert len(await pods_of(stage)) == 300
    assert stage.traffic.calls["POST pods"] == 300
