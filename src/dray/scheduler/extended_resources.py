"""Extended resources that devices stand for: `resources.limits` in the old syntax, DRA behind it.

A device class names the extended resource it serves, and serves one by its own name in any case.
On a node that has none of a resource to offer itself (no device plugin does), a pod's request for
it becomes a claim, which the scheduler makes for the pod once it knows what the claim gets. Nodes
can differ in what they offer, so a pod can want different things of different nodes.

Upstream counterparts: extendeddynamicresources.go, and the extended resource cache of deviceclass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from dray.api.core import Pod
from dray.api.features import FeatureGates
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.pod_resources import is_extended_resource
from dray.api.resource import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dray.api.wire import Time, replace
from dray.client import Client, PatchType
from dray.clock import Clock
from dray.errors import APIError, InternalError, TransportError
from dray.scheduler.claims import Claims
from dray.scheduler.devices import Devices
from dray.scheduler.extended_requests import extended_requests
from dray.scheduler.metrics import SchedulerMetrics
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.placement import Demand, Placement, SpecialClaim
from dray.scheduler.pod_info import PodInfo

__all__ = ["ANNOTATION", "CLASS_PREFIX", "ExtendedResources"]

ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"

_Split = Sequence[tuple[Demand, Callable[[NodeInfo], bool] | None]]


class ExtendedResources:
    """Turns extended resources into claims, and stores those."""

    def __init__(
        self,
        client: Client,
        claims: Claims,
        devices: Devices,
        gates: FeatureGates,
        clock: Clock,
        metrics: SchedulerMetrics,
    ) -> None:
        self._client = client
        self._claims = claims
        self._devices = devices
        self._clock = clock
        self._metrics = metrics
        self._enabled = gates.enabled("DRAExtendedResource")
        self._explicit: dict[str, dict[str, DeviceClass]] = {}  # by resource, then class
        self._awaited: dict[tuple[str, str], ResourceClaim] = {}  # stored, and not heard of yet
        if self._enabled:
            devices.class_informer.listen(self._hear_class)
            claims.listen(self._hear_claim)

    # Wanting -----------------------------------------------------------------------------------

    def split(
        self, pod: PodInfo, claims: tuple[ResourceClaim, ...], nodes: Iterable[NodeInfo]
    ) -> _Split:
        """What the pod wants of which nodes."""
        classes = self._classes_for(pod) if self._enabled else {}
        if not classes:
            return ((Demand(claims), None),)
        offers: dict[frozenset[str], None] = {}
        for node in nodes:
            offers[_offered(node, classes)] = None
        several = len(offers) > 1
        return [
            (
                self._demand(pod, claims, classes, offered),
                _where(offered, classes) if several else None,
            )
            for offered in offers
        ] or ((Demand(claims), None),)

    def class_for(self, resource: str) -> str | None:
        """The device class that serves an extended resource."""
        if resource.startswith(CLASS_PREFIX):
            name = resource.removeprefix(CLASS_PREFIX)
            return name if name in self._devices.classes else None
        explicit = self._explicit.get(resource)
        if not explicit:
            return None
        # The newest wins, and of equally new ones the first by name.
        return min(explicit.values(), key=_newest_first).metadata.name

    def _classes_for(self, pod: PodInfo) -> dict[str, str]:
        found = {}
        for resource in pod.requests:
            if resource.startswith(CLASS_PREFIX) or is_extended_resource(resource):
                name = self.class_for(resource)
                if name is not None:
                    found[resource] = name
        return found

    def _demand(
        self,
        pod: PodInfo,
        claims: tuple[ResourceClaim, ...],
        classes: dict[str, str],
        offered: frozenset[str],
    ) -> Demand:
        served = {name: classes[name] for name in classes if name not in offered}
        wanted = extended_requests(pod.pod, served)
        if not wanted.requests:
            return Demand(claims)
        special = SpecialClaim(self._claim(pod.pod, wanted.requests), wanted.mappings)
        return Demand((*claims, special.claim), special, frozenset(served))

    def _claim(self, pod: Pod, requests: tuple[DeviceRequest, ...]) -> ResourceClaim:
        """The claim as it will be, but for its name, which the API server draws."""
        metadata = pod.metadata
        prefix = f"{metadata.name}-extended-resources"
        return ResourceClaim(
            metadata=ObjectMeta(
                name=prefix,
                generate_name=f"{prefix}-",
                namespace=metadata.namespace,
                uid=f"extended-resources-of-{metadata.uid}",
                annotations={ANNOTATION: "true"},
                finalizers=(FINALIZER,),
                owner_references=(
                    OwnerReference(
                        api_version="v1",
                        kind="Pod",
                        name=metadata.name,
                        uid=metadata.uid,
                        controller=True,
                    ),
                ),
            ),
            spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
        )

    # Having ------------------------------------------------------------------------------------

    def reserve(self, placement: Placement) -> None:
        """Count the devices of the claim as taken."""
        claim = _allocated(placement)
        if claim is not None:
            self._claims.reserve(claim)

    def release(self, placement: Placement) -> None:
        """It does not happen."""
        if placement.special is not None:
            self._claims.release(placement.special.claim)

    async def store(self, placement: Placement) -> ResourceClaim:
        """Store the claim with its devices, reserved for the pod, and note it in the pod's status.

        What was stored before something failed is deleted again.
        """
        pod, special = placement.pod.pod, placement.special
        if special is None or placement.special_allocation is None:
            raise InternalError("there is no claim to store")
        metadata = special.claim.metadata
        try:
            claim = await self._client.create(
                replace(special.claim, metadata=replace(metadata, name="", uid=""))
            )
        except (APIError, TransportError):
            self._metrics.special_claim("failure")
            raise
        self._metrics.special_claim("success")
        done = False
        try:
            claim = await self._give(claim, placement)
            await self._note(pod, claim, special)
            done = True
        finally:
            if not done:
                await self._undo(claim)
        return claim

    async def _give(self, claim: ResourceClaim, placement: Placement) -> ResourceClaim:
        metadata = placement.pod.pod.metadata
        allocation = placement.special_allocation
        assert allocation is not None, "the caller looked"
        assert placement.special is not None, "the caller looked"
        if self._devices.features.binding_conditions:
            allocation = replace(allocation, allocation_timestamp=Time(self._clock.now()))
        consumer = ResourceClaimConsumerReference(
            resource="pods", name=metadata.name, uid=metadata.uid
        )
        # From here on the devices are held by a claim that exists. Until the watch says so, they
        # are counted under the name that it had before.
        self._awaited[claim.metadata.namespace, claim.metadata.name] = placement.special.claim
        status = ResourceClaimStatus(allocation=allocation, reserved_for=(consumer,))
        stored = await self._client.update_status(replace(claim, status=status))
        known = self._claims.get(stored.metadata.name, stored.metadata.namespace)
        if known is not None:
            self._hear_claim(None, known)
        return stored

    async def _note(self, pod: Pod, claim: ResourceClaim, special: SpecialClaim) -> None:
        status = {
            "extendedResourceClaimStatus": {
                "resourceClaimName": claim.metadata.name,
                "requestMappings": list(special.mappings),
            }
        }
        await self._client.patch(
            Pod,
            pod.metadata.name,
            {"metadata": {"uid": pod.metadata.uid}, "status": status},
            namespace=pod.metadata.namespace,
            type=PatchType.MERGE,
            subresource="status",
        )

    async def _undo(self, claim: ResourceClaim) -> None:
        metadata = claim.metadata
        self._awaited.pop((metadata.namespace, metadata.name), None)
        try:
            await self._client.patch(
                ResourceClaim,
                metadata.name,
                {"metadata": {"uid": metadata.uid, "finalizers": None}},
                namespace=metadata.namespace,
            )
            await self._client.delete(
                ResourceClaim, metadata.name, namespace=metadata.namespace, uid=metadata.uid
            )
        except (APIError, TransportError):
            # The pod owns it: it goes with the pod, at the latest.
            return

    # Hearing -----------------------------------------------------------------------------------

    def _hear_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        either = new if new is not None else old
        if either is None or not self._awaited:
            return
        if new is not None and new.status.allocation is None:
            return
        before = self._awaited.pop((either.metadata.namespace, either.metadata.name), None)
        if before is not None:
            self._claims.release(before)

    def _hear_class(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        if old is not None and (resource := old.spec.extended_resource_name):
            classes = self._explicit.get(resource, {})
            classes.pop(old.metadata.name, None)
            if not classes:
                self._explicit.pop(resource, None)
        if new is not None and (resource := new.spec.extended_resource_name):
            self._explicit.setdefault(resource, {})[new.metadata.name] = new


def _allocated(placement: Placement) -> ResourceClaim | None:
    if placement.special is None or placement.special_allocation is None:
        return None
    status = ResourceClaimStatus(allocation=placement.special_allocation)
    return replace(placement.special.claim, status=status)


def _offered(node: NodeInfo, classes: Iterable[str]) -> frozenset[str]:
    """Of these resources, those that a device plugin of the node serves."""
    return frozenset([name for name in classes if node.allocatable.get(name, 0) > 0])


def _where(offered: frozenset[str], classes: Iterable[str]) -> Callable[[NodeInfo], bool]:
    return lambda node: _offered(node, classes) == offered


def _newest_first(device_class: DeviceClass) -> tuple[float, str]:
    created = device_class.metadata.creation_timestamp
    return (
        -created.instant.timestamp() if created is not None else 0.0
    ), device_class.metadata.name
