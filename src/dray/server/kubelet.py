"""The server's way to a node: logs, and sessions inside containers.

A node serves its containers over HTTPS at the address and port its status names; whoever asks the
API server for them is handed through. The server shows a certificate of its own authority, by which
the node knows it. Upstream counterparts: pkg/kubelet/client and the upgrade-aware proxy of
apimachinery.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote, urlencode

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    TextMessage,
)
from wsproto.events import Request as Handshake
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import ProtocolError

from dray.api.core import Node
from dray.errors import APIError, StatusDetails, TransportError, Unavailable
from dray.http.limits import Limits
from dray.http.messages import WebSocket

__all__ = ["Kubelet", "NodePath", "Nodes", "Pieces"]

DEFAULT_PORT: Final = 10250

# A node on the same network answers at once; one that does not is down.
CONNECT_SECONDS: Final = 10.0
HEAD_BYTES_MAX: Final = 64 * 1024
READ_BYTES: Final = 64 * 1024

# What a client may send in one message a node may send as well: it comes in frames that are put
# together here, and a node that never ends one is not to be believed.
MESSAGE_BYTES_MAX: Final = Limits().message_bytes_max

# Which of its addresses the server tries, best first.
_ADDRESS_TYPES: Final = ("InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS")


@dataclass(frozen=True, slots=True)
class NodePath:
    """What to ask a node for."""

    kind: str  # containerLogs, exec, attach, portForward
    parts: tuple[str, ...]
    query: tuple[tuple[str, str], ...] = ()

    @property
    def target(self) -> str:
        path = "/".join(quote(part, safe="") for part in (self.kind, *self.parts))
        return f"/{path}?{urlencode(self.query)}" if self.query else f"/{path}"


class Pieces(Protocol):
    """An answer of a node, piece by piece."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None:
        """Want no more, even if nothing was read yet. Closing twice is fine."""
        ...


class Nodes(Protocol):
    """What a server asks of nodes."""

    async def read(self, node: Node, path: NodePath) -> Pieces:
        """What the node answers, piece by piece. Raises APIError if it refuses."""
        ...

    async def session(
        self, node: Node, path: NodePath, protocols: Sequence[str]
    ) -> tuple[str, Callable[[WebSocket], object]]:
        """The subprotocol the node chose, and what joins a client's websocket to it."""
        ...


class Kubelet:
    """Nodes over HTTPS."""

    def __init__(
        self, context: ssl.SSLContext, *, message_bytes_max: int = MESSAGE_BYTES_MAX
    ) -> None:
        """The context has the server's own certificate; nodes' certificates it may not know."""
        self._context = context
        self._message_bytes_max = message_bytes_max

    async def read(self, node: Node, path: NodePath) -> Pieces:
        async with self._connection(node) as (reader, writer, host):
            writer.write(
                f"GET {path.target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
            )
            status, headers = await _head(reader)
            if status >= 400:
                body = await reader.read(HEAD_BYTES_MAX)
                raise _refused(status, body.decode(errors="replace").strip())
            return _Body(reader, writer, chunked=headers.get("transfer-encoding") == "chunked")

    async def session(
        self, node: Node, path: NodePath, protocols: Sequence[str]
    ) -> tuple[str, Callable[[WebSocket], object]]:
        async with self._connection(node) as (reader, writer, host):
            connection = WSConnection(ConnectionType.CLIENT)
            asked = Handshake(host=host, target=path.target, subprotocols=list(protocols))
            writer.write(connection.send(asked))
            link = _Link(reader, writer, connection, self._message_bytes_max)
            return await link.accepted(), link.join

    @asynccontextmanager
    async def _connection(
        self, node: Node
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, str]]:
        """A connection that is closed unless all goes well: also if the client does not wait."""
        reader, writer, host = await self._connect(node)
        is_kept = False
        try:
            yield reader, writer, host
            is_kept = True
        except TransportError as error:
            raise _unreachable(node, str(error)) from error
        finally:
            if not is_kept:
                writer.close()

    async def _connect(self, node: Node) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
        host, port = _address(node)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(
                    host, port, ssl=self._context, server_hostname=""
                )
        except (OSError, TimeoutError, ssl.SSLError) as error:
            raise _unreachable(node, str(error) or "it does not answer") from error
        return reader, writer, f"{host}:{port}"


def _address(node: Node) -> tuple[str, int]:
    addresses = {address.type: address.address for address in reversed(node.status.addresses)}
    host = next((addresses[kind] for kind in _ADDRESS_TYPES if addresses.get(kind)), "")
    if not host:
        raise APIError(f"no preferred addresses found; known addresses: {sorted(addresses)}")
    return host, node.status.daemon_endpoints.kubelet_endpoint.port or DEFAULT_PORT


def _unreachable(node: Node, why: str) -> Unavailable:
    told = f"node {node.metadata.name} cannot be reached: {why}"
    return Unavailable(told, StatusDetails(name=node.metadata.name, kind="nodes"))


def _refused(status: int, text: str) -> APIError:
    error = APIError(text or f"the node answered {status}")
    error.code = status
    error.reason = {400: "BadRequest", 404: "NotFound", 403: "Forbidden"}.get(status, "")
    return error


# Plain answers ---------------------------------------------------------------------------------


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        status = int(first.split(" ", 2)[1])
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
        raise TransportError("it closed the connection") from error
    except (ValueError, IndexError) as error:
        raise TransportError("it does not speak HTTP") from error
    pairs = (line.partition(":") for line in lines)
    return status, {name.strip().lower(): value.strip().lower() for name, _, value in pairs}


class _Body:
    """The body of an answer, as it arrives."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, chunked: bool
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._chunked = chunked

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _pieces(self._reader, self._writer, chunked=self._chunked)

    def close(self) -> None:
        self._writer.close()


async def _pieces(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, chunked: bool
) -> AsyncIterator[bytes]:
    try:
        while True:
            if chunked:
                size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
                if size <= 0:
                    return
                while size:
                    piece = await reader.read(min(size, READ_BYTES))
                    if not piece:
                        return
                    size -= len(piece)
                    yield piece
                await reader.readexactly(2)
            else:
                piece = await reader.read(READ_BYTES)
                if not piece:
                    return
                yield piece
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return  # the node went away in the middle; so does the stream
    finally:
        writer.close()


# Sessions --------------------------------------------------------------------------------------


class _Link:
    """A websocket to a node, joined to the one of a client: messages go both ways unread."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection: WSConnection,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._connection = connection
        self._message_bytes_max = message_bytes_max
        # What came in one piece with the node's consent, and is for the client.
        self._early: list[object] = []

    def close(self) -> None:
        self._writer.close()

    async def accepted(self) -> str:
        """The subprotocol, once the node agreed. Raises TransportError."""
        while True:
            events = await self._events()
            for index, event in enumerate(events):
                if isinstance(event, AcceptConnection):
                    self._early = events[index + 1 :]
                    return event.subprotocol or ""
                if isinstance(event, RejectConnection):
                    raise TransportError(f"it refused the session with {event.status_code}")
                if isinstance(event, CloseConnection):
                    raise TransportError("it closed the session")

    async def _events(self) -> list[object]:
        if self._early:
            early, self._early = self._early, []
            return early
        try:
            data = await self._reader.read(READ_BYTES)
            self._connection.receive_data(data or None)
            return list(self._connection.events())
        except (OSError, ProtocolError) as error:
            raise TransportError(str(error)) from error

    async def join(self, client: WebSocket) -> None:
        """Hand messages through until one end closes."""
        tasks = [
            asyncio.ensure_future(self._to_node(client)),
            asyncio.ensure_future(self._to_client(client)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.close()

    async def _to_node(self, client: WebSocket) -> None:
        while (message := await client.receive()) is not None:
            self._writer.write(self._connection.send(BytesMessage(data=message)))
            await self._writer.drain()
        with suppress(OSError, ProtocolError):
            self._writer.write(self._connection.send(CloseConnection(code=1000)))
            await self._writer.drain()

    async def _to_client(self, client: WebSocket) -> None:
        message = bytearray()
        while True:
            for event in await self._events():
                if isinstance(event, (BytesMessage, TextMessage)):
                    data = event.data
                    message += data.encode() if isinstance(data, str) else data
                    if len(message) > self._message_bytes_max:
                        await self._give_up(client)
                        return
                    if event.message_finished:
                        await client.send(bytes(message))
                        message.clear()
                elif isinstance(event, Ping):
                    self._writer.write(self._connection.send(event.response()))
                    await self._writer.drain()  # or who reads no answers would fill our memory
                elif isinstance(event, CloseConnection):
                    await client.close(event.code, event.reason or "")
                    return

    async def _give_up(self, client: WebSocket) -> None:
        """Tell both ends that the node's message is too long."""
        code = CloseReason.MESSAGE_TOO_BIG
        told = f"the limit is {self._message_bytes_max} bytes"
        with suppress(OSError, ProtocolError):
            self._writer.write(self._connection.send(CloseConnection(code=code, reason=told)))
        await client.close(code, told)
