"""Websockets: the handshake, and whole messages over the same connection.

wsproto knows the frames. Here are the limits: of a message that is put together from frames, of
messages that wait to be received, and of what a slow client leaves unread. Text is taken as the
bytes it is sent in; compression is not offered. Upstream counterpart: apiserver's wsstream.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Message, Ping, TextMessage
from wsproto.frame_protocol import CloseReason

from dray.errors import BadRequest, TransportError
from dray.http.deadlines import Expirable
from dray.http.head import Fields
from dray.http.messages import Request, WebSocket
from dray.http.service import Service

__all__ = ["UpgradedConnection", "accept_upgrade"]

logger = logging.getLogger(__name__)

# RFC 6455's constant: proof that the other end speaks websocket, and no secret.
_GUID: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_KEY_BYTES: Final = 16

# A close frame holds 125 bytes, two of them the code.
_REASON_BYTES_MAX: Final = 123


def accept_upgrade(request: Request, fields: Fields, protocol: str) -> bytes:
    """The head that turns a connection into a websocket, if the request asks for one."""
    headers = request.headers
    if request.method != "GET" or not fields.websocket:
        raise BadRequest("Upgrade request required")
    if headers.get("sec-websocket-version") != "13":
        raise BadRequest("the only version of websockets that is spoken is 13")
    key = headers.get("sec-websocket-key", "")
    try:
        known = len(base64.b64decode(key, validate=True)) == _KEY_BYTES
    except binascii.Error:
        known = False
    if not known:
        raise BadRequest("the websocket's key is not 16 bytes in base64")
    digest = hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}",
    ]
    if protocol:
        lines.append(f"Sec-WebSocket-Protocol: {protocol}")
    return "\r\n".join([*lines, "", ""]).encode()


class UpgradedConnection:
    """The websocket of one connection. `owner` is who the deadlines know it as."""

    def __init__(self, service: Service, transport: asyncio.Transport, owner: Expirable) -> None:
        self._service = service
        self._transport = transport
        self._owner = owner
        self._frames = Frames(ConnectionType.SERVER)
        self._parts: list[bytes] = []  # of the message that is arriving
        self._parts_bytes = 0
        self._messages: deque[bytes] = deque()
        self._messages_bytes = 0
        self._arrival: asyncio.Future[None] | None = None  # what `receive` waits for
        self._room = asyncio.Event()  # what `send` waits for
        self._room.set()
        self._ended = False  # the other end sends no more
        self._closed = False  # this end sends no more
        self._reading_paused = False
        self._task: asyncio.Task[None] | None = None
        service.counters.websockets_open += 1

    # What the one who serves it calls ------------------------------------------------------------

    async def receive(self) -> bytes | None:
        """The next message, or None once the other end closed or went away."""
        while not self._messages:
            if self._ended:
                return None
            self._arrival = self._service.loop.create_future()
            await self._arrival
        message = self._messages.popleft()
        self._messages_bytes -= len(message)
        if self._messages_bytes <= self._bytes_max:
            self._resume_reading()
        return message

    async def send(self, message: bytes) -> None:
        """Send a binary message once there is room."""
        await self._room.wait()
        if self._closed:
            raise TransportError("the other end of the websocket is gone")
        self._write(BytesMessage(data=message))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Say that nothing more will be sent; the other end answers, and then both are done."""
        self._close(code, reason)

    @property
    def closed(self) -> bool:
        """Whether this end has said its last; the deadline is then for the other's."""
        return self._closed

    # What the connection calls -------------------------------------------------------------------

    def serve(self, serve: Callable[[WebSocket], Coroutine[Any, Any, None]]) -> None:
        """Have the websocket served until `serve` returns."""
        self._task = task = self._service.loop.create_task(serve(self))
        self._service.tasks.add(task)
        task.add_done_callback(self._served)

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
        if self._frames.state not in (ConnectionState.OPEN, ConnectionState.LOCAL_CLOSING):
            return
        self._frames.receive_data(data)
        for event in self._frames.events():
            self._take(event)
            if self._ended:
                break

    def pause(self) -> None:
        """The transport is full."""
        self._room.clear()

    def resume(self) -> None:
        """The transport has room."""
        self._room.set()

    def go_away(self) -> None:
        """The server shuts down."""
        self._close(CloseReason.GOING_AWAY, "the server is shutting down")

    def cancel(self) -> None:
        """Stop serving."""
        if self._task is not None:
            self._task.cancel()

    def lost(self) -> None:
        """The connection is gone."""
        self._service.counters.websockets_open -= 1
        self._closed = True
        self._end()
        self._room.set()

    # Private -------------------------------------------------------------------------------------

    @property
    def _bytes_max(self) -> int:
        return self._service.limits.message_bytes_max

    def _take(self, event: Event) -> None:
        if isinstance(event, Message):
            self._take_message(event)
        elif isinstance(event, Ping):
            # A client that pings and does not read its pongs fills no memory of ours.
            if not self._closed and self._room.is_set():
                self._write(event.response())
        elif isinstance(event, CloseConnection):
            if self._frames.state is ConnectionState.OPEN:
                self._close(event.code, event.reason or "")  # what arrived is no frame
            elif self._frames.state is ConnectionState.REMOTE_CLOSING:
                self._closed = True
                self._write(event.response())
            self._end()
            if not self._transport.is_closing():
                self._transport.close()

    def _take_message(self, event: Message[Any]) -> None:
        if self._closed:
            return
        data = event.data.encode() if isinstance(event, TextMessage) else bytes(event.data)
        self._parts_bytes += len(data)
        if self._parts_bytes > self._bytes_max:
            self._parts.clear()
            self._close(CloseReason.MESSAGE_TOO_BIG, f"the limit is {self._bytes_max} bytes")
            self._end()
            if not self._transport.is_closing():
                self._transport.close()
            return
        self._parts.append(data)
        if not event.message_finished:
            return
        message = b"".join(self._parts)
        self._parts.clear()
        self._parts_bytes = 0
        self._messages.append(message)
        self._messages_bytes += len(message)
        if self._messages_bytes > self._bytes_max and not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()
        self._wake()

    def _close(self, code: int, reason: str) -> None:
        if self._closed:
            return
        self._closed = True
        shown = reason.encode()[:_REASON_BYTES_MAX].decode(errors="ignore")
        self._write(CloseConnection(code=code, reason=shown))
        self._room.set()
        self._service.deadlines.set(self._owner, self._service.limits.linger_seconds)
        # Whoever closes reads no more messages, but the answer to the close must come through.
        self._resume_reading()

    def _resume_reading(self) -> None:
        if self._reading_paused and not self._transport.is_closing():
            self._reading_paused = False
            self._transport.resume_reading()

    def _end(self) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def _write(self, event: Event) -> None:
        data = self._frames.send(event)
        self._service.counters.bytes_sent += len(data)
        if not self._transport.is_closing():
            self._transport.write(data)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._service.tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is None or isinstance(error, TransportError):
            self._close(CloseReason.NORMAL_CLOSURE, "")
        else:
            logger.error("serving a websocket failed", exc_info=error)
            self._close(CloseReason.INTERNAL_ERROR, "the server's log says more")
