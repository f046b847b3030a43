"""The frames of SPDY, against a server that speaks them from the other side."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Awaitable, Callable

import pytest

from dray.agent.runtimes.cri.spdy import DICTIONARY, FRAME_BYTES_MAX, Piece, open_spdy
from dray.errors import TransportError
from tests.unit.agent.runtimes.cri.servers import Serve, frame, read_frames, serve_streams

SYN_STREAM, RST_STREAM, PING, GOAWAY = 1, 3, 6, 7


def control(kind: int, body: bytes) -> bytes:
    return struct.pack(">HHI", 0x8003, kind, len(body)) + body


def talk(serve: Serve, steps: Callable[[str], Awaitable[None]], head: bytes = b"") -> None:
    async def main() -> None:
        async with serve_streams(serve, head=head) as url:
            await steps(url)

    asyncio.run(main())


def test_the_dictionary_is_the_one_that_everybody_has() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_streams_are_opened_with_headers_and_given_up_by_name() -> None:
    frames: list[tuple[int, bytes]] = []

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        frames.extend(await read_frames(reader, 5))
        done.set()

    async def steps(url: str) -> None:
        connection = await open_spdy(url, "v4.channel.k8s.io")
        assert connection.protocol == "v4.channel.k8s.io"
        assert [connection.open_stream({"streamtype": kind}) for kind in ("error", "stdin")] == [
            1,
            3,
        ]
        await connection.close()
        await done.wait()

    done = asyncio.Event()
    talk(serve, steps)
    assert [kind for kind, _ in frames] == [SYN_STREAM, SYN_STREAM, RST_STREAM, RST_STREAM, GOAWAY]
    inflater = zlib.decompressobj(zdict=DICTIONARY)
    for (_, body), kind in zip(frames, (b"error", b"stdin"), strict=False):
        block = inflater.decompress(body[10:])
        expected = [(1).to_bytes(4, "big")]
        for text in (b"streamtype", kind):
            expected += [len(text).to_bytes(4, "big"), text]
        assert block == b"".join(expected)


def test_data_ends_resets_and_pings_are_understood() -> None:
    pinged = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frames(reader, 1)
        writer.write(control(2, bytes(4)) + control(4, bytes(4)) + control(9, bytes(8)))
        writer.write(control(PING, struct.pack(">I", 2)) + control(PING, struct.pack(">I", 1)))
        writer.write(frame(1, b"some") + frame(1, b"", last=True))
        writer.write(control(RST_STREAM, struct.pack(">II", 3, 5)))
        assert await read_frames(reader, 1) == [(PING, struct.pack(">I", 2))]
        pinged.set()

    async def steps(url: str) -> None:
        connection = await open_spdy(url, "v4.channel.k8s.io")
        connection.open_stream({})
        read = [await connection.read() for _ in range(4)]
        assert read == [
            Piece(1, b"some", last=False),
            Piece(1, b"", last=True),
            Piece(3, b"", last=True),
            Piece(0, b"", last=True),
        ]
        await pinged.wait()
        await connection.close()

    talk(serve, steps)


def test_a_long_write_is_cut_into_frames() -> None:
    bodies: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        bodies.extend(body for _, body in await read_frames(reader, 4))
        done.set()

    async def steps(url: str) -> None:
        connection = await open_spdy(url, "v4.channel.k8s.io")
        await connection.write(1, bytes(70_000))
        await connection.finish(1)
        await done.wait()
        await connection.close()

    done = asyncio.Event()
    talk(serve, steps)
    assert [len(body) for body in bodies] == [32_768, 32_768, 4_464, 0]


def test_whoever_stops_waiting_has_lost_nothing() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        whole = frame(1, b"in two parts")
        writer.write(whole[:10])
        await go_on.wait()
        writer.write(whole[10:])

    async def steps(url: str) -> None:
        connection = await open_spdy(url, "v4.channel.k8s.io")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await connection.read()
        go_on.set()
        assert await connection.read() == Piece(1, b"in two parts", last=False)
        await connection.close()

    go_on = asyncio.Event()
    talk(serve, steps)


def test_a_frame_that_is_too_large_is_refused() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(struct.pack(">II", 1, FRAME_BYTES_MAX + 1))
        await reader.read()

    async def steps(url: str) -> None:
        connection = await open_spdy(url, "v4.channel.k8s.io")
        with pytest.raises(TransportError, match="frame of 4194305 bytes"):
            await connection.read()
        await connection.close()
        with pytest.raises(TransportError, match="closed"):
            await connection.write(1, b"x")

    talk(serve, steps)


async def nothing(*_: object) -> None:
    return


@pytest.mark.parametrize(
    ("head", "told"),
    [
        pytest.param(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nexpired",
            "404 Not Found expired",
            id="refused",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", "200 OK", id="not-upgraded"),
        pytest.param(b"nonsense\r\n\r\n", "nonsense", id="no-http"),
        pytest.param(b"HTTP/1.1 101", "broke", id="cut-off"),
        pytest.param(b"x" * 70_000, "broke", id="endless"),
    ],
)
def test_a_server_that_does_not_stream_is_quoted(head: bytes, told: str) -> None:
    async def steps(url: str) -> None:
        with pytest.raises(TransportError, match=told):
            await open_spdy(url, "v4.channel.k8s.io")

    talk(nothing, steps, head=head)


@pytest.mark.parametrize("url", ["", "unix:///x", "http://"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(TransportError, match="which is no HTTP"):
        asyncio.run(open_spdy(url, "v4.channel.k8s.io"))
