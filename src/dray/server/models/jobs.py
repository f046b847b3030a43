"""Workloads: names that pods are called after, and the labels that jobs get with their pods.

Upstream counterpart: the strategy in pkg/registry/batch/job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dray.api.wire import replace
from dray.errors import FieldError
from dray.server.models.model import Circumstances
from dray.server.models.typed import TypedModel
from dray.server.names import host_name_warning

__all__ = ["JobModel", "WorkloadModel"]


class WorkloadModel(TypedModel):
    """Names pods after itself, so its own name should be fit for one."""

    def warnings(self, new: Any, old: Any | None) -> Sequence[str]:
        warning = host_name_warning(new.metadata.name, "Pod names and hostnames")
        first = [warning] if old is None and warning else []
        return [*first, *super().warnings(new, old)]


class JobModel(WorkloadModel):
    """A job without labels of its own has those of its template, made ones included."""

    def prepare_create(self, new: Any, circumstances: Circumstances) -> Any:
        bare = not new.metadata.labels and not new.spec.template.metadata.labels
        job = super().prepare_create(new, circumstances)
        if not bare or new.spec.manual_selector:
            return job
        # Upstream's server shares one map between the two even if neither was written.
        labels = job.spec.template.metadata.labels
        return replace(job, metadata=replace(job.metadata, labels=labels))

    def validate_create(self, new: Any, circumstances: Circumstances) -> Sequence[FieldError]:
        # What is wrong with labels that both have is said once, about the template.
        if new.metadata.labels == new.spec.template.metadata.labels:
            new = replace(new, metadata=replace(new.metadata, labels={}))
        return super().validate_create(new, circumstances)
