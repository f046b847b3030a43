"""HTTP over sockets: a real server, and servers that misbehave in every way we know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path

import pytest
import uvloop

from dray.api.core import ConfigMap, Namespace
from dray.api.meta import ObjectMeta
from dray.client import Call, Client, EventType, HTTPTransport, Trust
from dray.client._credentials import FixedCredentials, TokenFile, bearer
from dray.client._http import IDLE_SECONDS, WRITTEN_MAX
from dray.clock import SystemClock
from dray.errors import ConfigurationError, TransportError, Unauthorized
from dray.server.server import Server
from dray.testing import FakeClock

from .servers import Serve, admin_pair, authority, hostile, read_request, real_server, tls_context

GET = Call("GET", "/api/v1/pods")
POST = Call("POST", "/api/v1/pods", body=b"{}")
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\n"
    b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
)


@pytest.fixture(autouse=True, params=["asyncio", "uvloop"])
def _loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test in both loops: their transports differ in what they do when."""
    if request.param == "uvloop":
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    yield
    asyncio.set_event_loop_policy(None)


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Client]:
    trust = Trust(authority=server.authority.certificate)
    credentials = FixedCredentials(bearer("secret"))
    transport = HTTPTransport(server.url, clock=SystemClock(), trust=trust, credentials=credentials)
    client = Client(transport, clock=SystemClock())
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def transport_to(url: str, clock: FakeClock | None = None) -> AsyncIterator[HTTPTransport]:
    transport = HTTPTransport(url, clock=clock or FakeClock())
    try:
        yield transport
    finally:
        await transport.close()


async def streamed(transport: HTTPTransport) -> bytes:
    stream = await transport.stream(GET)
    parts = []
    try:
        while part := await stream.read():
            parts.append(part)
    finally:
        stream.close()
    return b"".join(parts)


# A real server ---------------------------------------------------------------------------------


def test_objects_and_watches_travel_over_tls() -> None:
    async def main() -> None:
        async with real_server() as server, connected(server) as client:
            made = await client.create(
                ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"x": "ü"})
            )
            assert await client.get(ConfigMap, "a", namespace="default") == made
            version = made.metadata.resource_version
            async with aclosing(client.watch(ConfigMap, resource_version=version)) as watch:
                await client.delete(ConfigMap, "a", namespace="default")
                event = await anext(watch)
                assert (event.type, event.object.data) == (EventType.DELETED, {"x": "ü"})

    asyncio.run(main())


@pytest.mark.slow
def test_many_requests_share_few_connections() -> None:
    async def main() -> None:
        async with real_server() as server:
            transport = HTTPTransport(
                server.url,
                clock=SystemClock(),
                trust=Trust(authority=server.authority.certificate),
                credentials=FixedCredentials(bearer("secret")),
                connections_max=4,
            )
            client = Client(transport, clock=SystemClock())
            names = [f"c{number}" for number in range(100)]
            await asyncio.gather(
                *(
                    client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
                    for name in names
                )
            )
            found = await client.list(ConfigMap, namespace="default", page_size=7)
            assert {each.metadata.name for each in found.items} >= set(names)
            assert len(transport._open) <= 4
            await client.close()
            assert not transport._open

    asyncio.run(main())


def test_a_client_certificate_says_who_asks(tmp_path: Path) -> None:
    async def main() -> None:
        async with real_server() as server:
            pair = admin_pair(server)
            files = tmp_path / "client.crt", tmp_path / "client.key"
            files[0].write_bytes(pair.certificate)
            files[1].write_bytes(pair.key)
            for trust in (
                Trust(authority=server.authority.certificate, certificate_files=files),
                Trust(insecure=True, certificate=(pair.certificate, pair.key)),
            ):
                transport = HTTPTransport(server.url, clock=SystemClock(), trust=trust)
                client = Client(transport, clock=SystemClock())
                assert (await client.get(Namespace, "default")).metadata.name == "default"
                await client.close()

    asyncio.run(main())


def test_a_server_that_the_authority_did_not_sign_is_not_talked_to() -> None:
    async def main() -> None:
        async with real_server() as server:
            transport = HTTPTransport(server.url, clock=SystemClock())
            with pytest.raises(TransportError, match=r"cannot connect to 127.0.0.1:.*certificate"):
                await transport.request(GET)
            trust = Trust(authority=server.authority.certificate, server_name="elsewhere.example")
            named = HTTPTransport(server.url, clock=SystemClock(), trust=trust)
            with pytest.raises(TransportError, match=r"elsewhere.example"):
                await named.request(GET)
            await transport.close()
            await named.close()

    asyncio.run(main())


def test_a_token_that_was_renewed_is_read_again_when_it_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / "token"
        file.write_text("wrong\n")
        async with real_server() as server:
            transport = HTTPTransport(
                server.url,
                clock=SystemClock(),
                trust=Trust(authority=server.authority.certificate),
                credentials=TokenFile(file),
            )
            client = Client(transport, clock=SystemClock())
            with pytest.raises(Unauthorized):
                await client.get(Namespace, "default")
            file.write_text("secret\n")
            assert (await client.get(Namespace, "default")).metadata.name == "default"
            await client.close()

    asyncio.run(main())


def test_a_server_that_stops_ends_a_watch() -> None:
    async def main() -> None:
        async with real_server() as server, connected(server) as client:
            watch = client.watch(Namespace)
            await anext(watch)
            await server.stop(grace_seconds=0)
            names = [event.object.metadata.name async for event in watch]
            assert "kube-system" in names

    asyncio.run(main())


# Servers that misbehave ------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [OK, CHUNKED], ids=["sized", "chunked"])
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
def test_an_answer_cut_at_any_byte_is_an_error(answer: bytes, streaming: bool) -> None:
    async def main() -> None:
        sizes = list(range(len(answer)))

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(answer[: sizes.pop(0)])
            await writer.drain()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            while sizes:
                with pytest.raises(TransportError, match=r"GET /api/v1/pods: .*closed the conn"):
                    await (streamed(transport) if streaming else transport.request(GET))
            assert not transport._idle
            assert not transport._streams_count

    asyncio.run(main())


@pytest.mark.slow
def test_an_answer_cut_at_any_byte_within_tls_is_an_error() -> None:
    async def main() -> None:
        sizes = list(range(len(CHUNKED)))

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            size = sizes.pop(0)
            if size:
                writer.write(CHUNKED[:size])
                await writer.drain()
            if size % 2:
                writer.transport.abort()  # without a word, as a cable that was pulled

        trust = Trust(authority=authority())
        async with hostile(serve, tls_context()) as server:
            transport = HTTPTransport(server.url, clock=FakeClock(), trust=trust)
            while sizes:
                with pytest.raises(TransportError, match=r"GET /api/v1/pods: "):
                    await (streamed(transport) if len(sizes) % 3 else transport.request(GET))
            await transport.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28"]
)
def test_a_server_that_cannot_speak_tls_is_an_error(answer: bytes) -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(answer)
            await writer.drain()

        async with hostile(serve) as server:
            url = server.url.replace("http:", "https:")
            transport = HTTPTransport(url, clock=FakeClock())
            with pytest.raises(TransportError, match=r"cannot connect to 127\.0\.0\.1"):
                await transport.request(GET)
            await transport.close()

    asyncio.run(main())


def test_a_chunked_answer_is_whole_however_it_is_cut_up() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                await read_request(reader)
                for position in range(len(CHUNKED)):
                    writer.write(CHUNKED[position : position + 1])
                    await writer.drain()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            reply = await transport.request(GET)
            assert (reply.status, reply.body) == (200, b"hello world")
            assert reply.headers["content-type"] == "application/json"
            assert await streamed(transport) == b"hello world"
            assert server.connections_count == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"\x16\x03\x01 what is this\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "not HTTP"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
            "not HTTP",
        ),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "proto"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000, "head of the answer has more than"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 4000, "head of the answer has more than"),
        (b"", "before it answered"),
    ],
    ids=[
        "garbage",
        "bad-length",
        "bad-chunk",
        "two-lengths",
        "upgrade",
        "endless-head",
        "endless-continue",
        "nothing",
    ],
)
def test_what_is_no_answer_is_an_error_that_says_so(answer: bytes, complaint: str) -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(answer)
            await writer.drain()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            with pytest.raises(TransportError, match=complaint):
                await transport.request(GET)

    asyncio.run(main())


def test_an_interim_answer_is_not_the_answer() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK)
            await writer.drain()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            reply = await transport.request(GET)
            assert (reply.status, reply.body, "link" in reply.headers) == (200, b"{}", False)

    asyncio.run(main())


def test_more_than_the_answer_is_never_taken_for_the_next_one() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                await read_request(reader)
                writer.write(OK + OK.replace(b"200 OK", b"500 Oh").replace(b"{}", b"!!"))
                await writer.drain()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            for _request in range(3):
                reply = await transport.request(GET)
                assert (reply.status, reply.body) == (200, b"{}")
            assert server.connections_count == 3

    asyncio.run(main())


def test_a_stream_that_was_closed_unread_leaves_nothing_to_the_next_answer() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            answers = iter((OK.replace(b"200 OK", b"429 No").replace(b"{}", b"!!"), OK))
            while True:
                await read_request(reader)
                writer.write(next(answers) if server.connections_count == 1 else OK)
                await writer.drain()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            stream = await transport.stream(GET)
            assert stream.status == 429  # in one piece with its body
            stream.close()
            assert (await transport.request(GET)).body == b"{}"
            assert server.connections_count == 2

    asyncio.run(main())


def test_an_answer_may_end_with_the_connection() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nthe end")

        async with hostile(serve) as server, transport_to(server.url) as transport:
            assert (await transport.request(GET)).body == b"the end"

    asyncio.run(main())


def stale_after_one() -> tuple[list[bytes], Serve]:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await read_request(reader))
        writer.write(OK)
        heard.append(await read_request(reader))  # and closes without a word

    return heard, serve


def test_a_reading_request_on_a_stale_connection_is_sent_once_more() -> None:
    async def main() -> None:
        heard, serve = stale_after_one()
        async with hostile(serve) as server, transport_to(server.url) as transport:
            assert (await transport.request(GET)).status == 200
            assert (await transport.request(GET)).status == 200
            assert (server.connections_count, len(heard)) == (2, 3)

    asyncio.run(main())


def test_a_writing_request_is_never_sent_twice() -> None:
    async def main() -> None:
        heard, serve = stale_after_one()
        async with hostile(serve) as server, transport_to(server.url) as transport:
            assert (await transport.request(GET)).status == 200
            with pytest.raises(TransportError, match=r"POST /api/v1/pods: .*before it answered"):
                await transport.request(POST)
            assert (server.connections_count, len(heard)) == (1, 2)

    asyncio.run(main())


def test_a_connection_that_nobody_used_for_long_is_not_used_again() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                await read_request(reader)
                writer.write(OK)

        clock = FakeClock()
        async with hostile(serve) as server, transport_to(server.url, clock) as transport:
            await transport.request(GET)
            await transport.request(GET)
            assert server.connections_count == 1
            clock.advance(IDLE_SECONDS + 1)
            await transport.request(GET)
            assert server.connections_count == 2

    asyncio.run(main())


def test_a_server_that_does_not_answer_is_given_up_by_the_clock() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            asked.set()
            await reader.read()

        clock = FakeClock()
        async with hostile(serve) as server, transport_to(server.url, clock) as transport:
            task = asyncio.create_task(transport.request(GET))
            await asked.wait()
            clock.advance(70)
            with pytest.raises(TransportError, match="not answered within 65 s"):
                await task
            assert task.cancelling() == 0

    asyncio.run(main())


def test_a_silent_stream_is_fine_and_its_head_is_not_waited_for_for_ever() -> None:
    async def main() -> None:
        go_on = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(CHUNKED[: CHUNKED.index(b"5\r\n")])
            await go_on.wait()
            writer.write(CHUNKED[CHUNKED.index(b"5\r\n") :])
            await writer.drain()

        clock = FakeClock()
        async with hostile(serve) as server, transport_to(server.url, clock) as transport:
            stream = await transport.stream(GET)
            clock.advance(10_000)
            await asyncio.sleep(0)
            go_on.set()
            assert await stream.read() in (b"hello", b"hello world")
            stream.close()
            stream.close()
            with pytest.raises(TransportError, match="was closed"):
                await stream.read()

    asyncio.run(main())


def test_a_cancelled_request_lets_go_of_its_connection() -> None:
    async def main() -> None:
        asked, gone = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            asked.set()
            await reader.read()
            gone.set()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            task = asyncio.create_task(transport.request(GET))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await gone.wait()

    asyncio.run(main())


def test_a_stream_that_nobody_reads_makes_the_server_wait() -> None:
    async def main() -> None:
        sent: list[int] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            chunk = b"%x\r\n%b\r\n" % (256 * 1024, b"x" * (256 * 1024))
            for count in range(200):
                writer.write(chunk)
                await writer.drain()
                sent.append(count)
            writer.write(b"0\r\n\r\n")
            await writer.drain()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            stream = await transport.stream(GET)
            for _turn in range(3000):  # more than all of it would take
                await asyncio.sleep(0)
            assert stream.connection._unread_bytes < 3 * 1024 * 1024  # type: ignore[attr-defined]  # looks inside
            assert len(sent) < 200
            size = 0
            while part := await stream.read():
                size += len(part)
            assert size == 200 * 256 * 1024
            stream.close()

    asyncio.run(main())


def test_closing_ends_what_is_under_way() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            asked.set()
            await reader.read()

        async with hostile(serve) as server, transport_to(server.url) as transport:
            task = asyncio.create_task(transport.request(GET))
            await asked.wait()
            await transport.close()
            with pytest.raises(TransportError, match="gave it up"):
                await task
            with pytest.raises(TransportError, match="the client was closed"):
                await transport.request(GET)

    asyncio.run(main())


def test_nobody_listening_is_an_error_that_says_where() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            pass

        async with hostile(serve) as server:
            url = server.url
        async with transport_to(url) as transport:
            with pytest.raises(TransportError, match=r"cannot connect to 127\.0\.0\.1:\d+"):
                await transport.request(GET)

    asyncio.run(main())


def test_a_request_is_written_as_servers_read_it() -> None:
    async def main() -> None:
        heard: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append(await read_request(reader))
            writer.write(OK)

        async with hostile(serve) as server, transport_to(f"{server.url}/base/") as transport:
            call = Call(
                "PATCH",
                "/api/v1/nodes/a b",
                (("labelSelector", "a=b,c in (d)"),),
                (("content-type", "application/json"),),
                json.dumps({"ü": 1}).encode(),
            )
            await transport.request(call)
            assert heard[0].startswith(
                b"PATCH /base/api/v1/nodes/a%20b?labelSelector=a%3Db%2Cc%20in%20%28d%29 "
                b"HTTP/1.1\r\nhost: 127.0.0.1:"
            )
            assert heard[0].endswith(b'content-length: 13\r\n\r\n{"\\u00fc": 1}')
            with pytest.raises(TransportError, match="line break"):
                await transport.request(Call("GET", "/", headers=(("x", "a\r\nb: c"),)))

    asyncio.run(main())


def test_every_request_has_its_own_query_and_headers_however_many_there_were() -> None:
    """They are remembered as they are written, up to a limit."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # the client is through
            while True:
                heads.append(await read_request(reader))
                writer.write(OK)

    async def main() -> None:
        async with hostile(serve) as server, transport_to(server.url) as transport:
            for number in [*range(WRITTEN_MAX + 2), 0]:
                query, headers = (("q", f"{number}"),), (("x-number", f"{number}"),)
                await transport.request(Call("GET", "/", query, headers))

    asyncio.run(main())
    for head, number in zip(heads, [*range(WRITTEN_MAX + 2), 0], strict=True):
        assert head.startswith(f"GET /?q={number} HTTP/1.1\r\nhost: ".encode())
        assert head.endswith(f"x-number: {number}\r\n\r\n".encode())


@pytest.mark.parametrize(
    "url", ["ftp://a", "https://", "https://a:port", "https://a?b=c", "nonsense"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="server"):
        HTTPTransport(url, clock=FakeClock())
