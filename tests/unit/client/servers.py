"""Servers to ask over sockets: dray's own, and ones that misbehave."""

from __future__ import annotations

import asyncio
import atexit
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path

from dray.clock import SystemClock
from dray.entropy import SeededEntropy
from dray.http.tls import server_context
from dray.server.pki import Authority, KeyPair, write_kubeconfig
from dray.server.server import Server, Settings
from dray.store.memory import MemoryStore

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@cache
def secrets_directory() -> Path:
    """Keys and certificates, made once: they are what takes time."""
    directory = tempfile.TemporaryDirectory(prefix="dray")
    atexit.register(directory.cleanup)
    path = Path(directory.name)
    tokens = path / "tokens.csv"
    tokens.write_text('secret,admin,1,"system:masters"\n')
    tokens.chmod(0o600)
    return path


@asynccontextmanager
async def real_server() -> AsyncIterator[Server]:
    """dray's own, over TLS."""
    store, secrets = MemoryStore(), secrets_directory()
    settings = Settings(secrets=secrets, token_file=secrets / "tokens.csv")
    server = Server(store, settings, SystemClock(), SeededEntropy(1))
    await server.start()
    try:
        yield server
    finally:
        await server.stop(grace_seconds=0)
        await store.close()


def tls_context() -> ssl.SSLContext:
    """For servers on this machine; whoever trusts `authority()` trusts them."""
    files = _authority().server_certificate(["127.0.0.1"])
    return server_context(files.certificate, files.key)


def authority() -> bytes:
    return _authority().certificate


@cache
def _authority() -> Authority:
    return Authority(secrets_directory() / "other", SystemClock(), SeededEntropy(2))


def admin_pair(server: Server) -> KeyPair:
    return server.authority.client_certificate("admin", ["system:masters"])


def kubeconfig_of(server: Server, path: Path) -> Path:
    write_kubeconfig(
        path,
        server=server.url,
        authority=server.authority.certificate,
        credentials=admin_pair(server),
    )
    return path


class Hostile:
    """A server whose every connection is handled by the test; without TLS."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connections_count = 0


@asynccontextmanager
async def hostile(
    serve: Serve, ssl_context: ssl.SSLContext | None = None
) -> AsyncIterator[Hostile]:
    """Closes each connection after `serve` returns."""
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        found.connections_count += 1
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()
            tasks.discard(task)

    listener = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=ssl_context)
    scheme = "https" if ssl_context is not None else "http"
    found = Hostile(f"{scheme}://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
    try:
        yield found
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await listener.wait_closed()
        if tasks:
            await asyncio.wait(tasks)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return head + await reader.readexactly(int(line.split(b":")[1]))
    return head
