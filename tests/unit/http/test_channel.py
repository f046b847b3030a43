"""Channels: frames wait for room, together and in order, up to a limit."""

from __future__ import annotations

import asyncio

from dray.http.channel import PIECE_BYTES, StreamChannel
from dray.http.chunks import frame
from dray.http.limits import Limits
from dray.http.service import Service
from dray.testing import FakeClock
from tests.unit.http.wire import FakeTransport, echo


class Setup:
    def __init__(self, limits: Limits | None = None) -> None:
        self.calls: list[str] = []
        self.transport = FakeTransport()
        self.service = Service(echo, limits=limits or Limits(), clock=FakeClock())
        self.channel = StreamChannel(
            self.service,
            self.transport,
            chunked=True,
            ended=lambda: self.calls.append("ended"),
            finished=lambda: self.calls.append("finished"),
        )


def test_frames_of_one_turn_are_written_together() -> None:
    class Counting(FakeTransport):
        writes = 0

        def write(self, data: bytes | bytearray | memoryview) -> None:
            self.writes += 1
            super().write(data)

    async def scenario() -> None:
        setup = Setup()
        setup.channel._transport = transport = Counting()
        setup.channel.write(b"one")
        setup.channel.write_framed(frame(b"two"))
        assert transport.written == b""
        assert setup.channel.buffered == len(frame(b"one") + frame(b"two"))
        await asyncio.sleep(0)
        assert transport.written == b"3\r\none\r\n3\r\ntwo\r\n"
        assert transport.writes == 1
        assert setup.channel.buffered == 0

    asyncio.run(scenario())


def test_a_slow_reader_is_seen_and_gets_the_rest_later() -> None:
    async def scenario() -> None:
        setup = Setup()
        setup.channel.pause()
        setup.transport.unread = 1000
        chunk = frame(b"x" * 100)
        for _ in range(2 * PIECE_BYTES // len(chunk)):
            setup.channel.write_framed(chunk)
        await asyncio.sleep(0)
        assert setup.transport.written == b""
        assert setup.channel.buffered > 1000 + PIECE_BYTES
        setup.channel.resume()
        assert setup.transport.written == chunk * (2 * PIECE_BYTES // len(chunk))

    asyncio.run(scenario())


def test_a_reader_that_falls_too_far_behind_is_dropped() -> None:
    async def scenario() -> None:
        setup = Setup(Limits(stream_bytes_max=1000))
        setup.channel.pause()
        setup.channel.write(b"x" * 900)
        assert setup.calls == []
        setup.channel.write(b"x" * 200)
        assert setup.transport.aborted
        assert setup.calls == ["ended"]
        setup.channel.write(b"x")
        assert setup.channel.buffered == 0

    asyncio.run(scenario())


def test_closing_comes_after_what_was_written() -> None:
    async def scenario() -> None:
        setup = Setup()
        setup.channel.write(b"one")
        setup.channel.pause()
        setup.channel.close()
        setup.channel.close()
        setup.channel.abort()
        await asyncio.sleep(0)
        assert setup.calls == ["ended"]
        setup.channel.resume()
        assert setup.transport.written == b"3\r\none\r\n0\r\n\r\n"
        assert setup.calls == ["ended", "finished"]
        assert not setup.transport.aborted

    asyncio.run(scenario())


def test_an_aborted_stream_is_dropped_and_ends_once() -> None:
    async def scenario() -> None:
        setup = Setup()
        setup.channel.write(b"one")
        setup.channel.abort()
        setup.channel.abort()
        setup.channel.close()
        await asyncio.sleep(0)
        assert setup.transport.aborted
        assert setup.transport.written == b""
        assert setup.calls == ["ended"]

    asyncio.run(scenario())
