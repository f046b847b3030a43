"""The transport over sockets: HTTP/1.1, connections that are used again, deadlines.

Requests share a bounded number of connections and wait their turn; streams have their own, as
they last. A connection that was kept may have been closed by the server in the same moment: a
request that only reads, and of which nothing was answered, is then sent once more on a new one.
Anything else that goes wrong is the caller's to repeat, who alone knows whether it may.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import inf
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote, urlencode, urlsplit

from dray.client._connection import Connection, Lost
from dray.client._credentials import Credentials, FixedCredentials, Identity
from dray.client._tls import TLS, Trust
from dray.client._transport import Call, Reply, StreamedReply
from dray.clock import Clock
from dray.errors import ConfigurationError, TransportError
from dray.http.deadlines import Deadlines
from dray.http.messages import Header

__all__ = ["HTTPTransport"]

# Requests that are under way at a time, each with a connection while it is. A write waits for the
# disk some milliseconds, so that fewer could not keep a server busy; many more would only wait in
# its queues instead of ours. Upstream's clients have a hundred streams of HTTP/2.
CONNECTIONS_MAX: Final = 128

# Watches and other streams, each with its connection: a fleet of simulated nodes has a few each.
STREAMS_MAX: Final = 4096

# Servers answer within a minute, or say that they cannot; a little longer, so that they can say so.
REQUEST_SECONDS: Final = 65.0

# Servers close what nobody uses after 90 seconds; before that we do, lest it happen to a request.
IDLE_SECONDS: Final = 60.0

# A server that vanished without a word is noticed within a minute: idle, then this many probes.
KEEPALIVE_IDLE_SECONDS: Final = 30
KEEPALIVE_INTERVAL_SECONDS: Final = 10
KEEPALIVE_PROBES: Final = 3

# What is read from one socket before the others get their turn.
READ_BUFFER_BYTES: Final = 64 * 1024

# Header fields and queries that are remembered as they are written. Nearly all requests have one of
# a few; tokens that are renewed, revisions and places in lists make up the rest.
WRITTEN_MAX: Final = 64

_UNAUTHORIZED: Final = 401
_SAFE: Final = frozenset({"GET", "HEAD"})
_PORTS: Final = {"https": 443, "http": 80}
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9/._~-]*")
_HEADER: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class HTTPTransport:
    """A server at a URL, asked over connections that are opened when they are needed."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        trust: Trust | None = None,
        credentials: Credentials | None = None,
        headers: tuple[Header, ...] = (),
        connections_max: int = CONNECTIONS_MAX,
        request_seconds: float = REQUEST_SECONDS,
    ) -> None:
        """`headers` go with every request. Raises ConfigurationError for what is no URL."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError as error:
            raise ConfigurationError(f"server {url}: {error}") from error
        if parts.scheme not in _PORTS or not parts.hostname or parts.query or parts.fragment:
            raise ConfigurationError(
                f"server {url}: expected https://host:port or http://host:port"
            )
        self._host = parts.hostname
        self._port = _PORTS[parts.scheme] if port is None else port
        self._prefix = parts.path.rstrip("/")
        self._tls = TLS(trust or Trust()) if parts.scheme == "https" else None
        self._clock = clock
        self._credentials = credentials or FixedCredentials()
        self._headers = headers
        self._authority = parts.netloc.rpartition("@")[2]
        self._request_seconds = request_seconds
        self._turns = asyncio.Semaphore(connections_max)
        self._idle: list[tuple[Connection, ssl.SSLContext | None]] = []  # the last one used last
        # A dict serves as a set that remembers the order in which connections came.
        self._open: dict[Connection, None] = {}
        self._streams_count = 0
        self._closed = False
        # One for all: a new one for every read costs more than decrypting what is read.
        self._read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))
        self._fields: dict[tuple[Header, ...], str] = {}  # as they are written
        self._deadlines = Deadlines(clock)
        self._ticker: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where the server is."""
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{self._authority}{self._prefix}"

    async def request(self, call: Call) -> Reply:
        with self._deadline(call):
            async with self._turns:
                identity = await self._credentials.identity()
                reply = await self._whole(call, identity)
                if reply.status == _UNAUTHORIZED and await self._credentials.refused(identity):
                    reply = await self._whole(call, await self._credentials.identity())
                return reply

    async def stream(self, call: Call) -> StreamedReply:
        if self._streams_count >= STREAMS_MAX:
            raise TransportError(f"{call}: {STREAMS_MAX} streams are open, which is the limit")
        self._streams_count += 1
        stream: _Stream | None = None
        try:
            with self._deadline(call):
                identity = await self._credentials.identity()
                stream = await self._streamed(call, identity)
                if stream.status == _UNAUTHORIZED and await self._credentials.refused(identity):
                    stream.connection.abort()
                    stream = None
                    stream = await self._streamed(call, await self._credentials.identity())
                return stream
        finally:
            if stream is None:
                self._streams_count -= 1

    async def close(self) -> None:
        self._closed = True
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.wait([self._ticker])
        for connection in list(self._open):
            connection.abort()
        if self._open:
            await asyncio.wait([connection.closed for connection in self._open])
        # Transports close their sockets in the turn after they say that they are lost.
        await asyncio.sleep(0)

    # Private -----------------------------------------------------------------------------------

    async def _whole(self, call: Call, identity: Identity) -> Reply:
        connection, context = await self._answering(call, identity, streaming=False)
        try:
            body = await connection.body()
            status, headers = connection.status, connection.headers
        except Lost as error:
            raise TransportError(f"{call}: {error}") from error
        finally:
            self._release(connection, context)
        return Reply(status, headers, body)

    async def _streamed(self, call: Call, identity: Identity) -> _Stream:
        connection, context = await self._answering(call, identity, streaming=True)
        return _Stream(call, connection, lambda: self._end_stream(connection, context))

    def _end_stream(self, connection: Connection, context: ssl.SSLContext | None) -> None:
        self._streams_count -= 1
        self._release(connection, context)

    async def _answering(
        self, call: Call, identity: Identity, *, streaming: bool
    ) -> tuple[Connection, ssl.SSLContext | None]:
        """A connection on which the answer has begun, and the context it was opened with."""
        data = self._written(call, identity)
        try:
            context = self._tls.context(identity.certificate) if self._tls is not None else None
        except ConfigurationError as error:
            raise TransportError(f"{call}: {error}") from error
        again = False
        while True:
            connection = None if again else self._kept(context)
            if connection is None:
                connection = await self._connect(call, context)
            answering = False
            try:
                connection.request(data, streaming=streaming)
                await connection.head()
                answering = True
            except Lost as error:
                stale = connection.exchanges_count > 1 and not connection.heard
                if not again and stale and call.method in _SAFE:
                    again = True
                    continue
                raise TransportError(f"{call}: {error}") from error
            finally:
                if not answering:
                    connection.abort()
            return connection, context

    def _kept(self, context: ssl.SSLContext | None) -> Connection | None:
        """The connection that was used last, if it still serves; others are left to age."""
        oldest = self._clock.monotonic() - IDLE_SECONDS
        while self._idle:
            connection, opened_with = self._idle.pop()
            # Another context is another certificate: somebody else, or the same with a newer one.
            good = connection.is_reusable and opened_with is context
            if good and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    def _release(self, connection: Connection, context: ssl.SSLContext | None) -> None:
        if not connection.is_reusable or self._closed:
            connection.abort()
            return
        connection.idle_since = now = self._clock.monotonic()
        self._idle.append((connection, context))
        if self._idle[0][0].idle_since <= now - IDLE_SECONDS:
            self._idle.pop(0)[0].abort()

    async def _connect(self, call: Call, context: ssl.SSLContext | None) -> Connection:
        if self._closed:
            raise TransportError(f"{call}: the client was closed")
        name = self._host if self._tls is None else self._tls.server_name or self._host
        try:
            transport, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self._read_buffer),
                self._host,
                self._port,
                ssl=context,
                server_hostname=None if context is None else name,
            )
        except (OSError, UnicodeError) as error:
            where = f"{self._host}:{self._port}"
            raise TransportError(f"{call}: cannot connect to {where}: {error}") from error
        _keep_alive(transport.get_extra_info("socket"))
        self._open[connection] = None
        connection.closed.add_done_callback(lambda _future: self._forget(connection))
        if self._closed:
            connection.abort()
        return connection

    def _forget(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        self._idle = [entry for entry in self._idle if entry[0] is not connection]

    def _written(self, call: Call, identity: Identity) -> bytes:
        path = self._prefix + call.path
        target = path if _PLAIN_PATH.fullmatch(path) else quote(path, safe="/:@!$&'()*+,;=~")
        if call.query:
            target = f"{target}?{_written_query(call.query)}"
        headers = (*self._headers, *identity.headers, *call.headers)
        fields = self._fields.get(headers) or self._written_fields(headers, call)
        length = ""
        if call.body or call.method not in _SAFE:
            length = f"content-length: {len(call.body)}\r\n"
        head = f"{call.method} {target} HTTP/1.1\r\n{fields}{length}\r\n"
        return head.encode("latin-1") + call.body

    def _written_fields(self, headers: tuple[Header, ...], call: Call) -> str:
        lines = [f"host: {self._authority}\r\n"]
        for name, value in headers:
            if not _HEADER.fullmatch(value):
                raise TransportError(f"{call}: the header {name} has a line break in it")
            lines.append(f"{name}: {value}\r\n")
        if len(self._fields) >= WRITTEN_MAX:
            self._fields.clear()
        written = self._fields[headers] = "".join(lines)
        return written

    def _deadline(self, call: Call) -> _Expiry:
        if self._closed:
            raise TransportError(f"{call}: the client was closed")
        if self._ticker is None:
            self._ticker = asyncio.ensure_future(self._deadlines.run())
        return _Expiry(self._deadlines, self._request_seconds, call)


_Over = Callable[[], None]


class _Stream:
    """An answer that is read piece by piece."""

    def __init__(self, call: Call, connection: Connection, over: _Over) -> None:
        self.status = connection.status
        self.headers: Mapping[str, str] = connection.headers
        self.connection = connection
        self._call = call
        self._over: _Over | None = over

    async def read(self) -> bytes:
        if self._over is None:
            raise TransportError(f"{self._call}: the stream was closed")
        try:
            return await self.connection.read()
        except Lost as error:
            raise TransportError(f"{self._call}: {error}") from error

    def close(self) -> None:
        over, self._over = self._over, None
        if over is not None:
            over()


class _Expiry:
    """Ends what a task waits for once time is up, as asyncio.timeout does, by any clock."""

    def __init__(self, deadlines: Deadlines, seconds: float, call: Call) -> None:
        self.deadline = inf
        self.slot = 0
        self._deadlines = deadlines
        self._seconds = seconds
        self._call = call
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._late = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._deadlines.set(self, self._seconds)
        return self

    def expired(self) -> None:
        assert self._task is not None
        self._late = True
        self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._deadlines.remove(self)
        assert self._task is not None
        if self._late and self._task.uncancel() <= self._cancelling:
            told = f"{self._call}: not answered within {self._seconds:g} s"
            raise TransportError(told) from error


@lru_cache(maxsize=WRITTEN_MAX)
def _written_query(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query, quote_via=quote)


def _keep_alive(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE_SECONDS),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL_SECONDS),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
        # What was sent and never acknowledged ends the connection as soon as probes would.
        (
            "TCP_USER_TIMEOUT",
            1000 * (KEEPALIVE_IDLE_SECONDS + KEEPALIVE_PROBES * KEEPALIVE_INTERVAL_SECONDS),
        ),
    ):
        if hasattr(socket, name):  # not on every system
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
