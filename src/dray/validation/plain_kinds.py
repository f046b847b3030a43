"""Kinds with few rules of their own: Namespace, ServiceAccount, Lease, PriorityClass, and
PodDisruptionBudget.

Of a service account, nothing but its metadata is checked; upstream does not even ask that of a
budget, so that its name only has to be one segment of a URL. Upstream counterparts:
ValidateNamespace and ValidateServiceAccount in pkg/apis/core/validation, and the packages of
coordination, scheduling and policy.
"""

from __future__ import annotations

from typing import Final

from dray.api.coordination import Lease, LeaseSpec
from dray.api.core import (
    NAMESPACE_PHASE_ACTIVE,
    NAMESPACE_PHASE_TERMINATING,
    PREEMPT_LOWER_PRIORITY,
    PREEMPT_NEVER,
    Namespace,
    ServiceAccount,
)
from dray.api.policy import (
    UNHEALTHY_POD_ALWAYS_ALLOW,
    UNHEALTHY_POD_IF_HEALTHY_BUDGET,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
)
from dray.api.scheduling import (
    SYSTEM_CLUSTER_CRITICAL,
    SYSTEM_NODE_CRITICAL,
    SYSTEM_PRIORITY_CLASS_PREFIX,
    PriorityClass,
)
from dray.validation.conditions import check_conditions
from dray.validation.counts import (
    check_at_most_all,
    check_count_or_percent,
    check_not_negative,
)
from dray.validation.findings import Findings
from dray.validation.meta import (
    STANDARD_FINALIZERS,
    name_is_dns_label,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from dray.validation.pod_template import has_odd_values
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_immutable, check_label_key
from dray.validation.shown import as_internal

__all__ = [
    "LEASE",
    "NAMESPACE",
    "POD_DISRUPTION_BUDGET",
    "PRIORITY_CLASS",
    "SERVICE_ACCOUNT",
    "USER_PRIORITY_MAX",
]

# What is above is for the parts of the system that everything else depends on.
USER_PRIORITY_MAX: Final = 1_000_000_000

_SYSTEM_PRIORITIES: Final = {
    SYSTEM_NODE_CRITICAL: 2 * USER_PRIORITY_MAX + 1000,
    SYSTEM_CLUSTER_CRITICAL: 2 * USER_PRIORITY_MAX,
}
_PREEMPTION_POLICIES: Final = (PREEMPT_LOWER_PRIORITY, PREEMPT_NEVER)
_EVICTION_POLICIES: Final = (UNHEALTHY_POD_ALWAYS_ALLOW, UNHEALTHY_POD_IF_HEALTHY_BUDGET)
_LEASE_STRATEGIES: Final = ("OldestEmulationVersion",)


# Namespace -------------------------------------------------------------------------------------


def _create_namespace(new: Namespace, _context: Context) -> Verdict:
    found = Findings()
    _check_namespace(found, new)
    return Verdict(found, Findings())


def _update_namespace(new: Namespace, old: Namespace, _context: Context) -> Verdict:
    found = Findings()
    _check_namespace(found, new)
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    return Verdict(found, Findings())


def _update_namespace_status(new: Namespace, old: Namespace, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    leaving = new.metadata.deletion_timestamp is not None
    phase = NAMESPACE_PHASE_TERMINATING if leaving else NAMESPACE_PHASE_ACTIVE
    if new.status.phase != phase:
        when = "not empty" if leaving else "empty"
        detail = f"may only be '{phase}' if `deletionTimestamp` is {when}"
        found.invalid("status.Phase", new.status.phase, detail)
    return Verdict(found, Findings())


def _check_namespace(found: Findings, namespace: Namespace) -> None:
    found.extend(
        validate_object_meta(namespace.metadata, namespaced=False, name_rule=name_is_dns_label)
    )
    for finalizer in namespace.spec.finalizers:
        check_label_key(found, finalizer, "spec.finalizers")
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            found.invalid("spec.finalizers", finalizer, detail)


# ServiceAccount --------------------------------------------------------------------------------


def _create_service_account(new: ServiceAccount, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    return Verdict(found, Findings())


def _update_service_account(new: ServiceAccount, old: ServiceAccount, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    return Verdict(found, Findings())


# Lease -----------------------------------------------------------------------------------------


def _create_lease(new: Lease, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True, standard_finalizers=False))
    _check_lease(found, new.spec, "spec")
    return Verdict(found, Findings())


def _update_lease(new: Lease, old: Lease, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata, standard_finalizers=False))
    _check_lease(found, new.spec, "spec")
    return Verdict(found, Findings())


def _check_lease(found: Findings, spec: LeaseSpec, path: str) -> None:
    duration = spec.lease_duration_seconds
    if duration is not None and duration <= 0:
        found.invalid(f"{path}.leaseDurationSeconds", duration, "must be greater than 0")
    check_not_negative(found, spec.lease_transitions, f"{path}.leaseTransitions")
    strategy = spec.strategy
    if strategy is not None:
        # Upstream names the field twice.
        at = f"{path}.strategy.strategy"
        if "/" in strategy:
            check_label_key(found, strategy, at)
        elif strategy not in _LEASE_STRATEGIES:
            found.not_supported(at, strategy, _LEASE_STRATEGIES)
    if spec.preferred_holder and not strategy:
        detail = "may only be specified if `strategy` is defined"
        found.forbidden(f"{path}.preferredHolder", detail)


# PriorityClass ---------------------------------------------------------------------------------


def _create_priority_class(new: PriorityClass, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=False))
    name, policy = new.metadata.name, new.preemption_policy
    if name.startswith(SYSTEM_PRIORITY_CLASS_PREFIX):
        _check_system_class(found, new)
    elif new.value > USER_PRIORITY_MAX:
        detail = f"maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}"
        found.forbidden("value", detail)
    if policy == "":
        found.required("preemptionPolicy")
    elif policy is not None and policy not in _PREEMPTION_POLICIES:
        found.not_supported("preemptionPolicy", policy, _PREEMPTION_POLICIES)
    return Verdict(found, Findings())


def _check_system_class(found: Findings, new: PriorityClass) -> None:
    name = new.metadata.name
    value = _SYSTEM_PRIORITIES.get(name)
    if value is None:
        problem = f"{name} is not a known system priority class"
    elif new.value != value:
        problem = f"value of {name} PriorityClass must be {value}"
    elif new.global_default:
        problem = f"globalDefault of {name} PriorityClass must be false"
    else:
        return
    detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
    found.forbidden("metadata.name", detail + problem)


def _update_priority_class(new: PriorityClass, old: PriorityClass, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    if new.value != old.value:
        found.forbidden("value", "may not be changed in an update.")
    check_immutable(found, new.preemption_policy, old.preemption_policy, "preemptionPolicy")
    return Verdict(found, Findings())


# PodDisruptionBudget ---------------------------------------------------------------------------


def _create_budget(new: PodDisruptionBudget, _context: Context) -> Verdict:
    found = Findings()
    _check_budget(found, new.spec, "spec", any_value=False)
    return Verdict(found, Findings())


def _update_budget(
    new: PodDisruptionBudget, old: PodDisruptionBudget, _context: Context
) -> Verdict:
    found = Findings()
    _check_budget(found, new.spec, "spec", any_value=has_odd_values(old.spec.selector))
    return Verdict(found, Findings())


def _update_budget_status(
    new: PodDisruptionBudget, _old: PodDisruptionBudget, _context: Context
) -> Verdict:
    found = Findings()
    status = new.status
    check_conditions(found, status.conditions, "status.conditions")
    for name, count in (
        ("disruptionsAllowed", status.disruptions_allowed),
        ("currentHealthy", status.current_healthy),
        ("desiredHealthy", status.desired_healthy),
        ("expectedPods", status.expected_pods),
    ):
        check_not_negative(found, count, f"status.{name}")
    return Verdict(found, Findings())


def _check_budget(
    found: Findings, spec: PodDisruptionBudgetSpec, path: str, *, any_value: bool
) -> None:
    if spec.min_available is not None and spec.max_unavailable is not None:
        detail = "minAvailable and maxUnavailable cannot be both set"
        found.invalid(path, as_internal(spec), detail)
    for name, value in (
        ("minAvailable", spec.min_available),
        ("maxUnavailable", spec.max_unavailable),
    ):
        check_count_or_percent(found, value, f"{path}.{name}")
        check_at_most_all(found, value, f"{path}.{name}")
    found.extend(validate_label_selector(spec.selector, f"{path}.selector", any_value=any_value))
    policy = spec.unhealthy_pod_eviction_policy
    if policy is not None and policy not in _EVICTION_POLICIES:
        found.not_supported(f"{path}.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)


NAMESPACE: Final = Rulebook(
    namespaced=False,
    create=_create_namespace,
    update=_update_namespace,
    status_update=_update_namespace_status,
)
SERVICE_ACCOUNT: Final = Rulebook(
    namespaced=True, create=_create_service_account, update=_update_service_account
)
LEASE: Final = Rulebook(namespaced=True, create=_create_lease, update=_update_lease)
PRIORITY_CLASS: Final = Rulebook(
    namespaced=False, create=_create_priority_class, update=_update_priority_class
)
POD_DISRUPTION_BUDGET: Final = Rulebook(
    namespaced=True,
    create=_create_budget,
    update=_update_budget,
    status_update=_update_budget_status,
)
