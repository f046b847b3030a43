"""What quotas say is used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from dray.api.core import (
    ConfigMap,
    Container,
    Pod,
    PodSpec,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceRequirements,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dray.errors import Forbidden
from tests.unit.controllers.custom_resources import ANIMAL, animal, define_animals
from tests.unit.controllers.stage import Stage

NAME = "resourcequota-controller"


async def add_quota(stage: Stage, hard: Mapping[str, str], *scopes: str) -> None:
    bounds = {name: Quantity.parse(amount) for name, amount in hard.items()}
    await stage.client.create(
        ResourceQuota(
            metadata=ObjectMeta(name="q", namespace="default"),
            spec=ResourceQuotaSpec(hard=bounds, scopes=scopes),
        )
    )
    await stage.settle()


async def used(stage: Stage) -> dict[str, str]:
    quota = await stage.client.get(ResourceQuota, "q", namespace="default")
    assert quota.status.hard == quota.spec.hard
    return {name: str(amount) for name, amount in quota.status.used.items()}


async def add_pod(stage: Stage, name: str, *, cpu: str = "1", deadline: int | None = None) -> None:
    needs = ResourceRequirements(requests={"cpu": Quantity.parse(cpu)})
    container = Container(name="main", image="registry.example/main:1", resources=needs)
    spec = PodSpec(containers=(container,), active_deadline_seconds=deadline)
    await stage.cluster.add_pod(name, spec=spec)


def claim(name: str, count: int, *, device_class: str = "gpu") -> ResourceClaim:
    exactly = ExactDeviceRequest(device_class_name=device_class, count=count)
    devices = DeviceClaim(requests=(DeviceRequest(name="r", exactly=exactly),))
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=ResourceClaimSpec(devices=devices),
    )


def test_a_new_quota_counts_what_is_there_at_once() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.client.create(
                DeviceClass(
                    metadata=ObjectMeta(name="gpu"),
                    spec=DeviceClassSpec(extended_resource_name="example.com/gpu"),
                )
            )
            await add_pod(stage, "a", cpu="1")
            await add_pod(stage, "b", cpu="500m")
            await stage.client.create(claim("c", 2))
            await stage.client.create(ConfigMap(metadata=ObjectMeta(name="m", namespace="default")))
            await stage.settle()
            await add_quota(
                stage,
                {
                    "pods": "9",
                    "requests.cpu": "9",
                    "configmaps": "9",
                    "count/jobs.batch": "9",
                    "count/none": "9",
                    "count/resourceclaims.resource.k8s.io": "9",
                    "gpu.deviceclass.resource.k8s.io/devices": "9",
                    "requests.deviceclass.resource.kubernetes.io/gpu": "9",
                    "requests.example.com/gpu": "9",
                },
            )
            assert await used(stage) == {
                "pods": "2",
                "requests.cpu": "1500m",
                "configmaps": "2",  # the server's own is one of them
                "count/jobs.batch": "0",
                "count/resourceclaims.resource.k8s.io": "1",
                "gpu.deviceclass.resource.k8s.io/devices": "2",
                "requests.deviceclass.resource.kubernetes.io/gpu": "2",
                "requests.example.com/gpu": "2",
            }

    asyncio.run(scenario())


def test_what_is_deleted_can_be_used_again_soon() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_quota(stage, {"pods": "1", "count/resourceclaims.resource.k8s.io": "1"})
            await add_pod(stage, "a")
            await stage.client.create(claim("c", 1))
            with pytest.raises(Forbidden):
                await add_pod(stage, "b")
            await stage.client.delete(Pod, "a", namespace="default")
            await stage.client.delete(ResourceClaim, "c", namespace="default")
            await stage.pass_time(0.3)
            await add_pod(stage, "b")
            await stage.client.create(claim("d", 1))

    asyncio.run(scenario())


def test_a_pod_that_ended_gives_back_what_it_used() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_quota(stage, {"requests.cpu": "2", "count/pods": "9"})
            await add_pod(stage, "a", cpu="2")
            patch = {"status": {"phase": "Succeeded"}}
            await stage.client.patch(Pod, "a", patch, namespace="default", subresource="status")
            await stage.pass_time(0.3)
            assert await used(stage) == {"requests.cpu": "0", "count/pods": "1"}

    asyncio.run(scenario())


def test_charging_what_is_created_and_counting_agree() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_quota(stage, {"pods": "9", "requests.cpu": "9", "count/configmaps": "9"})
            for name in ("a", "b", "c"):
                await add_pod(stage, name, cpu="250m")
            await stage.client.create(ConfigMap(metadata=ObjectMeta(name="m", namespace="default")))
            charged = await used(stage)
            stage.traffic.writes()
            await stage.pass_time(301, steps=7)
            assert await used(stage) == charged
            assert not stage.traffic.writes()

    asyncio.run(scenario())


def test_a_quota_with_scopes_is_about_pods_in_them_alone() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_pod(stage, "a")
            await add_pod(stage, "b", deadline=60)
            await stage.settle()
            await add_quota(stage, {"pods": "9"}, "Terminating")
            assert await used(stage) == {"pods": "1"}

    asyncio.run(scenario())


def test_other_bounds_are_counted_at_once_and_old_ones_forgotten() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_quota(stage, {"pods": "9"})
            patch = {"spec": {"hard": {"pods": None, "secrets": "5"}}}
            await stage.client.patch(ResourceQuota, "q", patch, namespace="default")
            await stage.settle()
            assert await used(stage) == {"secrets": "0"}

    asyncio.run(scenario())


def test_kinds_that_users_define_are_counted_with_all_others() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await define_animals(stage.client)
            await stage.client.create(animal("dog"))
            await stage.settle()
            await add_quota(stage, {"count/animals.zoo.example": "9"})
            assert await used(stage) == {"count/animals.zoo.example": "1"}

    asyncio.run(scenario())


@pytest.mark.parametrize("defined_first", [True, False], ids=["defined first", "bounded first"])
def test_the_end_of_what_users_define_makes_room(defined_first: bool) -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            if defined_first:
                await define_animals(stage.client)
                await stage.settle()
            await add_quota(stage, {"count/animals.zoo.example": "1"})
            if not defined_first:
                await define_animals(stage.client)
                await stage.settle()
            assert await used(stage) == {"count/animals.zoo.example": "0"}
            await stage.client.create(animal("dog"))
            await stage.settle()
            await stage.client.delete(ANIMAL, "dog", namespace="default")
            await stage.pass_time(0.2)
            assert await used(stage) == {"count/animals.zoo.example": "0"}

    asyncio.run(scenario())


def test_what_was_charged_in_vain_is_found_in_the_end() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_quota(stage, {"pods": "9"})
            patch = {"status": {"used": {"pods": "4"}}}
            await stage.client.patch(
                ResourceQuota, "q", patch, namespace="default", subresource="status"
            )
            await stage.settle()
            assert await used(stage) == {"pods": "4"}
            await stage.pass_time(300, steps=3)
            assert await used(stage) == {"pods": "0"}

    asyncio.run(scenario())


def test_pods_of_namespaces_without_quotas_cost_nothing() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_pod(stage, "a")
            await stage.client.delete(Pod, "a", namespace="default")
            await stage.pass_time(5)
            assert stage.controllers.reconcilers[0].queue.added_count == 0

    asyncio.run(scenario())


def test_a_quota_that_is_charged_meanwhile_is_counted_all_the_same() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_quota(stage, {"pods": "100"})
            await add_pod(stage, "gone")
            await stage.client.delete(Pod, "gone", namespace="default")
            await stage.settle()
            # Others are created while the count is due.
            creating = [
                asyncio.ensure_future(add_pod(stage, f"pod-{number}")) for number in range(20)
            ]
            stage.clock.advance(0.3)
            await asyncio.gather(*creating)
            await stage.pass_time(3, steps=10)
            assert await used(stage) == {"pods": "20"}
            queue = stage.controllers.reconcilers[0].queue
            assert queue.retried_count == 0

    asyncio.run(scenario())
