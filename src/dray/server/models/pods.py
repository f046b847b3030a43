"""Pods: containers that are added to debug them, and names that make poor host names.

Upstream counterparts: the ephemeralContainers strategy in pkg/registry/core/pod, warnings in
pkg/api/pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dray.api.equality import semantically_equal
from dray.api.strategy import carry_metadata
from dray.api.wire import replace
from dray.errors import FieldError
from dray.server.models.model import Circumstances
from dray.server.models.typed import TypedModel
from dray.server.names import host_name_warning
from dray.validation import validate_ephemeral_containers_update

__all__ = ["PodModel"]

EPHEMERAL_CONTAINERS: Final = "ephemeralcontainers"


class PodModel(TypedModel):
    """Writes through `ephemeralcontainers` add containers and change nothing else."""

    def prepare_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Any:
        if subresource != EPHEMERAL_CONTAINERS:
            return super().prepare_update(new, old, circumstances, subresource=subresource)
        metadata = carry_metadata(new.metadata, old.metadata)
        containers = new.spec.ephemeral_containers
        if not semantically_equal(containers, old.spec.ephemeral_containers):
            metadata = replace(metadata, generation=old.metadata.generation + 1)
        spec = replace(old.spec, ephemeral_containers=containers)
        return replace(new, metadata=metadata, spec=spec, status=old.status)

    def validate_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Sequence[FieldError]:
        if subresource != EPHEMERAL_CONTAINERS:
            return super().validate_update(new, old, circumstances, subresource=subresource)
        return validate_ephemeral_containers_update(new, old)

    def warnings(self, new: Any, old: Any | None) -> Sequence[str]:
        warning = host_name_warning(new.metadata.name, "the Pod's hostname")
        first = [warning] if old is None and warning else []
        return [*first, *super().warnings(new, old)]
