"""References from one object to another.

Upstream counterpart: k8s.io/api/core/v1.
"""

from __future__ import annotations

from dray.api.wire import Struct

__all__ = ["LocalObjectReference", "ObjectReference"]


class LocalObjectReference(Struct):
    """An object of a known kind in the same namespace."""

    name: str = ""


class ObjectReference(Struct):
    """Any object, or a field of it, as precisely as the writer knew it."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""
