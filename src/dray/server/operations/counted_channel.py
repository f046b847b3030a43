"""The channel of a watch, with its events counted.

Each event is one line. A chunk goes to many watches as the same bytes, so the last one counted is
remembered and counting it again is one comparison.
"""

from __future__ import annotations

from dray.http.messages import Channel
from dray.server.operations.series import Series

__all__ = ["CountedChannel", "LineCounter"]

# A frame has a line of its own before the data, and ends with another.
FRAME_LINES = 2


class LineCounter:
    """Counts the lines of chunks that come in many times."""

    __slots__ = ("_chunk", "_lines")

    def __init__(self) -> None:
        self._chunk = b""
        self._lines = 0

    def lines(self, chunk: bytes) -> int:
        """How many events a framed chunk holds."""
        if chunk is not self._chunk:
            self._chunk = chunk
            self._lines = chunk.count(b"\n") - FRAME_LINES
        return self._lines


class CountedChannel:
    """Passes everything on to the channel of the connection."""

    __slots__ = ("_channel", "_counter", "_series", "abort", "bytes_sent", "close")

    def __init__(self, channel: Channel, series: Series, counter: LineCounter) -> None:
        self._channel = channel
        self._series = series
        self._counter = counter
        self.bytes_sent = 0
        self.close = channel.close
        self.abort = channel.abort

    def write(self, data: bytes) -> None:
        """As the channel's."""
        series = self._series
        series.events += data.count(b"\n")
        series.events_bytes += len(data)
        self.bytes_sent += len(data)
        self._channel.write(data)

    def write_framed(self, chunk: bytes) -> None:
        """As the channel's."""
        series = self._series
        series.events += self._counter.lines(chunk)
        series.events_bytes += len(chunk)
        self.bytes_sent += len(chunk)
        self._channel.write_framed(chunk)

    @property
    def buffered(self) -> int:
        return self._channel.buffered
