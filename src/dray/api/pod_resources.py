"""What a pod asks of a node: what resource names mean, and what a pod's containers add up to.

A name without a domain, or in kubernetes.io, is native: kept by Kubernetes itself. Any other
well-formed name is an extended resource: counted in whole units and never shared, so a request
equals its limit. `deviceclass.resource.kubernetes.io/<class>` is native by this rule.

Sums follow the order in which containers run: init containers one after the other, sidecars
from their start to the end. Not here: what nodes have to offer, and what claims add (nobody knows
before they are allocated). Upstream counterparts: pkg/apis/core/helper, component-helpers'
resource/helpers.go, pkg/apis/core/helper/qos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dray.api import names
from dray.api.core import (
    CONTAINER_RESTART_POLICY_ALWAYS,
    QOS_BEST_EFFORT,
    QOS_BURSTABLE,
    QOS_GUARANTEED,
    RESOURCE_CPU,
    RESOURCE_HUGE_PAGES_PREFIX,
    RESOURCE_MEMORY,
    Container,
    PodSpec,
    ResourceRequirements,
)
from dray.api.quantity import Quantity
from dray.errors import ParseError

__all__ = [
    "POD_LEVEL_RESOURCES",
    "Amounts",
    "default_pod_level_resources",
    "divides_into_pages",
    "is_extended_resource",
    "is_huge_page",
    "is_native_resource",
    "is_node_allocatable",
    "is_pod_level_resource",
    "is_sidecar",
    "overcommits",
    "qos_class",
    "sum_limits",
    "sum_requests",
]

Amounts = Mapping[str, Quantity]

# What a pod as a whole may ask for, beside huge pages of any size.
POD_LEVEL_RESOURCES: Final = (RESOURCE_CPU, RESOURCE_MEMORY)

_NATIVE_DOMAIN: Final = "kubernetes.io/"
_QUOTA_PREFIX: Final = "requests."
_ZERO: Final = Quantity.from_int(0)


# Names -----------------------------------------------------------------------------------------


def is_native_resource(name: str) -> bool:
    """Whether Kubernetes itself keeps this resource."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended_resource(name: str) -> bool:
    """Whether this is a resource of a plugin or a driver. A quota must be able to name it too."""
    return (
        not is_native_resource(name)
        and not name.startswith(_QUOTA_PREFIX)
        and not names.label_key(f"{_QUOTA_PREFIX}{name}")
    )


def is_huge_page(name: str) -> bool:
    """Whether this is memory in pages of one size, such as hugepages-2Mi."""
    return name.startswith(RESOURCE_HUGE_PAGES_PREFIX)


def is_node_allocatable(name: str) -> bool:
    """Whether a device may stand for some of this resource of its node."""
    return name in (RESOURCE_CPU, RESOURCE_MEMORY) or is_huge_page(name)


def is_pod_level_resource(name: str) -> bool:
    """Whether a pod as a whole may ask for this, beside its containers."""
    return name in POD_LEVEL_RESOURCES or is_huge_page(name)


def overcommits(name: str) -> bool:
    """Whether a limit may exceed the request: more may be promised than is set aside."""
    return is_native_resource(name) and not is_huge_page(name)


def divides_into_pages(name: str, amount: Quantity) -> bool:
    """Whether an amount of huge pages is a whole number of pages of the size in the name."""
    try:
        size = Quantity.parse(name.removeprefix(RESOURCE_HUGE_PAGES_PREFIX))
    except ParseError:
        return False
    if size.sign <= 0 or size.milli_value() % 1000 or not size.value():
        return False
    return amount.value() % size.value() == 0


# Sums ------------------------------------------------------------------------------------------


def is_sidecar(container: Container) -> bool:
    """Whether an init container keeps running beside those that follow."""
    return container.restart_policy == CONTAINER_RESTART_POLICY_ALWAYS


def sum_requests(spec: PodSpec) -> dict[str, Quantity]:
    """What the containers of a pod ask for at the moment they ask for most."""
    return _sum(spec, lambda resources: resources.requests)


def sum_limits(spec: PodSpec) -> dict[str, Quantity]:
    """The most that the containers of a pod may use at any moment."""
    return _sum(spec, lambda resources: resources.limits)


def _sum(spec: PodSpec, of: Callable[[ResourceRequirements], Amounts]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for container in spec.containers or ():
        _add(total, of(container.resources))
    sidecars: dict[str, Quantity] = {}
    # Never below what the sidecars take together, so that a container changes only what it names.
    peak: dict[str, Quantity] = {}
    for container in spec.init_containers:
        amounts = of(container.resources)
        if is_sidecar(container):
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(peak, {name: sidecars[name] for name in amounts})
        else:
            _raise(
                peak,
                {
                    name: amount + sidecars[name] if name in sidecars else amount
                    for name, amount in amounts.items()
                },
            )
    _raise(total, peak)
    return total


def _add(total: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount


# Amounts of the pod as a whole -----------------------------------------------------------------


def default_pod_level_resources(spec: PodSpec) -> ResourceRequirements | None:
    """What a pod that sets some amounts for itself leaves to its containers' amounts.

    Each step builds on the one before: limits of huge pages, then requests, then the other limits.
    """
    resources = spec.resources
    if resources is None or not (resources.requests or resources.limits):
        return resources
    limits, requests = dict(resources.limits), dict(resources.requests)
    container_limits = sum_limits(spec)
    for name, amount in container_limits.items():
        if is_huge_page(name) and name not in requests:
            limits.setdefault(name, amount)
    for name, amount in sum_requests(spec).items():
        if is_pod_level_resource(name) and overcommits(name):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_pod_level_resource(name):
            requests.setdefault(name, amount)
    containers = (*spec.init_containers, *(spec.containers or ()), *spec.ephemeral_containers)
    for name, amount in requests.items():
        # A limit for all stands only where every container has one.
        if (
            is_pod_level_resource(name)
            and name not in limits
            and name in container_limits
            and all(name in container.resources.limits for container in containers)
        ):
            limits[name] = max(container_limits[name], amount)
    if len(limits) == len(resources.limits) and len(requests) == len(resources.requests):
        return resources
    return ResourceRequirements(
        limits=limits,
        requests=requests,
        claims=resources.claims,
        unknown_fields=resources.unknown_fields,
    )


# Quality of service ----------------------------------------------------------------------------


def qos_class(spec: PodSpec) -> str:
    """Who is evicted first when a node runs short: derived once, when the pod is created."""
    resources = spec.resources
    if resources is not None and any(
        is_pod_level_resource(name) for name in (*resources.requests, *resources.limits)
    ):
        return _class_of(resources)
    classes = {
        _class_of(container.resources)
        for container in (*spec.init_containers, *(spec.containers or ()))
    }
    return _common(classes)


def _class_of(resources: ResourceRequirements) -> str:
    return _common(
        _class_of_amounts(resources.requests.get(name, _ZERO), resources.limits.get(name, _ZERO))
        for name in (RESOURCE_CPU, RESOURCE_MEMORY)
    )


def _class_of_amounts(request: Quantity, limit: Quantity) -> str:
    if request != limit:
        return QOS_BURSTABLE
    return QOS_BEST_EFFORT if request.is_zero else QOS_GUARANTEED


def _common(classes: Iterable[str]) -> str:
    found = set(classes)
    if len(found) > 1:
        return QOS_BURSTABLE
    return found.pop() if found else QOS_BEST_EFFORT
