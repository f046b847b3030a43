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
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from dray.client import Client
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import APIError, DrayError, TransportError
from dray.sdk._dropped_fields import DroppedField, DroppedFields
from dray.sdk._inventory import Inventory, InventoryError, Pool
from dray.sdk._pool_writer import PoolHistory, PoolWriter, Written
from dray.sdk._slice_layout import is_local
from dray.sdk._slice_view import SliceView

__all__ = ["PublishMetrics", "Publisher"]

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

    def slice_written(self, verb: str, count: int = 1) -> None:
        """So many slices were created, updated or deleted."""
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
    # Whether it is due because somebody else touched it, and how often that took a write.
    suspected: bool = False
    repairs: int = 0
    repaired_at: float = 0.0
    refusal: InventoryError | None = None
    dropped: frozenset[DroppedField] = frozenset()  # that was reported
    told: str = ""  # the last error that was reported, so that it is not again and again
    history: PoolHistory = field(default_factory=PoolHistory)


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
        self._node_name = node_name
        self._clock = clock
        self._entropy = entropy
        self._on_error = on_error
        self._metrics = metrics
        self._desired: dict[str, Pool] | None = None
        self._pools: dict[str, _Pool] = {}
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._view = SliceView(
            client,
            driver=driver,
            node_name=node_name,
            clock=clock,
            entropy=entropy,
            on_foreign=self._suspect,
            on_synced=self._survey,
        )
        self._writer = PoolWriter(client, self._view, driver=driver, node_name=node_name)

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
        if not all(map(is_local, desired.values())):
            self._view.look_beyond_the_node()
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
        if not self._view.is_complete:
            return "the slices on the server are not known yet"
        return ""

    async def withdraw(self) -> None:
        """Delete all slices, and return when they are gone. `run` must be running."""
        self.publish(Inventory())
        await self.published()

    async def run(self) -> None:
        """Publish until cancelled; the slices stay."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._view.run())
            while True:
                await self._work()

    # What is due, and when -----------------------------------------------------------------------

    def _survey(self, names: Iterable[str]) -> None:
        """These pools are on the server: now it can be said what is to be done."""
        for name in names:
            self._pools.setdefault(name, _Pool()).due_at = self._clock.monotonic()
        self._notify()

    def _suspect(self, name: str, deleted: bool) -> None:
        """Somebody else touched a slice of this pool."""
        if deleted:
            self._writer.forget_owner()
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

    async def _work(self) -> None:
        """Attend to every pool whose time has come, else wait for one."""
        self._wake.clear()
        now = self._clock.monotonic()
        waiting = {
            name: pool.due_at
            for name, pool in self._pools.items()
            if pool.due_at is not None and self._is_known(name)
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
        """Whether it is known what the driver wants of a pool and what the server has."""
        if self._desired is None:
            return False
        wanted = self._desired.get(name)
        return wanted is None or self._view.is_synced(local=is_local(wanted))

    # Trying --------------------------------------------------------------------------------------

    async def _attempt(self, name: str) -> None:
        pool = self._pools[name]
        suspected = pool.suspected
        # What happens to the pool from here on is looked at again.
        pool.due_at, pool.suspected, pool.busy = None, False, True
        written = Written()
        try:
            await self._write(name, pool, written)
        except InventoryError as error:
            if pool.due_at is None:  # else it may be about what is no longer wanted
                pool.refusal = error
            self._report(pool, error, "Inventory")
        except (APIError, TransportError) as error:
            self._report(pool, error, getattr(error, "reason", type(error).__name__))
            pool.due_at = self._clock.monotonic() + self._pause_seconds(pool, error)
            pool.failures += 1
            await self._view.look_again()
        else:
            self._conclude(name, pool, repaired=suspected and bool(written.counts))
        finally:
            self._account(name, pool, written)
            pool.busy = False
            self._progress.set()

    async def _write(self, name: str, pool: _Pool, written: Written) -> None:
        wanted = (self._desired or {}).get(name)
        if wanted is None:
            await self._writer.remove(name, written)
        else:
            await self._writer.write(name, wanted, pool.history, written)

    def _conclude(self, name: str, pool: _Pool, *, repaired: bool) -> None:
        pool.failures = 0
        if repaired:
            pool.repairs += 1
            pool.repaired_at = self._clock.monotonic()
        if pool.due_at is not None and self._is_done(name, pool):
            pool.due_at, pool.suspected = None, False  # our own writes came back
        if pool.due_at is None:
            pool.told = ""
            if name not in (self._desired or {}):
                del self._pools[name]

    def _is_done(self, name: str, pool: _Pool) -> bool:
        wanted = (self._desired or {}).get(name)
        if wanted is None:
            return not self._view.of_pool(name)
        # What was published meanwhile was never looked at, and may be invalid.
        return wanted is pool.history.checked and self._writer.is_done(name, wanted, pool.history)

    def _pause_seconds(self, pool: _Pool, error: DrayError) -> float:
        seconds = min(RETRY_SECONDS * 2 ** min(pool.failures, 20), RETRY_SECONDS_MAX)
        asked = error.details.retry_after_seconds if isinstance(error, APIError) else 0
        return max(self._entropy.uniform(seconds / 2, seconds), float(asked))

    def _account(self, name: str, pool: _Pool, written: Written) -> None:
        if self._metrics is not None:
            for verb, count in written.counts.items():
                self._metrics.slice_written(verb, count)
        news = written.dropped - pool.dropped
        if news:
            pool.dropped |= news
            fields = sorted(news, key=lambda each: each.path)
            self._report(pool, DroppedFields(name, fields), "DroppedFields")

    def _report(self, pool: _Pool, error: DrayError, reason: str) -> None:
        if self._metrics is not None:
            self._metrics.publish_failed(reason)
        text = str(error)
        if text != pool.told:
            pool.told = text
            if self._on_error is not None:
                self._on_error(error)
