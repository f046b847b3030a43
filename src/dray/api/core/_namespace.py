"""Namespaces: rooms for names, and the unit of deletion.

Upstream counterpart: Namespace in k8s.io/api/core/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.meta import ListMeta, Object
from dray.api.wire import Struct, Time, always

__all__ = [
    "FINALIZER_KUBERNETES",
    "NAMESPACE_CONDITION_CONTENT_REMAINING",
    "NAMESPACE_CONDITION_DELETION_CONTENT_FAILURE",
    "NAMESPACE_CONDITION_DELETION_DISCOVERY_FAILURE",
    "NAMESPACE_CONDITION_DELETION_GROUP_VERSION_PARSING_FAILURE",
    "NAMESPACE_CONDITION_FINALIZERS_REMAINING",
    "NAMESPACE_PHASE_ACTIVE",
    "NAMESPACE_PHASE_TERMINATING",
    "Namespace",
    "NamespaceCondition",
    "NamespaceList",
    "NamespaceSpec",
    "NamespaceStatus",
]

# Stands in a namespace's spec, not in its metadata, until its content is gone.
FINALIZER_KUBERNETES: Final = "kubernetes"

NAMESPACE_PHASE_ACTIVE: Final = "Active"
NAMESPACE_PHASE_TERMINATING: Final = "Terminating"

NAMESPACE_CONDITION_DELETION_DISCOVERY_FAILURE: Final = "NamespaceDeletionDiscoveryFailure"
NAMESPACE_CONDITION_DELETION_GROUP_VERSION_PARSING_FAILURE: Final = (
    "NamespaceDeletionGroupVersionParsingFailure"
)
NAMESPACE_CONDITION_DELETION_CONTENT_FAILURE: Final = "NamespaceDeletionContentFailure"
NAMESPACE_CONDITION_CONTENT_REMAINING: Final = "NamespaceContentRemaining"
NAMESPACE_CONDITION_FINALIZERS_REMAINING: Final = "NamespaceFinalizersRemaining"


class NamespaceSpec(Struct):
    """Who must be done before the namespace goes away."""

    finalizers: tuple[str, ...] = ()


class NamespaceCondition(Struct):
    """How far a deletion has come, and what holds it up."""

    type: str = always("")
    status: str = always("")
    last_transition_time: Time | None = always(None)
    reason: str = ""
    message: str = ""


class NamespaceStatus(Struct):
    """Whether the namespace takes new objects."""

    phase: str = ""
    conditions: tuple[NamespaceCondition, ...] = ()


class Namespace(Object):
    """A room for names."""

    api_version: str = always("v1")
    kind: str = always("Namespace")
    spec: NamespaceSpec = always(NamespaceSpec)
    status: NamespaceStatus = always(NamespaceStatus)


class NamespaceList(Struct):
    """Several namespaces."""

    api_version: str = always("v1")
    kind: str = always("NamespaceList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Namespace, ...] | None = always(None)
