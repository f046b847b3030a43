"""Small valid workloads to break, as a server holds them, and what dray says of writing them."""

from __future__ import annotations

from typing import Any, TypeVar

from dray.api.apps import (
    DaemonSet,
    DaemonSetSpec,
    Deployment,
    DeploymentSpec,
    ReplicaSet,
    ReplicaSetSpec,
)
from dray.api.batch import Job, JobSpec
from dray.api.core import PodSpec, PodTemplateSpec
from dray.api.defaults import default
from dray.api.features import DEFAULT_GATES
from dray.api.meta import LabelSelector, Object, ObjectMeta
from dray.api.wire import Time, replace
from dray.api.workload_strategy import prepare_workload_for_create
from dray.validation import validate_create, validate_status_update, validate_update
from tests.unit.validation.builders import texts
from tests.unit.validation.pod_builders import container

NOW = Time.parse("2026-02-03T04:05:06Z")
LABELS = {"app": "web"}
SELECTOR = LabelSelector(match_labels=LABELS)

O = TypeVar("O", bound=Object)  # noqa: E741  # T stands for time here


def metadata(**fields: Any) -> ObjectMeta:
    basics = {"name": "web", "namespace": "default", "uid": "u", "resource_version": "1"}
    return ObjectMeta(**{**basics, **fields})


def template(*, labels: dict[str, str] = LABELS, **spec: Any) -> PodTemplateSpec:
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=labels), spec=PodSpec(**{"containers": (container(),), **spec})
    )


def deployment(**spec: Any) -> Deployment:
    made = DeploymentSpec(**{"selector": SELECTOR, "template": template(), **spec})
    return default(Deployment(metadata=metadata(), spec=made), now=NOW)


def replica_set(**spec: Any) -> ReplicaSet:
    made = ReplicaSetSpec(**{"selector": SELECTOR, "template": template(), **spec})
    return default(ReplicaSet(metadata=metadata(), spec=made), now=NOW)


def daemon_set(**spec: Any) -> DaemonSet:
    made = DaemonSetSpec(**{"selector": SELECTOR, "template": template(), **spec})
    return default(DaemonSet(metadata=metadata(), spec=made), now=NOW)


def job(*, name: str = "work", uid: str = "u", **spec: Any) -> Job:
    """A job with the selector that was made for it."""
    made = JobSpec(**{"template": template(restart_policy="Never"), **spec})
    found = default(Job(metadata=metadata(name=name, uid=uid), spec=made), now=NOW)
    return prepare_workload_for_create(found, gates=DEFAULT_GATES)


def with_status(workload: O, **fields: Any) -> O:
    """The workload with this much of a status."""
    blank: Any = workload
    return replace(workload, status=type(blank.status)(**fields))


def created(workload: Object) -> list[str]:
    return texts(validate_create(workload))


def updated(new: O, old: O) -> list[str]:
    return texts(validate_update(new, old))


def status_updated(new: O, old: O) -> list[str]:
    return texts(validate_status_update(new, old))
