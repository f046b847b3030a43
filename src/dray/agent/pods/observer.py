"""Looks at the runtime for all pods at once.

Listing everything is one call for a runtime and the same work for one pod as for a hundred, so
those who want to look at the same time share a look. A look that began before the question does not
count: whoever just started a container must see it. Upstream counterpart: pkg/kubelet/pleg.
"""

from __future__ import annotations

import asyncio

from dray.agent.pods.pod_state import Look, PodState
from dray.agent.runtimes.runtime import Runtime

__all__ = ["Observer"]


class Observer:
    """Shared looks at one runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._looking = asyncio.Lock()
        self._look = Look()
        # Looks are numbered; one is done once its number is.
        self._begun = 0
        self._done = 0

    async def observe(self, uid: str) -> PodState:
        """What there is of a pod now."""
        return (await self.look()).state(uid)

    async def look(self) -> Look:
        """What there is of every pod now."""
        enough = self._begun + 1
        async with self._looking:
            if self._done < enough:
                # A runtime in memory answers at once: let others who would look now come along.
                await asyncio.sleep(0)
                self._begun += 1
                number = self._begun
                sandboxes = await self._runtime.list_sandboxes()
                containers = await self._runtime.list_containers()
                self._look = Look(sandboxes, containers)
                self._done = number
            return self._look
