"""NamespaceLifecycle: nothing new in a namespace that is missing or going away.

Deleting and changing what is there stays possible, or a namespace could never be emptied. Reviews
of access are let through as well: an answer about the namespace would tell strangers whether it
exists. Upstream counterpart: apiserver pkg/admission/plugin/namespace/lifecycle, which has to wait
for its cache here and ours does not: State is always current.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api.core import NAMESPACE_PHASE_TERMINATING, Namespace
from dray.errors import Cause, Forbidden, StatusDetails, quote
from dray.server.admission.refusals import forbidden, not_found
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource
from dray.server.state import State

__all__ = ["IMMORTAL_NAMESPACES", "NAMESPACE_TERMINATING_CAUSE", "NamespaceLifecycle"]

IMMORTAL_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public"})

# What controllers branch on to stop recreating what they own.
NAMESPACE_TERMINATING_CAUSE: Final = "NamespaceTerminating"

_ACCESS_REVIEWS: Final = ("authorization.k8s.io", "localsubjectaccessreviews")


class NamespaceLifecycle(Plugin):
    """Keeps creates to namespaces that live, and deletes off those that must."""

    def __init__(self, state: State) -> None:
        self._state = state

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        del subresource  # a binding or an eviction is a create, too
        if _is_namespaces(resource):
            return operation is Operation.DELETE
        return (
            operation is Operation.CREATE
            and resource.namespaced
            and (resource.group, resource.plural) != _ACCESS_REVIEWS
        )

    def admit(self, request: AdmissionRequest) -> Any:
        if request.operation is Operation.DELETE:
            if request.name in IMMORTAL_NAMESPACES:
                raise Forbidden(
                    f"{request.resource.qualified} {quote(request.name)} is forbidden: "
                    "this namespace may not be deleted",
                    StatusDetails(name=request.name, kind=request.resource.plural),
                )
            return request.object
        name = request.namespace
        namespace = self._state.get(Namespace, name)
        if namespace is None:
            raise not_found("namespaces", name)
        if namespace.status.phase == NAMESPACE_PHASE_TERMINATING:
            raise forbidden(
                request,
                f"unable to create new content in namespace {name} because it is being terminated",
                causes=(
                    Cause(
                        reason=NAMESPACE_TERMINATING_CAUSE,
                        message=f"namespace {name} is being terminated",
                        field="metadata.namespace",
                    ),
                ),
            )
        return request.object


def _is_namespaces(resource: Resource) -> bool:
    return not resource.group and resource.plural == "namespaces"
