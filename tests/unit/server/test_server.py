from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dray.api.core import Pod
from dray.entropy import SeededEntropy
from dray.server.pki import load_pair
from dray.server.server import Server, Settings
from dray.server.user import SYSTEM_MASTERS
from dray.store.memory import MemoryStore
from dray.testing import FakeClock
from tests.unit.server.harness import PODS, Api, pod, served


@asynccontextmanager
async def listening(secrets: Path, **settings: Any) -> AsyncIterator[Server]:
    server = Server(
        MemoryStore(), Settings(secrets=secrets, **settings), FakeClock(), SeededEntropy(1)
    )
    await server.start()
    try:
        yield server
    finally:
        await server.stop(0)


@asynccontextmanager
async def asked(server: Server, path: str) -> AsyncIterator[tuple[asyncio.StreamReader, bytes]]:
    """A request of the administrator over TLS, and the head of its answer."""
    # The clock of the server stands still, so what it signs may be out of date by ours.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    load_pair(context, server.authority.client_certificate("admin", [SYSTEM_MASTERS]))
    host, _, port = server.url.removeprefix("https://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context, server_hostname="")
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        yield reader, await reader.readuntil(b"\r\n\r\n")
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.slow
def test_a_server_listens_where_its_url_says_and_is_ready(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path) as server:
            assert server.url.startswith("https://127.0.0.1:")
            async with asked(server, "/readyz") as (reader, head):
                assert head.startswith(b"HTTP/1.1 200")
                assert await reader.read() == b"ok"

    asyncio.run(main())


@pytest.mark.slow
def test_a_server_that_stops_ends_watches_so_that_clients_see_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path) as server:
            path = "/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Ddefault"
            async with asked(server, path) as (reader, head):
                assert b"chunked" in head
                assert b'"ADDED"' in await reader.readuntil(b"\n\r\n")
                await server.stop(0)
                assert await reader.read() == b"0\r\n\r\n"

    asyncio.run(main())


@served()
async def test_a_server_that_has_not_started_is_not_ready(api: Api) -> None:
    reply = await api.get("/readyz")
    assert reply.status == 500
    assert "the server is starting" in reply.text
    assert (await api.get("/livez")).text == "ok"


@served()
async def test_stopping_ends_watches(api: Api) -> None:
    watch = await api.watch(f"{PODS}?watch=1")
    await api.server.stop()
    assert watch.wire.closed
    assert not watch.wire.aborted


@served()
async def test_a_server_that_stopped_hears_nothing_more_of_its_store(api: Api) -> None:
    state = api.server.services.state
    before = state.revision(Pod)
    await api.server.stop()
    await api.store.put("core/pods/default/p", b"{}")
    assert state.revision(Pod) == before


@served()
async def test_nodes_hear_of_pods_that_come(api: Api) -> None:
    secrets = "/api/v1/namespaces/default/secrets"
    await api.made(secrets, {"metadata": {"name": "s"}})
    volumes = [{"name": "v", "secret": {"secretName": "s"}}]
    who = {"impersonate-user": "system:node:n", "impersonate-group": "system:nodes"}
    before = await api.get(f"{secrets}/s", who)
    await api.made(PODS, pod("p", node="n", volumes=volumes))
    after = await api.get(f"{secrets}/s", who)
    assert (before.status, after.status) == (403, 200)


@pytest.mark.slow
def test_a_server_answers_for_other_parts_of_its_process(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path) as server:
            server.add_component("scheduler", lambda: "not yet", lambda: b"scheduled_total 3\n")
            async with asked(server, "/readyz") as (reader, head):
                assert head.startswith(b"HTTP/1.1 500")
                assert b"[-]scheduler failed: not yet" in await reader.read()
            async with asked(server, "/metrics") as (reader, _head):
                page = await reader.read()
                assert b"apiserver_request_total" in page
                assert b"\nscheduled_total 3\n" in page

    asyncio.run(main())
