"""What the pods of a job are made of: its template, a finalizer, and the index if it has one."""

from __future__ import annotations

from typing import Final

from dray.api.batch import Job
from dray.api.core import (
    Container,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    Pod,
    PodTemplateSpec,
)
from dray.api.wire import replace
from dray.controllers.jobs.failure_policy import judge
from dray.controllers.jobs.pods import (
    COMPLETION_INDEX,
    INDEX_FAILURE_COUNT,
    INDEX_IGNORED_FAILURE_COUNT,
    TRACKING_FINALIZER,
    index_failures,
    index_ignored_failures,
    is_indexed,
)

__all__ = ["index_prefix", "index_template", "pod_template"]

_VARIABLE: Final = "JOB_COMPLETION_INDEX"

# What a server leaves of generateName: 63 characters less its own five.
PREFIX_CHARACTERS_MAX: Final = 58


def pod_template(job: Job) -> PodTemplateSpec:
    """What all pods of the job have in common."""
    template = job.spec.template
    metadata, spec = template.metadata, template.spec
    if TRACKING_FINALIZER not in metadata.finalizers:
        metadata = replace(metadata, finalizers=(*metadata.finalizers, TRACKING_FINALIZER))
    if is_indexed(job):
        spec = replace(
            spec,
            init_containers=tuple(map(_with_variable, spec.init_containers)),
            containers=tuple(map(_with_variable, spec.containers or ())),
        )
    return replace(template, metadata=metadata, spec=spec)


def index_template(
    template: PodTemplateSpec, job: Job, index: int, replaced: Pod | None
) -> PodTemplateSpec:
    """The template for the pod of an index; `replaced` is the pod that failed at it before."""
    metadata = template.metadata
    annotations = {**metadata.annotations, COMPLETION_INDEX: str(index)}
    if job.spec.backoff_limit_per_index is not None:
        failures = ignored = 0
        if replaced is not None:
            counts = judge(job.spec.pod_failure_policy, replaced).counts
            failures = index_failures(replaced) + counts
            ignored = index_ignored_failures(replaced) + (not counts)
        annotations[INDEX_FAILURE_COUNT] = str(failures)
        if ignored:
            annotations[INDEX_IGNORED_FAILURE_COUNT] = str(ignored)
    labels = {**metadata.labels, COMPLETION_INDEX: str(index)}
    return replace(
        template,
        metadata=replace(metadata, annotations=annotations, labels=labels),
        spec=replace(template.spec, hostname=f"{job.metadata.name}-{index}"),
    )


def index_prefix(job: Job, index: int) -> str:
    """What the name of an index' pod begins with: the index is in it, however long the job's."""
    suffix = f"-{index}-"
    return job.metadata.name[: PREFIX_CHARACTERS_MAX - len(suffix)] + suffix


def _with_variable(container: Container) -> Container:
    if any(variable.name == _VARIABLE for variable in container.env):
        return container
    field = ObjectFieldSelector(field_path=f"metadata.labels['{COMPLETION_INDEX}']")
    variable = EnvVar(name=_VARIABLE, value_from=EnvVarSource(field_ref=field))
    return replace(container, env=(*container.env, variable))
