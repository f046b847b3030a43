"""Probes and metrics over a real socket."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from dray.clock import SystemClock
from dray.errors import ConfigurationError
from dray.proto import dra_v1_pb2, dra_v1_pb2_grpc
from dray.sdk._probe_endpoint import Check, ProbeEndpoint, answers_calls, parse_address
from dray.testing import FakeClock


@asynccontextmanager
async def endpoint(
    live: dict[str, Check] | None = None,
    ready: dict[str, Check] | None = None,
    clock: Any = None,
) -> AsyncIterator[ProbeEndpoint]:
    served = ProbeEndpoint(
        "127.0.0.1:0",
        live=live or {},
        ready=ready or {},
        metrics=lambda: "metric 1\n",
        clock=clock or SystemClock(),
    )
    await served.start()
    try:
        yield served
    finally:
        await served.stop()


async def ask(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


def test_checks_are_told_one_by_one() -> None:
    async def body() -> None:
        async def slow_but_fine() -> str:
            return ""

        live: dict[str, Check] = {"loop": lambda: "", "service": slow_but_fine}
        ready: dict[str, Check] = {"slices": lambda: "pool a:\nis not written yet"}
        async with endpoint(live, ready) as served:
            assert await ask(served.port, "/livez") == (
                200,
                "[+]loop ok\n[+]service ok\nlivez check passed\n",
            )
            assert (await ask(served.port, "/healthz"))[0] == 200
            assert await ask(served.port, "/readyz") == (
                503,
                (
                    "[+]loop ok\n[+]service ok\n[-]slices failed: pool a: is not written yet\n"
                    "readyz check failed\n"
                ),
            )

    asyncio.run(body())


def test_metrics_are_served_and_nothing_else() -> None:
    async def body() -> None:
        async with endpoint() as served:
            assert await ask(served.port, "/metrics") == (200, "metric 1\n")
            assert (await ask(served.port, "/secrets"))[0] == 404
            assert (await ask(served.port, "/metrics", "POST"))[0] == 405

    asyncio.run(body())


def test_a_check_that_hangs_has_failed() -> None:
    async def body() -> None:
        clock = FakeClock()
        asked = asyncio.Event()

        async def hang() -> str:
            asked.set()
            await asyncio.Event().wait()
            return ""

        async with endpoint({"service": hang}, clock=clock) as served:
            answer = asyncio.create_task(ask(served.port, "/livez"))
            await asked.wait()
            clock.advance(1)
            status, text = await answer
            assert status == 503
            assert "no answer within 0.9 s" in text

    asyncio.run(body())


@pytest.fixture
def socket() -> Iterator[Path]:
    directory = tempfile.mkdtemp(prefix="dray", dir="/tmp")
    yield Path(directory) / "dra.sock"
    shutil.rmtree(directory)


def test_a_service_that_answers_is_alive_and_one_that_is_gone_is_not(socket: Path) -> None:
    class Plugin(dra_v1_pb2_grpc.DRAPluginServicer):
        async def NodePrepareResources(  # noqa: N802 - the wire's name
            self, request: dra_v1_pb2.NodePrepareResourcesRequest, context: Any
        ) -> dra_v1_pb2.NodePrepareResourcesResponse:
            return dra_v1_pb2.NodePrepareResourcesResponse()

        async def NodeUnprepareResources(  # noqa: N802 - the wire's name
            self, request: dra_v1_pb2.NodeUnprepareResourcesRequest, context: Any
        ) -> dra_v1_pb2.NodeUnprepareResourcesResponse:
            return dra_v1_pb2.NodeUnprepareResourcesResponse()

    async def body() -> None:
        check = answers_calls(socket)
        missing = check()
        assert not isinstance(missing, str)
        assert "UNAVAILABLE" in await missing
        server = grpc.aio.server()
        dra_v1_pb2_grpc.add_DRAPluginServicer_to_server(Plugin(), server)
        server.add_insecure_port(f"unix:{socket}")
        await server.start()
        present = check()
        assert not isinstance(present, str)
        assert await present == ""
        await server.stop(0)

    asyncio.run(body())


@pytest.mark.parametrize(
    ("address", "parsed"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        (":8080", ("0.0.0.0", 8080)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:1", ("localhost", 1)),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, parsed: tuple[str, int]) -> None:
    assert parse_address(address) == parsed


@pytest.mark.parametrize("address", ["", "8080", "host:", "host:http", "host:70000", "::1:80"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="health address"):
        parse_address(address)
