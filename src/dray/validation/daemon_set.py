"""DaemonSet: one pod on every node that fits.

The generation of the template, an annotation of old clients, is not looked at. Upstream
counterparts: ValidateDaemonSet, its Update and StatusUpdate in pkg/apis/apps/validation,
pkg/registry/apps/daemonset.
"""

from __future__ import annotations

from typing import Final

from dray.api.apps import (
    DAEMON_SET_ON_DELETE,
    DAEMON_SET_ROLLING_UPDATE,
    DaemonSet,
    DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet,
)
from dray.validation.counts import (
    check_at_most_all,
    check_count_or_percent,
    check_not_decremented,
    check_not_negative,
    number_of,
)
from dray.validation.deployment import shown_rolling_update
from dray.validation.findings import Findings
from dray.validation.meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from dray.validation.pod_leniency import STRICT, Leniency, leniency_toward
from dray.validation.pod_template import (
    check_lasting_pods,
    check_pod_template,
    check_selected,
    has_odd_values,
    is_empty,
)
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_immutable
from dray.validation.shown import as_wire

__all__ = ["RULEBOOK"]


def _create(new: DaemonSet, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    _check_spec(found, new, STRICT, any_value=False)
    return Verdict(found, Findings())


def _update(new: DaemonSet, old: DaemonSet, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    check_immutable(found, new.spec.selector, old.spec.selector, "spec.selector")
    leniency = leniency_toward(old.spec.template)
    any_value = leniency.any_value_in_affinity or has_odd_values(old.spec.selector)
    _check_spec(found, new, leniency, any_value=any_value)
    return Verdict(found, Findings())


def _update_status(new: DaemonSet, old: DaemonSet, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    status = new.status
    for name, count in (
        ("currentNumberScheduled", status.current_number_scheduled),
        ("numberMisscheduled", status.number_misscheduled),
        ("desiredNumberScheduled", status.desired_number_scheduled),
        ("numberReady", status.number_ready),
        ("observedGeneration", status.observed_generation),
        ("updatedNumberScheduled", status.updated_number_scheduled),
        ("numberAvailable", status.number_available),
        ("numberUnavailable", status.number_unavailable),
        ("collisionCount", status.collision_count),
    ):
        check_not_negative(found, count, f"status.{name}")
    old_count = old.status.collision_count
    check_not_decremented(found, status.collision_count, old_count, "status.collisionCount")
    return Verdict(found, Findings())


def _check_spec(
    found: Findings, daemon_set: DaemonSet, leniency: Leniency, *, any_value: bool
) -> None:
    spec = daemon_set.spec
    selector, template = spec.selector, spec.template
    found.extend(validate_label_selector(selector, "spec.selector", any_value=any_value))
    check_selected(found, selector, template, "spec.template")
    if selector is not None and is_empty(selector):
        detail = "empty selector is invalid for daemonset"
        found.invalid("spec.selector", as_wire(selector), detail)
    check_pod_template(found, template, "spec.template", leniency)
    check_lasting_pods(found, template, "spec.template", "DaemonSet")
    check_not_negative(found, spec.min_ready_seconds, "spec.minReadySeconds")
    _check_strategy(found, spec.update_strategy, "spec.updateStrategy")
    check_not_negative(found, spec.revision_history_limit, "spec.revisionHistoryLimit")


def _check_strategy(found: Findings, strategy: DaemonSetUpdateStrategy, path: str) -> None:
    rolling = strategy.rolling_update
    if strategy.type == DAEMON_SET_ON_DELETE:
        return
    if strategy.type != DAEMON_SET_ROLLING_UPDATE:
        supported = (DAEMON_SET_ROLLING_UPDATE, DAEMON_SET_ON_DELETE)
        shown = {"Type": strategy.type, "RollingUpdate": shown_rolling_update(rolling)}
        found.not_supported(path, shown, supported)
    elif rolling is None:
        found.required(f"{path}.rollingUpdate")
    else:
        _check_rolling_update(found, rolling, f"{path}.rollingUpdate")


def _check_rolling_update(found: Findings, rolling: RollingUpdateDaemonSet, path: str) -> None:
    unavailable, surge = rolling.max_unavailable, rolling.max_surge
    for check in (check_count_or_percent, check_at_most_all):
        check(found, unavailable, f"{path}.maxUnavailable")
        check(found, surge, f"{path}.maxSurge")
    # On one node there is either the old pod until the new one runs, or none of them.
    if number_of(unavailable) and number_of(surge):
        detail = "may not be set when maxUnavailable is non-zero"
        found.invalid(f"{path}.maxSurge", surge, detail)
    elif not number_of(unavailable) and not number_of(surge):
        found.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


RULEBOOK: Final = Rulebook(
    namespaced=True, create=_create, update=_update, status_update=_update_status
)
