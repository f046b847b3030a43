"""Deployment: equal pods whose template changes gradually.

Upstream counterparts: ValidateDeployment, its Update and StatusUpdate in pkg/apis/apps/validation,
pkg/registry/apps/deployment.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api.apps import (
    DEPLOYMENT_RECREATE,
    DEPLOYMENT_ROLLING_UPDATE,
    Deployment,
    DeploymentStrategy,
    RollingUpdateDeployment,
)
from dray.validation.counts import (
    check_at_most_all,
    check_count_or_percent,
    check_not_decremented,
    check_not_negative,
    number_of,
)
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.pod_leniency import STRICT, Leniency, leniency_toward
from dray.validation.replica_set import check_availability, check_selection
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_immutable

__all__ = ["RULEBOOK", "shown_rolling_update"]


def _create(new: Deployment, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    _check_spec(found, new, STRICT)
    return Verdict(found, Findings())


def _update(new: Deployment, old: Deployment, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    _check_spec(found, new, leniency_toward(old.spec.template))
    check_immutable(found, new.spec.selector, old.spec.selector, "spec.selector")
    return Verdict(found, Findings())


def _update_status(new: Deployment, old: Deployment, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    status = new.status
    for name, count in (
        ("observedGeneration", status.observed_generation),
        ("replicas", status.replicas),
        ("updatedReplicas", status.updated_replicas),
        ("readyReplicas", status.ready_replicas),
        ("availableReplicas", status.available_replicas),
        ("unavailableReplicas", status.unavailable_replicas),
        ("terminatingReplicas", status.terminating_replicas),
        ("collisionCount", status.collision_count),
    ):
        check_not_negative(found, count, f"status.{name}")
    check_availability(found, status, "updatedReplicas", status.updated_replicas)
    old_count = old.status.collision_count
    check_not_decremented(found, status.collision_count, old_count, "status.collisionCount")
    return Verdict(found, Findings())


def _check_spec(found: Findings, deployment: Deployment, leniency: Leniency) -> None:
    spec = deployment.spec
    check_not_negative(found, spec.replicas, "spec.replicas")
    check_selection(found, spec.selector, spec.template, leniency)
    _check_strategy(found, spec.strategy, "spec.strategy")
    check_not_negative(found, spec.min_ready_seconds, "spec.minReadySeconds")
    check_not_negative(found, spec.revision_history_limit, "spec.revisionHistoryLimit")
    deadline = spec.progress_deadline_seconds
    if deadline is not None:
        check_not_negative(found, deadline, "spec.progressDeadlineSeconds")
        if deadline <= spec.min_ready_seconds:
            detail = "must be greater than minReadySeconds"
            found.invalid("spec.progressDeadlineSeconds", deadline, detail)


def _check_strategy(found: Findings, strategy: DeploymentStrategy, path: str) -> None:
    rolling = strategy.rolling_update
    if strategy.type == DEPLOYMENT_RECREATE:
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            found.forbidden(f"{path}.rollingUpdate", detail)
    elif strategy.type == DEPLOYMENT_ROLLING_UPDATE:
        if rolling is None:
            detail = "this should be defaulted and never be nil"
            found.required(f"{path}.rollingUpdate", detail)
        else:
            _check_rolling_update(found, rolling, f"{path}.rollingUpdate")
    else:
        supported = (DEPLOYMENT_RECREATE, DEPLOYMENT_ROLLING_UPDATE)
        shown = {"Type": strategy.type, "RollingUpdate": shown_rolling_update(rolling)}
        found.not_supported(path, shown, supported)


def _check_rolling_update(found: Findings, rolling: RollingUpdateDeployment, path: str) -> None:
    unavailable, surge = rolling.max_unavailable, rolling.max_surge
    check_count_or_percent(found, unavailable, f"{path}.maxUnavailable")
    check_count_or_percent(found, surge, f"{path}.maxSurge")
    if number_of(unavailable) == 0 and number_of(surge) == 0:
        # A rollout that may neither add a pod nor take one away never gets anywhere.
        detail = "may not be 0 when `maxSurge` is 0"
        found.invalid(f"{path}.maxUnavailable", unavailable, detail)
    check_at_most_all(found, unavailable, f"{path}.maxUnavailable")


def shown_rolling_update(rolling: Any) -> Any:
    """A rolling update as upstream's structure prints, where what is absent is nought."""
    if rolling is None:
        return None
    unavailable, surge = rolling.max_unavailable, rolling.max_surge
    return {
        "MaxUnavailable": 0 if unavailable is None else unavailable,
        "MaxSurge": 0 if surge is None else surge,
    }


RULEBOOK: Final = Rulebook(
    namespaced=True, create=_create, update=_update, status_update=_update_status
)
