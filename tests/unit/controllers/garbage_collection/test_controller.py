"""What becomes of objects whose owners are deleted."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.core import ConfigMap, Event, Node, Pod
from dray.api.meta import Object, ObjectMeta, OwnerReference
from dray.api.scheme import kinds
from dray.api.wire import replace
from dray.controllers.controllers import Controllers
from dray.entropy import SeededEntropy
from dray.errors import NotFound
from tests.unit.controllers.custom_resources import ANIMAL, animal, define_animals
from tests.unit.controllers.stage import Stage

NAME = "garbage-collector-controller"


def owned_by(owner: Object, *, blocks: bool = False) -> OwnerReference:
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        block_owner_deletion=blocks or None,
    )


async def add(
    stage: Stage,
    name: str,
    *owners: OwnerReference,
    namespace: str = "default",
    finalizers: tuple[str, ...] = (),
) -> ConfigMap:
    metadata = ObjectMeta(
        name=name, namespace=namespace, owner_references=owners, finalizers=finalizers
    )
    made = await stage.client.create(ConfigMap(metadata=metadata))
    await stage.settle()
    return made


async def find(stage: Stage, name: str, namespace: str = "default") -> ConfigMap | None:
    try:
        return await stage.client.get(ConfigMap, name, namespace=namespace)
    except NotFound:
        return None


async def delete(stage: Stage, name: str, policy: str = "") -> None:
    await stage.client.delete(ConfigMap, name, namespace="default", propagation_policy=policy)
    await stage.settle()


def test_dependents_follow_their_owner_and_theirs_follow_them() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            top = await add(stage, "top")
            middle = await add(stage, "middle", owned_by(top))
            await add(stage, "bottom", owned_by(middle))
            await add(stage, "other")
            await delete(stage, "top", "Background")
            assert await find(stage, "middle") is None
            assert await find(stage, "bottom") is None
            assert await find(stage, "other") is not None

    asyncio.run(scenario())


def test_an_object_that_has_another_owner_stays_and_forgets_the_one_that_is_gone() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            first, second = await add(stage, "first"), await add(stage, "second")
            await add(stage, "shared", owned_by(first), owned_by(second))
            await delete(stage, "first")
            shared = await find(stage, "shared")
            assert shared is not None
            assert shared.metadata.owner_references == (owned_by(second),)
            await delete(stage, "second")
            assert await find(stage, "shared") is None

    asyncio.run(scenario())


def test_in_the_foreground_an_owner_waits_for_those_that_block_it() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            owner = await add(stage, "owner")
            await add(stage, "blocks", owned_by(owner, blocks=True), finalizers=("a.example/held",))
            await add(stage, "does-not", owned_by(owner), finalizers=("a.example/held",))
            await delete(stage, "owner", "Foreground")
            waiting = await find(stage, "owner")
            assert waiting is not None
            assert waiting.metadata.finalizers == ("foregroundDeletion",)
            for name in ("blocks", "does-not"):
                dependent = await find(stage, name)
                assert dependent is not None
                assert dependent.metadata.deletion_timestamp is not None
            await stage.client.patch(
                ConfigMap, "blocks", {"metadata": {"finalizers": None}}, namespace="default"
            )
            await stage.settle()
            assert await find(stage, "blocks") is None
            assert await find(stage, "owner") is None
            assert await find(stage, "does-not") is not None

    asyncio.run(scenario())


def test_the_foreground_reaches_down_to_dependents_of_dependents() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            top = await add(stage, "top")
            middle = await add(stage, "middle", owned_by(top, blocks=True))
            await add(
                stage, "bottom", owned_by(middle, blocks=True), finalizers=("a.example/held",)
            )
            await delete(stage, "top", "Foreground")
            found = await find(stage, "middle")
            assert found is not None
            assert found.metadata.finalizers == ("foregroundDeletion",)
            assert await find(stage, "top") is not None
            await stage.client.patch(
                ConfigMap, "bottom", {"metadata": {"finalizers": None}}, namespace="default"
            )
            await stage.settle()
            for name in ("bottom", "middle", "top"):
                assert await find(stage, name) is None

    asyncio.run(scenario())


def test_owners_in_a_circle_do_not_wait_for_each_other_for_ever() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            first = await add(stage, "first")
            second = await add(stage, "second", owned_by(first, blocks=True))
            owners = (owned_by(second, blocks=True),)
            circle = replace(first, metadata=replace(first.metadata, owner_references=owners))
            await stage.client.update(circle)
            await stage.settle()
            await delete(stage, "first", "Foreground")
            assert await find(stage, "first") is None
            assert await find(stage, "second") is None

    asyncio.run(scenario())


def test_orphans_stay_and_forget_their_owner() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            owner = await add(stage, "owner")
            await add(stage, "left", owned_by(owner))
            await delete(stage, "owner", "Orphan")
            assert await find(stage, "owner") is None
            left = await find(stage, "left")
            assert left is not None
            assert left.metadata.owner_references == ()
            assert left.metadata.deletion_timestamp is None

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"uid": "00000000-0000-0000-0000-000000000000"}, id="another-uid"),
        pytest.param({"name": "nobody"}, id="another-name"),
        pytest.param({"kind": "Secret"}, id="another-kind"),
    ],
)
def test_an_object_whose_owner_never_was_is_deleted(changes: dict[str, str]) -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            owner = await add(stage, "owner")
            await add(stage, "stray", replace(owned_by(owner), **changes))
            assert await find(stage, "stray") is None
            assert await find(stage, "owner") is not None

    asyncio.run(scenario())


def test_an_owner_in_another_namespace_is_none_and_that_is_said() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_namespace("other")
            owner = await add(stage, "owner", namespace="other")
            await add(stage, "stray", owned_by(owner))
            assert await find(stage, "stray") is None
            (event,) = (await stage.client.list(Event, namespace="default")).items
            assert (event.type, event.reason) == ("Warning", "OwnerRefInvalidNamespace")
            assert event.message == (
                f"ownerRef [v1/ConfigMap, namespace: default, name: owner, "
                f'uid: {owner.metadata.uid}] does not exist in namespace "default"'
            )

    asyncio.run(scenario())


def test_an_owner_of_a_kind_that_is_not_served_keeps_its_dependents() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            owner = OwnerReference(api_version="a.example/v1", kind="Thing", name="a", uid="1")
            await add(stage, "kept", owner)
            await stage.pass_time(600, steps=10)
            assert await find(stage, "kept") is not None

    asyncio.run(scenario())


def test_objects_without_a_namespace_own_objects_in_any() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            node = await stage.cluster.add_node("n1")
            await add(stage, "of-the-node", owned_by(node))
            assert await find(stage, "of-the-node") is not None
            await stage.client.delete(Node, "n1")
            await stage.settle()
            assert await find(stage, "of-the-node") is None

    asyncio.run(scenario())


def test_kinds_that_users_define_own_and_are_owned() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await define_animals(stage.client)
            await stage.settle()
            dog = await stage.client.create(animal("dog"))
            await stage.settle()
            flea = animal("flea")
            flea = replace(flea, metadata=replace(flea.metadata, owner_references=(owned_by(dog),)))
            await stage.client.create(flea)
            await add(stage, "bone", owned_by(dog))
            await stage.client.delete(ANIMAL, "dog", namespace="default")
            await stage.settle()
            assert await find(stage, "bone") is None
            assert (await stage.client.list(ANIMAL)).items == ()
            await stage.client.delete(CustomResourceDefinition, "animals.zoo.example")
            await stage.settle()

    asyncio.run(scenario())


def test_a_pod_that_nobody_depends_on_costs_no_request() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            owner = await add(stage, "owner")
            await stage.settle()
            stage.traffic.calls.clear()
            pod = await stage.cluster.add_pod("web")
            patch = {"metadata": {"ownerReferences": [owned_by(owner)]}}
            await stage.client.patch(Pod, "web", patch, namespace="default")
            await stage.client.delete(Pod, "web", namespace="default", uid=pod.metadata.uid)
            await stage.settle()
            assert not stage.traffic.calls
            assert stage.controllers.reconcilers[0].queue.added_count == 0

    asyncio.run(scenario())


def test_what_happened_before_it_began_is_made_good() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            for kind in kinds():
                if kind.plural in ("configmaps", "secrets"):
                    stage.informers.of(kind.hub.type)
            gone = await add(stage, "gone")
            await add(stage, "stray", owned_by(gone))
            owner = await add(stage, "owner")
            await add(stage, "blocks", owned_by(owner, blocks=True))
            left = await add(stage, "left")
            await add(stage, "orphan", owned_by(left))
            await delete(stage, "gone")
            await delete(stage, "owner", "Foreground")
            await delete(stage, "left", "Orphan")
            late = Controllers(
                stage.client,
                informers=stage.informers,
                clock=stage.clock,
                entropy=SeededEntropy(3),
                names=[NAME],
            )
            stage.start(late.run())
            await late.ready()
            await stage.settle()
            found = {obj.metadata.name for obj in (await stage.client.list(ConfigMap)).items}
            assert found & {"gone", "stray", "owner", "blocks", "left", "orphan"} == {"orphan"}

    asyncio.run(scenario())


def test_a_dependent_that_stops_blocking_lets_its_owner_go() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            owner = await add(stage, "owner")
            held = ("a.example/held",)
            await add(stage, "dependent", owned_by(owner, blocks=True), finalizers=held)
            await delete(stage, "owner", "Foreground")
            assert await find(stage, "owner") is not None
            patch = {"metadata": {"ownerReferences": [owned_by(owner)]}}
            await stage.client.patch(ConfigMap, "dependent", patch, namespace="default")
            await stage.settle()
            assert await find(stage, "owner") is None

    asyncio.run(scenario())


def test_a_deletion_is_about_the_object_as_it_was_judged() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            first, second = await add(stage, "first"), await add(stage, "second")
            made = await add(stage, "dependent", owned_by(first))
            # It finds another owner in the moment in which it loses the first.
            owners = (owned_by(first), owned_by(second))
            adopted = replace(made, metadata=replace(made.metadata, owner_references=owners))
            await asyncio.gather(
                stage.client.delete(ConfigMap, "first", namespace="default"),
                stage.client.update(adopted),
            )
            await stage.pass_time(1)
            found = await find(stage, "dependent")
            assert found is not None
            assert found.metadata.owner_references == (owned_by(second),)

    asyncio.run(scenario())
