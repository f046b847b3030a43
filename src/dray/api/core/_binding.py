"""Binding: the word that puts a pod on a node. It is posted, never stored.

Upstream counterpart: Binding in k8s.io/api/core/v1.
"""

from __future__ import annotations

from dray.api.core._reference import ObjectReference
from dray.api.meta import Object
from dray.api.wire import always

__all__ = ["Binding"]


class Binding(Object):
    """Puts the pod its metadata names on the node its target names."""

    api_version: str = always("v1")
    kind: str = always("Binding")
    target: ObjectReference = always(ObjectReference)
