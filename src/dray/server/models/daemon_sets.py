"""DaemonSets: their template's generation, which old clients read from an annotation.

Upstream counterpart: the conversion in pkg/apis/apps/v1 and the strategy in
pkg/registry/apps/daemonset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dray.api.apps import DaemonSet
from dray.api.equality import semantically_equal
from dray.api.wire import Time, replace
from dray.server.models.model import Circumstances, Reading
from dray.server.models.typed import TypedModel
from dray.server.resources import Resource

__all__ = ["TEMPLATE_GENERATION", "DaemonSetModel"]

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


class DaemonSetModel(TypedModel):
    """Counts how often the template of a daemon set changed."""

    def read(
        self,
        body: bytes | Mapping[str, Any],
        resource: Resource,
        now: Time,
        *,
        encoded: bool = False,
    ) -> Reading:
        reading = super().read(body, resource, now, encoded=encoded)
        said = reading.object.metadata.annotations.get(TEMPLATE_GENERATION, "0")
        return Reading(_counted(reading.object, said), reading.problems)

    def prepare_create(self, new: Any, circumstances: Circumstances) -> Any:
        return _counted(super().prepare_create(new, circumstances), "1")

    def prepare_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Any:
        new = super().prepare_update(new, old, circumstances, subresource=subresource)
        count = old.metadata.annotations.get(TEMPLATE_GENERATION, "1")
        changed = not semantically_equal(new.spec.template, old.spec.template)
        if changed and count.isascii() and count.isdigit():
            count = str(int(count) + 1)
        return _counted(new, count)


def _counted(daemon_set: DaemonSet, count: str) -> DaemonSet:
    metadata = daemon_set.metadata
    if metadata.annotations.get(TEMPLATE_GENERATION) == count:
        return daemon_set
    annotations = {**metadata.annotations, TEMPLATE_GENERATION: count}
    return replace(daemon_set, metadata=replace(metadata, annotations=annotations))
