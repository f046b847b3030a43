"""What is there before anybody asks: namespaces, roles, priority classes.

Upstream counterpart: the bootstrap controllers and post-start hooks of kube-apiserver.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import Namespace
from dray.api.meta import Object, ObjectMeta
from dray.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from dray.errors import AlreadyExists
from dray.server.admission.priority import default_objects as default_priority_classes
from dray.server.auth.aggregation import stale_aggregates
from dray.server.auth.default_roles import default_objects as default_roles
from dray.server.auth.reconciliation import Operation, reconcile
from dray.server.internal import Internal
from dray.server.state import State

__all__ = ["bootstrap", "ensure"]

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")

_RBAC: Final = (ClusterRole, ClusterRoleBinding, Role, RoleBinding)


async def bootstrap(internal: Internal, state: State) -> None:
    """Create what is missing, and bring default roles up to date."""
    for name in NAMESPACES:
        await ensure(internal, state, Namespace(metadata=ObjectMeta(name=name)))
    for priority_class in default_priority_classes():
        await ensure(internal, state, priority_class)
    for expected in default_roles():
        if isinstance(expected, _RBAC):
            await _reconcile(internal, state, expected)
    for role in stale_aggregates(state.list(ClusterRole)):
        await internal.update(role)


async def ensure(internal: Internal, state: State, obj: Object) -> None:
    """Create an object, unless one of its name is there."""
    if state.get(type(obj), obj.metadata.name, obj.metadata.namespace) is not None:
        return
    try:
        await internal.create(obj)
    except AlreadyExists:
        return


async def _reconcile(
    internal: Internal,
    state: State,
    expected: ClusterRole | ClusterRoleBinding | Role | RoleBinding,
) -> None:
    metadata = expected.metadata
    existing = state.get(type(expected), metadata.name, metadata.namespace)
    step = reconcile(existing, expected)
    if step is None:
        return
    if step.operation is Operation.UPDATE:
        await internal.update(step.object)
        return
    if step.operation is Operation.RECREATE and existing is not None:
        await internal.delete(existing)
    await internal.create(step.object)
