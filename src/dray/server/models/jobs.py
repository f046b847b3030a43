"""Workloads: names that pods are called after, and the labels that jobs get with their pods.

Upstream counterpart: the strategy in pkg/registry/batch/job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dray.api.wire import replace
from dray.server.models.model import Circumstances
from dray.server.models.typed import TypedModel
from dray.server.names import host_name_warning

__all__ = ["JobModel", "WorkloadModel"]


class WorkloadModel(TypedModel):
    """Names pods after itself, so its own name should be fit for one."""

    def warnings(self, new: Any, old: Any | None) -> Sequence[str]:
        warnings = list(super().warnings(new, old))
        warning = host_name_warning(new.metadata.name, "Pod names and hostnames")
        if old is None and warning:
            warnings.append(warning)
        return warnings


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
