"""The transport within a process: as over a socket, without one."""

from __future__ import annotations

import asyncio

import pytest

from dray.client import Call, in_process
from dray.errors import TransportError
from dray.http.chunks import frame
from dray.http.messages import Answer, Channel, Request, Response, Stream, Upgrade, WebSocket

GET = Call("GET", "/x")


class Streaming:
    """A handler that answers with a stream, which the test feeds."""

    def __init__(self) -> None:
        self.channel: Channel | None = None
        self.ended_count = 0

    async def __call__(self, request: Request) -> Answer:
        return Stream(200, (("X", "1"), ("x", "2")), self._start, self._ended)

    def _start(self, channel: Channel) -> None:
        self.channel = channel

    def _ended(self) -> None:
        self.ended_count += 1

    @property
    def open_channel(self) -> Channel:
        assert self.channel is not None
        return self.channel


def test_a_handler_sees_who_asks_and_what() -> None:
    async def main() -> None:
        seen: list[Request] = []

        async def handler(request: Request) -> Answer:
            seen.append(request)
            return Response(201, (("Content-Type", "a/b"),), b"body")

        headers = (("Impersonate-Group", "a"), ("impersonate-group", "b"))
        transport = in_process(handler, token="t", certificate=b"der", headers=headers)
        call = Call("POST", "/x y", (("a", "1"), ("a", "2")), (("accept", "j"),), b"sent")
        reply = await transport.request(call)
        assert (reply.status, reply.headers, reply.body) == (201, {"content-type": "a/b"}, b"body")
        (request,) = seen
        assert (request.method, request.path, request.body) == ("POST", "/x y", b"sent")
        assert request.query == {"a": ["1", "2"]}
        assert request.headers == {
            "authorization": "Bearer t",
            "impersonate-group": "a, b",
            "accept": "j",
        }
        assert request.peer.certificate == b"der"
        await transport.close()

    asyncio.run(main())


def test_a_stream_is_read_as_it_is_written_and_ends_properly() -> None:
    async def main() -> None:
        handler = Streaming()
        stream = await in_process(handler).stream(GET)
        assert stream.headers == {"x": "1, 2"}
        waiting = asyncio.ensure_future(stream.read())
        await asyncio.sleep(0)
        handler.open_channel.write(b"a")
        handler.open_channel.write_framed(frame(b"b"))
        handler.open_channel.write(b"")
        assert handler.open_channel.buffered == 2
        assert await waiting == b"ab"
        assert handler.open_channel.buffered == 0
        handler.open_channel.write(b"c")
        handler.open_channel.close()
        handler.open_channel.write(b"too late")
        assert await stream.read() == b"c"
        assert await stream.read() == b""
        stream.close()
        assert handler.ended_count == 1

    asyncio.run(main())


def test_a_stream_that_is_aborted_is_an_error() -> None:
    async def main() -> None:
        handler = Streaming()
        stream = await in_process(handler).stream(GET)
        handler.open_channel.write(b"lost")
        handler.open_channel.abort()
        with pytest.raises(TransportError, match="GET /x: the stream broke off: the server"):
            await stream.read()
        assert handler.ended_count == 1

    asyncio.run(main())


def test_a_slow_reader_is_dropped() -> None:
    async def main() -> None:
        handler = Streaming()
        stream = await in_process(handler, stream_bytes_max=10).stream(GET)
        handler.open_channel.write(b"x" * 10)
        assert handler.ended_count == 0
        handler.open_channel.write(b"x")
        assert handler.ended_count == 1
        with pytest.raises(TransportError, match="dropped, with 11 bytes unread"):
            await stream.read()

    asyncio.run(main())


def test_closing_a_stream_tells_the_server_once() -> None:
    async def main() -> None:
        handler = Streaming()
        stream = await in_process(handler).stream(GET)
        stream.close()
        stream.close()
        assert handler.ended_count == 1

    asyncio.run(main())


def test_closing_the_transport_ends_streams_and_refuses_more() -> None:
    async def main() -> None:
        handler = Streaming()
        transport = in_process(handler)
        stream = await transport.stream(GET)
        await transport.close()
        with pytest.raises(TransportError, match="the client was closed"):
            await stream.read()
        with pytest.raises(TransportError, match="the client was closed"):
            await transport.request(GET)
        assert handler.ended_count == 1

    asyncio.run(main())


def test_reading_is_given_up_with_the_caller_and_writing_is_not() -> None:
    async def main() -> None:
        ended: list[str] = []
        begun, proceed = asyncio.Event(), asyncio.Event()

        async def handler(request: Request) -> Answer:
            begun.set()
            try:
                await proceed.wait()
            except asyncio.CancelledError:
                ended.append(f"{request.method} cancelled")
                raise
            ended.append(f"{request.method} done")
            return Response(200)

        transport = in_process(handler)
        for method in ("GET", "PUT"):
            begun.clear()
            task = asyncio.ensure_future(transport.request(Call(method, "/x")))
            await begun.wait()
            task.cancel()
            await asyncio.wait([task])
        assert ended == ["GET cancelled"]
        proceed.set()
        await transport.close()
        assert ended == ["GET cancelled", "PUT done"]

    asyncio.run(main())


def test_answers_of_the_wrong_sort_are_errors() -> None:
    async def main() -> None:
        handler = Streaming()
        with pytest.raises(TransportError, match="answered with a stream"):
            await in_process(handler).request(GET)
        assert handler.ended_count == 1

        async def upgrade(request: Request) -> Answer:
            async def serve(socket: WebSocket) -> None:
                pass

            return Upgrade(serve)

        with pytest.raises(TransportError, match="answered with a websocket"):
            await in_process(upgrade).stream(GET)

        async def plain(request: Request) -> Answer:
            return Response(404, (), b"no")

        stream = await in_process(plain).stream(GET)
        assert (stream.status, await stream.read(), await stream.read()) == (404, b"no", b"")
        stream.close()

    asyncio.run(main())


def test_who_asks_again_and_again_lets_others_run() -> None:
    async def main() -> None:
        async def plain(request: Request) -> Answer:
            return Response(200)

        turns: list[str] = []

        async def ask(name: str) -> None:
            for _time in range(3):
                await in_process(plain).request(GET)
                turns.append(name)

        await asyncio.gather(ask("a"), ask("b"))
        assert turns == ["a", "b"] * 3

    asyncio.run(main())
