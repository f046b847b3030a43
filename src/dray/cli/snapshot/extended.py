"""Devices that a pod asks for as extended resources, in its containers' resource requests.

A resource can stand for a device class: by the name the class gives it, or as
`deviceclass.resource.kubernetes.io/CLASS`. On nodes where no device plugin offers the resource, a
scheduler allocates devices for it, through a claim that it makes up for the pod. That claim differs
from node to node, because nodes differ in what their plugins offer.

Init containers end before others start, so they use the devices of those that come after them, and
one another's; only what is missing then is asked for in addition. Upstream counterparts: the
scheduler's extendeddynamicresources.go and its extendedresourcecache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dray.api.core import Node, Pod
from dray.api.extended_requests import extended_requests
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.pod_resources import is_extended_resource, sum_requests
from dray.api.quantity import Quantity
from dray.api.resource import (
    DEVICE_CLASS_RESOURCE_PREFIX,
    EXTENDED_RESOURCE_CLAIM_ANNOTATION,
    DeviceClaim,
    DeviceClass,
    ResourceClaim,
    ResourceClaimSpec,
)
from dray.cli.snapshot.origin import Origin
from dray.errors import shorten

__all__ = [
    "EXTENDED_CLAIM_NAME",
    "ExtendedResources",
    "classes_by_resource",
]

# Not a valid name, so that no claim of a cluster can have it.
EXTENDED_CLAIM_NAME: Final = "<extended-resources>"


@dataclass(frozen=True, slots=True)
class ExtendedResources:
    """What a pod asks for beside cpu, memory and the like."""

    pod: Pod
    classes: Mapping[str, str]  # resources that stand for devices → device class
    others: Mapping[str, Quantity]  # those that only a device plugin can offer
    amounts: Mapping[str, Quantity] = field(default_factory=dict)  # of all that is asked for

    @classmethod
    def of(cls, pod: Pod, classes: Iterable[DeviceClass]) -> ExtendedResources:
        wanted = {
            name: amount
            for name, amount in sum_requests(pod.spec).items()
            if not amount.is_zero
            and (is_extended_resource(name) or name.startswith(DEVICE_CLASS_RESOURCE_PREFIX))
        }
        known = classes_by_resource(classes) if wanted else {}
        return cls(
            pod,
            {name: known[name].metadata.name for name in wanted if name in known},
            {name: amount for name, amount in wanted.items() if name not in known},
            wanted,
        )

    def claim_for(self, node: Node) -> ResourceClaim | None:
        """The claim a scheduler would allocate on this node; None where plugins offer it all."""
        allocatable = node.status.allocatable
        names = [
            name for name in self.classes if name not in allocatable or allocatable[name].is_zero
        ]
        if not names:
            return None
        served = {name: self.classes[name] for name in names}
        metadata = self.pod.metadata
        owner = OwnerReference(
            api_version="v1", kind="Pod", name=metadata.name, uid=metadata.uid, controller=True
        )
        return ResourceClaim(
            metadata=ObjectMeta(
                name=EXTENDED_CLAIM_NAME,
                generate_name=f"{metadata.name}-extended-resources-",
                namespace=metadata.namespace,
                annotations={EXTENDED_RESOURCE_CLAIM_ANNOTATION: "true"},
                owner_references=(owner,),
            ),
            spec=ResourceClaimSpec(
                devices=DeviceClaim(requests=extended_requests(self.pod, served).requests)
            ),
        )

    def lacking(self, node: Node, origin: Origin = Origin.DUMP) -> str:
        """Why this node cannot offer what a device plugin has to; empty if it can."""
        for name in self.classes:
            offered = node.status.allocatable.get(name)
            if offered is not None and not offered.is_zero and offered < self.amounts[name]:
                return f"has {offered} {shorten(name)}, the pod asks for {self.amounts[name]}"
        for name, amount in self.others.items():
            offered = node.status.allocatable.get(name)
            if offered is None or offered.is_zero:
                return f"has no {shorten(name)}, and no device class in the {origin} stands for it"
            if offered < amount:
                return f"has {offered} {shorten(name)}, the pod asks for {amount}"
        return ""


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """Which class each resource stands for; of two with one name the newer, then the smaller."""
    found: dict[str, DeviceClass] = {}
    # The one that counts comes last. Equal times keep the order of names.
    by_name = sorted(classes, key=lambda one: one.metadata.name, reverse=True)
    for one in sorted(by_name, key=_created):
        if one.spec.extended_resource_name:
            found[one.spec.extended_resource_name] = one
        found[f"{DEVICE_CLASS_RESOURCE_PREFIX}{one.metadata.name}"] = one
    return found


def _created(one: DeviceClass) -> float:
    created = one.metadata.creation_timestamp
    return created.instant.timestamp() if created else float("-inf")
