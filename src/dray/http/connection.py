"""One connection: reads requests, has them handled one after the other, and writes the answers.

There is one request under way at a time; what a client sends ahead waits as bytes. A connection is
always in one phase, and each phase in which the client has to do something has a deadline:

    reading ──► handling ──► writing ──► reading …
                        ├──► streaming ─┘
                        └──► upgraded ──► closed
    any ──► lingering ──► closed         after the last answer: what still arrives is dropped

Upstream counterpart: net/http's server.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from enum import Enum, auto
from math import inf
from typing import TYPE_CHECKING, Final, cast

from dray.errors import APIError, BadRequest, InternalError
from dray.http.channel import StreamChannel
from dray.http.compression import compress, compressible
from dray.http.encoder import CHUNKED, UNTIL_CLOSED, without_body
from dray.http.messages import Answer, Peer, Request, Response, Stream, Upgrade
from dray.http.reader import RequestReader
from dray.http.refusals import internal_error, late, refuse, too_much_unfinished
from dray.http.service import Service

if TYPE_CHECKING:
    from dray.http.websocket import UpgradedConnection

__all__ = ["Connection"]

logger = logging.getLogger(__name__)

# Written with its head in one piece; larger bodies go in slices of this, as the client takes them.
SLICE_BYTES: Final = 128 * 1024

# Probes after a minute of silence find watchers whose machine is gone.
KEEPALIVE_SECONDS: Final = 60

# A client that only reads does not care how the reading went once it is gone.
READS: Final = frozenset(("GET", "HEAD"))


class _Phase(Enum):
    """What a connection is doing."""

    READING = auto()
    HANDLING = auto()
    WRITING = auto()
    STREAMING = auto()
    UPGRADED = auto()
    LINGERING = auto()
    CLOSED = auto()


# When it is the client who has to make room.
_ANSWERING: Final = frozenset((_Phase.WRITING, _Phase.STREAMING, _Phase.UPGRADED))


class Connection(asyncio.BufferedProtocol):
    """The protocol asyncio talks to."""

    __slots__ = (
        "_body",
        "_channel",
        "_half_closed",
        "_is_holding",
        "_last",
        "_offset",
        "_paused",
        "_phase",
        "_reader",
        "_reading_paused",
        "_request",
        "_service",
        "_task",
        "_transport",
        "_websocket",
        "deadline",
        "slot",
    )

    _transport: asyncio.Transport
    _reader: RequestReader
    _request: Request

    def __init__(self, service: Service) -> None:
        self._service = service
        self._phase = _Phase.CLOSED
        self._task: asyncio.Task[Answer] | None = None
        self._channel: StreamChannel | None = None
        self._websocket: UpgradedConnection | None = None
        self._body: memoryview | None = None  # the answer's, while it goes out in slices
        self._offset = 0
        self._last = False  # the connection closes after the answer under way
        self._paused = False  # the transport holds enough already
        self._reading_paused = False
        self._is_holding = False  # a part of a request, which counts
        self._half_closed = False  # the client sends no more
        self.deadline = inf
        self.slot = 0

    # What asyncio calls ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not an assertion: uvloop's transports are none of asyncio's classes.
        self._transport = transport = cast("asyncio.Transport", transport)
        service = self._service
        counters, limits = service.counters, service.limits
        counters.connections_total += 1
        if counters.connections_open >= limits.connections_max or service.closing:
            counters.connections_refused += 1
            transport.abort()
            return
        counters.connections_open += 1
        service.connections.add(self)
        transport.set_write_buffer_limits(high=limits.write_buffer_bytes)
        _keep_alive(transport)
        self._reader = RequestReader(limits, service.heads, _peer(transport))
        self._phase = _Phase.READING
        service.deadlines.set(self, limits.head_seconds)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio calls it
        # Read and emptied in one go, so that one buffer does for all connections: a new one for
        # every read costs more than decrypting what is read.
        return self._service.read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._service.read_buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
        self._service.counters.bytes_received += len(data)
        phase = self._phase
        if phase is _Phase.READING:
            begun = self._reader.buffered or self._reader.reading_body
            self._reader.feed(data)
            self._read(begun=bool(begun))
        elif phase is _Phase.UPGRADED:
            assert self._websocket is not None
            self._websocket.feed(data)
        elif phase is not _Phase.LINGERING and phase is not _Phase.CLOSED and not self._last:
            reader = self._reader
            reader.feed(data)
            if reader.buffered > self._service.limits.pipelined_bytes_max:
                self._reading_paused = True
                self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Whether the transport stays open: for an answer that is still to come, where it can.

        Inside TLS it cannot, and closes whatever is returned.
        """
        if self._phase in (_Phase.HANDLING, _Phase.WRITING):
            self._half_closed = True
            if not self._reader.buffered:
                self._last = True
            return self._transport.get_extra_info("ssl_object") is None
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio calls it
        if self._phase is _Phase.CLOSED:
            return
        self._phase = _Phase.CLOSED
        self._let_go()
        self._service.deadlines.remove(self)
        self._service.counters.connections_open -= 1
        self._service.remove(self)
        if self._task is not None and self._request.method in READS:
            self._task.cancel()
        if self._channel is not None:
            self._end_stream().lost()
        if self._websocket is not None:
            self._websocket.lost()

    def pause_writing(self) -> None:
        self._paused = True
        if self._channel is not None:
            self._channel.pause()
        if self._websocket is not None:
            self._websocket.pause()
        if self._phase in _ANSWERING:
            self._expect_room()

    def resume_writing(self) -> None:
        self._paused = False
        if self._phase in _ANSWERING and not (self._websocket and self._websocket.closed):
            self.deadline = inf
        if self._channel is not None:
            self._channel.resume()
        elif self._websocket is not None:
            self._websocket.resume()
        elif self._phase is _Phase.WRITING:
            self._write_more()

    # What the listener and the deadlines call ---------------------------------------------------

    def wind_down(self) -> None:
        self._last = True
        if self._phase in (_Phase.READING, _Phase.LINGERING):
            # Nothing that was begun is lost on the client: no answer means it was not handled.
            self._close()
        elif self._channel is not None:
            self._end_properly(self._channel)
        elif self._websocket is not None:
            self._websocket.go_away()

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._websocket is not None:
            self._websocket.cancel()
        self._transport.abort()

    def give_up(self) -> None:
        """Together the connections hold too much, and this one has done so for the longest."""
        if self._phase is _Phase.READING:
            self._refuse(too_much_unfinished())
        else:
            self._let_go()
            self._transport.abort()

    def expired(self) -> None:
        if self._phase is _Phase.READING and not self._transport.is_closing():
            if self._reader.reading_body:
                self._refuse(late("body"))
            elif self._reader.buffered:
                self._refuse(late("head"))
            else:
                self._close()
        elif self._phase is not _Phase.CLOSED:
            self._transport.abort()

    # Reading ------------------------------------------------------------------------------------

    def _read(self, *, begun: bool) -> None:
        """Handle the next request if it is there; otherwise see to it that the rest comes."""
        reader = self._reader
        was_in_body = reader.reading_body
        try:
            request = reader.take()
        except APIError as error:
            self._refuse(error)
            return
        if request is not None:
            self.deadline = inf
            if self._is_holding:
                self._finish()
            self._handle(request)
            return
        if reader.reading_body:
            if not was_in_body:
                self._service.deadlines.set(self, self._service.limits.body_seconds)
            if reader.must_continue():
                self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif reader.buffered and not begun:
            self._service.deadlines.set(self, self._service.limits.head_seconds)
        if held := reader.held:
            self._is_holding = True
            self._service.unfinished.hold(self, held)

    def _finish(self) -> None:
        """There is no unfinished request any more."""
        self._is_holding = False
        self._service.unfinished.release(self)

    def _let_go(self) -> None:
        """Keep nothing of a request or an answer: the connection may take a while to close."""
        self._finish()
        self._reader.forget()
        self._service.unread.release(self)
        self._body = None

    def _refuse(self, error: APIError) -> None:
        """Answer what is no request, and listen no longer: where the next one begins is unknown."""
        self._service.counters.requests_refused += 1
        self._last = True
        self._let_go()
        answer = refuse(error)
        head = self._service.encoder.encode(
            answer.status, answer.headers, len(answer.body), minor_version=1, keep_alive=False
        )
        self._write(head + answer.body)
        self._linger()

    def _linger(self) -> None:
        """Say no more, and drop what still arrives until the client has seen that.

        Closing while something is on its way here would reset the answer away from its reader.
        """
        transport = self._transport
        if self._half_closed or self._service.closing or transport.is_closing():
            self._close()
            return
        self._resume_reading()
        if transport.can_write_eof():
            transport.write_eof()
        self._await_end()

    def _close(self) -> None:
        """Close once everything is sent. Inside TLS the other end has to agree, and may not."""
        self._await_end()
        if not self._transport.is_closing():  # asyncio's transports are closed once or break
            self._transport.close()

    def _await_end(self) -> None:
        limits, transport = self._service.limits, self._transport
        self._phase = _Phase.LINGERING
        sent = transport.is_closing() or not transport.get_write_buffer_size()
        self._service.deadlines.set(self, limits.linger_seconds if sent else limits.write_seconds)

    # Handling -----------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        service, fields = self._service, self._reader.fields
        assert fields is not None
        self._phase = _Phase.HANDLING
        self._request = request
        keep_alive = not fields.close if self._reader.minor_version else fields.keep_alive
        if not keep_alive or (self._half_closed and not self._reader.buffered):
            self._last = True
        service.counters.requests_total += 1
        service.counters.requests_in_flight += 1
        self._task = task = service.loop.create_task(service.handler(request))
        service.tasks.add(task)
        task.add_done_callback(self._handled)

    def _handled(self, task: asyncio.Task[Answer]) -> None:
        self._task = None
        service = self._service
        service.tasks.discard(task)
        service.counters.requests_in_flight -= 1
        if service.closing:
            self._last = True
        if task.cancelled():
            # By us, when the client went away or time was up; else the handler gave itself up.
            self._transport.abort()
            return
        error = task.exception()
        if error is not None:
            logger.error(
                "handling %s %s failed", self._request.method, self._request.path, exc_info=error
            )
            self._respond(refuse(internal_error()))
            return
        answer = task.result()
        if isinstance(answer, Response):
            self._respond(answer)
        elif isinstance(answer, Stream):
            self._stream(answer)
        elif isinstance(answer, Upgrade):
            self._upgrade(answer)
        else:
            logger.error("the handler of %s returned %r", self._request.path, type(answer))
            self._respond(refuse(internal_error()))

    # Writing ------------------------------------------------------------------------------------

    def _respond(self, response: Response) -> None:
        if self._phase is _Phase.CLOSED:
            return
        fields = self._reader.fields
        assert fields is not None
        if (
            fields.accepts_gzip
            and len(response.body) > self._service.limits.gzip_bytes_min
            and compressible(response)
        ):
            # In a thread: a large body takes tens of milliseconds, and zlib leaves the lock alone.
            future = self._service.loop.run_in_executor(None, compress, response)
            future.add_done_callback(self._compressed)
        else:
            self._send(response)

    def _compressed(self, future: asyncio.Future[Response]) -> None:
        if self._phase is not _Phase.CLOSED and not future.cancelled():
            self._send(future.result())

    def _send(self, response: Response) -> None:
        body = response.body
        head = self._head(response, len(body))
        self._phase = _Phase.WRITING
        if self._request.method == "HEAD" or without_body(response.status):
            body = b""
        if len(body) <= SLICE_BYTES:
            self._write(head + body)
        else:
            self._write(head)
            self._body = memoryview(body)
            self._offset = 0
        self._write_more()

    def _head(self, answer: Response | Stream, length: int) -> bytes:
        encoder, minor_version = self._service.encoder, self._reader.minor_version
        try:
            return encoder.encode(
                answer.status,
                answer.headers,
                length,
                minor_version=minor_version,
                keep_alive=not self._last,
            )
        except InternalError:
            # There is no answer to send in place of one whose head is a lie.
            self._transport.abort()
            raise

    def _write_more(self) -> None:
        """Write the rest of the body as far as there is room; then turn to the next request."""
        while self._body is not None and not self._paused:
            self._write(self._body[self._offset : self._offset + SLICE_BYTES])
            self._offset += SLICE_BYTES
            if self._offset >= len(self._body):
                self._body = None
                self._service.unread.release(self)
        if self._paused:
            self._expect_room()
            if self._body is not None:
                # Whole, though some of it is sent: the rest alone cannot be kept.
                self._service.unread.renew(self, len(self._body))
        elif not self._transport.is_closing():
            self._turn()

    def _expect_room(self) -> None:
        self._service.deadlines.set(self, self._service.limits.write_seconds)

    def _turn(self) -> None:
        """The answer is written: go on with the next request."""
        if self._last:
            if self._transport.can_write_eof():
                self._linger()
            else:
                self._close()  # TLS has a goodbye of its own, which waits for the other's
            return
        self._phase = _Phase.READING
        self._service.deadlines.set(self, self._service.limits.idle_seconds)
        self._resume_reading()
        if self._reader.buffered:
            self._read(begun=False)
        if self._half_closed and self._phase is _Phase.READING:
            self._close()  # with the beginning of a request that has no end

    def _write(self, data: bytes | memoryview) -> None:
        # Between the end of a connection and being told, uvloop's transports raise when touched.
        if not self._transport.is_closing():
            self._service.counters.bytes_sent += len(data)
            self._transport.write(data)

    def _resume_reading(self) -> None:
        if self._reading_paused and not self._transport.is_closing():
            self._reading_paused = False
            self._transport.resume_reading()

    # Streams and websockets ---------------------------------------------------------------------

    def _stream(self, stream: Stream) -> None:
        if self._phase is _Phase.CLOSED or self._half_closed:
            stream.ended()
            if self._phase is not _Phase.CLOSED:
                self._close()
            return
        chunked = bool(self._reader.minor_version)
        if not chunked:
            self._last = True
        head = self._head(stream, CHUNKED if chunked else UNTIL_CLOSED)
        self._write(head)
        if self._request.method == "HEAD":
            stream.ended()
            self._phase = _Phase.WRITING
            self._write_more()
            return
        self._phase = _Phase.STREAMING
        self._service.counters.streams_open += 1
        self._channel = channel = StreamChannel(
            self._service,
            self._transport,
            chunked=chunked,
            ended=stream.ended,
            finished=self._streamed,
        )
        if self._paused:
            channel.pause()
            self._expect_room()
        started = False
        try:
            stream.start(channel)
            started = True
        finally:
            # The loop logs what went wrong; the client must not wait for what never comes.
            if not started:
                channel.abort()
        if self._service.closing:
            self._end_properly(channel)

    @staticmethod
    def _end_properly(channel: StreamChannel) -> None:
        """Let the feeder say its last words, or fail to, and close."""
        try:
            channel.end()
        finally:
            channel.close()

    def _streamed(self) -> None:
        self._end_stream()
        self._phase = _Phase.WRITING
        self._write_more()

    def _end_stream(self) -> StreamChannel:
        assert self._channel is not None
        channel, self._channel = self._channel, None
        self._service.counters.streams_open -= 1
        return channel

    def _upgrade(self, upgrade: Upgrade) -> None:
        if self._phase is _Phase.CLOSED:
            return
        # Whoever serves no websockets need not have the library for them.
        from dray.http.websocket import (  # noqa: PLC0415
            UpgradedConnection,
            accept_upgrade,
        )

        fields = self._reader.fields
        assert fields is not None
        try:
            head = accept_upgrade(self._request, fields, upgrade.protocol)
        except BadRequest as error:
            self._respond(refuse(error))
            return
        self._write(head)
        self._phase = _Phase.UPGRADED
        self._websocket = websocket = UpgradedConnection(self._service, self._transport, self)
        if self._paused:
            websocket.pause()
            self._expect_room()
        self._resume_reading()
        websocket.serve(upgrade.serve)
        websocket.feed(self._reader.rest())


def _peer(transport: asyncio.Transport) -> Peer:
    name = transport.get_extra_info("peername")
    address = "local"  # a unix socket
    if isinstance(name, tuple):
        host, port = name[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    tls = transport.get_extra_info("ssl_object")
    return Peer(address, tls.getpeercert(binary_form=True) if tls is not None else None)


def _keep_alive(transport: asyncio.Transport) -> None:
    connected = transport.get_extra_info("socket")
    if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS)
