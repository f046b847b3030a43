"""Status updates of pods: claims, devices' health, conditions, containers' states.

Nodes and controllers write these. What refers to the pod's spec must be found there. Not checked,
because dray only carries them: users of containers, volume mounts, volume health, the form and
families of addresses. Upstream counterpart: ValidatePodStatusUpdate in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.core import (
    POD_CONDITION_INITIALIZED,
    POD_CONDITION_READY,
    POD_CONDITION_SCHEDULED,
    RESOURCE_HEALTH_HEALTHY,
    RESOURCE_HEALTH_UNHEALTHY,
    RESOURCE_HEALTH_UNKNOWN,
    Container,
    ContainerStatus,
    Pod,
    PodCondition,
    PodExtendedResourceClaimStatus,
    PodResourceClaimStatus,
    PodSpec,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
)
from dray.validation.container_states import check_state_transitions
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta_update
from dray.validation.node_allocatable import check_node_allocatable
from dray.validation.pod_leniency import Leniency, deletion_cost_holds
from dray.validation.pod_update import check_annotation_changes
from dray.validation.rules import (
    IMMUTABLE,
    byte_length,
    check_dns_label,
    check_dns_subdomain,
    check_label_key,
)

__all__ = ["HEALTH_MESSAGE_BYTES_MAX", "check_pod_status_update"]

HEALTH_MESSAGE_BYTES_MAX: Final = 1024

# Device health is reported under the name of a claim, with this in front.
_CLAIM_PREFIX: Final = "claim:"

_NOT_NEGATIVE_INTEGER: Final = "must be a non-negative integer"
_SYSTEM_CONDITIONS: Final = frozenset(
    {POD_CONDITION_SCHEDULED, POD_CONDITION_READY, POD_CONDITION_INITIALIZED}
)
_HEALTH: Final = (RESOURCE_HEALTH_HEALTHY, RESOURCE_HEALTH_UNHEALTHY, RESOURCE_HEALTH_UNKNOWN)


def check_pod_status_update(found: Findings, new: Pod, old: Pod) -> None:
    """A change of a pod's status, by the hand-written rules."""
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    cost_holds = deletion_cost_holds(old.metadata.annotations)
    check_annotation_changes(found, new, old, Leniency(any_deletion_cost=not cost_holds))
    status = new.status
    _check_conditions(found, status.conditions, "status.conditions")
    _check_scheduling(found, new, old)
    check_state_transitions(found, new, old)
    _check_claim_statuses(found, status.resource_claim_statuses, new.spec)
    _check_extended_claim(found, status.extended_resource_claim_status, new.spec)
    check_node_allocatable(found, status, new.spec)
    _check_addresses(found, status)
    for path, statuses, containers in (
        ("status.containerStatuses", status.container_statuses, new.spec.containers or ()),
        (
            "status.initContainerStatuses",
            status.init_container_statuses,
            new.spec.init_containers,
        ),
    ):
        _check_resource_health(found, statuses, containers, status, path)
    for index, ephemeral in enumerate(status.ephemeral_container_statuses):
        if ephemeral.allocated_resources_status:
            found.forbidden(
                f"status.ephemeralContainerStatuses[{index}].allocatedResourcesStatus",
                "must not be specified in container status",
            )


# Conditions and scheduling ---------------------------------------------------------------------


def _check_conditions(found: Findings, conditions: Sequence[PodCondition], path: str) -> None:
    for index, condition in enumerate(conditions):
        at = f"{path}[{index}]"
        if condition.observed_generation < 0:
            found.invalid(
                f"{at}.observedGeneration", condition.observed_generation, _NOT_NEGATIVE_INTEGER
            )
        if condition.type not in _SYSTEM_CONDITIONS:
            check_label_key(found, condition.type, f"{at}.Type")


def _check_scheduling(found: Findings, new: Pod, old: Pod) -> None:
    if new.spec.node_name != old.spec.node_name:
        found.forbidden("status.nodeName", "may not be changed directly")
    nominated = new.status.nominated_node_name
    if nominated and nominated != old.status.nominated_node_name:
        path = "status.nominatedNodeName"
        check_dns_subdomain(found, nominated, path)
        if old.spec.node_name:
            detail = "may not be set on pods that are already bound to a node"
            found.forbidden(path, detail)
    generation = new.status.observed_generation
    if generation < 0:
        found.invalid("status.observedGeneration", generation, _NOT_NEGATIVE_INTEGER)
    if new.status.qos_class != old.status.qos_class:
        found.invalid("status.qosClass", new.status.qos_class, IMMUTABLE)


# Claims ----------------------------------------------------------------------------------------


def _check_claim_statuses(
    found: Findings, statuses: Sequence[PodResourceClaimStatus] | None, spec: PodSpec
) -> None:
    known = {claim.name for claim in spec.resource_claims}
    seen: set[str] = set()
    for index, status in enumerate(statuses or ()):
        at = f"status.resourceClaimStatuses[{index}]"
        if status.name not in known:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            found.invalid(f"{at}.name", status.name, detail)
        if status.name in seen:
            found.duplicate(f"{at}.name", status.name)
        seen.add(status.name)
        if status.resource_claim_name is not None:
            check_dns_subdomain(found, status.resource_claim_name, f"{at}.resourceClaimName")


def _check_extended_claim(
    found: Findings, status: PodExtendedResourceClaimStatus | None, spec: PodSpec
) -> None:
    if status is None:
        return
    path = "status.extendedResourceClaimStatus"
    containers = {
        container.name: container for container in (*spec.init_containers, *(spec.containers or ()))
    }
    mappings = status.request_mappings or ()
    if not mappings:
        found.required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, str, str]] = set()
    for index, mapping in enumerate(mappings):
        at = f"{path}.requestMappings[{index}]"
        container = containers.get(mapping.container_name)
        if container is None:
            found.invalid(
                f"{at}.containerName",
                mapping.container_name,
                "must match the name of an entry in spec.initContainers.name or"
                " spec.containers.name",
            )
        elif mapping.resource_name not in container.resources.requests:
            found.invalid(
                f"{at}.resourceName",
                mapping.resource_name,
                "must match the extended resource name of an entry in"
                " spec.initContainers.resources.requests or spec.containers.resources.requests",
            )
        # Upstream leaves out which mapping it means.
        check_dns_label(found, mapping.request_name, f"{path}.requestName")
        key = (mapping.container_name, mapping.resource_name, mapping.request_name)
        if key in seen:
            found.duplicate(f"{at}.containerName", mapping.container_name)
            found.duplicate(f"{at}.resourceName", mapping.resource_name)
            found.duplicate(f"{at}.requestName", mapping.request_name)
        seen.add(key)
    if not status.resource_claim_name:
        found.required(f"{path}.resourceClaimName")
    else:
        check_dns_subdomain(found, status.resource_claim_name, f"{path}.resourceClaimName")


# Addresses -------------------------------------------------------------------------------------


def _check_addresses(found: Findings, status: PodStatus) -> None:
    if status.host_ips and status.host_ip != status.host_ips[0].ip:
        found.invalid("status.hostIPs[0].ip", status.host_ips[0].ip, "must be equal to `hostIP`")


# Devices' health -------------------------------------------------------------------------------


def _check_resource_health(
    found: Findings,
    statuses: Sequence[ContainerStatus],
    containers: Sequence[Container],
    status: PodStatus,
    path: str,
) -> None:
    by_name = {container.name: container for container in reversed(containers)}
    for index, container_status in enumerate(statuses):
        # Upstream lets statuses of containers that do not exist pass.
        container = by_name.get(container_status.name)
        for place, resource in enumerate(container_status.allocated_resources_status):
            at = f"{path}[{index}].allocatedResourcesStatus[{place}]"
            if container is not None:
                _check_resource_used(found, resource, container, status, at)
            seen: set[str] = set()
            for position, health in enumerate(resource.resources):
                _check_health(found, health, f"{at}.resources[{position}]")
                if health.resource_id in seen:
                    where = f"{at}.resources[{position}].resourceID"
                    found.duplicate(where, health.resource_id)
                seen.add(health.resource_id)


def _check_resource_used(
    found: Findings,
    resource: ResourceStatus,
    container: Container,
    status: PodStatus,
    path: str,
) -> None:
    name = resource.name
    if not name.startswith(_CLAIM_PREFIX):
        if name not in container.resources.requests:
            detail = "must match one of the container's resource requests"
            found.invalid(f"{path}.name", name, detail)
        return
    picked = {
        f"{_CLAIM_PREFIX}{claim.name}/{claim.request}"
        if claim.request
        else f"{_CLAIM_PREFIX}{claim.name}"
        for claim in container.resources.claims
    }
    if name in picked or _is_extended(name, container, status.extended_resource_claim_status):
        return
    found.invalid(
        f"{path}.name",
        name,
        "must match one of the container's resource claims as 'claim:<claimName>/<requestName>'"
        " when container.resources.claims[*].request is set or 'claim:<claimName>' when it is"
        " empty",
    )


def _is_extended(
    name: str, container: Container, status: PodExtendedResourceClaimStatus | None
) -> bool:
    """Whether this is a request of the claim behind the container's extended resources."""
    if status is None:
        return False
    claim, _, request = name.removeprefix(_CLAIM_PREFIX).partition("/")
    if not claim or not request or claim != status.resource_claim_name:
        return False
    for mapping in status.request_mappings or ():
        if mapping.container_name != container.name or mapping.request_name != request:
            continue
        amount = container.resources.requests.get(mapping.resource_name)
        if amount is not None and not amount.is_zero:
            return True
    return False


def _check_health(found: Findings, health: ResourceHealth, path: str) -> None:
    if health.health not in _HEALTH:
        found.not_supported(f"{path}.health", health.health, _HEALTH)
    if health.message is None:
        return
    if not health.message:
        found.required(f"{path}.message", "must be non-empty if specified")
    elif byte_length(health.message) > HEALTH_MESSAGE_BYTES_MAX:
        found.too_long(f"{path}.message", HEALTH_MESSAGE_BYTES_MAX)
