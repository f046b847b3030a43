"""Which devices a container gets, by their names in CDI. Pure.

A container names claims of its pod, or single requests of them; for extended resources the pod's
status says which requests stand behind them. Each name is given once, in this order: claims as the
pod lists them, requests as the container does, drivers by name, devices as the driver listed them.
A kubelet's order is not always the same, and it repeats names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dray.agent.claims.claim_info import ClaimInfo, ClaimKey
from dray.agent.claims.failures import ClaimInfoMissing
from dray.api.core import Pod, ResourceRequirements
from dray.api.pod_claims import references
from dray.api.pod_resources import is_extended_resource
from dray.api.resource import DEVICE_CLASS_RESOURCE_PREFIX

__all__ = ["cdi_devices"]


def cdi_devices(
    pod: Pod, container_name: str, find: Callable[[ClaimKey], ClaimInfo | None]
) -> tuple[str, ...]:
    """The devices of a container of whichever kind; raises ClaimInfoMissing."""
    found: dict[str, None] = {}
    for claim_name, request in _uses(pod, container_name):
        info = find(ClaimKey(pod.metadata.namespace, claim_name))
        if info is None or not info.answered:
            raise ClaimInfoMissing(
                f"internal error: unable to get claim info for ResourceClaim {claim_name}"
                f" in namespace {pod.metadata.namespace}"
            )
        found.update(dict.fromkeys(_names(info, request)))
    return tuple(found)


def _uses(pod: Pod, container_name: str) -> Iterator[tuple[str, str]]:
    """The claims of a container with the request it names, empty for all of a claim."""
    resources = _resources(pod, container_name)
    if resources is None:
        return
    for reference in references(pod):
        requests = [use.request for use in resources.claims if use.name == reference.name]
        if not requests or not reference.name:
            continue
        if reference.error:
            raise ClaimInfoMissing(reference.error)
        if reference.claim_name:
            yield from ((reference.claim_name, request) for request in requests)
    extended = pod.status.extended_resource_claim_status
    for mapping in (extended.request_mappings or ()) if extended is not None else ():
        if mapping.container_name == container_name and _asks_for(resources, mapping.resource_name):
            assert extended is not None
            yield extended.resource_claim_name, mapping.request_name


def _resources(pod: Pod, container_name: str) -> ResourceRequirements | None:
    for container in (*pod.spec.init_containers, *(pod.spec.containers or ())):
        if container.name == container_name:
            return container.resources
    return None


def _asks_for(resources: ResourceRequirements, name: str) -> bool:
    amount = resources.requests.get(name)
    return (
        amount is not None
        and not amount.is_zero
        and (is_extended_resource(name) or name.startswith(DEVICE_CLASS_RESOURCE_PREFIX))
    )


def _names(info: ClaimInfo, request: str) -> Iterator[str]:
    for driver in sorted(info.drivers):
        for device in info.drivers[driver]:
            if not request or not device.requests or request in device.requests:
                yield from device.cdi_devices
