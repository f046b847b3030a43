"""What one object uses of a quota, by the names quotas give to resources.

A pod pays for itself and for what its containers ask for, until it has ended; a claim for every
device it could get at worst, by device class; anything else counts as one. A claim that was made
for a pod's extended resources does not pay again for what the pod pays already.

Pure: an object in, amounts out. Upstream counterparts: pkg/quota/v1/evaluator/core (pods.go,
resource_claims.go), component-helpers' resource/helpers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from dray.api.core import (
    POD_PHASE_FAILED,
    POD_PHASE_SUCCEEDED,
    RESOURCE_CPU,
    RESOURCE_EPHEMERAL_STORAGE,
    RESOURCE_MEMORY,
    RESOURCE_PODS,
    Container,
    ContainerStatus,
    Pod,
)
from dray.api.pod_resources import (
    is_extended_resource,
    is_huge_page,
    is_native_resource,
    is_pod_level_resource,
    is_sidecar,
)
from dray.api.quantity import Quantity
from dray.api.resource import (
    ALLOCATION_MODE_ALL,
    ALLOCATION_MODE_EXACT_COUNT,
    DEVICE_CLASS_RESOURCE_PREFIX,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)

__all__ = [
    "CLAIM_COUNT",
    "DEVICES_PER_CLAIM_MAX",
    "DEVICES_SUFFIX",
    "IMPLICIT_PREFIX",
    "LIMITS_PREFIX",
    "POD_COUNT",
    "REQUESTS_PREFIX",
    "Amounts",
    "claim_usage",
    "container_usage",
    "count_name",
    "is_extended_resource_quota",
    "is_pod_charged",
    "pod_usage",
]

Amounts = Mapping[str, Quantity]

REQUESTS_PREFIX: Final = "requests."
LIMITS_PREFIX: Final = "limits."

# By device class: how many devices claims may ask for.
DEVICES_SUFFIX: Final = ".deviceclass.resource.k8s.io/devices"
# The same devices, asked for by pods as resources, or counted as if they were.
IMPLICIT_PREFIX: Final = f"{REQUESTS_PREFIX}{DEVICE_CLASS_RESOURCE_PREFIX}"

# A request for all matching devices: as many as an allocation can hold.
DEVICES_PER_CLAIM_MAX: Final = 32

_ONE: Final = Quantity.from_int(1)
_ZERO: Final = Quantity.from_int(0)

_COMPUTE: Final = (RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_EPHEMERAL_STORAGE)

_CONDITION_RESIZE_PENDING: Final = "PodResizePending"
_REASON_INFEASIBLE: Final = "Infeasible"


def count_name(group: str, plural: str) -> str:
    """What a quota calls the number of objects of a resource."""
    return f"count/{plural}.{group}" if group else f"count/{plural}"


POD_COUNT: Final = count_name("", "pods")
CLAIM_COUNT: Final = count_name("resource.k8s.io", "resourceclaims")


def is_extended_resource_quota(name: str) -> bool:
    """Whether a quota's name stands for an extended resource of pods."""
    return name.startswith(REQUESTS_PREFIX) and (
        not is_native_resource(name) or name.startswith(IMPLICIT_PREFIX)
    )


# Pods ------------------------------------------------------------------------------------------


def pod_usage(pod: Pod, now: datetime) -> dict[str, Quantity]:
    """What a pod uses; one that has ended is only counted."""
    used = {POD_COUNT: _ONE}
    if is_pod_charged(pod, now):
        used |= container_usage(*_needs(pod))
    return used


def is_pod_charged(pod: Pod, now: datetime) -> bool:
    """Whether a pod still uses what it asked for: it runs, or had time to stop and may take it."""
    if pod.status.phase in (POD_PHASE_FAILED, POD_PHASE_SUCCEEDED):
        return False
    deleted_at = pod.metadata.deletion_timestamp
    grace = pod.metadata.deletion_grace_period_seconds
    if deleted_at is None or grace is None:
        return True
    # Its node may be lost: past its time a pod must not keep others from taking its place.
    return now <= deleted_at.instant + timedelta(seconds=grace)


def container_usage(requests: Amounts, limits: Amounts) -> dict[str, Quantity]:
    """What requests and limits amount to, by the names of quotas."""
    used = {RESOURCE_PODS: _ONE}
    for name in _COMPUTE:
        if name in requests:
            used[name] = used[f"{REQUESTS_PREFIX}{name}"] = requests[name]
        if name in limits:
            used[f"{LIMITS_PREFIX}{name}"] = limits[name]
    for name, amount in requests.items():
        if name in _COMPUTE:
            continue
        if is_huge_page(name):
            used[name] = used[f"{REQUESTS_PREFIX}{name}"] = amount
        if is_extended_resource(name) or name.startswith(DEVICE_CLASS_RESOURCE_PREFIX):
            used[f"{REQUESTS_PREFIX}{name}"] = amount
    return used


def _needs(pod: Pod) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """Requests and limits of a pod: while it is being resized, the larger of before and after."""
    requests, limits = _container_needs(pod)
    resources = pod.spec.resources
    if resources is not None:
        requests |= _pod_level(resources.requests)
        limits |= _pod_level(resources.limits)
    for name, amount in pod.spec.overhead.items():
        requests[name] = requests[name] + amount if name in requests else amount
        if name in limits and not limits[name].is_zero:
            limits[name] = limits[name] + amount
    return requests, limits


def _pod_level(amounts: Amounts) -> dict[str, Quantity]:
    return {name: amount for name, amount in amounts.items() if is_pod_level_resource(name)}


Chosen = Callable[[Container, ContainerStatus | None], Amounts]


def _container_needs(pod: Pod) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    requests = _sum(pod, {}, lambda container, _: container.resources.requests)
    limits = _sum(pod, {}, lambda container, _: container.resources.limits)
    statuses = {
        status.name: status
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        if status.resources is not None or status.allocated_resources
    }
    infeasible = _resize_is_infeasible(pod)
    if not statuses and not infeasible:
        return requests, limits  # nothing is known but what was asked for

    def asked(amounts: Amounts) -> Amounts:
        return {} if infeasible else amounts

    def allocated(container: Container, status: ContainerStatus | None) -> Amounts:
        if status is not None and status.allocated_resources:
            return status.allocated_resources
        return asked(container.resources.requests)

    def actual_requests(container: Container, status: ContainerStatus | None) -> Amounts:
        if status is not None and status.resources is not None and status.resources.requests:
            return status.resources.requests
        return allocated(container, status)

    def actual_limits(container: Container, status: ContainerStatus | None) -> Amounts:
        if status is not None and status.resources is not None and status.resources.limits:
            return status.resources.limits
        return asked(container.resources.limits)

    # What cannot be done will not be used.
    total_requests = {} if infeasible else requests
    total_limits = {} if infeasible else limits
    _raise(total_requests, _sum(pod, statuses, actual_requests))
    _raise(total_requests, _sum(pod, statuses, allocated))
    _raise(total_limits, _sum(pod, statuses, actual_limits))
    return total_requests, total_limits


def _resize_is_infeasible(pod: Pod) -> bool:
    for condition in pod.status.conditions:
        if condition.type == _CONDITION_RESIZE_PENDING:
            return condition.reason == _REASON_INFEASIBLE
    return False


def _sum(pod: Pod, statuses: Mapping[str, ContainerStatus], of: Chosen) -> dict[str, Quantity]:
    """What containers need at the moment they need most: see dray.api.pod_resources."""
    total: dict[str, Quantity] = {}
    for container in pod.spec.containers or ():
        _add(total, of(container, statuses.get(container.name)))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in pod.spec.init_containers:
        amounts = of(container, statuses.get(container.name))
        if is_sidecar(container):
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(peak, sidecars)
        else:
            together = dict(amounts)
            _add(together, sidecars)
            _raise(peak, together)
    _raise(total, peak)
    return total


def _add(total: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount


# Claims ----------------------------------------------------------------------------------------


def claim_usage(
    claim: ResourceClaim, extended_resources: Mapping[str, str], paid: Amounts
) -> dict[str, Quantity]:
    """What a claim uses.

    `extended_resources` says by which name each device class is an extended resource, if it has
    one; `paid` is what the pod pays that the claim was made for.
    """
    devices: dict[str, int] = {}
    for request in claim.spec.devices.requests or ():
        if request.first_available:
            # Whichever is taken in the end, no class gives more than its largest alternative.
            most: dict[str, int] = {}
            for alternative in request.first_available:
                name = alternative.device_class_name
                most[name] = max(most.get(name, 0), _devices(alternative))
            for name, count in most.items():
                if count:
                    devices[name] = devices.get(name, 0) + count
        elif request.exactly is not None:
            name = request.exactly.device_class_name
            devices[name] = devices.get(name, 0) + _devices(request.exactly)
    used = {CLAIM_COUNT: _ONE}
    extended: dict[str, Quantity] = {}
    for name, count in devices.items():
        amount = Quantity.from_int(count)
        used[f"{name}{DEVICES_SUFFIX}"] = amount
        if not name:
            continue
        extended[f"{IMPLICIT_PREFIX}{name}"] = amount
        if resource := extended_resources.get(name, ""):
            # Upstream takes either of two classes that share a name; the larger one is safe.
            quota_name = f"{REQUESTS_PREFIX}{resource}"
            extended[quota_name] = max(amount, extended.get(quota_name, _ZERO))
    for name, amount in extended.items():
        rest = amount - paid[name] if name in paid else amount
        if rest.sign > 0:
            used[name] = rest
    return used


def _devices(request: ExactDeviceRequest | DeviceSubRequest) -> int:
    if request.allocation_mode == ALLOCATION_MODE_EXACT_COUNT:
        return request.count
    return DEVICES_PER_CLAIM_MAX if request.allocation_mode == ALLOCATION_MODE_ALL else 0
