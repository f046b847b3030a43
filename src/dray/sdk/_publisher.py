"""Keeps a driver's slices on the server what the driver last said they should be.

`publish` returns at once, and the latest word wins. One task writes, one slice after the other, so
a pool never sees two writes at a time. What fails is tried again with growing pauses, after a fresh
look at what is there; a pool that cannot be valid is not sent, and waits for the next word. What
others delete or change is repaired within a second or so: kubelets delete a node's slices when they
start, and nothing can be scheduled until they are back.

Slices stay when a driver stops: a restart is no news. Those of pools that are no longer wanted go.
Upstream counterpart: k8s.io/dynamic-resource-allocation/resourceslice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from dray.api.core import Node
from dray.api.meta import OwnerReference
from dray.api.resource import ResourceSlice, ResourceSliceSpec
from dray.api.wire import replace
from dray.client import Client, Informer
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import APIError, DrayError, Invalid, NotFound, TransportError
from dray.sdk._dropped_fields import DroppedField, DroppedFields, dropped_fields
from dray.sdk._inventory import Inventory, InventoryError, Pool
from dray.sdk._slice_cache import SliceCache
from dray.sdk._slice_check import find_problems
from dray.sdk._slice_layout import DEVICES_WITH_EXTRAS_MAX, Layout, is_local, lay_out
from dray.sdk._slice_plan import Plan, TaintTimes, keep_taint_times, plan, same_spec, taint_times

__all__ = ["PublishMetrics", "Publisher"]

_log = logging.getLogger(__name__)

# How long to wait after somebody else's change: a wipe is many deletions, and one repair.
REPAIR_SECONDS: Final = 1.0

# Whoever changes it again and again, another version of the same driver perhaps, is not fought
# without end: pauses double up to upstream's, until there was peace for a while.
REPAIR_SECONDS_MAX: Final = 30.0
PEACE_SECONDS: Final = 60.0

# Pauses after failures. The longest is how late a driver may be after an outage.
RETRY_SECONDS: Final = 0.1
RETRY_SECONDS_MAX: Final = 30.0


class PublishMetrics(Protocol):
    """What the publisher counts."""

    def slice_written(self, verb: str) -> None:
        """A slice was created, updated or deleted."""
        ...

    def publish_failed(self, reason: str) -> None:
        """A pool could not be written, or not all of it."""
        ...


@dataclass(slots=True)
class _Pool:
    """What the publisher knows of one pool."""

    # When to look at it next; None: everything is as it should be.
    due_at: float | None = None
    busy: bool = False
    failures: int = 0
    # Whether it is due because somebody else touched it, and how often they did.
    suspected: bool = False
    repairs: int = 0
    repaired_at: float = 0.0
    layout: Layout = Layout.APART
    seen_generation: int = 0
    times: TaintTimes = field(default_factory=dict)
    refusal: InventoryError | None = None
    checked: Pool | None = None  # the last that was found to be valid
    dropped: frozenset[DroppedField] = frozenset()  # that was reported
    told: str = ""  # the last error that was reported, so that it is not again and again


@dataclass(slots=True)
class _Scope:
    """Slices that one watch covers."""

    selector: str
    informer: Informer[ResourceSlice]
    cache: SliceCache
    synced: bool = False


class Publisher:
    """Publishes for one driver on one node; without a node, for pools that name their nodes.

    `on_error` hears of everything that went wrong, once while it is the same: InventoryError for
    what cannot be published, DroppedFields, and what the server or the way to it refused.
    """

    def __init__(
        self,
        client: Client,
        *,
        driver: str,
        node_name: str,
        clock: Clock,
        entropy: Entropy,
        on_error: Callable[[DrayError], None] | None = None,
        metrics: PublishMetrics | None = None,
    ) -> None:
        self._client = client
        self._driver = driver
        self._node_name = node_name
        self._clock = clock
        self._entropy = entropy
        self._on_error = on_error
        self._metrics = metrics
        self._desired: dict[str, Pool] | None = None
        self._pools: dict[str, _Pool] = {}
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._owners: tuple[OwnerReference, ...] | None = None if node_name else ()
        # What the server made of what it was sent, where the two differ, by the slice's name.
        self._adopted: dict[str, tuple[ResourceSliceSpec, ResourceSliceSpec]] = {}
        self._local = self._scope(node_name) if node_name else None
        self._remote = None if node_name else self._scope("")

    def publish(self, inventory: Inventory) -> None:
        """Have the server show this and nothing else. Raises InventoryError for misplaced pools."""
        desired = {}
        for pool in inventory.pools:
            name = pool.name or self._node_name
            if not name or (is_local(pool) and not self._node_name):
                rule = "a driver without a node publishes pools with a name and a choice of nodes"
                raise InventoryError(f"pool {pool.name}" if pool.name else "pool", [rule])
            if name in desired:
                rule = "two pools have this name, one of them because the node has it"
                raise InventoryError(f"pool {name}", [rule])
            desired[name] = pool
        if self._remote is None and not all(map(is_local, desired.values())):
            self._remote = self._scope("")
        previous, self._desired = self._desired or {}, desired
        for name in {*previous, *desired}:
            if previous.get(name) != desired.get(name) or name not in self._pools:
                known = self._pools.setdefault(name, _Pool())
                known.refusal = None
                known.failures = 0
                known.suspected = False
                known.due_at = self._clock.monotonic()
        self._notify()

    async def published(self) -> None:
        """Return once everything that was published is on the server.

        Raises InventoryError for what can never be there.
        """
        while True:
            refusal = next((each.refusal for each in self._pools.values() if each.refusal), None)
            if refusal is not None:
                raise refusal
            if not self.problem():
                return
            self._progress.clear()
            await self._progress.wait()

    def problem(self) -> str:
        """What is not published, and why; empty when everything is."""
        if self._desired is None:
            return "nothing was published yet"
        for name, pool in sorted(self._pools.items()):
            if pool.refusal is not None or pool.due_at is not None or pool.busy:
                return pool.told or f"pool {name} is not written yet"
        if any(not scope.synced for scope in self._scopes()):
            return "the slices on the server are not known yet"
        return ""

    async def withdraw(self) -> None:
        """Delete all slices, and return when they are gone. `run` must be running."""
        self.publish(Inventory())
        await self.published()

    async def run(self) -> None:
        """Publish until cancelled; the slices stay."""
        async with asyncio.TaskGroup() as tasks:
            watched: set[str] = set()
            while True:
                for scope in self._scopes():
                    if scope.selector not in watched:
                        watched.add(scope.selector)
                        tasks.create_task(scope.informer.run())
                        tasks.create_task(self._sync_scope(scope))
                await self._work()

    # What is watched ------------------------------------------------------------------------------

    def _scope(self, node_name: str) -> _Scope:
        selector = f"spec.driver={self._driver},spec.nodeName={node_name}"
        informer = Informer(
            self._client,
            ResourceSlice,
            clock=self._clock,
            entropy=self._entropy,
            field_selector=selector,
        )
        cache = SliceCache(is_ours=self._is_ours, on_foreign=self._repair)
        informer.listen(cache.hear)
        return _Scope(selector, informer, cache)

    def _scopes(self) -> list[_Scope]:
        return [scope for scope in (self._local, self._remote) if scope is not None]

    def _is_ours(self, slice_: ResourceSlice) -> bool:
        if slice_.spec.driver != self._driver:
            return False
        if slice_.spec.node_name is not None:
            return slice_.spec.node_name == self._node_name
        # Slices for several nodes belong to whoever the owner says: the instance of a node, or the
        # one without a node.
        owners = [owner.name for owner in slice_.metadata.owner_references if owner.kind == "Node"]
        return self._node_name in owners if self._node_name else not owners

    async def _sync_scope(self, scope: _Scope) -> None:
        await scope.informer.synced()
        scope.synced = True
        for name in scope.cache.pools():
            self._pools.setdefault(name, _Pool()).due_at = self._clock.monotonic()
        self._notify()

    def _repair(self, name: str, deleted: bool) -> None:
        """Somebody else touched a slice of this pool."""
        if deleted and self._node_name:
            # Perhaps the node was deleted and is a new one now.
            self._owners = None
        pool = self._pools.setdefault(name, _Pool())
        if pool.due_at is None:
            now = self._clock.monotonic()
            if now - pool.repaired_at > PEACE_SECONDS:
                pool.repairs = 0
            seconds = REPAIR_SECONDS * 2.0 ** min(pool.repairs, 20)
            pool.due_at = now + min(seconds, REPAIR_SECONDS_MAX)
            pool.suspected = True
            self._notify()

    def _notify(self) -> None:
        self._wake.set()
        self._progress.set()

    # Writing --------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Attend to every pool whose time has come, else wait for one."""
        self._wake.clear()
        now = self._clock.monotonic()
        ready = self._desired is not None and any(scope.synced for scope in self._scopes())
        waiting = {
            name: pool.due_at
            for name, pool in self._pools.items()
            if pool.due_at is not None and ready and self._is_known(name)
        }
        due = sorted(name for name, due_at in waiting.items() if due_at <= now)
        for name in due:
            await self._attempt(name)
        if due:
            return
        if not waiting:
            await self._wake.wait()
            return
        with suppress(TimeoutError):
            await within(self._clock, min(waiting.values()) - now, self._wake.wait())

    def _is_known(self, name: str) -> bool:
        """Whether it is known what the server has of a pool."""
        wanted = (self._desired or {}).get(name)
        if wanted is None:
            return True
        scope = self._local if is_local(wanted) else self._remote
        return scope is not None and scope.synced

    async def _attempt(self, name: str) -> None:
        pool = self._pools[name]
        suspected = pool.suspected
        # What happens to the pool from here on is looked at again.
        pool.due_at, pool.suspected, pool.busy = None, False, True
        try:
            wrote = await self._sync(name, pool)
        except InventoryError as error:
            pool.refusal = error
            self._report(pool, error, "Inventory")
        except (APIError, TransportError) as error:
            self._report(pool, error, getattr(error, "reason", type(error).__name__))
            pool.due_at = self._clock.monotonic() + self._pause_seconds(pool, error)
            pool.failures += 1
            await self._look_again(name)
        else:
            pool.failures = 0
            if wrote and suspected:
                pool.repairs += 1
                pool.repaired_at = self._clock.monotonic()
            if pool.due_at is not None and self._is_done(name, pool):
                pool.due_at, pool.suspected = None, False  # our own writes came back
            if pool.due_at is None:
                pool.told = ""
            if (self._desired or {}).get(name) is None and pool.due_at is None:
                del self._pools[name]
        finally:
            pool.busy = False
            self._progress.set()

    def _pause_seconds(self, pool: _Pool, error: DrayError) -> float:
        seconds = min(RETRY_SECONDS * 2 ** min(pool.failures, 20), RETRY_SECONDS_MAX)
        asked = error.details.retry_after_seconds if isinstance(error, APIError) else 0
        return max(self._entropy.uniform(seconds / 2, seconds), float(asked))

    async def _look_again(self, name: str) -> None:
        """A write that failed may have happened: only a list tells. It may fail as well."""
        for scope in self._scopes():
            if not scope.synced:
                continue
            try:
                listing = await self._client.list(ResourceSlice, field_selector=scope.selector)
            except (APIError, TransportError) as error:
                _log.debug("listing the slices of pool %s: %s", name, error)
            else:
                scope.cache.reset(listing.items)

    def _report(self, pool: _Pool, error: DrayError, reason: str) -> None:
        if self._metrics is not None:
            self._metrics.publish_failed(reason)
        text = str(error)
        if text != pool.told:
            pool.told = text
            if self._on_error is not None:
                self._on_error(error)

    async def _sync(self, name: str, pool: _Pool) -> bool:
        """Make the server's pool what it should be; whether that took any writing."""
        wanted = (self._desired or {}).get(name)
        if wanted is None:
            existing = self._existing(name)
            for slice_ in existing:
                await self._delete(slice_)
            return bool(existing)
        try:
            todo = self._plan(name, pool, wanted, await self._owned())
            await self._write(todo, name, pool)
        except Invalid as error:
            if not wanted.counters:
                raise
            # Servers before 1.35 want counters elsewhere. If that is no better, it is not that.
            _log.info("pool %s is refused with %s: %s", name, pool.layout.value, error)
            first_refusal = pool.layout is Layout.APART
            pool.layout = Layout.TOGETHER if first_refusal else Layout.APART
            if not first_refusal:
                raise
            await self._look_again(name)
            return await self._sync(name, pool)
        else:
            return not todo.is_empty

    def _existing(self, name: str) -> list[ResourceSlice]:
        return [each for scope in self._scopes() for each in scope.cache.of_pool(name)]

    def _is_done(self, name: str, pool: _Pool) -> bool:
        wanted = (self._desired or {}).get(name)
        if wanted is None:
            return not self._existing(name)
        return self._owners is not None and self._plan(name, pool, wanted, self._owners).is_empty

    def _plan(
        self, name: str, pool: _Pool, wanted: Pool, owners: tuple[OwnerReference, ...]
    ) -> Plan:
        existing = self._existing(name)
        newest = max((each.spec.pool.generation for each in existing), default=0)
        pool.seen_generation = max(pool.seen_generation, newest)
        pool.times = {**pool.times, **taint_times(existing)}
        self._check(name, pool, wanted)
        specs = self._lay_out(wanted, pool.layout, existing, newest)
        timed = [keep_taint_times(spec, pool.times) for spec in specs]
        pool.times = taint_times([ResourceSlice(spec=spec) for spec in timed])
        return plan(
            timed,
            existing,
            node_name=self._node_name,
            owners=owners,
            generation=wanted.generation,
            seen_generation=pool.seen_generation,
            same=self._is_same,
        )

    def _check(self, name: str, pool: _Pool, wanted: Pool) -> None:
        """Raise what the server would refuse, all of it, in the terms of the driver's author."""
        if pool.checked is wanted:
            return
        # By the newest rules, also for a server that wants another layout.
        specs = lay_out(wanted, driver=self._driver, node_name=self._node_name)
        problems = find_problems(wanted, specs)
        if problems:
            raise InventoryError(f"pool {name}", problems)
        pool.checked = wanted

    def _lay_out(
        self, wanted: Pool, layout: Layout, existing: Sequence[ResourceSlice], newest: int
    ) -> tuple[ResourceSliceSpec, ...]:
        """In narrow slices if it must be, or if that is how the pool is already."""

        def cut(*, narrow: bool) -> tuple[ResourceSliceSpec, ...]:
            return lay_out(
                wanted,
                driver=self._driver,
                node_name=self._node_name,
                layout=layout,
                narrow=narrow,
            )

        usual, narrow = cut(narrow=False), cut(narrow=True)
        current = [each.spec for each in existing if each.spec.pool.generation == newest]
        fits = all(len(spec.devices or ()) <= DEVICES_WITH_EXTRAS_MAX for spec in current)
        return narrow if fits and len(current) == len(narrow) else usual

    def _is_same(self, stored: ResourceSlice, wanted: ResourceSliceSpec) -> bool:
        if same_spec(stored.spec, wanted):
            return True
        sent, kept = self._adopted.get(stored.metadata.name, (None, None))
        if sent is None or kept is None:
            return False
        pools = stored.spec.pool == wanted.pool
        return pools and same_spec(sent, _bare(wanted)) and same_spec(kept, _bare(stored.spec))

    async def _owned(self) -> tuple[OwnerReference, ...]:
        if self._owners is None:
            try:
                node = await self._client.get(Node, self._node_name)
            except NotFound as error:
                message = f"the Node {self._node_name} does not exist yet, and is to own the slices"
                raise NotFound(message, error.details) from error
            owner = OwnerReference(
                api_version="v1",
                kind="Node",
                name=self._node_name,
                uid=node.metadata.uid,
                controller=True,
            )
            self._owners = (owner,)
        return self._owners

    async def _write(self, todo: Plan, name: str, pool: _Pool) -> None:
        dropped: set[DroppedField] = set()
        for slice_ in todo.deletes:
            await self._delete(slice_)
        for verb, slices, call in (
            ("update", todo.updates, self._client.update),
            ("create", todo.creates, self._client.create),
        ):
            for slice_ in slices:
                stored = await call(slice_)
                self._count(verb)
                self._keep(stored)
                pool.seen_generation = max(pool.seen_generation, todo.generation)
                pool.times = {**pool.times, **taint_times([stored])}
                dropped.update(self._compare(slice_.spec, stored))
        news = dropped - pool.dropped
        if news:
            pool.dropped |= news
            fields = sorted(news, key=lambda each: each.path)
            self._report(pool, DroppedFields(name, fields), "DroppedFields")

    def _keep(self, stored: ResourceSlice) -> None:
        scope = self._remote if stored.spec.node_name is None else self._local
        if scope is not None:
            scope.cache.wrote(stored)

    def _compare(self, sent: ResourceSliceSpec, stored: ResourceSlice) -> list[DroppedField]:
        name = stored.metadata.name
        if same_spec(stored.spec, sent):
            self._adopted.pop(name, None)
            return []
        # Sending it again would not help: what the server made of it is what there is.
        self._adopted[name] = (_bare(sent), _bare(stored.spec))
        return dropped_fields(sent, stored.spec)

    async def _delete(self, slice_: ResourceSlice) -> None:
        metadata = slice_.metadata
        with suppress(NotFound):
            await self._client.delete(
                ResourceSlice,
                metadata.name,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            )
            self._count("delete")
        self._adopted.pop(metadata.name, None)
        for scope in self._scopes():
            scope.cache.deleted(metadata.name)

    def _count(self, verb: str) -> None:
        if self._metrics is not None:
            self._metrics.slice_written(verb)


def _bare(spec: ResourceSliceSpec) -> ResourceSliceSpec:
    """A slice without what its pool says of itself."""
    return replace(spec, pool=replace(spec.pool, generation=0, resource_slice_count=0))
