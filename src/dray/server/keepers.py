"""What the server keeps in order by itself, as other objects change.

Every namespace gets an account and the certificate to trust, without which no pod would be admitted
to it; roles that gather others are written out, for people to read. Both look at what is there, not
at what happened, so nothing is missed; what a namespace refuses is tried again. Upstream
counterparts: the serviceaccount, root-ca-cert-publisher and clusterrole-aggregation controllers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from dray.api.core import ConfigMap, Namespace, ServiceAccount
from dray.api.meta import ObjectMeta
from dray.api.rbac import ClusterRole
from dray.api.wire import replace
from dray.clock import Clock
from dray.errors import APIError
from dray.server.auth.aggregation import stale_aggregates
from dray.server.bootstrap import ensure
from dray.server.chores import Chores
from dray.server.internal import Internal
from dray.server.registry import prefix_of
from dray.server.state import State
from dray.store.store import Event, Store

__all__ = ["NamespaceKeeper", "RoleKeeper"]

_log = logging.getLogger(__name__)

ROOT_CA_CONFIG_MAP: Final = "kube-root-ca.crt"
DEFAULT_ACCOUNT: Final = "default"


class NamespaceKeeper:
    """Gives every namespace its default account and the certificate to trust."""

    def __init__(
        self,
        internal: Internal,
        state: State,
        store: Store,
        authority: str,
        clock: Clock,
    ) -> None:
        """The clock says when to try again."""
        self._internal = internal
        self._state = state
        self._store = store
        self._authority = authority
        self._chores = Chores(clock)

    async def welcome(self, namespace: Namespace) -> None:
        """Furnish a new namespace before its creator hears of it: its first pod may follow."""
        await self._furnish(namespace.metadata.name)

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
                self._chores.add(namespace.metadata.name)
            while True:
                await self._furnish(await self._chores.take())
        finally:
            for subscription in subscriptions:
                subscription.close()

    def _note(self, events: Sequence[Event]) -> None:
        for event in events:
            _group, plural, rest = event.key.split("/", 2)
            if plural == "namespaces":
                if event.previous is None:
                    self._chores.add(rest)
                continue
            namespace, name = rest.split("/", 1)
            # An account is anybody's to change, the certificate is not.
            lost = plural == "serviceaccounts" and name == DEFAULT_ACCOUNT and event.record is None
            if lost or (plural == "configmaps" and name == ROOT_CA_CONFIG_MAP):
                self._chores.add(namespace)

    async def _furnish(self, name: str) -> None:
        namespace = self._state.get(Namespace, name)
        if namespace is None or namespace.metadata.deletion_timestamp is not None:
            self._chores.succeeded(name)  # nothing is missing from it any more
            return
        refused = False
        for furnish in (self._give_account, self._publish):
            try:
                await furnish(name)
            except APIError as error:
                # It may be full, or about to go away.
                _log.info("namespace %s did not get all it should: %s", name, error)
                refused = True
        if refused:
            self._chores.failed(name)
        else:
            self._chores.succeeded(name)

    async def _give_account(self, namespace: str) -> None:
        account = ServiceAccount(metadata=ObjectMeta(name=DEFAULT_ACCOUNT, namespace=namespace))
        await ensure(self._internal, self._state, account)

    async def _publish(self, namespace: str) -> None:
        """See to it that the certificate to trust is there, and is the one."""
        data = {"ca.crt": self._authority}
        stored = self._state.get(ConfigMap, ROOT_CA_CONFIG_MAP, namespace)
        if stored is None:
            metadata = ObjectMeta(name=ROOT_CA_CONFIG_MAP, namespace=namespace)
            await ensure(self._internal, self._state, ConfigMap(metadata=metadata, data=data))
        elif stored.data != data:
            await self._internal.update(replace(stored, data=data))


class RoleKeeper:
    """Writes the rules of roles that gather others."""

    def __init__(self, internal: Internal, state: State, store: Store) -> None:
        self._internal = internal
        self._state = state
        self._store = store
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Keep at it, for ever."""
        prefix = prefix_of("rbac.authorization.k8s.io", "clusterroles")
        subscription = self._store.watch(prefix, self._store.revision, self._note)
        self._changed.set()  # whatever happened before nobody told us
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                await self._write()
        finally:
            subscription.close()

    def _note(self, _events: Sequence[Event]) -> None:
        self._changed.set()

    async def _write(self) -> None:
        for role in stale_aggregates(self._state.list(ClusterRole)):
            try:
                await self._internal.update(role)
            except APIError as error:
                # Somebody else changed or removed it; that is an event of its own.
                _log.info("role %s was not brought up to date: %s", role.metadata.name, error)
