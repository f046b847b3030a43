"""The entries of a container's allocatedResourcesStatus: which devices, under which names.

An entry is named as the container refers to the claim: `claim:<entry of the pod>`, with
`/<request>` where it picks one request. The claim behind extended resources has no entry in the
pod's spec; its requests are named `claim:<ResourceClaim>/<request>`, which the API takes since 1.37
and no kubelet sends yet.

A device is known by its first CDI ID, as upstream has it, or by `driver/pool/device` without one.
Two devices of an entry with the same first CDI ID are both known by the latter: upstream shows one
of them and hides the other.

Ephemeral containers have no claims, and the API refuses health in their statuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

from dray.agent.claims.claim_info import ClaimInfo
from dray.agent.health.cache import Opinion
from dray.agent.health.words import DeviceID
from dray.api.core import Container, Pod, ResourceHealth, ResourceStatus
from dray.api.pod_claims import references

__all__ = ["ClaimLookup", "health_entries"]


class ClaimLookup(Protocol):
    """What the entries need to know of claims."""

    def info(self, namespace: str, name: str) -> ClaimInfo | None:
        """What is known of a claim on this node."""
        ...


def health_entries(
    pod: Pod, container_name: str, claims: ClaimLookup, read: Callable[[DeviceID], Opinion]
) -> tuple[ResourceStatus, ...]:
    """What a container's status says of its devices: in the order the container names them."""
    container = _find(pod, container_name)
    if container is None:
        return ()
    entries: dict[str, dict[tuple[DeviceID, str], None]] = {}
    for name, claim, request in _picks(pod, container):
        info = claims.info(pod.metadata.namespace, claim)
        # A claim of this name that is not prepared for this pod says nothing about its devices.
        if info is None or pod.metadata.uid not in info.pods:
            continue
        devices = entries.setdefault(name, {})
        devices.update(dict.fromkeys(_devices(info, request)))
    return tuple(
        ResourceStatus(name=name, resources=_resources(devices, read))
        for name, devices in entries.items()
        if devices
    )


def _find(pod: Pod, container_name: str) -> Container | None:
    containers = (*(pod.spec.containers or ()), *pod.spec.init_containers)
    return next((found for found in containers if found.name == container_name), None)


def _picks(pod: Pod, container: Container) -> Iterator[tuple[str, str, str]]:
    """Entry, name of the ResourceClaim, and request (none for all) of what a container uses."""
    named = {reference.name: reference.claim_name for reference in references(pod)}
    for pick in container.resources.claims:
        # Not created yet, or not needed.
        if claim := named.get(pick.name):
            suffix = f"/{pick.request}" if pick.request else ""
            yield f"claim:{pick.name}{suffix}", claim, pick.request
    extended = pod.status.extended_resource_claim_status
    if extended is None:
        return
    for mapping in extended.request_mappings or ():
        amount = container.resources.requests.get(mapping.resource_name)
        if mapping.container_name == container.name and amount is not None and not amount.is_zero:
            claim, request = extended.resource_claim_name, mapping.request_name
            yield f"claim:{claim}/{request}", claim, request


def _devices(info: ClaimInfo, request: str) -> Iterator[tuple[DeviceID, str]]:
    """The devices of a request, and the first CDI ID of each."""
    for driver in sorted(info.drivers):
        for prepared in info.drivers[driver]:
            if not request or not prepared.requests or request in prepared.requests:
                device = DeviceID(driver, prepared.pool, prepared.device)
                yield device, next(iter(prepared.cdi_devices), "")


def _resources(
    devices: dict[tuple[DeviceID, str], None], read: Callable[[DeviceID], Opinion]
) -> tuple[ResourceHealth, ...]:
    names = {(device, cdi_id): cdi_id or str(device) for device, cdi_id in devices}
    shared = Counter(names.values())
    resources: dict[str, ResourceHealth] = {}
    for (device, _), name in names.items():
        resource_id = name if shared[name] == 1 else str(device)
        opinion = read(device)
        resources.setdefault(
            resource_id,
            ResourceHealth(
                resource_id=resource_id,
                health=opinion.health.value,
                message=opinion.message or None,
            ),
        )
    return tuple(resources.values())
