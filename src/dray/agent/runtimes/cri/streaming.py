"""Sessions and connections over the streams that a runtime serves at an URL.

Five streams at most: error, stdin, stdout, stderr, resize. How a command ended comes as a Status
on the error stream. Upstream counterparts: client-go tools/{remotecommand,portforward}.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from dray.agent.runtimes.cri.spdy import SPDYConnection, open_spdy
from dray.agent.runtimes.failures import RUN_CONTAINER_ERROR, RuntimeFailed
from dray.agent.runtimes.runtime import SessionConfig
from dray.clock import Clock, within
from dray.errors import TransportError

__all__ = ["StreamedPort", "StreamedSession", "open_port", "open_streams"]

SESSION_PROTOCOL: Final = "v4.channel.k8s.io"
PORT_PROTOCOL: Final = "portforward.k8s.io"
CONNECT_FAILED: Final = "PortForwardFailed"

# How long a runtime may take to answer at its URL, on this machine.
OPEN_SECONDS: Final = 10.0
# Inside a pod a port that nobody listens on refuses at once; who says nothing for so long, listens.
REFUSAL_SECONDS: Final = 0.25

# What waits to be read by somebody who waits for the end first.
BUFFER_BYTES_MAX: Final = 1024 * 1024
STATUS_BYTES_MAX: Final = 64 * 1024

ExitCode = Callable[[], Awaitable[int]]


class StreamedSession:
    """The streams of a process inside a container."""

    def __init__(self, connection: SPDYConnection, config: SessionConfig, exit_code: ExitCode):
        """`exit_code` is asked when the streams end well and say no code."""
        self._connection = connection
        self._exit_code = exit_code

        def stream(kind: str) -> int:
            return connection.open_stream({"streamtype": kind})

        self._errors = stream("error")
        self._stdin = stream("stdin") if config.stdin else 0
        self._outputs: dict[int, int] = {}
        if config.stdout:
            self._outputs[stream("stdout")] = 1
        if config.stderr and not config.tty:
            self._outputs[stream("stderr")] = 2
        self._resizes = stream("resize") if config.tty else 0
        self._open = {self._errors, *self._outputs}
        self._pieces: deque[tuple[int, bytes]] = deque()
        self._buffered_bytes = 0
        self._room = asyncio.Event()
        self._status = b""
        self._ended = False
        self._pulling = asyncio.Lock()

    async def read(self) -> tuple[int, bytes]:
        while not self._pieces:
            if self._ended:
                return 0, b""
            await self._pull()
        number, data = self._pieces.popleft()
        self._buffered_bytes -= len(data)
        self._room.set()
        return number, data

    async def write(self, data: bytes) -> None:
        if not self._stdin:
            return
        # What has ended takes no more, and its end is told by reading.
        with suppress(TransportError):
            if data:
                await self._connection.write(self._stdin, data)
            else:
                await self._connection.finish(self._stdin)
                self._stdin = 0

    def resize(self, width: int, height: int) -> None:
        if self._resizes:
            size = json.dumps({"Width": width, "Height": height})
            self._connection.write_now(self._resizes, size.encode())

    async def wait(self) -> int:
        while not self._ended:
            if self._buffered_bytes > BUFFER_BYTES_MAX:
                self._room.clear()
                await self._room.wait()
            else:
                await self._pull()
        code = _exit_code(self._status)
        return await self._exit_code() if code is None else code

    async def close(self) -> None:
        self._ended = True
        self._room.set()
        await self._connection.close()

    async def _pull(self) -> None:
        """Take one piece more, unless somebody else just did."""
        had = len(self._pieces)
        async with self._pulling:
            if self._ended or len(self._pieces) > had:
                return
            try:
                piece = await self._connection.read()
            except TransportError:
                self._ended = True
                return
            if piece.stream == self._errors:
                self._status = (self._status + piece.data)[:STATUS_BYTES_MAX]
            elif piece.stream in self._outputs and piece.data:
                self._pieces.append((self._outputs[piece.stream], piece.data))
                self._buffered_bytes += len(piece.data)
            if piece.last:
                self._open.discard(piece.stream)
            if piece.stream == 0 or not self._open:
                self._ended = True


class StreamedPort:
    """A connection to a port inside a pod: what comes out of it, and its writing end."""

    def __init__(self, connection: SPDYConnection, port: int) -> None:
        self._connection = connection
        self._port = port
        common = {"port": str(port), "requestid": "0"}
        self._errors = connection.open_stream({"streamtype": "error", **common})
        self._data = connection.open_stream({"streamtype": "data", **common})
        self._first: deque[bytes] = deque()
        self._failure = b""
        self._ended = False

    async def settle(self, clock: Clock) -> None:
        """Find out whether anybody listens. Raises RuntimeFailed."""
        with suppress(TimeoutError):
            await within(clock, REFUSAL_SECONDS, self._pull())
        if self._failure:
            raise self._failed()

    async def pieces(self) -> AsyncIterator[bytes]:
        """What comes out. Raises RuntimeFailed when the connection breaks."""
        while True:
            while self._first:
                yield self._first.popleft()
            if self._ended:
                break
            await self._pull()
        if self._failure:
            raise self._failed()

    async def write(self, data: bytes) -> None:
        with suppress(TransportError):
            await self._connection.write(self._data, data)

    async def close(self) -> None:
        await self._connection.close()

    async def _pull(self) -> None:
        """Read until there is something for somebody."""
        while not self._first and not self._ended:
            try:
                piece = await self._connection.read()
            except TransportError as error:
                self._failure, self._ended = str(error).encode(), True
                return
            if piece.stream == self._errors:
                self._failure = (self._failure + piece.data)[:STATUS_BYTES_MAX]
                # The text comes in one piece, and after it nothing.
                self._ended = bool(self._failure)
            elif piece.stream == self._data and piece.data:
                self._first.append(piece.data)
            if piece.stream == 0:
                self._ended = True
            elif piece.last and piece.stream == self._data:
                await self._hear_why()

    async def _hear_why(self) -> None:
        """Once a port has closed, the reason may follow."""
        while not self._ended:
            try:
                piece = await self._connection.read()
            except TransportError:
                break
            if piece.stream == self._errors:
                self._failure = (self._failure + piece.data)[:STATUS_BYTES_MAX]
            if piece.stream in (0, self._errors):
                break
        self._ended = True

    def _failed(self) -> RuntimeFailed:
        return RuntimeFailed(self._failure.decode("utf-8", "replace"), reason=CONNECT_FAILED)


async def open_streams(
    url: str, config: SessionConfig, exit_code: ExitCode, *, clock: Clock
) -> StreamedSession:
    """Streams of a command or a container, at the URL of Exec or Attach. Raises RuntimeFailed."""
    connection = await _open(url, SESSION_PROTOCOL, clock)
    if connection.protocol != SESSION_PROTOCOL:
        await connection.close()
        raise RuntimeFailed(
            f"the runtime streams {connection.protocol or 'nothing that has a name'}, "
            f"not {SESSION_PROTOCOL}",
            reason=RUN_CONTAINER_ERROR,
        )
    try:
        return StreamedSession(connection, config, exit_code)
    except TransportError as error:
        await connection.close()
        raise RuntimeFailed(str(error), reason=RUN_CONTAINER_ERROR) from error


async def open_port(url: str, port: int, *, clock: Clock) -> StreamedPort:
    """A port inside a pod, at the URL of PortForward. Raises RuntimeFailed."""
    connection = await _open(url, PORT_PROTOCOL, clock)
    settled = False
    try:
        opened = StreamedPort(connection, port)
        await opened.settle(clock)
        settled = True
    except TransportError as error:
        raise RuntimeFailed(str(error), reason=CONNECT_FAILED) from error
    finally:
        if not settled:
            await connection.close()
    return opened


async def _open(url: str, protocol: str, clock: Clock) -> SPDYConnection:
    try:
        return await within(clock, OPEN_SECONDS, open_spdy(url, protocol))
    except TimeoutError as error:
        raise RuntimeFailed(
            f"the runtime's streams did not answer within {OPEN_SECONDS:g} s",
            reason=RUN_CONTAINER_ERROR,
        ) from error
    except TransportError as error:
        raise RuntimeFailed(str(error), reason=RUN_CONTAINER_ERROR) from error


def _exit_code(data: bytes) -> int | None:
    """The code that a Status tells, or None if all went well. Raises RuntimeFailed."""
    try:
        status: Any = json.loads(data)
    except ValueError:
        status = None
    if not isinstance(status, dict):
        raise RuntimeFailed(
            "the streams broke before anybody said how it ended", reason=RUN_CONTAINER_ERROR
        )
    if status.get("status") == "Success":
        return None
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            code = str(cause.get("message", ""))
            if code.isascii() and code.isdecimal():
                return int(code)
    raise RuntimeFailed(str(status.get("message") or status), reason=RUN_CONTAINER_ERROR)
