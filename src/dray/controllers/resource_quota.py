"""Counts again what quotas say is used.

The server charges what is created, and nobody gives back what is deleted, or what a write was
charged for that failed: that is found by counting. A quota is counted at once when its bounds
change, or what they are about is defined, soon after something in its namespace goes, and all of
them every few minutes. A count that changes something is checked a moment later: the server charges
before it stores, so a view may have a charge, and lack what it was for. Upstream counterpart:
pkg/controller/resourcequota.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from dray.api import events
from dray.api.apiextensions import CustomResourceDefinition
from dray.api.core import Event, Pod, ResourceQuota
from dray.api.meta import Object
from dray.api.quantity import Quantity
from dray.api.quota_rules import (
    ClassNames,
    claim_payer,
    counted_resource,
    extended_resource_pod,
    pod_bounds,
)
from dray.api.quota_scopes import has_scopes, in_scope
from dray.api.quota_usage import claim_usage, is_pod_charged, pod_usage
from dray.api.resource import DeviceClass, ResourceClaim
from dray.api.scheme import kinds
from dray.api.wire import replace
from dray.client import Informer
from dray.controllers.by_namespace import in_namespace, index_by_namespace
from dray.controllers.custom_kinds import CustomKind, defined_kind
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import Conflict, NotFound

__all__ = ["ResourceQuotaController"]

# Upstream's: how often everything is counted again.
RESYNC_SECONDS: Final = 300.0

# What goes is seldom alone. Whoever waits for it does not notice so short a wait.
REPLENISH_SECONDS: Final = 0.2

# A namespace with many pods takes long to count: counting takes at most one part in so many.
COUNTING_SHARE: Final = 20

# By then, views have whatever was charged for when they were counted.
CONFIRM_SECONDS: Final = 1.0

# How often in a row a quota is written that somebody else writes, too.
TRIES_MAX: Final = 3

_ZERO: Final = Quantity.from_int(0)

# What is counted by its resource's name, as quotas spell it.
_KINDS: Final = {
    f"{kind.plural}.{kind.group}" if kind.group else kind.plural: kind.hub.type
    for kind in kinds()
    if kind.namespaced and kind.hub.type not in (Event, events.Event)
}


class ResourceQuotaController(Reconciler):
    """Keys are names of quotas."""

    name = "resourcequota-controller"

    def __init__(self, context: Context, *, resync_seconds: float = RESYNC_SECONDS) -> None:
        super().__init__(context)
        self._resync_seconds = resync_seconds
        self._counting_seconds: dict[Key, float] = {}  # how long each quota last took
        informers = context.informers
        self._definitions = informers.of(CustomResourceDefinition)
        self._classes = informers.of(DeviceClass)
        self._pods = informers.of(Pod)
        self._claims = informers.of(ResourceClaim)
        self._counted: set[type[Object]] = set()  # kinds whose deletions we hear of
        self._quotas = informers.of(ResourceQuota)
        index_by_namespace(self._quotas)
        index_by_namespace(self._pods)
        index_by_namespace(self._claims)
        self._quotas.listen(self._quota_changed)
        self._definitions.listen(self._definition_changed)
        self._pods.listen(self._pod_changed)
        self._claims.listen(self._gone)

    async def reconcile(self, key: Key) -> Result:
        quota = self._quotas.get(key.name, key.namespace)
        if quota is None:
            self._counting_seconds.pop(key, None)
            return DONE
        try:
            for _try in range(TRIES_MAX):
                try:
                    return await self._settle(key, quota)
                except Conflict:
                    # The server charges this very quota for what is being created. What is newest
                    # may be written before the next charge.
                    quota = await self.context.client.get(
                        ResourceQuota, key.name, namespace=key.namespace
                    )
        except NotFound:
            return DONE
        # A busy namespace is no failure, after which one would wait longer and longer.
        return Result(self._pause_seconds(key))

    async def run(self) -> None:
        while True:
            await self.context.clock.sleep(self._resync_seconds)
            for quota in self._quotas.values():
                self.queue.add(Key.of(quota))

    async def _settle(self, key: Key, quota: ResourceQuota) -> Result:
        """Count, and write what has changed. Raises Conflict."""
        began = self.context.clock.monotonic()
        hard = quota.spec.hard
        counted = {**quota.status.used, **await self._count(quota)}
        self._counting_seconds[key] = self.context.clock.monotonic() - began
        used = {name: counted[name] for name in hard if name in counted}
        if quota.status.hard == hard and quota.status.used == used:
            return DONE
        status = replace(quota.status, hard=hard, used=used)
        await self.context.client.update_status(replace(quota, status=status))
        return Result(CONFIRM_SECONDS)

    # What is heard -----------------------------------------------------------------------------

    def _quota_changed(self, old: ResourceQuota | None, new: ResourceQuota | None) -> None:
        if new is None:
            return
        for name in new.spec.hard:
            self._watch(counted_resource(name))
        if old is None or new.spec != old.spec or new.status.hard != new.spec.hard:
            self.queue.add(Key.of(new))

    def _definition_changed(
        self, old: CustomResourceDefinition | None, new: CustomResourceDefinition | None
    ) -> None:
        """A kind that users define is served from now on: what bounds it can be counted."""
        if new is None or (old is not None and defined_kind(old) == defined_kind(new)):
            return
        for quota in self._quotas.values():
            if new.metadata.name in map(counted_resource, quota.spec.hard):
                self._watch(new.metadata.name)
                self.queue.add(Key.of(quota))

    def _watch(self, resource: str) -> None:
        """Hear of the end of what quotas count."""
        custom = self._custom_kind(resource)
        kind = _KINDS.get(resource) or (custom.type if custom is not None else None)
        if kind is not None and kind not in self._counted:
            self._counted.add(kind)
            informer: Informer[Any] = self.context.informers.of(kind)
            index_by_namespace(informer)
            informer.listen(self._gone)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is None:
            return
        now = self.context.clock.now()
        if new is None or (not is_pod_charged(new, now) and is_pod_charged(old, now)):
            self._replenish(old.metadata.namespace)

    def _gone(self, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self._replenish(old.metadata.namespace)

    def _replenish(self, namespace: str) -> None:
        for quota in in_namespace(self._quotas, namespace):
            key = Key.of(quota)
            self.queue.add_after(key, self._pause_seconds(key))

    def _pause_seconds(self, key: Key) -> float:
        """How long to wait for more to happen before counting."""
        return max(self._counting_seconds.get(key, 0.0) * COUNTING_SHARE, REPLENISH_SECONDS)

    # Counting ----------------------------------------------------------------------------------

    async def _count(self, quota: ResourceQuota) -> dict[str, Quantity]:
        """What is used now, of all that a quota bounds and somebody can measure."""
        namespace, hard = quota.metadata.namespace, quota.spec.hard
        used: dict[str, Quantity] = {}
        now = self.context.clock.now()
        pods = (
            pod_usage(pod, now)
            for pod in in_namespace(self._pods, namespace)
            if in_scope(quota, pod)
        )
        _add_all(used, pod_bounds(hard), pods)
        names = ClassNames.of(self._classes.values())
        claims = () if has_scopes(quota) else in_namespace(self._claims, namespace)
        usages = (self._claim_usage(claim, names) for claim in claims)
        _add_all(used, names.claim_bounds(hard), usages)
        for name in hard:
            resource = counted_resource(name)
            count = await self._objects_count(resource, namespace) if resource else None
            if count is not None:
                # Scopes are about pods: no other object is in one.
                used[name] = _ZERO if has_scopes(quota) else Quantity.from_int(count)
        return used

    def _claim_usage(self, claim: ResourceClaim, names: ClassNames) -> dict[str, Quantity]:
        namespace = claim.metadata.namespace
        owner = extended_resource_pod(claim)
        payer = None
        if owner is not None:
            pod = self._pods.get(owner[0], namespace)
            payer = claim_payer(claim, pod, partial(in_namespace, self._claims, namespace))
        paid = pod_usage(payer, self.context.clock.now()) if payer is not None else {}
        return claim_usage(claim, names.extended_resources, paid)

    async def _objects_count(self, resource: str, namespace: str) -> int | None:
        """How many objects of a resource a namespace has; None if there is no such resource."""
        kind = _KINDS.get(resource)
        if kind is not None:
            informer: Informer[Any] = self.context.informers.of(kind)
            await informer.synced()  # it may have been asked for only now
            return len(in_namespace(informer, namespace))
        custom = self._custom_kind(resource)
        if custom is None:
            return None
        # Asked for: the view of a kind that comes and goes may be half a minute behind.
        found = await self.context.client.list(custom.type, namespace=namespace)
        return len(found.items)

    def _custom_kind(self, resource: str) -> CustomKind | None:
        """The kind that users define by that name, if there is one in namespaces."""
        definition = self._definitions.get(resource)
        custom = defined_kind(definition) if definition is not None else None
        return custom if custom is not None and custom.namespaced else None


def _add_all(
    used: dict[str, Quantity], names: list[str], usages: Iterable[dict[str, Quantity]]
) -> None:
    """Add up what objects use, of the bounds that they fall under."""
    if not names:
        return
    for name in names:
        used.setdefault(name, _ZERO)
    for usage in usages:
        for name, amount in usage.items():
            if name in used:
                used[name] = used[name] + amount
