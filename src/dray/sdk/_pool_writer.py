"""Brings one pool on the server to where it should be: checks, plans, writes, and compares.

What the server stores is compared with what it was sent. Where it left something out, sending that
again would not help: what it made of it is taken for right until the driver wants something else.
A pool with counters that is refused is written once more the way older servers want it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from dray.api.core import Node
from dray.api.meta import OwnerReference
from dray.api.resource import ResourceSlice, ResourceSliceSpec
from dray.api.wire import replace
from dray.client import Client
from dray.errors import Invalid, NotFound
from dray.sdk._dropped_fields import DroppedField, dropped_fields
from dray.sdk._inventory import InventoryError, Pool
from dray.sdk._slice_check import find_problems
from dray.sdk._slice_layout import DEVICES_WITH_EXTRAS_MAX, Layout, lay_out
from dray.sdk._slice_plan import Plan, TaintTimes, keep_taint_times, plan, same_spec, taint_times
from dray.sdk._slice_view import SliceView

__all__ = ["PoolHistory", "PoolWriter", "Written"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class PoolHistory:
    """What must be remembered of a pool from one write to the next."""

    layout: Layout | None = None  # not known before the first look at the server
    seen_generation: int = 0
    times: TaintTimes = field(default_factory=dict)
    checked: Pool | None = None  # the last that was found to be valid


@dataclass(slots=True)
class Written:
    """What was done: how many slices with each verb, and what the server left out."""

    counts: dict[str, int] = field(default_factory=dict)
    dropped: set[DroppedField] = field(default_factory=set)

    def count(self, verb: str) -> None:
        self.counts[verb] = self.counts.get(verb, 0) + 1


class PoolWriter:
    """Writes the pools of one driver on one node, one slice at a time."""

    def __init__(self, client: Client, view: SliceView, *, driver: str, node_name: str) -> None:
        self._client = client
        self._view = view
        self._driver = driver
        self._node_name = node_name
        self._owners: tuple[OwnerReference, ...] | None = None if node_name else ()
        # What was sent and what became of it, where the two differ, by the slice's name.
        self._adopted: dict[str, tuple[ResourceSliceSpec, ResourceSliceSpec]] = {}

    def forget_owner(self) -> None:
        """Perhaps the node was deleted, and is a new one now: look before the next write."""
        if self._node_name:
            self._owners = None

    async def remove(self, name: str, written: Written) -> None:
        """Delete all slices of a pool."""
        for slice_ in self._view.of_pool(name):
            await self._delete(slice_, written)

    async def write(self, name: str, wanted: Pool, history: PoolHistory, written: Written) -> None:
        """Make the pool what it should be; `written` tells what that took, also if it fails.

        Raises InventoryError for what no server would take, else what the server says.
        """
        try:
            await self._write(name, wanted, history, written)
        except Invalid as error:
            if not wanted.counters:
                raise
            # Servers before 1.35 want counters elsewhere. If that is no better, it is not that.
            refused = self._layout(name, history)
            _log.info("pool %s is refused with %s: %s", name, refused.value, error)
            history.layout = Layout.APART if refused is Layout.TOGETHER else Layout.TOGETHER
            await self._view.look_again()
            try:
                await self._write(name, wanted, history, written)
            except Invalid:
                history.layout = refused
                raise

    async def _write(self, name: str, wanted: Pool, history: PoolHistory, written: Written) -> None:
        todo = self._plan(name, wanted, history, await self._owned())
        await self._carry_out(todo, history, written)

    def _layout(self, name: str, history: PoolHistory) -> Layout:
        """The one the server took last; an earlier process may have found out which."""
        if history.layout is None:
            specs = [each.spec for each in self._view.of_pool(name)]
            together = any(spec.devices and spec.shared_counters for spec in specs)
            history.layout = Layout.TOGETHER if together else Layout.APART
        return history.layout

    def is_done(self, name: str, wanted: Pool, history: PoolHistory) -> bool:
        """Whether there is nothing to write, as far as is known."""
        return self._owners is not None and self._plan(name, wanted, history, self._owners).is_empty

    def _plan(
        self, name: str, wanted: Pool, history: PoolHistory, owners: tuple[OwnerReference, ...]
    ) -> Plan:
        existing = self._view.of_pool(name)
        newest = max((each.spec.pool.generation for each in existing), default=0)
        history.seen_generation = max(history.seen_generation, newest)
        self._check(name, wanted, history)
        times = {**history.times, **taint_times(existing)}
        specs = self._lay_out(wanted, self._layout(name, history), existing, newest)
        timed = [keep_taint_times(spec, times) for spec in specs]
        # Those of taints that are gone are forgotten.
        history.times = taint_times([ResourceSlice(spec=spec) for spec in timed])
        return plan(
            timed,
            existing,
            node_name=self._node_name,
            owners=owners,
            generation=wanted.generation,
            seen_generation=history.seen_generation,
            same=self._is_same,
        )

    def _check(self, name: str, wanted: Pool, history: PoolHistory) -> None:
        """Raise what the server would refuse, all of it, in the terms of the driver's author."""
        if history.checked is wanted:
            return
        # By the newest rules, also for a server that wants another layout.
        specs = lay_out(wanted, driver=self._driver, node_name=self._node_name)
        problems = find_problems(wanted, specs)
        if problems:
            raise InventoryError(f"pool {name}", problems)
        history.checked = wanted

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
        if sent is None or kept is None or stored.spec.pool != wanted.pool:
            return False
        return same_spec(sent, _bare(wanted)) and same_spec(kept, _bare(stored.spec))

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

    async def _carry_out(self, todo: Plan, history: PoolHistory, written: Written) -> None:
        for slice_ in todo.deletes:
            await self._delete(slice_, written)
        for verb, slices, call in (
            ("update", todo.updates, self._client.update),
            ("create", todo.creates, self._client.create),
        ):
            for slice_ in slices:
                stored = await call(slice_)
                written.count(verb)
                self._view.wrote(stored)
                history.seen_generation = max(history.seen_generation, todo.generation)
                history.times = {**history.times, **taint_times([stored])}
                written.dropped.update(self._compare(slice_.spec, stored))

    def _compare(self, sent: ResourceSliceSpec, stored: ResourceSlice) -> list[DroppedField]:
        name = stored.metadata.name
        if same_spec(stored.spec, sent):
            self._adopted.pop(name, None)
            return []
        self._adopted[name] = (_bare(sent), _bare(stored.spec))
        return dropped_fields(sent, stored.spec)

    async def _delete(self, slice_: ResourceSlice, written: Written) -> None:
        metadata = slice_.metadata
        with suppress(NotFound):
            await self._client.delete(
                ResourceSlice,
                metadata.name,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            )
            written.count("delete")
        self._adopted.pop(metadata.name, None)
        self._view.deleted(metadata.name)


def _bare(spec: ResourceSliceSpec) -> ResourceSliceSpec:
    """A slice without what its pool says of itself."""
    return replace(spec, pool=replace(spec.pool, generation=0, resource_slice_count=0))
