"""Takes back what drivers published for this node when nobody is there to serve it.

A driver without a connected instance for 30 seconds loses its slices of this node, so that no pod
is placed onto devices which nobody would prepare. If it returns before, nothing happens; if it
returns after, it publishes again. Slices that are not bound to a node are nobody's business here.

When the agent starts it knows no driver yet. Upstream removes every slice of the node at that
moment, and pods cannot be placed until each driver has published anew. Here the drivers named in
slices have the same 30 seconds to appear as one that was lost, which
test_slices_of_drivers_that_appear_in_time_survive_a_start pins.
Upstream counterpart: kubelet cm/dra/plugin/dra_plugin_manager.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final, TypeVar

from dray.agent.plugins.plugin import PluginChange, Plugins
from dray.api.core import Node
from dray.api.resource import ResourceSlice
from dray.client import Client
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import APIError, NotFound, TransportError, Unauthorized

__all__ = ["SliceCleanup"]

# Longer than a driver needs to restart, shorter than anybody wants to wait for a pod.
DELAY_SECONDS: Final = 30.0

RETRY_SECONDS_MIN: Final = 1.0
RETRY_SECONDS_MAX: Final = 300.0
RETRY_JITTER: Final = 0.2
# A server that does not answer is one that has to be asked again.
ATTEMPT_TIMEOUT_SECONDS: Final = 60.0

T = TypeVar("T")

_log = logging.getLogger(__name__)


class SliceCleanup:
    """Follows who is connected; `run` does the work."""

    def __init__(
        self,
        client: Client,
        plugins: Plugins,
        node_name: str,
        *,
        clock: Clock,
        entropy: Entropy,
        delay_seconds: float = DELAY_SECONDS,
    ) -> None:
        self._client = client
        self._plugins = plugins
        self._node_name = node_name
        self._clock = clock
        self._entropy = entropy
        self._delay_seconds = delay_seconds
        self._deadlines: dict[str, float] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._wipes: dict[str, asyncio.Task[None]] = {}
        plugins.listen(self._hear)

    @property
    def pending(self) -> Mapping[str, float]:
        """The drivers whose slices are to be removed, and when, by the monotonic clock."""
        return MappingProxyType(self._deadlines)

    async def run(self) -> None:
        """Remove what is due, until cancelled."""
        deadline = self._clock.monotonic() + self._delay_seconds
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                for driver in tuple(self._deadlines):
                    self._start(driver)
                for driver in await self._persist("list slices", self._drivers_published):
                    self._schedule(driver, deadline)
                await asyncio.get_running_loop().create_future()
        finally:
            self._tasks = None
            self._wipes.clear()

    def _hear(self, change: PluginChange) -> None:
        driver = change.plugin.driver
        if self._usable(driver):
            self._forget(driver)
        else:
            self._schedule(driver, self._clock.monotonic() + self._delay_seconds)

    def _usable(self, driver: str) -> bool:
        return any(plugin.connected for plugin in self._plugins.instances(driver))

    def _schedule(self, driver: str, deadline: float) -> None:
        """Unless it is usable, or has a deadline already: that stays what it was."""
        if driver not in self._deadlines and not self._usable(driver):
            self._deadlines[driver] = deadline
            self._start(driver)

    def _forget(self, driver: str) -> None:
        self._deadlines.pop(driver, None)
        wipe = self._wipes.pop(driver, None)
        if wipe is not None:
            wipe.cancel()

    def _start(self, driver: str) -> None:
        if self._tasks is not None:
            self._wipes[driver] = self._tasks.create_task(self._wipe(driver))

    async def _wipe(self, driver: str) -> None:
        seconds = self._deadlines[driver] - self._clock.monotonic()
        if seconds > 0:
            await self._clock.sleep(seconds)
        _log.info(
            "driver %s has not been connected for %g s: removing its slices of node %s",
            driver,
            self._delay_seconds,
            self._node_name,
        )
        await self._persist(f"remove slices of driver {driver}", lambda: self._remove(driver))
        self._deadlines.pop(driver, None)
        self._wipes.pop(driver, None)

    async def _remove(self, driver: str) -> None:
        # Before there is a node nothing may be done in its name.
        await self._client.get(Node, self._node_name)
        with suppress(NotFound):
            await self._client.delete_collection(
                ResourceSlice,
                field_selector=f"spec.nodeName={self._node_name},spec.driver={driver}",
            )

    async def _drivers_published(self) -> tuple[str, ...]:
        slices = await self._client.list(
            ResourceSlice, field_selector=f"spec.nodeName={self._node_name}"
        )
        return tuple(sorted({item.spec.driver for item in slices.items}))

    async def _persist(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try until it works, less and less often."""
        seconds, last = RETRY_SECONDS_MIN, ""
        while True:
            try:
                return await within(self._clock, ATTEMPT_TIMEOUT_SECONDS, attempt())
            except Unauthorized:
                pass  # credentials that are being renewed; there is nothing to tell
            except (APIError, TransportError, TimeoutError) as error:
                quiet = isinstance(error, NotFound) or str(error) == last
                last = str(error)
                _log.log(
                    logging.DEBUG if quiet else logging.WARNING, "cannot %s yet: %s", what, error
                )
            await self._clock.sleep(seconds * self._entropy.uniform(1.0, 1.0 + RETRY_JITTER))
            seconds = min(seconds * 2, RETRY_SECONDS_MAX)
