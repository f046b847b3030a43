"""ResourceQuota: how much a namespace may use altogether.

Upstream counterpart: ResourceQuota in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.meta import ListMeta, Object
from dray.api.quantity import Quantity
from dray.api.wire import Struct, always

__all__ = [
    "QUOTA_SCOPE_BEST_EFFORT",
    "QUOTA_SCOPE_CROSS_NAMESPACE_POD_AFFINITY",
    "QUOTA_SCOPE_NOT_BEST_EFFORT",
    "QUOTA_SCOPE_NOT_TERMINATING",
    "QUOTA_SCOPE_PRIORITY_CLASS",
    "QUOTA_SCOPE_TERMINATING",
    "ResourceQuota",
    "ResourceQuotaList",
    "ResourceQuotaSpec",
    "ResourceQuotaStatus",
    "ScopeSelector",
    "ScopedResourceSelectorRequirement",
]

QUOTA_SCOPE_TERMINATING: Final = "Terminating"
QUOTA_SCOPE_NOT_TERMINATING: Final = "NotTerminating"
QUOTA_SCOPE_BEST_EFFORT: Final = "BestEffort"
QUOTA_SCOPE_NOT_BEST_EFFORT: Final = "NotBestEffort"
QUOTA_SCOPE_PRIORITY_CLASS: Final = "PriorityClass"
QUOTA_SCOPE_CROSS_NAMESPACE_POD_AFFINITY: Final = "CrossNamespacePodAffinity"


class ScopedResourceSelectorRequirement(Struct):
    """One clause about a scope: In, NotIn, Exists or DoesNotExist."""

    scope_name: str = always("")
    operator: str = always("")
    values: tuple[str, ...] = ()


class ScopeSelector(Struct):
    """Which objects count; all clauses must hold."""

    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ResourceQuotaSpec(Struct):
    """The bounds, and which objects they are about."""

    hard: Mapping[str, Quantity] = field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Struct):
    """The bounds in force, and what is used of them."""

    hard: Mapping[str, Quantity] = field(default_factory=dict)
    used: Mapping[str, Quantity] = field(default_factory=dict)


class ResourceQuota(Object):
    """How much a namespace may use altogether."""

    api_version: str = always("v1")
    kind: str = always("ResourceQuota")
    spec: ResourceQuotaSpec = always(ResourceQuotaSpec)
    status: ResourceQuotaStatus = always(ResourceQuotaStatus)


class ResourceQuotaList(Struct):
    """Several quotas."""

    api_version: str = always("v1")
    kind: str = always("ResourceQuotaList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ResourceQuota, ...] | None = always(None)
