"""A stage for controllers: a real API server, controllers at work on it, and a clock that stands.

`settle` lets everything happen that can happen without time passing; `pass_time` lets it pass.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.client import Call, Client, Informers, Reply, StreamedReply, Transport
from dray.controllers.controllers import Controllers
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

__all__ = ["Stage"]


class Stage:
    """Controllers by name, at work from entering to leaving.

    `client` is the administrator, for the test; what controllers ask goes through `traffic`.
    """

    def __init__(self, *names: str, gates: FeatureGates = DEFAULT_GATES) -> None:
        self.clock = FakeClock()
        self.cluster = Cluster(clock=self.clock, gates=gates)
        self._names: Iterable[str] = names
        self._gates = gates
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self.cluster.__aenter__()
        self.client = self.cluster.client
        self.traffic = Traffic(self.cluster.transport())
        client = Client(self.traffic, clock=self.clock)
        entropy = SeededEntropy(7)
        self.informers = Informers(client, clock=self.clock, entropy=entropy)
        self.controllers = Controllers(
            client,
            informers=self.informers,
            clock=self.clock,
            entropy=entropy,
            gates=self._gates,
            names=self._names,
        )
        self.start(self.informers.run())
        self.start(self.controllers.run())
        await self.controllers.ready()
        await self.settle()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.cluster.__aexit__(kind, error, traceback)

    def start(self, work: Any) -> None:
        """Something else that runs until the end: a coroutine."""
        self._tasks.append(asyncio.ensure_future(work))

    async def settle(self) -> None:
        """Let everything happen that needs no time."""
        # Of the loop's own: what is about to run. Without, one would have to guess how many turns
        # are enough, and every test would take them all.
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        while True:
            await asyncio.sleep(0)
            if ready:
                continue
            if not self.traffic.pending_count:
                return
            await self.traffic.answered()  # by the server's thread, which large objects go to

    async def pass_time(self, seconds: float, *, steps: int = 1) -> None:
        """Let time pass, and everything happen that waited for it."""
        await self.settle()
        for _ in range(steps):
            self.clock.advance(seconds / steps)
            await self.settle()


class Traffic:
    """A transport that counts what goes through it: `calls` by method and kind of thing.

    `GET pods`, `PATCH pods/status`: neither names nor namespaces.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._answered = asyncio.Event()
        self.pending_count = 0
        self.calls: Counter[str] = Counter()

    def writes(self) -> dict[str, int]:
        """What was written since the last time this was asked; events about objects left out."""
        found = {
            call: count
            for call, count in self.calls.items()
            if not call.startswith("GET ") and not call.endswith(" events")
        }
        self.calls.clear()
        return found

    async def answered(self) -> None:
        """Return once some answer has come."""
        self._answered.clear()
        await self._answered.wait()

    async def request(self, call: Call) -> Reply:
        self.calls[_kind_of_call(call)] += 1
        self.pending_count += 1
        try:
            return await self._transport.request(call)
        finally:
            self.pending_count -= 1
            self._answered.set()

    async def stream(self, call: Call) -> StreamedReply:
        return await self._transport.stream(call)

    async def close(self) -> None:
        await self._transport.close()


def _kind_of_call(call: Call) -> str:
    parts = call.path.partition("?")[0].strip("/").split("/")
    parts = parts[2 if parts[0] == "api" else 3 :]
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    resource, subresource = parts[0], parts[2] if len(parts) > 2 else ""
    return f"{call.method} {resource}{'/' if subresource else ''}{subresource}"
