"""Which slices a driver has on the server, as far as is known: watched, corrected by own writes.

Slices of the driver's node are watched always, those that are for several nodes from when the
driver first has any: a driver that may not list those is not made to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dray.api.resource import ResourceSlice
from dray.client import Client, Informer
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import APIError, TransportError
from dray.sdk._slice_cache import SliceCache

__all__ = ["SliceView"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Scope:
    """Slices that one watch covers."""

    selector: str
    informer: Informer[ResourceSlice]
    cache: SliceCache
    synced: bool = False


class SliceView:
    """A driver's slices, kept up to date by `run`.

    `on_foreign` hears the pool of every change by somebody else, and whether it was a deletion;
    `on_synced` the pools there are, when that becomes known.
    """

    def __init__(
        self,
        client: Client,
        *,
        driver: str,
        node_name: str,
        clock: Clock,
        entropy: Entropy,
        on_foreign: Callable[[str, bool], None],
        on_synced: Callable[[Iterable[str]], None],
    ) -> None:
        self._client = client
        self._driver = driver
        self._node_name = node_name
        self._clock = clock
        self._entropy = entropy
        self._on_foreign = on_foreign
        self._on_synced = on_synced
        self._more = asyncio.Event()
        self._local = self._scope(node_name) if node_name else None
        self._remote = None if node_name else self._scope("")

    def look_beyond_the_node(self) -> None:
        """Watch slices for several nodes, too."""
        if self._remote is None:
            self._remote = self._scope("")
            self._more.set()

    def is_synced(self, *, local: bool) -> bool:
        """Whether it is known what there is, on the node or beyond it."""
        scope = self._local if local else self._remote
        return scope is not None and scope.synced

    @property
    def is_complete(self) -> bool:
        """Whether everything that is watched is known."""
        return all(scope.synced for scope in self._scopes())

    async def run(self) -> None:
        """Watch until cancelled."""
        watched: set[str] = set()
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._more.clear()
                for scope in self._scopes():
                    if scope.selector not in watched:
                        watched.add(scope.selector)
                        tasks.create_task(scope.informer.run())
                        tasks.create_task(self._sync(scope))
                await self._more.wait()

    def of_pool(self, name: str) -> list[ResourceSlice]:
        """What there is of a pool."""
        return [each for scope in self._scopes() for each in scope.cache.of_pool(name)]

    def wrote(self, stored: ResourceSlice) -> None:
        """A write of ours, as the server stored it."""
        scope = self._remote if stored.spec.node_name is None else self._local
        if scope is not None:
            scope.cache.wrote(stored)

    def deleted(self, name: str) -> None:
        """A deletion of ours, or one that somebody else was faster with."""
        for scope in self._scopes():
            scope.cache.deleted(name)

    async def look_again(self) -> None:
        """After a write that failed, for it may have happened: only a list tells.

        Should that fail as well, what is known stays, and the next write shows what it is worth.
        """
        for scope in self._scopes():
            if not scope.synced:
                continue
            try:
                listing = await self._client.list(ResourceSlice, field_selector=scope.selector)
            except (APIError, TransportError) as error:
                _log.debug("listing slices with %s: %s", scope.selector, error)
            else:
                scope.cache.reset(listing.items)

    def _scope(self, node_name: str) -> _Scope:
        selector = f"spec.driver={self._driver},spec.nodeName={node_name}"
        informer = Informer(
            self._client,
            ResourceSlice,
            clock=self._clock,
            entropy=self._entropy,
            field_selector=selector,
        )
        cache = SliceCache(is_ours=self._is_ours, on_foreign=self._on_foreign)
        informer.listen(cache.hear)
        return _Scope(selector, informer, cache)

    def _scopes(self) -> list[_Scope]:
        return [scope for scope in (self._local, self._remote) if scope is not None]

    async def _sync(self, scope: _Scope) -> None:
        await scope.informer.synced()
        scope.synced = True
        self._on_synced(scope.cache.pools())

    def _is_ours(self, slice_: ResourceSlice) -> bool:
        if slice_.spec.driver != self._driver:
            return False
        if slice_.spec.node_name is not None:
            return slice_.spec.node_name == self._node_name
        # Slices for several nodes belong to whoever the owner says: the instance of a node, or the
        # one without a node.
        owners = [owner.name for owner in slice_.metadata.owner_references if owner.kind == "Node"]
        return self._node_name in owners if self._node_name else not owners
