"""Load for an API server: a hand-written HTTP/1.1 client, one kept connection per worker.

Client libraries cost more than the servers they would measure, so this one does little: requests
are bytes made beforehand, an answer is read as far as its length, and nothing of it is decoded.
`run` has workers send prepared requests as fast as they are answered, or at a pace, and reports the
rate and how long answers took. `Watch` counts the events of a stream and notes when they arrived.
Made for asyncio; with uvloop a request takes it some 25 microseconds.

    target = Target("127.0.0.1", 6443, ssl=client_context(authority), token="…")
    report = uvloop.run(run(target, [target.get("/version")], workers=16, seconds=3))
    print(report)
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import ClassVar, Final

__all__ = ["Connection", "Report", "Target", "Watch", "client_context", "run"]

# Past this the slowest would be lost among the slow.
PERCENTILE_HIGH: Final = 0.99

READ_BUFFER_BYTES: Final = 256 * 1024
OK: Final = 200
WITHOUT_BODY: Final = (204, 304)
FAILED: Final = 400
LAST_CHUNK: Final = b"0\r\n\r\n"


def client_context(
    authority: str | None, *, certificate: Path | None = None, key: Path | None = None
) -> ssl.SSLContext:
    """TLS that trusts this CA (PEM), with a client certificate if one is given.

    Without a CA nothing is verified: for servers that were started for the measurement.
    """
    context = ssl.create_default_context(cadata=authority)
    if authority is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context


@dataclass(frozen=True)
class Target:
    """A server, and how to be let in."""

    host: str
    port: int
    ssl: ssl.SSLContext | None = None
    token: str = ""

    def get(self, path: str, *, accept: str = "application/json") -> bytes:
        return self.request("GET", path, accept=accept)

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> bytes:
        """A request as it goes over the wire."""
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            "User-Agent: dray-benchmark",
            f"Accept: {accept}",
        ]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        if body or method in ("POST", "PUT", "PATCH"):
            lines += [f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body

    async def connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, self.host, self.port, ssl=self.ssl)
        return connection


class Connection(asyncio.BufferedProtocol):
    """One kept connection: a request, its answer, the next request."""

    # Emptied as soon as it is filled, so that one does for all. A new one for every read is what
    # TLS in asyncio and uvloop spends most of its time on.
    _shared: ClassVar = memoryview(bytearray(READ_BUFFER_BYTES))

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._buffer = bytearray()
        self._status = 0  # of the answer under way, once its head is there
        self._length = 0  # of its body, negative when it comes in chunks
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._events: Callable[[bytes], None] | None = None
        self._lost = False

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        if self._lost:
            raise ConnectionResetError("the server closed the connection")
        answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self._transport.write(request)
        return await answer

    async def stream(self, request: bytes, events: Callable[[bytes], None]) -> int:
        """Send a watch. Its status; what follows goes to `events`, with the framing still on."""
        self._events = events
        status, _ = await self.send(request)
        return status

    def close(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's are not asyncio's

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("closed without an answer"))

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio calls it
        return self._shared

    def buffer_updated(self, nbytes: int) -> None:
        answer = self._answer
        if answer is None or answer.done():
            if self._events is not None:
                self._events(bytes(self._shared[:nbytes]))
            return
        self._buffer += self._shared[:nbytes]
        if not self._status and not self._read_head():
            return
        if self._length >= 0:
            if len(self._buffer) < self._length:
                return
            body = bytes(self._buffer[: self._length])
        elif self._events is not None and self._status == OK:
            body = b""
        elif self._buffer.endswith(LAST_CHUNK):
            # Large answers are chunked. In JSON, these bytes can be nothing but the end.
            body = bytes(self._buffer)
        else:
            return
        rest = bytes(self._buffer) if self._length < 0 else b""
        answer.set_result((self._status, body))
        self._buffer.clear()
        self._status = 0
        if rest and self._events is not None and not body:
            self._events(rest)

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).lower()
        del self._buffer[: end + 4]
        self._status = int(head[9:12])
        at = head.find(b"\r\ncontent-length:")
        if at >= 0:
            stop = head.find(b"\r\n", at + 2)
            self._length = int(head[at + 17 : stop if stop >= 0 else None])
        else:
            self._length = 0 if self._status in WITHOUT_BODY else -1
        return True


@dataclass
class Report:
    """How it went. Times are in milliseconds."""

    workers: int
    requests: int
    failures: int
    seconds: float
    bytes_received: int
    latencies: list[float] = field(repr=False)  # seconds, sorted

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    def percentile(self, part: float) -> float:
        if not self.latencies:
            return 0.0
        return self.latencies[min(int(len(self.latencies) * part), len(self.latencies) - 1)] * 1e3

    @property
    def p50(self) -> float:
        return self.percentile(0.5)

    @property
    def p99(self) -> float:
        return self.percentile(PERCENTILE_HIGH)

    def __str__(self) -> str:
        return (
            f"c={self.workers}: {self.rate:,.0f}/s, p50 {self.p50:.2f} ms, p99 {self.p99:.2f} ms"
            + (f", {self.failures} FAILED" if self.failures else "")
        )


async def run(
    target: Target,
    requests: Sequence[bytes],
    *,
    workers: int,
    seconds: float | None = None,
    per_second: float | None = None,
) -> Report:
    """Send each request once, or over and over for so many seconds; all together at a pace, if any.

    A worker takes the next request that no one has taken. What is answered with 400 or more failed.
    """
    connections = [await target.connect() for _ in range(workers)]
    numbers = count()
    latencies: list[float] = []
    failures = received = 0
    started = time.perf_counter()
    until = started + seconds if seconds is not None else None

    async def work(connection: Connection) -> None:
        nonlocal failures, received
        while True:
            number = next(numbers)
            if until is None and number >= len(requests):
                return
            if per_second is not None:
                due = started + number / per_second
                await asyncio.sleep(max(due - time.perf_counter(), 0))
            before = time.perf_counter()
            if until is not None and before >= until:
                return
            status, body = await connection.send(requests[number % len(requests)])
            latencies.append(time.perf_counter() - before)
            received += len(body)
            if status >= FAILED:
                failures += 1

    try:
        await asyncio.gather(*(work(connection) for connection in connections))
        took = time.perf_counter() - started
    finally:
        for connection in connections:
            connection.close()
    latencies.sort()
    return Report(workers, len(latencies), failures, took, received, latencies)


class Watch:
    """Reads a stream of events, each ended by a line feed, without decoding any."""

    def __init__(self, target: Target, path: str) -> None:
        self._target = target
        self._request = target.get(path)
        self._connection: Connection | None = None
        self._wanted = 0
        self._split = False
        self._reached: asyncio.Future[None] | None = None
        self.events = 0
        self.bytes_received = 0
        self.arrivals: list[float] = []  # perf_counter, one for each piece with events in it

    async def start(self) -> None:
        self._connection = await self._target.connect()
        status = await self._connection.stream(self._request, self._take)
        if status != OK:
            raise ConnectionError(f"the watch was answered with {status}")

    async def until(self, events: int) -> None:
        """Wait until so many have arrived since the start."""
        self._wanted = events
        if self.events < events:
            self._reached = asyncio.get_running_loop().create_future()
            await self._reached

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _take(self, data: bytes) -> None:
        self.bytes_received += len(data)
        # A line feed of the framing follows a carriage return; one of an event never does.
        found = data.count(b"\n") - data.count(b"\r\n")
        if self._split and data.startswith(b"\n"):
            found -= 1  # the two are in two pieces
        self._split = data.endswith(b"\r")
        if not found:
            return
        self.events += found
        self.arrivals.append(time.perf_counter())
        if self._reached is not None and self.events >= self._wanted and not self._reached.done():
            self._reached.set_result(None)
