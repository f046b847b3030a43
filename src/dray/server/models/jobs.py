"""Workloads: names that pods are called after, and the labels that jobs get with their pods.

Upstream counterpart: the strategy in pkg/registry/batch/job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dray.api.wire import replace
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
    """A job without labels of its own is stored with those of its template, made ones included.

    Upstream fills them in when it reads what is stored, so rules never see them.
    """

    def store(self, obj: Any) -> bytes:
        labels = obj.spec.template.metadata.labels
        if labels and not obj.metadata.labels:
            obj = replace(obj, metadata=replace(obj.metadata, labels=labels))
        return super().store(obj)
