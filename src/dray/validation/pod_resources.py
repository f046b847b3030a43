"""Amounts of resources that containers and pods ask for.

Claims beside the amounts are checked by `pod_claims`. Upstream walks amounts in no particular
order; here they are walked in the order they were written. Upstream counterparts:
validateResourceRequirements, validatePodResources and ValidateContainerResourceName in
pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from dray.api import names
from dray.api.core import (
    RESOURCE_CPU,
    RESOURCE_EPHEMERAL_STORAGE,
    RESOURCE_HUGE_PAGES_PREFIX,
    RESOURCE_MEMORY,
    RESOURCE_PODS,
    PodSpec,
    ResourceRequirements,
)
from dray.api.pod_resources import (
    POD_LEVEL_RESOURCES,
    Amounts,
    divides_into_pages,
    is_extended_resource,
    is_huge_page,
    is_native_resource,
    is_pod_level_resource,
    overcommits,
    sum_limits,
    sum_requests,
)
from dray.api.quantity import Quantity
from dray.validation.findings import Findings
from dray.validation.meta import NOT_NEGATIVE
from dray.validation.pod_claims import check_container_claims, pod_claim_names

__all__ = [
    "check_amount",
    "check_container_resource_name",
    "check_container_resources",
    "check_pod_resources",
    "check_resource_name",
]

NOT_INTEGER: Final = "must be an integer"

# What is counted, not measured. None of these can be asked for, but the name is not the only
# thing upstream complains about.
_INTEGERS: Final = frozenset(
    {
        RESOURCE_PODS,
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_FOR_CONTAINERS: Final = frozenset({RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_EPHEMERAL_STORAGE})
_FOR_QUOTAS: Final = frozenset(
    f"{prefix}{name}" for prefix in ("requests.", "limits.") for name in _FOR_CONTAINERS
)
_STANDARD: Final = (
    _FOR_CONTAINERS | _FOR_QUOTAS | _INTEGERS | frozenset({"storage", "requests.storage"})
)

NameCheck = Callable[[Findings, str, str], None]


# Names -----------------------------------------------------------------------------------------


def check_container_resource_name(found: Findings, name: str, path: str) -> None:
    """Native resources a container can use, and extended ones."""
    check_resource_name(found, name, path)
    if "/" not in name:
        if name not in _FOR_CONTAINERS and not is_huge_page(name):
            found.invalid(path, name, "must be a standard resource for containers")
    elif not is_native_resource(name) and not is_extended_resource(name):
        found.invalid(path, name, "doesn't follow extended resource name standard")


def _check_pod_resource_name(found: Findings, name: str, path: str) -> None:
    if not check_resource_name(found, name, path) or is_pod_level_resource(name):
        return
    found.not_supported(path, name, sorted((*POD_LEVEL_RESOURCES, RESOURCE_HUGE_PAGES_PREFIX)))


def check_resource_name(found: Findings, name: str, path: str) -> bool:
    """Whether this names a resource at all: a native one, or one of somebody's domain."""
    messages = names.label_key(name)
    for message in messages:
        found.invalid(path, name, message)
    if messages:
        return False
    if "/" in name or name in _STANDARD or is_huge_page(name.removeprefix("requests.")):
        return True
    found.invalid(path, name, "must be a standard resource type or fully qualified")
    return False


# Amounts ---------------------------------------------------------------------------------------


def check_container_resources(
    found: Findings,
    resources: ResourceRequirements,
    pod_claims: Collection[str],
    path: str,
    *,
    indivisible_huge_pages: bool = False,
) -> None:
    """What a container asks for. A pod stored with odd amounts of huge pages may keep them."""
    _check_amounts(
        found,
        resources,
        path,
        check_container_resource_name,
        indivisible_huge_pages=indivisible_huge_pages,
    )
    check_container_claims(found, resources.claims, pod_claims, f"{path}.claims")


def _check_amounts(
    found: Findings,
    resources: ResourceRequirements,
    path: str,
    check_name: NameCheck,
    *,
    indivisible_huge_pages: bool,
) -> None:
    limits, requests = resources.limits, resources.requests
    for place, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            at = f"{path}.{place}[{name}]"
            check_name(found, name, at)
            check_amount(found, name, amount, at)
            if amounts is requests:
                _check_against_limit(found, name, amount, limits, path)
            if (
                is_huge_page(name)
                and not indivisible_huge_pages
                and not divides_into_pages(name, amount)
            ):
                shown = str(amount)
                detail = f"{shown} is not positive integer multiple of {name}"
                found.invalid(at, shown, detail)
    asked = {*limits, *requests}
    if any(map(is_huge_page, asked)) and not asked & {RESOURCE_CPU, RESOURCE_MEMORY}:
        found.forbidden(path, "HugePages require cpu or memory")


def check_amount(found: Findings, name: str, amount: Quantity, path: str) -> None:
    """An amount of that resource: not negative, and whole if it is counted."""
    if amount.sign < 0:
        found.invalid(path, str(amount), NOT_NEGATIVE)
    # The remainder upstream takes has the sign of the dividend; only its being zero matters.
    if (name in _INTEGERS or is_extended_resource(name)) and amount.milli_value() % 1000:
        found.invalid(path, str(amount), NOT_INTEGER)


def _check_against_limit(
    found: Findings, name: str, amount: Quantity, limits: Amounts, path: str
) -> None:
    limit = limits.get(name)
    if limit is None:
        if not overcommits(name):
            detail = "Limit must be set for non overcommitable resources"
            found.required(f"{path}.limits", detail)
    elif amount != limit and not overcommits(name):
        detail = f"must be equal to {name} limit of {limit}"
        found.invalid(f"{path}.requests", str(amount), detail)
    elif amount > limit:
        detail = f"must be less than or equal to {name} limit of {limit}"
        found.invalid(f"{path}.requests", str(amount), detail)


# Amounts of the pod as a whole -----------------------------------------------------------------


def check_pod_resources(
    found: Findings, spec: PodSpec, path: str, *, indivisible_huge_pages: bool = False
) -> None:
    """Amounts the pod sets for all its containers together. They must have room in it."""
    resources = spec.resources
    if resources is None:
        return
    at = f"{path}.resources"
    if spec.os is not None and spec.os.name == "windows":
        found.forbidden(at, "may not be set for a windows pod")
        return
    if resources.claims:
        found.forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level")
    _check_amounts(
        found,
        resources,
        at,
        _check_pod_resource_name,
        indivisible_huge_pages=indivisible_huge_pages,
    )
    pod_claims = pod_claim_names(spec.resource_claims)
    check_container_claims(found, resources.claims, pod_claims, f"{at}.claims")
    _check_room(found, spec, resources, at)


def _check_room(found: Findings, spec: PodSpec, resources: ResourceRequirements, path: str) -> None:
    for name, needed in sum_requests(spec).items():
        given = resources.requests.get(name)
        if given is not None and needed > given:
            found.invalid(
                f"{path}.requests[{name}]",
                str(given),
                f"must be greater than or equal to aggregate container requests of {needed}",
            )
    for name, needed in sum_limits(spec).items():
        given = resources.limits.get(name)
        if given is not None and is_huge_page(name) and needed > given:
            found.invalid(
                f"{path}.limits[{name}]",
                str(given),
                f"must be greater than or equal to aggregate container limits of {needed}",
            )
    for index, container in enumerate(spec.containers or ()):
        for name, needed in container.resources.limits.items():
            given = resources.limits.get(name)
            if given is not None and needed > given:
                found.invalid(
                    f"{path}.containers[{index}][{name}].limits",
                    str(needed),
                    f"must be less than or equal to pod limits of {given}",
                )
