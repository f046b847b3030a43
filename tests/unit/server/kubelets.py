"""A node that serves its containers on a loopback socket, over TLS, as a test wants it to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeAlias

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Event
from wsproto.events import Request as Handshake

from dray.api.core import DaemonEndpoint, Node, NodeAddress, NodeDaemonEndpoints, NodeStatus
from dray.api.meta import ObjectMeta
from dray.entropy import SeededEntropy
from dray.http.tls import server_context
from dray.server.pki import Authority
from dray.testing import FakeClock
from tests.unit.server.harness import secrets_directory

# Turns that both ends of a TLS connection take to close, and then some.
_TURNS = 20


class Visit:
    """One connection to the node, whose request has been read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.head = ""
        self._websocket = WSConnection(ConnectionType.SERVER)
        self.protocols: list[str] = []

    async def arrive(self) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        self.head = head.decode()
        if "upgrade: websocket" in self.head.lower():
            self._websocket.receive_data(head)
            (asked,) = self._websocket.events()
            assert isinstance(asked, Handshake)
            self.protocols = list(asked.subprotocols)

    @property
    def target(self) -> str:
        return self.head.split(" ")[1]

    def answer(self, data: bytes) -> None:
        self.writer.write(data)

    def accept(self, protocol: str | None, *messages: bytes) -> None:
        """Agree to a session, and say these at once: all in one piece."""
        data = self._websocket.send(AcceptConnection(subprotocol=protocol))
        for message in messages:
            data += self._websocket.send(BytesMessage(data=message))
        self.writer.write(data)

    def send(self, event: Event) -> None:
        self.writer.write(self._websocket.send(event))

    async def receive(self) -> Event | None:
        """The next event of the websocket, None if the other end is gone."""
        while True:
            for event in self._websocket.events():
                return event
            data = await self._reader.read(65536)
            if not data:
                return None
            self._websocket.receive_data(data)

    async def gone(self) -> None:
        """Return once the other end closed the connection."""
        while await self._reader.read(65536):
            pass

    async def close_properly(self, code: int = 1000, reason: str = "") -> None:
        self.send(CloseConnection(code=code, reason=reason))
        await self.gone()


Behaviour: TypeAlias = Callable[[Visit], Awaitable[None]]


class FakeKubelet:
    """Treats every connection in the same way, and remembers what was asked."""

    def __init__(self, behave: Behaviour) -> None:
        self._behave = behave
        self._visits: set[asyncio.Task[None]] = set()
        self.targets: list[str] = []

    async def __aenter__(self) -> Self:
        authority = Authority(secrets_directory(), FakeClock(), SeededEntropy(1))
        files = authority.server_certificate(["127.0.0.1"])
        context = server_context(files.certificate, files.key)
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=context)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        if error is None:
            await asyncio.gather(*self._visits)
        for _turn in range(_TURNS):
            await asyncio.sleep(0)

    @property
    def port(self) -> int:
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def node(self) -> Node:
        return node(self.port, ("InternalIP", "127.0.0.1"))

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = Visit(reader, writer)
        self._visits.add(asyncio.get_running_loop().create_task(self._serve(visit)))

    async def _serve(self, visit: Visit) -> None:
        try:
            await visit.arrive()
            self.targets.append(visit.target)
            await self._behave(visit)
            await visit.writer.drain()
        finally:
            visit.writer.close()
            await visit.writer.wait_closed()


def node(port: int, *addresses: tuple[str, str]) -> Node:
    """A node that says where it is served."""
    return Node(
        metadata=ObjectMeta(name="n"),
        status=NodeStatus(
            addresses=tuple(NodeAddress(type=kind, address=text) for kind, text in addresses),
            daemon_endpoints=NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=port)),
        ),
    )


def client_context() -> ssl.SSLContext:
    """How the server talks to nodes, whose certificates it does not know."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class FakeSocket:
    """The websocket of a client that says these messages, and keeps what it hears."""

    def __init__(self, *messages: bytes) -> None:
        self._incoming: asyncio.Queue[bytes | None] = asyncio.Queue()
        for message in messages:
            self._incoming.put_nowait(message)
        self.heard: list[bytes] = []
        self.closed: tuple[int, str] | None = None

    def leave(self) -> None:
        self._incoming.put_nowait(None)

    async def receive(self) -> bytes | None:
        return await self._incoming.get()

    async def send(self, message: bytes) -> None:
        self.heard.append(message)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.closed = (code, reason)
