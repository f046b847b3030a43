"""Pods and claims for tests of the controller that looks after both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from dray.api.core import (
    Binding,
    Container,
    Event,
    ObjectReference,
    Pod,
    PodResourceClaim,
    PodSpec,
)
from dray.api.meta import ObjectMeta, Status
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from dray.api.wire import replace
from dray.controllers.resource_claims.controller import ResourceClaimController
from dray.errors import NotFound
from tests.unit.controllers.stage import Stage

__all__ = ["FINALIZER", "SPEC", "Scene", "consumer", "on_scene", "play", "pod", "template"]

NAMESPACE: Final = "default"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"

SPEC: Final = ResourceClaimSpec(
    devices=DeviceClaim(
        requests=(
            DeviceRequest(
                name="r",
                exactly=ExactDeviceRequest(
                    device_class_name="gpu.example.com", allocation_mode="ExactCount", count=1
                ),
            ),
        )
    )
)


def template(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: ResourceClaimSpec = SPEC,
) -> ResourceClaimTemplate:
    metadata = ObjectMeta(labels=dict(labels or {}), annotations=dict(annotations or {}))
    return ResourceClaimTemplate(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE),
        spec=ResourceClaimTemplateSpec(metadata=metadata, spec=spec),
    )


def pod(
    name: str,
    *,
    templates: Mapping[str, str] | None = None,
    claims: Mapping[str, str] | None = None,
    node: str = "",
) -> Pod:
    """A pod that refers to templates and claims, by what it calls them."""
    entries = (
        *(
            PodResourceClaim(name=entry, resource_claim_template_name=name)
            for entry, name in (templates or {}).items()
        ),
        *(
            PodResourceClaim(name=entry, resource_claim_name=name)
            for entry, name in (claims or {}).items()
        ),
    )
    return Pod(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE),
        spec=PodSpec(
            containers=(Container(name="main", image="registry.example/main:1"),),
            resource_claims=entries,
            node_name=node,
        ),
    )


def consumer(pod: Pod) -> ResourceClaimConsumerReference:
    return ResourceClaimConsumerReference(
        resource="pods", name=pod.metadata.name, uid=pod.metadata.uid
    )


class Scene(Stage):
    """The controller at work on the namespace `default`."""

    def __init__(self, *names: str) -> None:
        """Other controllers are at work too if they are named."""
        super().__init__(ResourceClaimController.name, *names)

    async def pod(self, name: str) -> Pod:
        return await self.client.get(Pod, name, namespace=NAMESPACE)

    async def add(self, pod: Pod) -> Pod:
        """A pod, with the claims that are made for it."""
        await self.client.create(pod)
        await self.settle()
        return await self.pod(pod.metadata.name)

    async def remove(self, pod: Pod) -> None:
        """A pod that is gone at once, as after a node has confirmed it."""
        name = pod.metadata.name
        await self.client.delete(Pod, name, namespace=NAMESPACE, grace_period_seconds=0)
        await self.settle()

    async def bind(self, pod: Pod, node: str = "n1") -> Pod:
        name = pod.metadata.name
        await self.client.create_subresource(
            Pod,
            name,
            "binding",
            Binding(metadata=ObjectMeta(name=name), target=ObjectReference(name=node)),
            Status,
            namespace=NAMESPACE,
        )
        await self.settle()
        return await self.pod(name)

    async def finish(self, pod: Pod, phase: str = "Succeeded") -> None:
        patch = {"status": {"phase": phase}}
        name = pod.metadata.name
        await self.client.patch(Pod, name, patch, namespace=NAMESPACE, subresource="status")
        await self.settle()

    async def claims(self) -> list[ResourceClaim]:
        listing = await self.client.list(ResourceClaim)
        return sorted(listing.items, key=lambda claim: claim.metadata.name)

    async def claim(self, name: str) -> ResourceClaim | None:
        try:
            return await self.client.get(ResourceClaim, name, namespace=NAMESPACE)
        except NotFound:
            return None

    async def claim_of(self, pod: Pod, entry: str = "gpu") -> ResourceClaim:
        """The claim that a pod's status names."""
        (name,) = (
            status.resource_claim_name
            for status in (await self.pod(pod.metadata.name)).status.resource_claim_statuses or ()
            if status.name == entry
        )
        assert name is not None
        return await self.client.get(ResourceClaim, name, namespace=NAMESPACE)

    async def add_claim(self, name: str, *, finalizers: tuple[str, ...] = ()) -> ResourceClaim:
        metadata = ObjectMeta(name=name, namespace=NAMESPACE, finalizers=finalizers)
        return await self.client.create(ResourceClaim(metadata=metadata, spec=SPEC))

    async def allocate(
        self, claim: ResourceClaim, *consumers: ResourceClaimConsumerReference
    ) -> ResourceClaim:
        """What a scheduler does: an allocation, and reservations."""
        if FINALIZER not in claim.metadata.finalizers:
            metadata = replace(claim.metadata, finalizers=(FINALIZER,))
            claim = await self.client.update(replace(claim, metadata=metadata))
        result = DeviceRequestAllocationResult(
            request="r", driver="gpu.example.com", pool="n1", device="gpu-0"
        )
        status = ResourceClaimStatus(
            allocation=AllocationResult(devices=DeviceAllocationResult(results=(result,))),
            reserved_for=consumers,
        )
        claim = await self.client.update_status(replace(claim, status=status))
        await self.settle()
        return claim

    async def events(self) -> list[Event]:
        return list((await self.client.list(Event)).items)


Story = Callable[[Scene], Coroutine[Any, Any, None]]


def on_scene(story: Story) -> Callable[[], None]:
    """A test on a scene of its own."""

    # Not functools.wraps: pytest would look through it and ask for a fixture by the name of scene.
    def test() -> None:
        play(story)

    test.__name__ = story.__name__
    test.__doc__ = story.__doc__
    return test


def play(story: Story) -> None:
    """The same within a test."""

    async def whole() -> None:
        async with Scene() as scene:
            await story(scene)

    asyncio.run(whole())
