"""Extended resources that devices stand for: `resources.limits` in the old syntax, DRA behind it.

A device class names the extended resource it serves, and serves one by its own name in any case.
On a node that has none of a resource to offer itself (no device plugin does), a pod's request for
it becomes a claim, which the scheduler makes for the pod once it knows what the claim gets. Nodes
can differ in what they offer, so a pod can want different things of different nodes.

A scheduler that ended between making the claim and binding the pod leaves the claim behind, with
its devices. It is deleted before the pod is tried again.

Upstream counterparts: extendeddynamicresources.go, and the extended resource cache of deviceclass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from dray.api.core import Node, Pod
from dray.api.extended_requests import extended_requests
from dray.api.features import FeatureGates
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.pod_resources import is_extended_resource
from dray.api.resource import (
    CLAIM_FINALIZER,
    DEVICE_CLASS_RESOURCE_PREFIX,
    EXTENDED_RESOURCE_CLAIM_ANNOTATION,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dray.api.wire import Time, replace
from dray.client import Client, PatchType
from dray.clock import Clock
from dray.errors import APIError, InternalError, NotFound, TransportError
from dray.scheduler.claims import Claims
from dray.scheduler.devices import Devices
from dray.scheduler.giving import give
from dray.scheduler.metrics import SchedulerMetrics
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.placement import Demand, Placement, SpecialClaim
from dray.scheduler.pod_info import PodInfo, whole_units

__all__ = ["ExtendedResources"]

_log = logging.getLogger(__name__)

_Key = tuple[str, str]  # namespace and name
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
        # Stored, and not heard of yet: as they were reserved.
        self._awaited: dict[_Key, ResourceClaim] = {}
        self._made: dict[str, dict[_Key, ResourceClaim]] = {}  # by uid of the pod they are for
        self._deleted: set[str] = set()  # uids of those of which it has not been heard yet
        self._numbers = count(1)
        # How many nodes offer which extended resources themselves: there are few kinds of nodes,
        # so that no pod has to look at all of them.
        self._offers: dict[frozenset[str], int] = {}
        if self._enabled:
            devices.class_informer.listen(self._hear_class)
            claims.listen(self._hear_claim)

    # Wanting -----------------------------------------------------------------------------------

    def split(self, pod: PodInfo, claims: tuple[ResourceClaim, ...]) -> _Split:
        """What the pod wants of which nodes."""
        classes = self._classes_for(pod) if self._enabled else {}
        if not classes:
            return ((Demand(claims), None),)
        offers = dict.fromkeys([kind.intersection(classes) for kind in self._offers])
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
        if resource.startswith(DEVICE_CLASS_RESOURCE_PREFIX):
            name = resource.removeprefix(DEVICE_CLASS_RESOURCE_PREFIX)
            return name if name in self._devices.classes else None
        explicit = self._explicit.get(resource)
        if not explicit:
            return None
        # The newest wins, and of equally new ones the first by name.
        return min(explicit.values(), key=_newest_first).metadata.name

    def _classes_for(self, pod: PodInfo) -> dict[str, str]:
        found = {}
        for resource in pod.requests:
            if _is_extended(resource):
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

    def leftovers(self, pod: PodInfo) -> tuple[ResourceClaim, ...]:
        """The claims of a pod that is not bound which somebody made, and did not finish with."""
        made = self._made.get(pod.uid)
        if not made:
            return ()
        return tuple([claim for claim in made.values() if claim.metadata.uid not in self._deleted])

    def _claim(self, pod: Pod, requests: tuple[DeviceRequest, ...]) -> ResourceClaim:
        """The claim as it will be, but for its name, which the API server draws."""
        metadata = pod.metadata
        number = next(self._numbers)
        return ResourceClaim(
            metadata=ObjectMeta(
                # No object can have this name, and no other attempt has it.
                name=f"<extended resources of {metadata.name}, {number}>",
                generate_name=f"{metadata.name}-extended-resources-",
                namespace=metadata.namespace,
                uid=f"extended-resources-{number}",
                annotations={EXTENDED_RESOURCE_CLAIM_ANNOTATION: "true"},
                finalizers=(CLAIM_FINALIZER,),
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
        claim = placement.special_allocated
        if claim is not None:
            self._claims.reserve(claim)

    def release(self, placement: Placement) -> None:
        """It does not happen. What may be stored all the same counts until that is known."""
        claim = placement.special_allocated
        if claim is not None and not any(
            awaited.status.allocation is claim.status.allocation
            for awaited in self._awaited.values()
        ):
            self._claims.release(claim)

    async def store(self, placement: Placement) -> ResourceClaim:
        """Store the claim with its devices, reserved for the pod, and note it in the pod's status.

        What was stored before something failed is deleted again.
        """
        pod, special, reserved = placement.pod.pod, placement.special, placement.special_allocated
        if special is None or reserved is None:
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
            claim = await self._give(claim, pod, reserved)
            await self._note(pod, claim, special)
            done = True
        finally:
            if not done:
                await self.delete(claim)
        return claim

    async def _give(self, claim: ResourceClaim, pod: Pod, reserved: ResourceClaim) -> ResourceClaim:
        allocation = reserved.status.allocation
        assert allocation is not None, "it was reserved"
        if self._devices.features.binding_conditions:
            allocation = replace(allocation, allocation_timestamp=Time(self._clock.now()))
        # From here on the devices are held by a claim that exists. Until the watch says so, they
        # are counted under the name that it had before.
        self._awaited[_key(claim)] = reserved
        stored = await give(self._client, claim, allocation, pod)
        known = self._claims.get(stored.metadata.name, stored.metadata.namespace)
        if known is not None and known.status.allocation is not None:
            self._hand_over(known)
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

    async def delete(self, claim: ResourceClaim) -> bool:
        """Have a claim gone that nobody uses; whether that is so."""
        metadata = claim.metadata
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
        except NotFound:
            pass
        except (APIError, TransportError) as error:
            # The next attempt finds it, if the pod stays; otherwise it goes with the pod.
            _log.info("claim %s/%s stays: %s", metadata.namespace, metadata.name, error)
            return False
        if _key(claim) in self._made.get(_pod_uid(claim), {}):
            self._deleted.add(metadata.uid)
        if (reserved := self._awaited.pop(_key(claim), None)) is not None:
            self._claims.release(reserved)
        return True

    # Hearing -----------------------------------------------------------------------------------

    def hear_node(self, old: Node | None, new: Node | None) -> None:
        """A node came, changed or went. Most changes say nothing about what it offers."""
        if old is not None and new is not None and old.status.allocatable == new.status.allocatable:
            return
        if new is not None:
            kind = _offer(new)
            self._offers[kind] = self._offers.get(kind, 0) + 1
        if old is not None:
            kind = _offer(old)
            self._offers[kind] -= 1
            if not self._offers[kind]:
                del self._offers[kind]

    def _hear_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        either = new if new is not None else old
        if either is None or EXTENDED_RESOURCE_CLAIM_ANNOTATION not in either.metadata.annotations:
            return
        key, owner = _key(either), _pod_uid(either)
        if new is not None:
            self._made.setdefault(owner, {})[key] = new
            if new.status.allocation is not None:
                self._hand_over(new)
            return
        self._deleted.discard(either.metadata.uid)
        made = self._made.get(owner, {})
        made.pop(key, None)
        if not made:
            self._made.pop(owner, None)
        if (reserved := self._awaited.pop(key, None)) is not None:
            self._claims.release(reserved)

    def _hand_over(self, claim: ResourceClaim) -> None:
        """The watch tells of a claim with devices: from now on they are counted as its own."""
        if (reserved := self._awaited.pop(_key(claim), None)) is not None:
            self._claims.release(reserved, elsewhere=True)

    def _hear_class(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        if old is not None and (resource := old.spec.extended_resource_name):
            classes = self._explicit.get(resource, {})
            classes.pop(old.metadata.name, None)
            if not classes:
                self._explicit.pop(resource, None)
        if new is not None and (resource := new.spec.extended_resource_name):
            self._explicit.setdefault(resource, {})[new.metadata.name] = new


def _key(claim: ResourceClaim) -> _Key:
    return claim.metadata.namespace, claim.metadata.name


def _pod_uid(claim: ResourceClaim) -> str:
    """The pod that a claim was made for."""
    owners = claim.metadata.owner_references
    return next((owner.uid for owner in owners if owner.controller and owner.kind == "Pod"), "")


def _offer(node: Node) -> frozenset[str]:
    """The extended resources that a node has some of itself."""
    return frozenset(
        [
            name
            for name, amount in whole_units(node.status.allocatable).items()
            if amount > 0 and _is_extended(name)
        ]
    )


def _is_extended(resource: str) -> bool:
    return resource.startswith(DEVICE_CLASS_RESOURCE_PREFIX) or is_extended_resource(resource)


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
