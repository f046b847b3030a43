"""What a namespace says about its own end.

Upstream counterpart: status_condition_utils.go in pkg/controller/namespace/deletion. Unlike there,
pods that remain are told of while others wait for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api.core import (
    CONDITION_FALSE,
    CONDITION_TRUE,
    NAMESPACE_CONDITION_CONTENT_REMAINING,
    NAMESPACE_CONDITION_DELETION_CONTENT_FAILURE,
    NAMESPACE_CONDITION_DELETION_DISCOVERY_FAILURE,
    NAMESPACE_CONDITION_DELETION_GROUP_VERSION_PARSING_FAILURE,
    NAMESPACE_CONDITION_FINALIZERS_REMAINING,
    NamespaceCondition,
)
from dray.api.wire import Time, replace
from dray.controllers.namespaces.content import Remains

__all__ = ["deletion_conditions"]

_WELL: Final[Mapping[str, tuple[str, str]]] = {
    NAMESPACE_CONDITION_DELETION_DISCOVERY_FAILURE: (
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    NAMESPACE_CONDITION_DELETION_GROUP_VERSION_PARSING_FAILURE: (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    NAMESPACE_CONDITION_DELETION_CONTENT_FAILURE: (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    NAMESPACE_CONDITION_CONTENT_REMAINING: (
        "ContentRemoved",
        "All content successfully removed",
    ),
    NAMESPACE_CONDITION_FINALIZERS_REMAINING: (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}


def deletion_conditions(
    known: tuple[NamespaceCondition, ...], remains: Remains, now: Time
) -> tuple[NamespaceCondition, ...]:
    """The conditions of a namespace after a look at what remains of it."""
    troubles = _troubles(remains)
    conditions = {condition.type: condition for condition in known}
    for kind, (reason, message) in _WELL.items():
        status = CONDITION_FALSE
        if kind in troubles:
            status = CONDITION_TRUE
            reason, message = troubles[kind]
        old = conditions.get(kind)
        since = old.last_transition_time if old is not None and old.status == status else now
        conditions[kind] = replace(
            old or NamespaceCondition(type=kind),
            status=status,
            reason=reason,
            message=message,
            last_transition_time=since,
        )
    return tuple(conditions.values())


def _troubles(remains: Remains) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    if remains.discovery_error:
        told = remains.discovery_error
        found[NAMESPACE_CONDITION_DELETION_DISCOVERY_FAILURE] = ("DiscoveryFailed", told)
    if remains.errors:
        texts = ", ".join(sorted(str(error) for error in remains.errors))
        count = len(remains.errors)
        found[NAMESPACE_CONDITION_DELETION_CONTENT_FAILURE] = (
            "ContentDeletionFailed",
            f"Failed to delete all resource types, {count} remaining: {texts}",
        )
    if remains.counts:
        parts = (f"{name} has {n} resource instances" for name, n in remains.counts.items())
        found[NAMESPACE_CONDITION_CONTENT_REMAINING] = (
            "SomeResourcesRemain",
            f"Some resources are remaining: {', '.join(sorted(parts))}",
        )
    if remains.finalizers:
        parts = (f"{name} in {n} resource instances" for name, n in remains.finalizers.items())
        found[NAMESPACE_CONDITION_FINALIZERS_REMAINING] = (
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {', '.join(sorted(parts))}",
        )
    return found
