"""Which pods a quota is about: scopes and scope selectors.

All clauses must hold. Only pods have scopes; a quota that has any is about nothing else. Upstream
counterpart: podMatchesScopeFunc in pkg/quota/v1/evaluator/core/pods.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dray.api.core import (
    QOS_BEST_EFFORT,
    QUOTA_SCOPE_BEST_EFFORT,
    QUOTA_SCOPE_CROSS_NAMESPACE_POD_AFFINITY,
    QUOTA_SCOPE_NOT_BEST_EFFORT,
    QUOTA_SCOPE_NOT_TERMINATING,
    QUOTA_SCOPE_PRIORITY_CLASS,
    QUOTA_SCOPE_TERMINATING,
    Pod,
    PodAffinityTerm,
    ResourceQuota,
    ScopedResourceSelectorRequirement,
)
from dray.api.pod_resources import qos_class

__all__ = ["has_scopes", "in_scope", "is_terminating"]


def has_scopes(quota: ResourceQuota) -> bool:
    """Whether a quota is about some pods only."""
    spec = quota.spec
    return bool(spec.scopes) or bool(spec.scope_selector and spec.scope_selector.match_expressions)


def in_scope(quota: ResourceQuota, pod: Pod) -> bool:
    """Whether a quota is about a pod."""
    spec = quota.spec
    if not all(_holds(scope, pod) for scope in spec.scopes):
        return False
    selector = spec.scope_selector
    return selector is None or all(_matches(clause, pod) for clause in selector.match_expressions)


def is_terminating(pod: Pod) -> bool:
    """Whether a pod ends by itself; not whether it is being deleted."""
    deadline = pod.spec.active_deadline_seconds
    return deadline is not None and deadline >= 0


def _holds(scope: str, pod: Pod) -> bool:
    test = _SCOPES.get(scope)
    return test is not None and test(pod)


def _matches(clause: ScopedResourceSelectorRequirement, pod: Pod) -> bool:
    if clause.scope_name != QUOTA_SCOPE_PRIORITY_CLASS:
        # Validation leaves these only one operator: the scope itself.
        return _holds(clause.scope_name, pod)
    name = pod.spec.priority_class_name
    match clause.operator:
        case "In":
            return bool(name) and name in clause.values
        case "NotIn":
            return not name or name not in clause.values
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
    return False


def _is_best_effort(pod: Pod) -> bool:
    # A pod that was stored knows its class; resizing does not change it.
    return (pod.status.qos_class or qos_class(pod.spec)) == QOS_BEST_EFFORT


def _reaches_other_namespaces(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    if affinity is None:
        return False
    for terms in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if terms is None:
            continue
        weighted = terms.preferred_during_scheduling_ignored_during_execution
        if any(
            _names_namespaces(term)
            for term in (
                *terms.required_during_scheduling_ignored_during_execution,
                *(preferred.pod_affinity_term for preferred in weighted),
            )
        ):
            return True
    return False


def _names_namespaces(term: PodAffinityTerm) -> bool:
    return bool(term.namespaces) or term.namespace_selector is not None


_SCOPES: Final[Mapping[str, Callable[[Pod], bool]]] = {
    QUOTA_SCOPE_TERMINATING: is_terminating,
    QUOTA_SCOPE_NOT_TERMINATING: lambda pod: not is_terminating(pod),
    QUOTA_SCOPE_BEST_EFFORT: _is_best_effort,
    QUOTA_SCOPE_NOT_BEST_EFFORT: lambda pod: not _is_best_effort(pod),
    QUOTA_SCOPE_PRIORITY_CLASS: lambda pod: bool(pod.spec.priority_class_name),
    QUOTA_SCOPE_CROSS_NAMESPACE_POD_AFFINITY: _reaches_other_namespaces,
}
