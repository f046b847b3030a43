"""The device requests that stand for the extended resources of a pod's containers.

Every container gets a request for each of its resources, named after both. Init containers run
before the others and give back what they had, so they use what later containers will have anyway,
and what they lack besides is asked for once, for the one that lacks most. Pure.

Upstream counterpart: extendeddynamicresources.go of the DynamicResources plugin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dray.api.core import Container, ContainerExtendedResourceRequest, Pod
from dray.api.pod_resources import is_sidecar
from dray.api.quantity import Quantity
from dray.api.resource import ALLOCATION_MODE_EXACT_COUNT, DeviceRequest, ExactDeviceRequest

__all__ = ["ExtendedRequests", "extended_requests"]


class ExtendedRequests(NamedTuple):
    """What to ask for, and which container's resource each request stands for."""

    requests: tuple[DeviceRequest, ...]
    mappings: tuple[ContainerExtendedResourceRequest, ...]


@dataclass(frozen=True, slots=True)
class _Need:
    """What one container asks for of one resource."""

    index: int  # of the container, init containers first
    container: str
    resource: str
    count: int
    request: str  # how a request of its own is called
    passing: bool  # it is over before the pod's main containers start


def extended_requests(pod: Pod, classes: Mapping[str, str]) -> ExtendedRequests:
    """`classes` has the device class of each resource that devices are to stand for."""
    needs = [need for need in _needs(pod) if need.resource in classes]
    lasting = [need for need in needs if not need.passing]
    counts = {need.request: (need.resource, need.count) for need in lasting}
    mappings = [_mapping(need, need.request) for need in lasting]
    shared: dict[str, _Need] = {}  # by resource: the need of which a request is made
    lacks: dict[str, int] = {}
    uses: list[tuple[_Need, bool]] = []  # and whether it lacks something besides
    for need in needs:
        if not need.passing:
            continue
        missing = need.count
        for later in lasting:
            if missing > 0 and later.resource == need.resource and later.index >= need.index:
                mappings.append(_mapping(need, later.request))
                missing -= later.count
        if missing > lacks.get(need.resource, 0):
            lacks[need.resource] = missing
            shared[need.resource] = need
        uses.append((need, missing > 0))
    for need, lacking in uses:
        if lacking:
            mappings.append(_mapping(need, shared[need.resource].request))
    for resource, need in shared.items():
        counts[need.request] = (resource, lacks[resource])
    requests = tuple(
        DeviceRequest(
            name=name,
            exactly=ExactDeviceRequest(
                device_class_name=classes[resource],
                allocation_mode=ALLOCATION_MODE_EXACT_COUNT,
                count=count,
            ),
        )
        for name, (resource, count) in sorted(counts.items())
    )
    return ExtendedRequests(requests, tuple(sorted(mappings, key=_by_names)))


def _by_names(mapping: ContainerExtendedResourceRequest) -> tuple[str, str, str]:
    return mapping.container_name, mapping.resource_name, mapping.request_name


def _needs(pod: Pod) -> Iterator[_Need]:
    spec = pod.spec
    inits = len(spec.init_containers)
    for index, container in enumerate((*spec.init_containers, *(spec.containers or ()))):
        passing = index < inits and not is_sidecar(container)
        for position, (resource, amount) in enumerate(sorted(_requests(container).items())):
            count = _whole(amount)
            if count > 0:
                request = f"container-{index}-request-{position}"
                yield _Need(index, container.name, resource, count, request, passing)


def _requests(container: Container) -> Mapping[str, Quantity]:
    return container.resources.requests


def _whole(amount: Quantity) -> int:
    """How many devices; none for what is no whole number."""
    units, rest = divmod(amount.nano, 10**9)
    return 0 if rest else units


def _mapping(need: _Need, request: str) -> ContainerExtendedResourceRequest:
    return ContainerExtendedResourceRequest(
        container_name=need.container, resource_name=need.resource, request_name=request
    )
