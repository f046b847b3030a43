"""Jobs and pods of jobs, as values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from dray.api.batch import Job, JobSpec, JobStatus
from dray.api.core import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
)
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.controllers.jobs.pods import COMPLETION_INDEX, INDEX_FAILURE_COUNT, TRACKING_FINALIZER

__all__ = ["NOW", "make_job", "make_pod"]

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_job(status: JobStatus | None = None, **spec: Any) -> Job:
    defaults: dict[str, Any] = {"parallelism": 1, "completions": 1, "backoff_limit": 6}
    if spec.get("backoff_limit_per_index") is not None:
        defaults["backoff_limit"] = 2**31 - 1
    return Job(
        metadata=ObjectMeta(name="work", namespace="default", uid="job"),
        spec=JobSpec(**defaults | spec),
        status=status or JobStatus(),
    )


def make_pod(
    name: str,
    phase: str = "Pending",
    *,
    index: int | None = None,
    failures: int | None = None,
    tracked: bool = True,
    going: bool = False,
    exit_code: int | None = None,
    ago: float = 0,
    ready: bool = False,
    condition: str = "",
) -> Pod:
    """A pod; what ended did so some time ago."""
    annotations: dict[str, str] = {}
    if index is not None:
        annotations[COMPLETION_INDEX] = str(index)
    if failures is not None:
        annotations[INDEX_FAILURE_COUNT] = str(failures)
    at = Time(NOW - timedelta(seconds=ago))
    statuses: tuple[ContainerStatus, ...] = ()
    if phase in ("Succeeded", "Failed"):
        code = exit_code if exit_code is not None else int(phase == "Failed")
        ended = ContainerStateTerminated(exit_code=code, finished_at=at)
        statuses = (ContainerStatus(name="main", state=ContainerState(terminated=ended)),)
    conditions = [PodCondition(type=condition, status="True")] if condition else []
    if ready:
        conditions.append(PodCondition(type="Ready", status="True", last_transition_time=at))
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=name,
            annotations=annotations,
            finalizers=(TRACKING_FINALIZER,) if tracked else (),
            deletion_timestamp=at if going else None,
        ),
        status=PodStatus(phase=phase, container_statuses=statuses, conditions=tuple(conditions)),
    )
