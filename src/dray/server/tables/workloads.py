"""The kinds that keep pods running, as tables show them: how many of how many.

Upstream counterpart: the printers of apps, batch and policy in pkg/printers/internalversion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from dray.api import apps, batch, core, policy
from dray.api.labels import Selector
from dray.api.meta import LabelSelector, OwnerReference
from dray.errors import ParseError
from dray.server.tables.durations import age, human_duration
from dray.server.tables.printer import (
    AGE,
    NAME,
    NONE,
    Cells,
    Column,
    Glimpse,
    MetadataGlimpse,
    Printer,
)

__all__ = [
    "DAEMON_SETS",
    "DEPLOYMENTS",
    "DISRUPTION_BUDGETS",
    "JOBS",
    "REPLICA_SETS",
    "REVISIONS",
    "budget_cells",
    "daemon_set_cells",
    "deployment_cells",
    "job_cells",
    "replica_set_cells",
    "revision_cells",
]

_TEMPLATE: Final = (
    Column("Containers", "The containers of each pod.", priority=1),
    Column("Images", "What the containers run.", priority=1),
    Column("Selector", "The labels by which the pods are known.", priority=1),
)


def deployment_cells(deployment: apps.Deployment, now: datetime) -> Cells:
    """The cells of a deployment."""
    spec, status = deployment.spec, deployment.status
    return [
        deployment.metadata.name,
        f"{status.ready_replicas}/{spec.replicas or 0}",
        status.updated_replicas,
        status.available_replicas,
        age(deployment.metadata.creation_timestamp, now),
        *_containers(spec.template),
        _selector(spec.selector, empty="", invalid="<invalid>"),
    ]


DEPLOYMENTS: Final = Printer(
    (
        NAME,
        Column("Ready", "How many pods are ready, of how many wanted."),
        Column("Up-to-date", "How many pods are of the newest template."),
        Column("Available", "How many pods have been ready for long enough."),
        AGE,
        *_TEMPLATE,
    ),
    deployment_cells,
    apps.Deployment,
)


def replica_set_cells(replica_set: apps.ReplicaSet, now: datetime) -> Cells:
    """The cells of a replica set."""
    spec, status = replica_set.spec, replica_set.status
    return [
        replica_set.metadata.name,
        spec.replicas or 0,
        status.replicas,
        status.ready_replicas,
        age(replica_set.metadata.creation_timestamp, now),
        *_containers(spec.template),
        _selector(spec.selector),
    ]


REPLICA_SETS: Final = Printer(
    (
        NAME,
        Column("Desired", "How many pods are wanted.", type="integer"),
        Column("Current", "How many pods there are.", type="integer"),
        Column("Ready", "How many pods are ready.", type="integer"),
        AGE,
        *_TEMPLATE,
    ),
    replica_set_cells,
    apps.ReplicaSet,
)


def daemon_set_cells(daemon_set: apps.DaemonSet, now: datetime) -> Cells:
    """The cells of a daemon set."""
    spec, status = daemon_set.spec, daemon_set.status
    return [
        daemon_set.metadata.name,
        status.desired_number_scheduled,
        status.current_number_scheduled,
        status.number_ready,
        status.updated_number_scheduled,
        status.number_available,
        _labels(spec.template.spec.node_selector),
        age(daemon_set.metadata.creation_timestamp, now),
        *_containers(spec.template),
        _selector(spec.selector),
    ]


DAEMON_SETS: Final = Printer(
    (
        NAME,
        Column("Desired", "How many nodes should run a pod.", type="integer"),
        Column("Current", "How many nodes run one.", type="integer"),
        Column("Ready", "On how many nodes it is ready.", type="integer"),
        Column("Up-to-date", "On how many nodes it is of the newest template.", type="integer"),
        Column("Available", "On how many it has been ready for long enough.", type="integer"),
        Column("Node Selector", "The labels of the nodes that are meant."),
        AGE,
        *_TEMPLATE,
    ),
    daemon_set_cells,
    apps.DaemonSet,
)


# Revisions -------------------------------------------------------------------------------------


class _RevisionMetadata(MetadataGlimpse):
    owner_references: tuple[OwnerReference, ...] = ()


class _Revision(Glimpse):
    # Of all that a revision holds, nothing is shown.
    metadata: _RevisionMetadata
    revision: int = 0


def revision_cells(revision: apps.ControllerRevision, now: datetime) -> Cells:
    """The cells of a revision."""
    metadata = revision.metadata
    return [
        metadata.name,
        _controller(metadata.owner_references),
        revision.revision,
        age(metadata.creation_timestamp, now),
    ]


def _controller(references: Sequence[OwnerReference]) -> str:
    """Who controls it, as users of a command line would name it."""
    for reference in references:
        if reference.controller:
            group = reference.api_version.rpartition("/")[0]
            kind = f"{reference.kind}.{group}" if group else reference.kind
            return f"{kind.lower()}/{reference.name}"
    return NONE


REVISIONS: Final = Printer(
    (
        NAME,
        Column("Controller", "Whose revision it is."),
        Column("Revision", "Which one it is; the highest is that of now."),
        AGE,
    ),
    revision_cells,
    _Revision,
)


# Jobs ------------------------------------------------------------------------------------------

# The first of these that is true is what the job is doing; being deleted comes between.
_ENDED: Final = (batch.JOB_CONDITION_COMPLETE, batch.JOB_CONDITION_FAILED)
_ON_THE_WAY: Final = (
    batch.JOB_CONDITION_SUSPENDED,
    batch.JOB_CONDITION_FAILURE_TARGET,
    batch.JOB_CONDITION_SUCCESS_CRITERIA_MET,
)


def job_cells(job: batch.Job, now: datetime) -> Cells:
    """The cells of a job."""
    return [
        job.metadata.name,
        _job_status(job),
        _completions(job),
        _duration(job, now),
        age(job.metadata.creation_timestamp, now),
        *_containers(job.spec.template),
        _selector(job.spec.selector),
    ]


def _job_status(job: batch.Job) -> str:
    # Of conditions of one type, the first counts.
    statuses = {one.type: one.status for one in reversed(job.status.conditions)}
    for name in _ENDED:
        if statuses.get(name) == "True":
            return name
    if job.metadata.deletion_timestamp is not None:
        return "Terminating"
    for name in _ON_THE_WAY:
        if statuses.get(name) == "True":
            return name
    return "Running"


def _completions(job: batch.Job) -> str:
    succeeded = job.status.succeeded
    if job.spec.completions is not None:
        return f"{succeeded}/{job.spec.completions}"
    parallelism = job.spec.parallelism or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: batch.Job, now: datetime) -> str:
    started, completed = job.status.start_time, job.status.completion_time
    if started is None:
        return ""
    return human_duration((completed.instant if completed else now) - started.instant)


JOBS: Final = Printer(
    (
        NAME,
        Column("Status", "What the job is doing."),
        Column("Completions", "How many pods succeeded, of how many that must."),
        Column("Duration", "How long the job took, or has taken so far."),
        AGE,
        *_TEMPLATE,
    ),
    job_cells,
    batch.Job,
)


# Disruption budgets -----------------------------------------------------------------------------


def budget_cells(budget: policy.PodDisruptionBudget, now: datetime) -> Cells:
    """The cells of a disruption budget."""
    spec = budget.spec
    return [
        budget.metadata.name,
        *("N/A" if bound is None else str(bound) for bound in _bounds(spec)),
        budget.status.disruptions_allowed,
        age(budget.metadata.creation_timestamp, now),
    ]


def _bounds(spec: policy.PodDisruptionBudgetSpec) -> tuple[int | str | None, int | str | None]:
    return spec.min_available, spec.max_unavailable


DISRUPTION_BUDGETS: Final = Printer(
    (
        NAME,
        Column("Min Available", "How many pods must stay available."),
        Column("Max Unavailable", "How many pods may be unavailable."),
        Column("Allowed Disruptions", "How many pods may be evicted now.", type="integer"),
        AGE,
    ),
    budget_cells,
    policy.PodDisruptionBudget,
)


# Parts of cells ---------------------------------------------------------------------------------


def _containers(template: core.PodTemplateSpec) -> tuple[str, str]:
    containers: Sequence[core.Container] = template.spec.containers or ()
    names = ",".join(container.name for container in containers)
    return names, ",".join(container.image for container in containers)


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def _selector(
    selector: LabelSelector | None, *, empty: str = NONE, invalid: str = "<error>"
) -> str:
    if selector is None:
        return empty
    expressions = [(one.key, one.operator, one.values) for one in selector.match_expressions]
    try:
        return str(Selector.from_label_selector(selector.match_labels, expressions)) or empty
    except ParseError:
        return invalid
