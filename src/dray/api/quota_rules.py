"""Which of a quota's bounds an object falls under, and who pays for a claim.

Pure, so that who charges writes and who counts again go by the same rules. Upstream counterpart:
the evaluators of pkg/quota/v1 and apiserver's pkg/quota/v1/generic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dray.api.core import (
    RESOURCE_CPU,
    RESOURCE_EPHEMERAL_STORAGE,
    RESOURCE_HUGE_PAGES_PREFIX,
    RESOURCE_MEMORY,
    RESOURCE_PODS,
    Pod,
)
from dray.api.quota_usage import (
    CLAIM_COUNT,
    DEVICES_SUFFIX,
    IMPLICIT_PREFIX,
    LIMITS_PREFIX,
    POD_COUNT,
    REQUESTS_PREFIX,
    is_extended_resource_quota,
)
from dray.api.resource import EXTENDED_RESOURCE_CLAIM_ANNOTATION, DeviceClass, ResourceClaim

__all__ = [
    "COUNT_ALIASES",
    "ClassNames",
    "claim_payer",
    "counted_resource",
    "extended_resource_pod",
    "pod_bounds",
]

# Older names of counts, which still work.
COUNT_ALIASES: Final = frozenset(
    {"configmaps", "resourcequotas", "replicationcontrollers", "secrets"}
)

_COUNT_PREFIX: Final = "count/"

_POD_NAMES: Final = frozenset(
    {
        POD_COUNT,
        RESOURCE_PODS,
        *(
            f"{prefix}{name}"
            for prefix in ("", REQUESTS_PREFIX, LIMITS_PREFIX)
            for name in (RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_EPHEMERAL_STORAGE)
        ),
    }
)

_HUGE_PAGES: Final = (
    RESOURCE_HUGE_PAGES_PREFIX,
    f"{REQUESTS_PREFIX}{RESOURCE_HUGE_PAGES_PREFIX}",
)


def pod_bounds(hard: Iterable[str]) -> list[str]:
    """Those bounds of a quota that pods fall under."""
    return [
        name
        for name in hard
        if name in _POD_NAMES or name.startswith(_HUGE_PAGES) or is_extended_resource_quota(name)
    ]


def counted_resource(name: str) -> str:
    """The resource whose objects a bound counts, as in jobs.batch; empty if it is no such bound.

    Pods and claims are measured, and not among them.
    """
    if name in COUNT_ALIASES:
        return name
    if name.startswith(_COUNT_PREFIX) and name not in (POD_COUNT, CLAIM_COUNT):
        return name.removeprefix(_COUNT_PREFIX)
    return ""


# Claims ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClassNames:
    """What quotas call the devices of the classes that there are."""

    extended_resources: Mapping[str, str]  # by class: the name of its extended resource
    bounds: frozenset[str]

    @classmethod
    def of(cls, classes: Iterable[DeviceClass]) -> ClassNames:
        extended: dict[str, str] = {}
        bounds: set[str] = set()
        for found in classes:
            name, resource = found.metadata.name, found.spec.extended_resource_name
            bounds.add(f"{IMPLICIT_PREFIX}{name}")
            if resource:
                extended[name] = resource
                bounds.add(f"{REQUESTS_PREFIX}{resource}")
        return cls(extended, frozenset(bounds))

    def claim_bounds(self, hard: Iterable[str]) -> list[str]:
        """Those bounds of a quota that claims fall under."""
        return [
            name
            for name in hard
            if name == CLAIM_COUNT or name.endswith(DEVICES_SUFFIX) or name in self.bounds
        ]


def extended_resource_pod(claim: ResourceClaim) -> tuple[str, str] | None:
    """Name and UID of the pod for whose extended resources a claim was made."""
    if claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM_ANNOTATION) != "true":
        return None
    for reference in claim.metadata.owner_references:
        if reference.controller:
            is_pod = reference.kind == "Pod" and reference.api_version == "v1"
            return (reference.name, reference.uid) if is_pod else None
    return None


def claim_payer(
    claim: ResourceClaim, pod: Pod | None, siblings: Callable[[], Iterable[ResourceClaim]]
) -> Pod | None:
    """The pod that pays already for what a claim asks for, if that is sure.

    `pod` is the one by the name that `extended_resource_pod` gives, `siblings` the claims of the
    namespace: they are looked at only until the pod says which claim is its own.
    """
    owner = extended_resource_pod(claim)
    if owner is None or pod is None or pod.metadata.uid != owner[1]:
        return None
    told = pod.status.extended_resource_claim_status
    if told is not None:
        return pod if told.resource_claim_name == claim.metadata.name else None
    # Another claim for the same pod may have come first; then that one need not pay.
    mine = _age(claim)
    late = any(
        _age(other) < mine
        for other in siblings()
        if (found := extended_resource_pod(other)) is not None and found[1] == owner[1]
    )
    return None if late else pod


def _age(claim: ResourceClaim) -> tuple[float, str]:
    created = claim.metadata.creation_timestamp
    # One that has no time yet compares as upstream's zero time does: before all others.
    return (created.instant.timestamp() if created else float("-inf"), claim.metadata.name)
