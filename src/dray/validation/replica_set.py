"""ReplicaSet: a number of equal pods.

Deployments keep their pods by replica sets, so the rules over replicas, selector and template are
the deployment's as well. Upstream counterparts: ValidateReplicaSet, its Update and StatusUpdate in
pkg/apis/apps/validation, pkg/registry/apps/replicaset.
"""

from __future__ import annotations

from typing import Final

from dray.api.apps import DeploymentStatus, ReplicaSet, ReplicaSetStatus
from dray.api.core import PodTemplateSpec
from dray.api.meta import LabelSelector
from dray.validation.counts import check_not_negative
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
    is_empty,
    read_selector,
)
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_immutable
from dray.validation.shown import as_wire

__all__ = ["RULEBOOK", "check_availability", "check_selection"]


def _create(new: ReplicaSet, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    _check_spec(found, new, STRICT)
    return Verdict(found, Findings())


def _update(new: ReplicaSet, old: ReplicaSet, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    _check_spec(found, new, leniency_toward(old.spec.template))
    check_immutable(found, new.spec.selector, old.spec.selector, "spec.selector")
    return Verdict(found, Findings())


def _update_status(new: ReplicaSet, old: ReplicaSet, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    status = new.status
    for name, count in (
        ("replicas", status.replicas),
        ("fullyLabeledReplicas", status.fully_labeled_replicas),
        ("readyReplicas", status.ready_replicas),
        ("availableReplicas", status.available_replicas),
        ("observedGeneration", status.observed_generation),
        ("terminatingReplicas", status.terminating_replicas),
    ):
        check_not_negative(found, count, f"status.{name}")
    check_availability(found, status, "fullyLabeledReplicas", status.fully_labeled_replicas)
    return Verdict(found, Findings())


def _check_spec(found: Findings, replica_set: ReplicaSet, leniency: Leniency) -> None:
    spec = replica_set.spec
    check_not_negative(found, spec.replicas, "spec.replicas")
    check_not_negative(found, spec.min_ready_seconds, "spec.minReadySeconds")
    check_selection(found, spec.selector, spec.template, leniency)


def check_selection(
    found: Findings, selector: LabelSelector | None, template: PodTemplateSpec, leniency: Leniency
) -> None:
    """A selector of some of the template's labels, and the template."""
    if selector is None:
        found.required("spec.selector")
    else:
        found.extend(validate_label_selector(selector, "spec.selector"))
        if is_empty(selector):
            # Upstream says so of replica sets too.
            detail = "empty selector is invalid for deployment"
            found.invalid("spec.selector", as_wire(selector), detail)
    if read_selector(selector) is None:
        found.invalid("spec.selector", as_wire(selector), "invalid label selector")
        return
    check_selected(found, selector, template, "spec.template")
    check_pod_template(found, template, "spec.template", leniency)
    check_lasting_pods(found, template, "spec.template", "ReplicaSet")


def check_availability(
    found: Findings, status: ReplicaSetStatus | DeploymentStatus, name: str, count: int
) -> None:
    """That a status counts no more pods of a sort than there are; `name` is a sort of its own."""
    for path, value in (
        (name, count),
        ("readyReplicas", status.ready_replicas),
        ("availableReplicas", status.available_replicas),
    ):
        if value > status.replicas:
            found.invalid(f"status.{path}", value, "cannot be greater than status.replicas")
    if status.available_replicas > status.ready_replicas:
        detail = "cannot be greater than readyReplicas"
        found.invalid("status.availableReplicas", status.available_replicas, detail)


RULEBOOK: Final = Rulebook(
    namespaced=True, create=_create, update=_update, status_update=_update_status
)
