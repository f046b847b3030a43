"""Rollouts from beginning to end, on a real server, with replica sets that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import (
    Deployment,
    DeploymentSpec,
    DeploymentStatus,
    DeploymentStrategy,
    ReplicaSet,
    RollingUpdateDeployment,
)
from dray.api.core import Pod
from dray.api.meta import ObjectMeta
from dray.controllers.deployments.family import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
)
from tests.unit.controllers.stage import Stage
from tests.unit.controllers.workloads import (
    NAMESPACE,
    LateStage,
    events_of,
    make_ready,
    make_template,
    on_stage,
    pods_of,
    select,
)

NAMES = ("deployment-controller", "replicaset-controller")
LABELS = {"app": "web"}


def rolling(surge: int | str, unavailable: int | str) -> DeploymentStrategy:
    update = RollingUpdateDeployment(max_surge=surge, max_unavailable=unavailable)
    return DeploymentStrategy(type="RollingUpdate", rolling_update=update)


def make_deployment(replicas: int = 3, **spec: Any) -> Deployment:
    return Deployment(
        metadata=ObjectMeta(name="web", namespace=NAMESPACE),
        spec=DeploymentSpec(
            replicas=replicas,
            selector=select(LABELS),
            **{"template": make_template(LABELS), **spec},
        ),
    )


async def get(stage: Stage) -> Deployment:
    await stage.settle()
    return await stage.client.get(Deployment, "web", namespace=NAMESPACE)


async def change(stage: Stage, **spec: Any) -> None:
    await stage.client.patch(Deployment, "web", {"spec": spec}, namespace=NAMESPACE)
    await stage.settle()


async def set_image(stage: Stage, image: str) -> None:
    containers = [{"name": "main", "image": image}]
    await change(stage, template={"spec": {"containers": containers}})


async def sizes(stage: Stage) -> dict[str, int]:
    """Wanted sizes by the tag of the image."""
    await stage.settle()
    return {
        image_of(each).rpartition(":")[2]: each.spec.replicas or 0
        for each in (await stage.client.list(ReplicaSet)).items
    }


async def set_of(stage: Stage, tag: str) -> ReplicaSet:
    await stage.settle()
    sets = (await stage.client.list(ReplicaSet)).items
    return next(each for each in sets if image_of(each).endswith(f":{tag}"))


def image_of(obj: ReplicaSet | Pod) -> str:
    spec = obj.spec.template.spec if isinstance(obj, ReplicaSet) else obj.spec
    return (spec.containers or ())[0].image


async def make_all_ready(stage: Stage) -> None:
    """Nodes at work: whatever is there gets ready, until nothing new comes."""
    while waiting := [pod for pod in await pods_of(stage) if pod.status.phase == "Pending"]:
        await make_ready(stage, *waiting)


def conditions_of(status: DeploymentStatus) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in status.conditions}


@on_stage(*NAMES)
async def test_a_new_deployment_makes_a_replica_set_and_is_complete_when_all_is_available(
    stage: Stage,
) -> None:
    made = await stage.client.create(make_deployment())
    replica_set = await set_of(stage, "1")
    mark = replica_set.metadata.labels["pod-template-hash"]
    assert replica_set.metadata.name == f"web-{mark}"
    assert replica_set.metadata.owner_references[0].uid == made.metadata.uid
    assert replica_set.spec.selector == select(LABELS | {"pod-template-hash": mark})
    assert replica_set.metadata.annotations == {
        REVISION: "1",
        DESIRED_REPLICAS: "3",
        MAX_REPLICAS: "4",
    }
    deployment = await get(stage)
    assert deployment.metadata.annotations[REVISION] == "1"
    assert deployment.metadata.generation == 1
    status = deployment.status
    assert (status.replicas, status.updated_replicas, status.unavailable_replicas) == (3, 3, 3)
    assert conditions_of(status) == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("True", "ReplicaSetUpdated"),
    }
    await make_all_ready(stage)
    status = (await get(stage)).status
    assert (status.ready_replicas, status.available_replicas) == (3, 3)
    assert (status.unavailable_replicas, status.observed_generation) == (0, 1)
    assert conditions_of(status) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    messages = {each.type: each.message for each in status.conditions}
    name = replica_set.metadata.name
    assert messages["Progressing"] == f'ReplicaSet "{name}" has successfully progressed.'
    assert await events_of(stage, "web") == [
        ("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 3")
    ]


@on_stage(*NAMES)
async def test_a_rolling_update_never_leaves_its_limits(stage: Stage) -> None:
    await stage.client.create(make_deployment(4, strategy=rolling(1, 1)))
    await make_all_ready(stage)
    await set_image(stage, "registry.example/main:2")
    steps = [await sizes(stage)]
    while waiting := [pod for pod in await pods_of(stage) if pod.status.phase == "Pending"]:
        pods = await pods_of(stage)
        ready = [pod for pod in pods if pod.status.phase == "Running"]
        assert len(ready) >= 3
        assert len(pods) <= 5
        await make_ready(stage, waiting[0])
        steps.append(await sizes(stage))
    assert steps[0] == {"1": 3, "2": 2}
    assert steps[-1] == {"1": 0, "2": 4}
    assert (await get(stage)).metadata.annotations[REVISION] == "2"
    assert conditions_of((await get(stage)).status)["Progressing"][1] == "NewReplicaSetAvailable"


@pytest.mark.parametrize(
    ("surge", "unavailable", "first"),
    [
        pytest.param("25%", "25%", {"1": 8, "2": 5}, id="shares"),
        pytest.param(0, 3, {"1": 7, "2": 3}, id="no-surge"),
        pytest.param("100%", 0, {"1": 10, "2": 10}, id="all-beside"),
    ],
)
def test_the_first_step_is_as_large_as_it_may_be(
    surge: int | str, unavailable: int | str, first: dict[str, int]
) -> None:
    @on_stage(*NAMES)
    async def act(stage: Stage) -> None:
        await stage.client.create(make_deployment(10, strategy=rolling(surge, unavailable)))
        await make_all_ready(stage)
        await set_image(stage, "registry.example/main:2")
        assert await sizes(stage) == first
        await make_all_ready(stage)
        assert await sizes(stage) == {"1": 0, "2": 10}

    act()


@on_stage(*NAMES)
async def test_recreate_waits_for_the_last_old_pod_to_go(stage: Stage) -> None:
    await stage.cluster.add_node("n1")
    template = make_template(LABELS, node_name="n1")
    strategy = DeploymentStrategy(type="Recreate")
    await stage.client.create(make_deployment(2, strategy=strategy, template=template))
    await make_all_ready(stage)
    old = await pods_of(stage)
    await set_image(stage, "registry.example/main:2")
    assert await sizes(stage) == {"1": 0}
    assert all(pod.metadata.deletion_timestamp for pod in await pods_of(stage))
    for pod in old:
        assert "2" not in await sizes(stage)
        await stage.client.delete(
            Pod, pod.metadata.name, namespace=NAMESPACE, grace_period_seconds=0
        )
    assert await sizes(stage) == {"1": 0, "2": 2}


@on_stage(*NAMES)
async def test_going_back_reuses_the_old_replica_set_under_a_new_revision(stage: Stage) -> None:
    """What `kubectl rollout undo` does is to patch the template with an old one."""
    await stage.client.create(make_deployment(1))
    await make_all_ready(stage)
    first = await set_of(stage, "1")
    await set_image(stage, "registry.example/main:2")
    await make_all_ready(stage)
    await set_image(stage, "registry.example/main:1")
    await make_all_ready(stage)
    again = await set_of(stage, "1")
    assert again.metadata.uid == first.metadata.uid
    assert again.metadata.annotations[REVISION] == "3"
    assert again.metadata.annotations[REVISION_HISTORY] == "1"
    assert await sizes(stage) == {"1": 1, "2": 0}
    assert (await get(stage)).metadata.annotations[REVISION] == "3"


@on_stage(*NAMES)
async def test_a_restart_is_a_rollout(stage: Stage) -> None:
    """What `kubectl rollout restart` does is to annotate the template."""
    await stage.client.create(make_deployment(2))
    await make_all_ready(stage)
    before = {pod.metadata.uid for pod in await pods_of(stage)}
    restarted = {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
    await change(stage, template={"metadata": {"annotations": restarted}})
    await make_all_ready(stage)
    after = {pod.metadata.uid for pod in await pods_of(stage)}
    assert len(after) == 2
    assert not before & after


@on_stage(*NAMES)
async def test_a_paused_deployment_is_scaled_but_not_rolled_out(stage: Stage) -> None:
    await stage.client.create(make_deployment(2))
    await make_all_ready(stage)
    await change(stage, paused=True)
    await set_image(stage, "registry.example/main:2")
    await change(stage, replicas=4)
    assert await sizes(stage) == {"1": 4}
    status = (await get(stage)).status
    assert conditions_of(status)["Progressing"] == ("Unknown", "DeploymentPaused")
    await change(stage, paused=False)
    assert set(await sizes(stage)) == {"1", "2"}
    await make_all_ready(stage)
    assert await sizes(stage) == {"1": 0, "2": 4}


@on_stage(*NAMES)
async def test_scaling_in_the_middle_of_a_rollout_keeps_proportions(stage: Stage) -> None:
    await stage.client.create(make_deployment(10, strategy=rolling(3, 2)))
    await make_all_ready(stage)
    await set_image(stage, "registry.example/main:2")
    assert await sizes(stage) == {"1": 8, "2": 5}
    await change(stage, replicas=30)
    found = await sizes(stage)
    assert sum(found.values()) == 33
    assert found == {"1": 20, "2": 13}
    for each in (await stage.client.list(ReplicaSet)).items:
        assert each.metadata.annotations[DESIRED_REPLICAS] == "30"
        assert each.metadata.annotations[MAX_REPLICAS] == "33"


@on_stage(*NAMES)
async def test_scaling_without_a_rollout_scales_the_one_there_is(stage: Stage) -> None:
    await stage.client.create(make_deployment(2))
    await make_all_ready(stage)
    await change(stage, replicas=5)
    assert await sizes(stage) == {"1": 5}
    await change(stage, replicas=0)
    assert await sizes(stage) == {"1": 0}
    assert await pods_of(stage) == []


@on_stage(*NAMES)
async def test_a_rollout_that_does_not_get_on_is_said_to_have_failed(stage: Stage) -> None:
    await stage.client.create(make_deployment(2, progress_deadline_seconds=60))
    await stage.pass_time(59)
    status = (await get(stage)).status
    assert conditions_of(status)["Progressing"] == ("True", "ReplicaSetUpdated")
    await stage.pass_time(3)
    status = (await get(stage)).status
    assert conditions_of(status)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    name = (await set_of(stage, "1")).metadata.name
    messages = {each.type: each.message for each in status.conditions}
    assert messages["Progressing"] == f'ReplicaSet "{name}" has timed out progressing.'
    await make_all_ready(stage)
    status = (await get(stage)).status
    assert conditions_of(status)["Progressing"] == ("True", "NewReplicaSetAvailable")


@on_stage(*NAMES)
async def test_progress_gives_a_rollout_more_time(stage: Stage) -> None:
    await stage.client.create(make_deployment(2, progress_deadline_seconds=60))
    first, _second = await pods_of(stage)
    await stage.pass_time(50)
    await make_ready(stage, first)
    await stage.pass_time(50)
    assert conditions_of((await get(stage)).status)["Progressing"][0] == "True"
    await stage.pass_time(15)
    assert conditions_of((await get(stage)).status)["Progressing"][0] == "False"


@on_stage(*NAMES)
async def test_pods_have_to_stay_ready_before_others_go(stage: Stage) -> None:
    await stage.client.create(make_deployment(1, min_ready_seconds=10, strategy=rolling(1, 0)))
    await make_all_ready(stage)
    await stage.pass_time(11)
    await set_image(stage, "registry.example/main:2")
    await make_all_ready(stage)
    assert await sizes(stage) == {"1": 1, "2": 1}
    await stage.pass_time(11)
    assert await sizes(stage) == {"1": 0, "2": 1}


@on_stage(*NAMES)
async def test_only_so_many_former_replica_sets_are_kept(stage: Stage) -> None:
    await stage.client.create(make_deployment(1, revision_history_limit=2))
    await make_all_ready(stage)
    for tag in range(2, 6):
        await set_image(stage, f"registry.example/main:{tag}")
        await make_all_ready(stage)
    assert set(await sizes(stage)) == {"3", "4", "5"}


@on_stage(*NAMES)
async def test_annotations_of_the_deployment_come_to_its_newest_replica_set(stage: Stage) -> None:
    """`kubectl rollout history` shows the cause of a change from there."""
    await stage.client.create(make_deployment(1))
    await make_all_ready(stage)
    cause = {"kubernetes.io/change-cause": "because"}
    patch = {"metadata": {"annotations": cause}}
    await stage.client.patch(Deployment, "web", patch, namespace=NAMESPACE)
    annotations = (await set_of(stage, "1")).metadata.annotations
    assert annotations["kubernetes.io/change-cause"] == "because"
    assert annotations[REVISION] == "1"


@on_stage(*NAMES)
async def test_a_name_that_is_taken_leads_to_another(stage: Stage) -> None:
    await stage.client.create(make_deployment(1))
    taken = await set_of(stage, "1")
    await stage.client.delete(Deployment, "web", namespace=NAMESPACE)
    await stage.client.delete(ReplicaSet, taken.metadata.name, namespace=NAMESPACE)
    await stage.settle()
    other = ReplicaSet(
        metadata=ObjectMeta(name=taken.metadata.name, namespace=NAMESPACE),
        spec=taken.spec,
    )
    await stage.client.create(other)
    await stage.settle()
    await stage.client.create(make_deployment(1))
    await stage.pass_time(1)
    deployment = await get(stage)
    assert deployment.status.collision_count == 1
    names = {each.metadata.name for each in (await stage.client.list(ReplicaSet)).items}
    assert len(names) == 2


@on_stage(*NAMES)
async def test_what_a_replica_set_fails_at_its_deployment_says(stage: Stage) -> None:
    template = make_template(LABELS, priority_class_name="none")
    await stage.client.create(make_deployment(1, template=template))
    status = (await get(stage)).status
    assert conditions_of(status)["ReplicaFailure"] == ("True", "FailedCreate")


@on_stage(*NAMES, kind=LateStage)
async def test_what_is_heard_of_late_is_not_done_twice(stage: Stage) -> None:
    await stage.client.create(make_deployment(4, strategy=rolling(1, 1)))
    for tag in ("2", "3"):
        for _ in range(8):
            await stage.pass_time(20, steps=40)
            pods = await pods_of(stage)
            assert len([pod for pod in pods if not pod.metadata.deletion_timestamp]) <= 5
            await make_ready(stage, *(pod for pod in pods if pod.status.phase == "Pending"))
        await set_image(stage, f"registry.example/main:{tag}")
    for _ in range(8):
        await stage.pass_time(20, steps=40)
        await make_ready(
            stage, *(pod for pod in await pods_of(stage) if pod.status.phase == "Pending")
        )
    assert await sizes(stage) == {"1": 0, "2": 0, "3": 4}
    assert stage.traffic.calls["POST replicasets"] == 3
    assert stage.traffic.calls["POST pods"] == 12


@on_stage(*NAMES)
async def test_nothing_is_written_when_nothing_changed(stage: Stage) -> None:
    await stage.client.create(make_deployment(2))
    await make_all_ready(stage)
    await stage.settle()
    stage.traffic.writes()
    pod = (await pods_of(stage))[0]
    patch = {"metadata": {"annotations": {"note": "1"}}}
    await stage.client.patch(Pod, pod.metadata.name, patch, namespace=NAMESPACE)
    await stage.settle()
    assert stage.traffic.writes() == {}
