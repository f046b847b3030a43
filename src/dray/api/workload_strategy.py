"""What a server does to a workload between decoding and validating it.

A new workload has no status and is of the first generation; a write to the main resource keeps the
stored status, a write to the status the stored spec. A new job gets a selector that picks its pods
by the job's uid, and labels in its template for that selector to find, unless its author wants to
choose; so it needs its uid before it is prepared. A job that defaulting gave its template's labels
gets these too. Fields of features that are off are removed:
those of pods, and `scheduling` of jobs, for which dray has no feature.

A daemon set's generation of its template is not kept: it is only an annotation of old clients.
Upstream counterparts: strategy.go of deployment, replicaset, daemonset and job in pkg/registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from dray.api._edit import edit
from dray.api.apps import DaemonSet, Deployment, ReplicaSet
from dray.api.batch import Job, JobSpec
from dray.api.core import PodTemplateSpec
from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.meta import LabelSelector
from dray.api.pod_strategy import drop_disabled_pod_fields
from dray.api.strategy import carry_metadata

__all__ = [
    "LABEL_CONTROLLER_UID",
    "LABEL_JOB_NAME",
    "LEGACY_LABEL_CONTROLLER_UID",
    "LEGACY_LABEL_JOB_NAME",
    "Workload",
    "prepare_workload_for_create",
    "prepare_workload_for_status_update",
    "prepare_workload_for_update",
]

LABEL_JOB_NAME: Final = "batch.kubernetes.io/job-name"
LABEL_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"

# From before labels of the project had its prefix; people still select by them.
LEGACY_LABEL_JOB_NAME: Final = "job-name"
LEGACY_LABEL_CONTROLLER_UID: Final = "controller-uid"

Workload = Deployment | ReplicaSet | DaemonSet | Job
W = TypeVar("W", Deployment, ReplicaSet, DaemonSet, Job)


def prepare_workload_for_create(new: W, *, gates: FeatureGates) -> W:
    """The workload as it is to be created."""
    if isinstance(new, Job):
        new = _with_selector(new)
    new = edit(new, metadata=edit(new.metadata, generation=1), status=type(new)().status)
    return _without_disabled(new, None, gates)


def prepare_workload_for_update(new: W, old: W, *, gates: FeatureGates) -> W:
    """The workload as it is to replace the stored one, whose status it keeps."""
    new = _without_disabled(edit(new, status=old.status), old, gates)
    metadata = carry_metadata(new.metadata, old.metadata)
    changed = not semantically_equal(new.spec, old.spec)
    if isinstance(new, Deployment):
        # Its replica sets get copies of the annotations.
        annotations = old.metadata.annotations
        changed = changed or not semantically_equal(metadata.annotations, annotations)
    if changed:
        metadata = edit(metadata, generation=old.metadata.generation + 1)
    return edit(new, metadata=metadata)


def prepare_workload_for_status_update(new: W, old: W) -> W:
    """The stored workload with the new one's status, and its metadata as far as it may change."""
    metadata = carry_metadata(new.metadata, old.metadata)
    if isinstance(new, Deployment):
        metadata = edit(metadata, labels=old.metadata.labels)
    return edit(new, spec=old.spec, metadata=metadata)


def _without_disabled(new: W, old: W | None, gates: FeatureGates) -> W:
    template = new.spec.template
    pods = drop_disabled_pod_fields(template.spec, old.spec.template.spec if old else None, gates)
    spec = edit(new.spec, template=edit(template, spec=pods))
    if isinstance(spec, JobSpec):
        spec = edit(spec, scheduling=spec.scheduling if _is_scheduled(old) else None)
    return edit(new, spec=spec)


def _is_scheduled(stored: Workload | None) -> bool:
    return isinstance(stored, Job) and stored.spec.scheduling is not None


def _with_selector(job: Job) -> Job:
    """The job with the selector and the labels that are made for it; none is overwritten."""
    spec, metadata = job.spec, job.metadata
    if spec.manual_selector:
        return job
    name, uid = metadata.name, metadata.uid
    own = spec.template.metadata.labels
    labels = {
        **own,
        **_missing(
            own,
            {
                LEGACY_LABEL_JOB_NAME: name,
                LABEL_JOB_NAME: name,
                LEGACY_LABEL_CONTROLLER_UID: uid,
                LABEL_CONTROLLER_UID: uid,
            },
        ),
    }
    selector = spec.selector or LabelSelector()
    wanted = _missing(selector.match_labels, {LABEL_CONTROLLER_UID: uid})
    spec = edit(
        spec,
        selector=edit(selector, match_labels={**selector.match_labels, **wanted}),
        template=_labelled(spec.template, labels),
    )
    # A job whose labels defaulting took from its template has the very same map, not an equal one:
    # upstream writes into that map, so what the template gains the job gains too.
    # Upstream shares a map that was written empty as well; here that is the same as none.
    if own and metadata.labels is own:
        metadata = edit(metadata, labels=labels)
    return edit(job, metadata=metadata, spec=spec)


def _labelled(template: PodTemplateSpec, labels: Mapping[str, str]) -> PodTemplateSpec:
    return edit(template, metadata=edit(template.metadata, labels=labels))


def _missing(present: Mapping[str, str], wanted: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value for key, value in wanted.items() if key not in present}
