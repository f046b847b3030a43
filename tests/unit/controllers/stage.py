"""A stage for controllers: a real API server, controllers at work on it, and a clock that stands.

`settle` lets everything happen that can happen without time passing; `pass_time` lets it pass.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.client import Call, Client, Informers, Reply, StreamedReply, Transport
from dray.controllers.controllers import Controllers
from dray.entropy import SeededEntropy
from dray.errors import TransportError
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

__all__ = ["Stage", "Traffic", "kind_of_call"]


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
    """A transport that counts what goes through it, and can lose or hold up some of it.

    Calls are known by method and kind of thing: `GET pods`, `PATCH pods/status`.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._answered = asyncio.Event()
        self._held: dict[str, asyncio.Event] = {}
        self._expired: set[str] = set()
        self.pending_count = 0
        self.pending_count_max = 0
        self.calls: Counter[str] = Counter()
        self.lost: list[str] = []  # calls whose next answer does not arrive
        self.unsent: list[str] = []  # calls of which the next does not even reach the server

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

    @contextmanager
    def behind(self, resource: str, *, expires: bool = False) -> Iterator[None]:
        """Meanwhile views of these things (`pods`) show nothing new.

        If that `expires` their watches, they do not hear later what happened, but list again.
        """
        self._held[resource] = asyncio.Event()
        try:
            yield
        finally:
            if expires:
                self._expired.add(resource)
            self._held.pop(resource).set()

    async def request(self, call: Call) -> Reply:
        kind = kind_of_call(call)
        self.calls[kind] += 1
        if kind in self.unsent:
            self.unsent.remove(kind)
            raise TransportError(f"{call}: the server cannot be reached")
        self.pending_count += 1
        self.pending_count_max = max(self.pending_count_max, self.pending_count)
        try:
            reply = await self._transport.request(call)
        finally:
            self.pending_count -= 1
            self._answered.set()
        if kind in self.lost:
            self.lost.remove(kind)
            raise TransportError(f"{call}: the answer was lost")
        return reply

    async def stream(self, call: Call) -> StreamedReply:
        stream = await self._transport.stream(call)
        resource = kind_of_call(call).removeprefix("GET ")
        self._expired.discard(resource)
        return _Delayed(stream, resource, self._held, self._expired)

    async def close(self) -> None:
        await self._transport.close()


_EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


class _Delayed:
    """A stream that may be held up."""

    def __init__(
        self,
        stream: StreamedReply,
        resource: str,
        held: Mapping[str, asyncio.Event],
        expired: set[str],
    ) -> None:
        self._stream = stream
        self._resource = resource
        self._held = held
        self._expired = expired
        self.status = stream.status
        self.headers = stream.headers

    async def read(self) -> bytes:
        chunk = await self._stream.read()
        while self._resource in self._held:
            await self._held[self._resource].wait()
        return _EXPIRED if self._resource in self._expired else chunk

    def close(self) -> None:
        self._stream.close()


def kind_of_call(call: Call) -> str:
    """Method and kind of thing."""
    parts = call.path.partition("?")[0].strip("/").split("/")
    parts = parts[2 if parts[0] == "api" else 3 :]
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    resource, subresource = parts[0], parts[2] if len(parts) > 2 else ""
    return f"{call.method} {resource}{'/' if subresource else ''}{subresource}"
