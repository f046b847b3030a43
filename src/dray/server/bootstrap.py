"""What is there before anybody asks: namespaces, roles, priority classes; and in every namespace
its account and the authority to trust.

The first part happens once at start, the second whenever a namespace appears. Upstream
counterparts: the bootstrap controllers and post-start hooks of kube-apiserver, and the
serviceaccount and root-ca-cert-publisher controllers, without which no pod would be admitted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from dray.api.core import ConfigMap, Namespace, ServiceAccount
from dray.api.meta import Object, ObjectMeta
from dray.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from dray.errors import AlreadyExists, APIError
from dray.server.admission.priority import default_objects as default_priority_classes
from dray.server.auth.default_roles import default_objects as default_roles
from dray.server.auth.reconciliation import Operation, reconcile
from dray.server.internal import Internal
from dray.server.registry import prefix_of
from dray.server.state import State
from dray.store.store import Event, Store

__all__ = ["NamespaceKeeper", "bootstrap"]

_log = logging.getLogger(__name__)

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
ROOT_CA_CONFIG_MAP: Final = "kube-root-ca.crt"
DEFAULT_ACCOUNT: Final = "default"

_RBAC: Final = (ClusterRole, ClusterRoleBinding, Role, RoleBinding)


async def bootstrap(internal: Internal, state: State) -> None:
    """Create what is missing, and bring default roles up to date."""
    for name in NAMESPACES:
        await _ensure(internal, state, Namespace(metadata=ObjectMeta(name=name)))
    for priority_class in default_priority_classes():
        await _ensure(internal, state, priority_class)
    for expected in default_roles():
        if isinstance(expected, _RBAC):
            await _reconcile(internal, state, expected)


async def _ensure(internal: Internal, state: State, obj: Object) -> None:
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


class NamespaceKeeper:
    """Gives every namespace its default account and the certificate to trust."""

    def __init__(self, internal: Internal, state: State, store: Store, authority: str) -> None:
        self._internal = internal
        self._state = state
        self._store = store
        self._authority = authority
        self._waiting: asyncio.Queue[str] = asyncio.Queue()

    async def run(self) -> None:
        """Keep at it, for ever."""
        prefixes = {
            prefix_of("", "namespaces"),
            prefix_of("", "serviceaccounts"),
            prefix_of("", "configmaps"),
        }
        subscriptions = [
            self._store.watch(prefix, self._store.revision, self._note) for prefix in prefixes
        ]
        try:
            for namespace in self._state.list(Namespace):
                await self._furnish(namespace.metadata.name)
            while True:
                await self._furnish(await self._waiting.get())
        finally:
            for subscription in subscriptions:
                subscription.close()

    def _note(self, events: Sequence[Event]) -> None:
        for event in events:
            _group, plural, rest = event.key.split("/", 2)
            if plural == "namespaces":
                if event.previous is None:
                    self._waiting.put_nowait(rest)
                continue
            namespace, name = rest.split("/", 1)
            if event.record is None and name in (DEFAULT_ACCOUNT, ROOT_CA_CONFIG_MAP):
                self._waiting.put_nowait(namespace)

    async def _furnish(self, name: str) -> None:
        namespace = self._state.get(Namespace, name)
        if namespace is None or namespace.metadata.deletion_timestamp is not None:
            return
        objects: tuple[Object, ...] = (
            ServiceAccount(metadata=ObjectMeta(name=DEFAULT_ACCOUNT, namespace=name)),
            ConfigMap(
                metadata=ObjectMeta(name=ROOT_CA_CONFIG_MAP, namespace=name),
                data={"ca.crt": self._authority},
            ),
        )
        for obj in objects:
            try:
                await _ensure(self._internal, self._state, obj)
            except APIError as error:
                # The namespace may be going away, or full; both end by themselves.
                _log.info("namespace %s did not get its %s: %s", name, obj.kind, error)
