"""Sessions and ports over a runtime's streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dray.agent.runtimes.cri.streaming import StreamedSession, open_port, open_streams
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import SessionConfig
from dray.clock import SystemClock
from dray.testing import FakeClock
from dray.testing.runtime_suite import failing
from tests.unit.agent.runtimes.cri.servers import Serve, frame, read_frames, serve_streams

ERROR, STDOUT, STDERR = 1, 3, 5
FAILED = (
    b'{"status":"Failure","reason":"NonZeroExitCode",'
    b'"details":{"causes":[{"reason":"ExitCode","message":"4"}]}}'
)

COMMAND = SessionConfig(command=("x",))


async def zero() -> int:
    return 0


def session(
    serve: Serve,
    steps: Callable[[StreamedSession], Awaitable[None]],
    config: SessionConfig = COMMAND,
) -> None:
    async def main() -> None:
        async with serve_streams(serve) as url:
            opened = await open_streams(url, config, zero, clock=FakeClock())
            try:
                await steps(opened)
            finally:
                await opened.close()

    asyncio.run(main())


def answering(*frames: bytes, streams: int = 3) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frames(reader, streams)
        writer.write(b"".join(frames))
        await writer.drain()

    return serve


def test_pieces_come_in_their_order_and_then_the_code() -> None:
    async def steps(opened: StreamedSession) -> None:
        pieces = [await opened.read() for _ in range(4)]
        assert pieces == [(1, b"a"), (2, b"b"), (1, b"c"), (0, b"")]
        assert await opened.wait() == 4
        assert await opened.read() == (0, b"")

    session(
        answering(
            frame(STDOUT, b"a"),
            frame(STDERR, b"b", last=True),
            frame(STDOUT, b"c", last=True),
            frame(ERROR, FAILED, last=True),
        ),
        steps,
    )


def test_whoever_waits_first_can_read_afterwards() -> None:
    async def steps(opened: StreamedSession) -> None:
        assert await opened.wait() == 0
        assert [await opened.read() for _ in range(2)] == [(1, b"kept"), (0, b"")]

    session(answering(frame(STDOUT, b"kept"), frame(ERROR, b'{"status":"Success"}')), steps)


def test_what_nobody_reads_is_not_kept_without_end() -> None:
    piece = bytes(1024 * 1024)

    async def steps(opened: StreamedSession) -> None:
        waiting = asyncio.ensure_future(opened.wait())
        total = 0
        while (read := await opened.read())[0]:
            total += len(read[1])
            assert opened._buffered_bytes <= 3 * len(piece)
        assert total == 8 * len(piece)
        assert await waiting == 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frames(reader, 3)
        for _ in range(8):
            writer.write(frame(STDOUT, piece))
            await writer.drain()
        writer.write(frame(ERROR, b'{"status":"Success"}'))
        await writer.drain()

    session(serve, steps)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        pytest.param(b"", "broke before", id="none"),
        pytest.param(b"[1]", "broke before", id="no-object"),
        pytest.param(
            b'{"status":"Failure","message":"no such program"}', "no such program", id="not-run"
        ),
        pytest.param(
            b'{"status":"Failure","details":{"causes":[7,{"reason":"ExitCode","message":"x"}]}}',
            "Failure",
            id="no-number",
        ),
    ],
)
def test_an_end_without_a_code_is_a_failure(status: bytes, told: str) -> None:
    async def steps(opened: StreamedSession) -> None:
        assert told in str(await failing(opened.wait()))

    session(answering(frame(ERROR, status)), steps)


def test_input_its_end_and_the_size_go_their_ways() -> None:
    received: list[tuple[int, bytes]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frames(reader, 4)
        received.extend(await read_frames(reader, 3))
        writer.write(frame(ERROR, b'{"status":"Success"}'))
        await writer.drain()

    async def steps(opened: StreamedSession) -> None:
        opened.resize(80, 24)
        await opened.write(b"typed")
        await opened.write(b"")
        await opened.write(b"too late")
        assert await opened.wait() == 0

    session(serve, steps, SessionConfig(command=("sh",), stdin=True, tty=True))
    assert received == [(0, b'{"Width": 80, "Height": 24}'), (0, b"typed"), (0, b"")]


def test_whoever_leaves_is_not_waited_for() -> None:
    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async def steps(opened: StreamedSession) -> None:
        reading = asyncio.ensure_future(opened.read())
        await asyncio.sleep(0)
        await opened.close()
        assert await reading == (0, b"")
        await opened.write(b"nobody")

    session(serve, steps, SessionConfig(command=("sh",), stdin=True))


def test_an_older_protocol_is_refused() -> None:
    async def main() -> None:
        async with serve_streams(answering(), protocol="channel.k8s.io") as url:
            opening = open_streams(url, SessionConfig(), zero, clock=FakeClock())
            assert "channel.k8s.io" in str(await failing(opening))

    asyncio.run(main())


def test_a_server_that_does_not_answer_is_given_up() -> None:
    async def main() -> None:
        clock = FakeClock()
        accepted = asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set()
            await reader.read()
            writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            opening = open_streams(url, SessionConfig(), zero, clock=clock)
            failure = asyncio.ensure_future(failing(opening))
            await accepted.wait()
            clock.advance(10)
            assert "within 10 s" in str(await failure)

    asyncio.run(main())


def test_a_port_carries_both_ways() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frames(reader, 2)
        writer.write(frame(3, b"first"))
        ((_, data),) = await read_frames(reader, 1)
        writer.write(frame(3, data, last=True) + frame(1, b"", last=True))
        await writer.drain()

    async def main() -> None:
        async with serve_streams(serve, protocol="portforward.k8s.io") as url:
            port = await open_port(url, 80, clock=FakeClock())
            await port.write(b"back")
            assert [piece async for piece in port.pieces()] == [b"first", b"back"]
            await port.close()

    asyncio.run(main())


def test_a_port_nobody_listens_on_is_known_at_once() -> None:
    refused = answering(frame(3, b"", last=True), frame(1, b"connection refused"), streams=2)

    async def main() -> None:
        async with serve_streams(refused, protocol="portforward.k8s.io") as url:
            failure = await failing(open_port(url, 80, clock=FakeClock()))
            assert (str(failure), failure.reason) == ("connection refused", "PortForwardFailed")

    asyncio.run(main())


def test_a_port_that_breaks_says_so() -> None:
    broken = answering(frame(3, b"some"), frame(1, b"reset by peer"), streams=2)

    async def main() -> None:
        async with serve_streams(broken, protocol="portforward.k8s.io") as url:
            port = await open_port(url, 80, clock=SystemClock())
            pieces = port.pieces()
            assert await anext(pieces) == b"some"
            with pytest.raises(RuntimeFailed, match="reset by peer"):
                await anext(pieces)
            await port.close()

    asyncio.run(main())
