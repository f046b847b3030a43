"""The open end of a stream: chunks that wait until the client takes them.

Frames are handed to the transport at the end of each turn of the loop, those of one turn together,
and only as many as it has room for. The others wait here as they came, shared with every other
channel that was given the same frame: a slow reader costs a list, not a copy.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from dray.http.chunks import LAST_CHUNK, frame, unframe
from dray.http.service import Service

__all__ = ["StreamChannel"]

# Handed to the transport in one piece; a TLS record is a quarter of it.
PIECE_BYTES: Final = 64 * 1024


class StreamChannel:
    """The channel of one connection, while it streams.

    `finished` is called once everything is with the transport, after `close`.
    """

    __slots__ = (
        "_chunked",
        "_closing",
        "_ended",
        "_finished",
        "_over",
        "_paused",
        "_pending",
        "_pending_bytes",
        "_scheduled",
        "_service",
        "_transport",
    )

    def __init__(
        self,
        service: Service,
        transport: asyncio.Transport,
        *,
        chunked: bool,
        ended: Callable[[], None],
        finished: Callable[[], None],
    ) -> None:
        self._service = service
        self._transport = transport
        self._chunked = chunked
        self._ended = ended
        self._finished = finished
        self._pending: deque[bytes] = deque()
        self._pending_bytes = 0
        self._scheduled = False
        self._paused = False
        self._closing = False  # nothing more may be written
        self._over = False  # `ended` was called

    @property
    def buffered(self) -> int:
        """Bytes that wait here, and in the transport."""
        if self._transport.is_closing():
            return 0
        return self._pending_bytes + self._transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        """Send bytes soon, as one chunk."""
        if data:
            self._add(frame(data) if self._chunked else data)

    def write_framed(self, chunk: bytes) -> None:
        """Send a chunk soon."""
        self._add(chunk if self._chunked else unframe(chunk))

    def close(self) -> None:
        """End the stream properly, after what was written."""
        if self._closing:
            return
        if self._chunked:
            self._add(LAST_CHUNK)
        self._closing = True
        self._schedule()
        self.end()

    def abort(self) -> None:
        """Drop the connection."""
        if not self._closing:
            self._drop()

    def end(self) -> None:
        """Tell the feeder that it is over; the first time only."""
        if not self._over:
            self._over = True
            self._ended()

    def lost(self) -> None:
        """The client is gone."""
        self._closing = True
        self._pending.clear()
        self._pending_bytes = 0
        self.end()

    def pause(self) -> None:
        """The transport is full."""
        self._paused = True

    def resume(self) -> None:
        """The transport has room."""
        self._paused = False
        self.flush()

    def flush(self) -> None:
        """Hand over what there is room for."""
        self._scheduled = False
        pending = self._pending
        if self._transport.is_closing():
            return
        while pending and not self._paused:
            piece = pending.popleft()
            if pending and len(piece) < PIECE_BYTES:
                pieces = [piece]
                size = len(piece)
                while pending and size + len(pending[0]) <= PIECE_BYTES:
                    piece = pending.popleft()
                    size += len(piece)
                    pieces.append(piece)
                piece = b"".join(pieces)
            self._pending_bytes -= len(piece)
            self._service.counters.bytes_sent += len(piece)
            self._transport.write(piece)
        if self._closing and not pending:
            self._finished()

    def _add(self, piece: bytes) -> None:
        if self._closing:
            return
        self._pending.append(piece)
        self._pending_bytes += len(piece)
        if self._pending_bytes > self._service.limits.stream_bytes_max:
            self._drop()
        elif not self._paused:
            self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._service.flush_soon(self.flush)

    def _drop(self) -> None:
        self._transport.abort()
        self.lost()
