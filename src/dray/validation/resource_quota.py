"""ResourceQuota: how much a namespace may use altogether.

Upstream counterparts: ValidateResourceQuota, its Update and StatusUpdate in
pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dray.api.core import (
    QUOTA_SCOPE_BEST_EFFORT,
    QUOTA_SCOPE_CROSS_NAMESPACE_POD_AFFINITY,
    QUOTA_SCOPE_NOT_BEST_EFFORT,
    QUOTA_SCOPE_NOT_TERMINATING,
    QUOTA_SCOPE_PRIORITY_CLASS,
    QUOTA_SCOPE_TERMINATING,
    RESOURCE_CPU,
    RESOURCE_EPHEMERAL_STORAGE,
    RESOURCE_HUGE_PAGES_PREFIX,
    RESOURCE_MEMORY,
    RESOURCE_PODS,
    ResourceQuota,
    ResourceQuotaSpec,
    ScopedResourceSelectorRequirement,
)
from dray.api.quantity import Quantity
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.pod_resources import check_amount, check_resource_name
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import IMMUTABLE
from dray.validation.shown import as_internal

__all__ = ["RULEBOOK"]

QUOTA_SCOPE_VOLUME_ATTRIBUTES_CLASS: Final = "VolumeAttributesClass"

_COMPUTE: Final = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "requests.", "limits.")
    for name in (RESOURCE_CPU, RESOURCE_MEMORY)
)
_STORAGE: Final = frozenset(
    f"{prefix}{RESOURCE_EPHEMERAL_STORAGE}" for prefix in ("", "requests.", "limits.")
) | {"requests.storage"}
_COUNTED: Final = frozenset(
    {
        RESOURCE_PODS,
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "persistentvolumeclaims",
        "configmaps",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_HUGE_PAGES: Final = (RESOURCE_HUGE_PAGES_PREFIX, f"requests.{RESOURCE_HUGE_PAGES_PREFIX}")

# Which native resources a scope can narrow down; another scope narrows down everything.
_PODS: Final = frozenset({RESOURCE_PODS})
_SCOPED: Final[Mapping[str, frozenset[str]]] = {
    QUOTA_SCOPE_TERMINATING: _PODS | _COMPUTE,
    QUOTA_SCOPE_NOT_TERMINATING: _PODS | _COMPUTE,
    QUOTA_SCOPE_NOT_BEST_EFFORT: _PODS | _COMPUTE,
    QUOTA_SCOPE_PRIORITY_CLASS: _PODS | _COMPUTE,
    QUOTA_SCOPE_CROSS_NAMESPACE_POD_AFFINITY: _PODS | _COMPUTE,
    QUOTA_SCOPE_BEST_EFFORT: _PODS,
    QUOTA_SCOPE_VOLUME_ATTRIBUTES_CLASS: frozenset({"persistentvolumeclaims", "requests.storage"}),
}
# A pod is of such a scope or is not: there is no value to compare.
_PLAIN_SCOPES: Final = frozenset(_SCOPED) - {
    QUOTA_SCOPE_PRIORITY_CLASS,
    QUOTA_SCOPE_VOLUME_ATTRIBUTES_CLASS,
}
_OPPOSITES: Final = (
    {QUOTA_SCOPE_BEST_EFFORT, QUOTA_SCOPE_NOT_BEST_EFFORT},
    {QUOTA_SCOPE_TERMINATING, QUOTA_SCOPE_NOT_TERMINATING},
)


def _create(new: ResourceQuota, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    _check_spec(found, new.spec, "spec")
    _check_status(found, new)
    return Verdict(found, Findings())


def _update(new: ResourceQuota, old: ResourceQuota, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    _check_spec(found, new.spec, "spec")
    if set(new.spec.scopes) != set(old.spec.scopes):
        found.invalid("spec.scopes", list(new.spec.scopes) or None, IMMUTABLE)
    return Verdict(found, Findings())


def _update_status(new: ResourceQuota, old: ResourceQuota, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    if not new.metadata.resource_version:
        found.required("resourceVersion")
    _check_status(found, new)
    return Verdict(found, Findings())


def _check_status(found: Findings, quota: ResourceQuota) -> None:
    _check_amounts(found, quota.status.hard, "status.hard")
    _check_amounts(found, quota.status.used, "status.used")


def _check_spec(found: Findings, spec: ResourceQuotaSpec, path: str) -> None:
    _check_amounts(found, spec.hard, f"{path}.hard")
    scopes = list(spec.scopes) or None
    at = f"{path}.scopes"
    for scope in spec.scopes:
        if scope not in _SCOPED:
            found.invalid(at, scopes, "unsupported scope")
        if _goes_past(scope, spec.hard):
            found.invalid(at, scopes, "unsupported scope applied to resource")
    if _contradict(spec.scopes):
        found.invalid(at, scopes, "conflicting scopes")
    if spec.scope_selector is None:
        return
    at = f"{path}.scopeSelector.matchExpressions"
    for clause in spec.scope_selector.match_expressions:
        if clause.scope_name not in _SCOPED:
            found.invalid(f"{at}.scopeName", clause.scope_name, "unsupported scope")
        if _goes_past(clause.scope_name, spec.hard):
            shown = as_internal(spec.scope_selector)
            found.invalid(at, shown, "unsupported scope applied to resource")
        _check_clause(found, clause, at)
    if _contradict(clause.scope_name for clause in spec.scope_selector.match_expressions):
        found.invalid(at, scopes, "conflicting scopes")


def _check_clause(found: Findings, clause: ScopedResourceSelectorRequirement, path: str) -> None:
    operator, values = clause.operator, clause.values
    if clause.scope_name in _PLAIN_SCOPES and operator != "Exists":
        found.invalid(
            f"{path}.operator",
            operator,
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating,"
            " ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort,"
            " ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
        )
    match operator:
        case "In" | "NotIn":
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn'"
                found.required(f"{path}.values", f"{detail} for scope selector")
        case "Exists" | "DoesNotExist":
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist'"
                found.invalid(f"{path}.values", list(values), f"{detail} for scope selector")
        case _:
            found.invalid(f"{path}.operator", operator, "not a valid selector operator")


def _goes_past(scope: str, hard: Iterable[str]) -> bool:
    """Whether a bound is about something that the scope says nothing about."""
    narrowed = _SCOPED.get(scope)
    return narrowed is not None and any(_is_native(name) and name not in narrowed for name in hard)


def _contradict(scopes: Iterable[str]) -> bool:
    given = set(scopes)
    return any(pair <= given for pair in _OPPOSITES)


def _is_native(name: str) -> bool:
    return name in _COMPUTE | _STORAGE | _COUNTED or name.startswith(_HUGE_PAGES)


def _check_amounts(found: Findings, amounts: Mapping[str, Quantity], path: str) -> None:
    for name, amount in amounts.items():
        at = f"{path}[{name}]"
        check_resource_name(found, name, at)
        if "/" not in name and not _is_native(name):
            found.invalid(at, name, "must be a standard resource for quota")
        check_amount(found, name, amount, at)


RULEBOOK: Final = Rulebook(
    namespaced=True, create=_create, update=_update, status_update=_update_status
)
