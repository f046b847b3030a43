"""Job: pods that run until they are done.

A new job is expected to have the selector and the labels that are made for it
(`dray.api.workload_strategy`), and its uid. Upstream counterparts: ValidateJobCreate,
ValidateJobUpdate and ValidateJobUpdateStatus in pkg/apis/batch/validation, pkg/registry/batch/job.
"""

from __future__ import annotations

from typing import Final

from dray.api import names
from dray.api._edit import edit
from dray.api.batch import COMPLETION_INDEXED, JOB_CONDITION_SUSPENDED, Job, JobSpec
from dray.api.core import Affinity, Container, PodSpec
from dray.api.workload_strategy import (
    LABEL_CONTROLLER_UID,
    LABEL_JOB_NAME,
    LEGACY_LABEL_CONTROLLER_UID,
    LEGACY_LABEL_JOB_NAME,
)
from dray.validation.findings import Findings
from dray.validation.job_spec import check_job_spec
from dray.validation.job_status import check_job_status_update, has_condition
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.pod_leniency import STRICT, leniency_toward
from dray.validation.pod_template import has_odd_values, read_selector
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_immutable
from dray.validation.shown import as_wire

__all__ = ["RULEBOOK"]


def _create(new: Job, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    _check_generated_selector(found, new)
    check_job_spec(found, new.spec, "spec", STRICT, any_value=False)
    _check_hostnames(found, new)
    return Verdict(found, Findings())


def _update(new: Job, old: Job, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    leniency = leniency_toward(old.spec.template)
    any_value = leniency.any_value_in_affinity or has_odd_values(old.spec.selector)
    check_job_spec(found, new.spec, "spec", leniency, any_value=any_value)
    _check_completions(found, new.spec, old.spec)
    check_immutable(found, new.spec.selector, old.spec.selector, "spec.selector")
    _check_template_update(found, new, old)
    for name, ours, theirs in (
        ("completionMode", new.spec.completion_mode, old.spec.completion_mode),
        ("podFailurePolicy", new.spec.pod_failure_policy, old.spec.pod_failure_policy),
        (
            "backoffLimitPerIndex",
            new.spec.backoff_limit_per_index,
            old.spec.backoff_limit_per_index,
        ),
        ("managedBy", new.spec.managed_by, old.spec.managed_by),
        ("successPolicy", new.spec.success_policy, old.spec.success_policy),
    ):
        check_immutable(found, ours, theirs, f"spec.{name}")
    _check_hostnames(found, new)
    return Verdict(found, Findings())


def _update_status(new: Job, old: Job, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    check_job_status_update(found, new, old)
    return Verdict(found, Findings())


def _check_generated_selector(found: Findings, job: Job) -> None:
    """That nobody's own labels stand where the generated ones belong."""
    spec, name, uid = job.spec, job.metadata.name, job.metadata.uid
    if spec.manual_selector or spec.selector is None:
        return
    if not uid:
        found.required("metadata.uid")
    wanted = {
        LEGACY_LABEL_CONTROLLER_UID: uid,
        LEGACY_LABEL_JOB_NAME: name,
        LABEL_CONTROLLER_UID: uid,
        LABEL_JOB_NAME: name,
    }
    labels = spec.template.metadata.labels
    for key, value in wanted.items():
        at, detail = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            found.required(at, detail)
        elif labels[key] != value:
            found.invalid(at, as_wire(labels), detail)
    selector = read_selector(spec.selector)
    if selector is not None and not selector.matches(wanted):
        found.invalid("spec.selector", as_wire(spec.selector), "`selector` not auto-generated")


def _check_hostnames(found: Findings, job: Job) -> None:
    """The pod of each index is named after the job and the index."""
    completions = job.spec.completions or 0
    if job.spec.completion_mode != COMPLETION_INDEXED or completions <= 0:
        return
    longest = f"{job.metadata.name}-{completions - 1}"
    if names.dns_label(longest):
        detail = f"will not able to create pod with invalid DNS label: {longest}"
        found.invalid("metadata.name", job.metadata.name, detail)


# Updates ---------------------------------------------------------------------------------------


def _check_completions(found: Findings, new: JobSpec, old: JobSpec) -> None:
    if new.completion_mode != COMPLETION_INDEXED:
        check_immutable(found, new.completions, old.completions, "spec.completions")
    elif new.completions not in (None, old.completions, new.parallelism):
        detail = "can only be modified in tandem with spec.parallelism"
        found.invalid("spec.completions", new.completions, detail)


def _check_template_update(found: Findings, new: Job, old: Job) -> None:
    """A template only changes while no pod is made from it, and then not in everything."""
    ours, theirs = new.spec.template, old.spec.template
    if not _is_idle(old):
        check_immutable(found, ours, theirs, "spec.template")
        return
    theirs_spec = _with_directives(ours.spec, theirs.spec)
    theirs_spec = edit(
        theirs_spec,
        containers=_with_resources(ours.spec.containers or (), theirs_spec.containers or ()),
        init_containers=_with_resources(ours.spec.init_containers, theirs_spec.init_containers),
    )
    check_immutable(found, ours.spec, theirs_spec, "spec.template.spec")


def _is_idle(job: Job) -> bool:
    """Whether the job is suspended and has no pods: none yet, or none any more."""
    started = job.status.start_time is not None
    suspended = has_condition(job.status, JOB_CONDITION_SUSPENDED)
    return bool(job.spec.suspend) and (not started or suspended) and job.status.active == 0


def _with_directives(new: PodSpec, old: PodSpec) -> PodSpec:
    """The old spec with the new one's wishes about nodes."""
    node_affinity = new.affinity and new.affinity.node_affinity
    affinity = edit(old.affinity or Affinity(), node_affinity=node_affinity)
    return edit(
        old,
        affinity=None if new.affinity is None and affinity == Affinity() else affinity,
        node_selector=new.node_selector,
        tolerations=new.tolerations,
        scheduling_gates=new.scheduling_gates,
    )


def _with_resources(
    new: tuple[Container, ...], old: tuple[Container, ...]
) -> tuple[Container, ...]:
    """The old containers with the resources of their namesakes."""
    if len(new) != len(old):
        return old
    return tuple(
        edit(theirs, resources=ours.resources) if theirs.name == ours.name else theirs
        for ours, theirs in zip(new, old, strict=True)
    )


RULEBOOK: Final = Rulebook(
    namespaced=True, create=_create, update=_update, status_update=_update_status
)
