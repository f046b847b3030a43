"""Namespaces: who holds them is written by a subresource of its own.

Upstream counterpart: the finalize strategy in pkg/registry/core/namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dray.api.strategy import carry_metadata
from dray.api.wire import replace
from dray.errors import FieldError
from dray.server.models.model import Circumstances
from dray.server.models.typed import TypedModel

__all__ = ["NamespaceModel"]


class NamespaceModel(TypedModel):
    """Writes through `finalize` change nothing but the finalizers in the spec."""

    def prepare_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Any:
        if subresource != "finalize":
            return super().prepare_update(new, old, circumstances, subresource=subresource)
        metadata = carry_metadata(new.metadata, old.metadata)
        return replace(new, metadata=metadata, status=old.status)

    def validate_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Sequence[FieldError]:
        if subresource == "finalize":
            return super().validate_update(new, old, circumstances)
        return super().validate_update(new, old, circumstances, subresource=subresource)
