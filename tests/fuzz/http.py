"""What must hold of a connection, whatever is sent over it.

    python -m tests.fuzz.http --seconds 60 --seed 1

It ends once the client has said all it has to say. It sends nothing but answers, each as long as it
says; after a refusal it sends no more. The handler sees a request only if llhttp sees the same one
in the same place, so nothing hides in anything. Nothing of it remains. Not a test:
tests/conformance/http/test_fuzz.py brings bytes, and so does running this module.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile

import httptools

from dray.errors import APIError
from dray.http.head import BLOCKS_MAX
from dray.http.limits import Limits
from dray.http.listener import Listener
from dray.http.messages import Answer, Request, Response
from dray.http.service import Service
from dray.http.target import read_target
from dray.testing import FakeClock
from tests.fuzz.requests import cut, hostile
from tests.unit.http.wire import Bench

__all__ = ["LIMITS", "Recorder", "answers_in", "examine", "examine_socket", "main"]

LIMITS = Limits(
    body_bytes_max=2000, request_line_bytes_max=300, head_bytes_max=1000, pipelined_bytes_max=500
)

METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS")

Seen = tuple[str, str, bytes]


class Recorder:
    """A handler that remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    async def __call__(self, request: Request) -> Answer:
        self.seen.append((request.method, request.path, request.body))
        return Response(200, (), b"ok")


class _Llhttp:
    """The complete requests that llhttp finds, up to the first it refuses."""

    def __init__(self, data: bytes) -> None:
        self.seen: list[Seen] = []
        self._url = self._body = b""
        self._parser = httptools.HttpRequestParser(self)
        with suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._url = self._body = b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        method = self._parser.get_method().decode()
        try:
            path, _ = read_target(method, self._url)
        except APIError:
            path = "refused"
        self.seen.append((method, path, self._body))


def answers_in(data: bytes, methods: Sequence[str]) -> list[int]:
    """The statuses of the answers; fails if anything is there that belongs to none."""
    statuses: list[int] = []
    asked = iter(methods)
    while data:
        head, mark, data = data.partition(b"\r\n\r\n")
        assert mark, "the last answer has no end"
        lines = head.decode("ascii").split("\r\n")
        assert lines[0].startswith("HTTP/1.1 ")
        status = int(lines[0].split(" ")[1])
        if status == 100:
            continue
        statuses.append(status)
        fields = dict(line.lower().split(": ", 1) for line in lines[1:])
        length = int(fields["content-length"])
        if next(asked, "") != "HEAD" or status != 200:
            assert len(data) >= length, "the last answer is too short"
            data = data[length:]
    return statuses


async def examine(pieces: Sequence[bytes]) -> None:
    """Everything that can be asked without a socket, however the bytes are cut."""
    recorder = Recorder()
    bench = Bench(recorder, LIMITS)
    for piece in pieces:
        bench.feed(piece)
        await _settle(bench.service)
    if not bench.connection.eof_received():
        bench.transport.close()
    await _settle(bench.service)
    bench.wait(1000)
    assert bench.transport.closed
    bench.connection.connection_lost(None)
    _check(b"".join(pieces), bench.transport.written, recorder.seen)
    _check_nothing_remains(bench.service)


async def examine_socket(pieces: Sequence[bytes]) -> None:
    """The same over a socket: the connection ends though no time passes."""
    recorder = Recorder()
    listener = Listener(recorder, clock=FakeClock(), limits=LIMITS)
    await listener.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    for piece in pieces:
        writer.write(piece)
        await asyncio.sleep(0)
    writer.write_eof()
    written = await reader.read()
    writer.close()
    await writer.wait_closed()
    await listener.stop(1)
    _check(b"".join(pieces), written, recorder.seen)
    assert listener.counters.connections_open == 0


def _check(data: bytes, written: bytes, seen: list[Seen]) -> None:
    statuses = answers_in(written, [method for method, _, _ in seen])
    refused = [status for status in statuses if status != 200]
    assert statuses == [200] * len(seen) + refused
    assert len(refused) <= 1
    assert not refused or refused[0] in (400, 408, 413, 414, 417, 431, 501, 505)
    # A method that llhttp has never heard of is the last thing it reads.
    ours = list(takewhile(lambda request: request[0] in METHODS, seen))
    assert ours == _Llhttp(data).seen[: len(ours)]


def _check_nothing_remains(service: Service) -> None:
    counters = service.counters
    assert not service.connections
    assert not service.tasks
    assert counters.connections_open == counters.requests_in_flight == 0
    assert len(service.heads._blocks) <= BLOCKS_MAX


async def _settle(service: Service) -> None:
    """Let handlers finish, and what they answer be written."""
    await asyncio.sleep(0)
    while service.tasks:
        await asyncio.wait(set(service.tasks))
        await asyncio.sleep(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    until, count = time.monotonic() + options.seconds, 0
    seed = options.seed
    while time.monotonic() < until:
        source = random.Random(seed)
        pieces = cut(source, hostile(source))
        try:
            asyncio.run(examine(pieces) if count % 8 else examine_socket(pieces))
        except BaseException:
            print(f"seed {seed}: {b''.join(pieces)!r}")  # noqa: T201 - what failed, to replay it
            raise
        seed += 1
        count += 1
    print(f"{count} connections from seed {options.seed}")  # noqa: T201 - the result


if __name__ == "__main__":
    main()
