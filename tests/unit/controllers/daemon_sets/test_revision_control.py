"""The history of daemon sets, on a real server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dray.api.apps import (
    LABEL_CONTROLLER_REVISION_HASH,
    ControllerRevision,
    DaemonSet,
    DaemonSetSpec,
    DaemonSetUpdateStrategy,
)
from dray.api.core import Node, Pod, ResourceQuota, ResourceQuotaSpec
from dray.api.defaults import default
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.wire import Time, replace
from dray.client import PatchType
from dray.controllers.daemon_sets.history import hash_of, make_revision, patch_of
from dray.controllers.ownership import controller_of, is_controlled_by
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

NAME = "daemonset-controller"
LABELS = {"app": "agent"}
IMAGE = "registry.example/main"
ON_DELETE = DaemonSetUpdateStrategy(type="OnDelete")


async def begin(stage: Stage, *nodes: str, **spec: Any) -> DaemonSet:
    """A daemon set of the first image, with its pods."""
    for name in nodes or ("n1",):
        await stage.cluster.add_node(name)
        await stage.client.patch(Node, name, {"spec": {"taints": None}})
    made = await stage.client.create(make_daemon_set(**spec))
    await get_ready(stage)
    return made


def make_daemon_set(**spec: Any) -> DaemonSet:
    return DaemonSet(
        metadata=ObjectMeta(name="agent", namespace=NAMESPACE),
        spec=DaemonSetSpec(selector=select(LABELS), template=make_template(LABELS), **spec),
    )


async def get_ready(stage: Stage) -> None:
    while waiting := [pod for pod in await pods_of(stage) if pod.status.phase == "Pending"]:
        await make_ready(stage, *waiting)


async def set_image(stage: Stage, number: int) -> None:
    containers = [{"name": "main", "image": f"{IMAGE}:{number}"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    await stage.client.patch(DaemonSet, "agent", patch, namespace=NAMESPACE)
    await get_ready(stage)


async def daemon_set_of(stage: Stage) -> DaemonSet:
    await stage.settle()
    return await stage.client.get(DaemonSet, "agent", namespace=NAMESPACE)


async def revisions_of(stage: Stage) -> list[ControllerRevision]:
    """The lowest number first."""
    await stage.settle()
    found = (await stage.client.list(ControllerRevision, namespace=NAMESPACE)).items
    return sorted(found, key=lambda each: each.revision)


async def images_of(stage: Stage) -> list[tuple[int, str]]:
    """The number of each revision with the image it is of."""
    return [(each.revision, image_in(each)) for each in await revisions_of(stage)]


def image_in(revision: ControllerRevision) -> str:
    text = bytes(revision.data or b"").decode()
    return text.partition(f"{IMAGE}:")[2].partition('"')[0]


def marks(pods: Sequence[Pod]) -> list[str]:
    return [pod.metadata.labels[LABEL_CONTROLLER_REVISION_HASH] for pod in pods]


@on_stage(NAME)
async def test_every_template_has_a_revision_and_every_pod_says_of_which_it_is(
    stage: Stage,
) -> None:
    await begin(stage)
    (first,) = await revisions_of(stage)
    assert first.metadata.name == f"agent-{hash_of(first)}"
    assert is_controlled_by(first, await daemon_set_of(stage))
    assert marks(await pods_of(stage)) == [hash_of(first)]
    await set_image(stage, 2)
    assert await images_of(stage) == [(1, "1"), (2, "2")]
    assert marks(await pods_of(stage)) == [hash_of((await revisions_of(stage))[1])]
    assert (await daemon_set_of(stage)).status.collision_count is None


@on_stage(NAME)
async def test_a_template_that_is_returned_to_gets_a_new_number(stage: Stage) -> None:
    await begin(stage)
    await set_image(stage, 2)
    await set_image(stage, 3)
    first = (await revisions_of(stage))[0]
    await stage.client.patch(
        DaemonSet,
        "agent",
        bytes(first.data or b""),
        namespace=NAMESPACE,
        type=PatchType.STRATEGIC,
    )
    await get_ready(stage)
    assert await images_of(stage) == [(2, "2"), (3, "3"), (4, "1")]
    again = (await revisions_of(stage))[-1]
    assert (again.metadata.uid, again.data) == (first.metadata.uid, first.data)
    (pod,) = await pods_of(stage)
    assert (pod.spec.containers or ())[0].image == f"{IMAGE}:1"
    assert marks([pod]) == [hash_of(first)]


@on_stage(NAME)
async def test_as_many_old_revisions_stay_as_the_limit_says(stage: Stage) -> None:
    await begin(stage, revision_history_limit=2)
    for number in (2, 3, 4, 5):
        await set_image(stage, number)
    assert await images_of(stage) == [(3, "3"), (4, "4"), (5, "5")]
    patch = {"spec": {"revisionHistoryLimit": 0}}
    await stage.client.patch(DaemonSet, "agent", patch, namespace=NAMESPACE)
    assert await images_of(stage) == [(5, "5")]


@on_stage(NAME)
async def test_a_revision_stays_while_there_is_a_pod_of_it(stage: Stage) -> None:
    await begin(stage, revision_history_limit=0, update_strategy=ON_DELETE)
    await set_image(stage, 2)
    await set_image(stage, 3)
    assert await images_of(stage) == [(1, "1"), (3, "3")]
    (pod,) = await pods_of(stage)
    await stage.client.delete(Pod, pod.metadata.name, namespace=NAMESPACE, grace_period_seconds=0)
    await get_ready(stage)
    assert await images_of(stage) == [(3, "3")]


@on_stage(NAME)
async def test_a_deleted_revision_of_now_is_made_again(stage: Stage) -> None:
    await begin(stage)
    await set_image(stage, 2)
    first, second = await revisions_of(stage)
    pods = await pods_of(stage)
    await stage.client.delete(ControllerRevision, second.metadata.name, namespace=NAMESPACE)
    again = (await revisions_of(stage))[-1]
    assert again.metadata.uid != second.metadata.uid
    assert again.metadata.name == second.metadata.name
    assert await pods_of(stage) == pods
    await stage.client.delete(ControllerRevision, first.metadata.name, namespace=NAMESPACE)
    assert await images_of(stage) == [(2, "2")]


@on_stage(NAME)
async def test_a_name_that_is_taken_by_something_else_is_counted_as_a_collision(
    stage: Stage,
) -> None:
    made = await begin(stage)
    await set_image(stage, 2)
    wanted = (await revisions_of(stage))[1].metadata.name
    await set_image(stage, 1)
    await stage.client.delete(ControllerRevision, wanted, namespace=NAMESPACE)
    metadata = ObjectMeta(name=wanted, namespace=NAMESPACE)
    await stage.client.create(ControllerRevision(metadata=metadata, data=patch_of(made)))
    await set_image(stage, 2)
    assert (await daemon_set_of(stage)).status.collision_count == 1
    own = [each for each in await revisions_of(stage) if controller_of(each) is not None]
    assert [(each.revision, image_in(each)) for each in own] == [(3, "1"), (4, "2")]
    assert own[1].metadata.name != wanted
    assert marks(await pods_of(stage)) == [hash_of(own[1])]


@on_stage(NAME)
async def test_the_revision_of_a_former_daemon_set_is_not_taken_from_it(stage: Stage) -> None:
    defaulted = default(make_daemon_set(), now=Time(stage.clock.now()))
    former = replace(defaulted, metadata=replace(defaulted.metadata, uid="former"))
    left = await stage.client.create(make_revision(former, 1))
    made = await begin(stage)
    assert (await daemon_set_of(stage)).status.collision_count == 1
    own = [each for each in await revisions_of(stage) if is_controlled_by(each, made)]
    assert [(each.revision, each.data) for each in own] == [(1, left.data)]
    assert marks(await pods_of(stage)) == [hash_of(own[0])] != [hash_of(left)]


@on_stage(NAME, "resourcequota-controller")
async def test_a_revision_that_is_refused_is_told_of_and_pods_stay(stage: Stage) -> None:
    hard = {"count/controllerrevisions.apps": Quantity.parse("1")}
    quota = ResourceQuota(metadata=ObjectMeta(name="few", namespace=NAMESPACE))
    await stage.client.create(replace(quota, spec=ResourceQuotaSpec(hard=hard)))
    await stage.settle()
    await begin(stage)
    pods = await pods_of(stage)
    await set_image(stage, 2)
    ((_, message),) = [
        told for told in await events_of(stage, "agent") if told[0] == "FailedCreate"
    ]
    assert message.startswith('Error creating revision "agent-')
    assert "exceeded quota: few" in message
    assert (await images_of(stage), await pods_of(stage)) == ([(1, "1")], pods)
    await stage.client.delete(ResourceQuota, "few", namespace=NAMESPACE)
    await stage.pass_time(10, steps=10)
    await get_ready(stage)
    assert await images_of(stage) == [(1, "1"), (2, "2")]


@on_stage(NAME, "garbage-collector-controller")
async def test_what_is_left_behind_is_adopted_and_pods_stay(stage: Stage) -> None:
    await begin(stage)
    await set_image(stage, 2)
    pods, names = await pods_of(stage), [each.metadata.name for each in await revisions_of(stage)]
    template = (await daemon_set_of(stage)).spec.template
    await stage.client.delete(DaemonSet, "agent", namespace=NAMESPACE, propagation_policy="Orphan")
    assert [controller_of(each) for each in await revisions_of(stage)] == [None, None]
    again = replace(make_daemon_set(), spec=replace(make_daemon_set().spec, template=template))
    made = await stage.client.create(again)
    revisions = await revisions_of(stage)
    assert [each.metadata.name for each in revisions] == names
    assert all(is_controlled_by(each, made) for each in revisions)
    assert [pod.metadata.uid for pod in await pods_of(stage)] == [pod.metadata.uid for pod in pods]
    assert (await daemon_set_of(stage)).status.updated_number_scheduled == 1


@on_stage(NAME)
async def test_an_adopted_revision_without_a_hash_is_known_by_its_name(stage: Stage) -> None:
    metadata = ObjectMeta(name="mine", namespace=NAMESPACE, labels=LABELS)
    data = patch_of(default(make_daemon_set(), now=Time(stage.clock.now())))
    await stage.client.create(ControllerRevision(metadata=metadata, data=data, revision=7))
    await begin(stage)
    (adopted,) = await revisions_of(stage)
    assert (adopted.metadata.name, hash_of(adopted), adopted.revision) == ("mine", "mine", 7)
    assert marks(await pods_of(stage)) == ["mine"]


@on_stage(NAME)
async def test_of_equal_revisions_one_stays_and_takes_over_the_pods_of_the_others(
    stage: Stage,
) -> None:
    await begin(stage, "n1", "n2", update_strategy=ON_DELETE)
    old, other = await pods_of(stage)
    await set_image(stage, 2)
    await stage.client.delete(Pod, other.metadata.name, namespace=NAMESPACE, grace_period_seconds=0)
    await get_ready(stage)
    first, second = await revisions_of(stage)
    assert sorted(marks(await pods_of(stage))) == sorted([hash_of(first), hash_of(second)])
    labels = {**LABELS, LABEL_CONTROLLER_REVISION_HASH: "twin"}
    metadata = ObjectMeta(name="twin", namespace=NAMESPACE, labels=labels)
    await stage.client.create(ControllerRevision(metadata=metadata, data=second.data, revision=5))
    revisions = await revisions_of(stage)
    assert [each.metadata.name for each in revisions] == [first.metadata.name, "twin"]
    found = {pod.metadata.uid: marks([pod])[0] for pod in await pods_of(stage)}
    assert found.pop(old.metadata.uid) == hash_of(first)
    assert list(found.values()) == ["twin"]


@on_stage(NAME)
async def test_an_equal_revision_that_somebody_holds_is_in_nobodys_way(stage: Stage) -> None:
    await begin(stage)
    (first,) = await revisions_of(stage)
    labels = {**LABELS, LABEL_CONTROLLER_REVISION_HASH: "twin"}
    metadata = ObjectMeta(
        name="twin", namespace=NAMESPACE, labels=labels, finalizers=("example.com/held",)
    )
    await stage.client.create(ControllerRevision(metadata=metadata, data=first.data))
    await stage.settle()
    twin = await stage.client.get(ControllerRevision, "twin", namespace=NAMESPACE)
    assert twin.metadata.deletion_timestamp is not None
    await set_image(stage, 2)
    await set_image(stage, 1)
    assert marks(await pods_of(stage)) == [hash_of(first)]
    assert (await daemon_set_of(stage)).status.number_available == 1


@on_stage(NAME)
async def test_an_orphan_that_is_on_its_way_out_is_a_collision(stage: Stage) -> None:
    defaulted = default(make_daemon_set(), now=Time(stage.clock.now()))
    revision = make_revision(defaulted, 1)
    metadata = replace(revision.metadata, owner_references=(), finalizers=("example.com/held",))
    orphan = await stage.client.create(replace(revision, metadata=metadata))
    await stage.client.delete(ControllerRevision, orphan.metadata.name, namespace=NAMESPACE)
    await begin(stage)
    daemon_set = await daemon_set_of(stage)
    assert daemon_set.status.collision_count == 1
    assert daemon_set.status.number_available == 1
    names = {each.metadata.name for each in await revisions_of(stage)}
    assert len(names - {orphan.metadata.name}) == 1


@on_stage(NAME, "garbage-collector-controller")
async def test_revisions_go_with_their_daemon_set(stage: Stage) -> None:
    await begin(stage)
    await set_image(stage, 2)
    await stage.client.delete(DaemonSet, "agent", namespace=NAMESPACE)
    assert await revisions_of(stage) == []


class ForgetfulStage(LateStage):
    """A stage where controllers hear of revisions even later than of anything else."""

    def seconds_late(self, plural: str) -> float:
        return 5.0 if plural == "controllerrevisions" else super().seconds_late(plural)


@on_stage(NAME, kind=ForgetfulStage)
async def test_an_orphan_that_was_not_seen_yet_is_no_collision(stage: Stage) -> None:
    defaulted = default(make_daemon_set(), now=Time(stage.clock.now()))
    revision = make_revision(defaulted, 1)
    orphan = replace(revision, metadata=replace(revision.metadata, owner_references=()))
    await stage.client.create(orphan)
    await begin(stage)
    await stage.pass_time(20, steps=40)
    (adopted,) = await revisions_of(stage)
    daemon_set = await daemon_set_of(stage)
    assert is_controlled_by(adopted, daemon_set)
    assert daemon_set.status.collision_count is None


@on_stage(NAME, kind=ForgetfulStage)
async def test_what_is_heard_of_late_is_not_written_twice(stage: Stage) -> None:
    await begin(stage)
    for number in (2, 3, 2):
        await stage.pass_time(20, steps=40)
        await get_ready(stage)
        await set_image(stage, number)
    await stage.pass_time(20, steps=40)
    assert await images_of(stage) == [(1, "1"), (3, "3"), (4, "2")]
    assert stage.traffic.calls["POST controllerrevisions"] == 3
