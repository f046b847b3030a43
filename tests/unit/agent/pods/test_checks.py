"""Asking a container something, over real sockets where there are any."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from dray.agent.pods.checks import Answer, Checker, resolve_port
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import ExecResult, PodIdentity, Sandbox, Sink
from dray.api.core import Container, ContainerPort
from dray.api.core.parts import ExecAction, GRPCAction, HTTPGetAction, HTTPHeader, TCPSocketAction
from dray.clock import SystemClock
from dray.testing import FakeClock

BOX = Sandbox(
    "box",
    PodIdentity("d", "p", "u"),
    0,
    ready=True,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    addresses=("127.0.0.1",),
)
MAIN = Container(name="main", ports=(ContainerPort(name="web", container_port=80),))


class FakeRuntime:
    """Answers what it is told to."""

    def __init__(self) -> None:
        self.output = ExecResult(0, b"")
        self.failure: Exception | None = None
        self.response: bytes | None = b""
        self.written = b""
        self.port = 0

    async def execute(
        self, container_id: str, command: Sequence[str], **options: Any
    ) -> ExecResult:
        if self.failure is not None:
            raise self.failure
        return self.output

    async def connect(self, sandbox_id: str, port: int) -> tuple[AsyncIterator[bytes], Sink]:
        self.port = port
        if self.failure is not None:
            raise self.failure
        return self._pieces(), self

    async def write(self, data: bytes) -> None:
        self.written += data

    async def close(self) -> None:
        pass

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self.response is None:
            await asyncio.Event().wait()
        for byte in self.response or b"":
            yield bytes([byte])

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nobody needs {name}")


def ask(runtime: FakeRuntime, question: Callable[[Checker], Awaitable[Answer]]) -> Answer:
    async def run() -> Answer:
        clock = FakeClock()
        answer = asyncio.ensure_future(question(Checker(runtime, clock=clock)))
        for _ in range(500):
            await asyncio.sleep(0)
            if answer.done():
                return await answer
        clock.advance(1)
        return await answer

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("code", "success"), [(200, True), (204, True), (302, True), (404, False), (500, False)]
)
def test_a_request_is_judged_by_its_code(code: int, success: bool) -> None:
    runtime = FakeRuntime()
    runtime.response = f"HTTP/1.1 {code} Some\r\n\r\n".encode()
    action = HTTPGetAction(
        path="healthz", port="web", http_headers=(HTTPHeader(name="X-A", value="b"),)
    )
    answer = ask(runtime, lambda checker: checker.http_get(BOX, MAIN, action, 1))
    assert answer.success is success
    assert success or answer.output == f"HTTP probe failed with statuscode: {code}"
    assert runtime.port == 80
    assert runtime.written.startswith(b"GET /healthz HTTP/1.1\r\n")
    assert b"\r\nX-A: b\r\n" in runtime.written


@pytest.mark.parametrize(
    ("response", "failure", "text"),
    [
        (b"nonsense\r\n", None, "malformed HTTP response"),
        (b"", None, "malformed HTTP response"),
        (None, None, "context deadline exceeded"),
        (b"", RuntimeFailed("refused", reason=""), "refused"),
    ],
)
def test_a_request_that_is_not_answered_fails(
    response: bytes | None, failure: Exception | None, text: str
) -> None:
    runtime = FakeRuntime()
    runtime.response, runtime.failure = response, failure
    action = HTTPGetAction(path="/", port=80)
    answer = ask(runtime, lambda checker: checker.http_get(BOX, MAIN, action, 1))
    assert not answer.success
    assert answer.output.startswith('Get "http://127.0.0.1:80/": ')
    assert text in answer.output


def test_a_command_is_judged_by_its_exit_code() -> None:
    runtime, action = FakeRuntime(), ExecAction(command=("check", "it"))
    runtime.output = ExecResult(1, b"not well")
    assert ask(runtime, lambda checker: checker.execute("id", action, 1)) == Answer(
        False, "not well"
    )
    runtime.failure = TimeoutError()
    late = ask(runtime, lambda checker: checker.execute("id", action, 1))
    assert late == Answer(False, 'command timed out: "check it" timed out after 1s')


def test_a_port_that_nobody_has_fails() -> None:
    runtime = FakeRuntime()
    action = TCPSocketAction(port="nobody")
    answer = ask(runtime, lambda checker: checker.tcp_socket(BOX, MAIN, action, 1))
    assert answer == Answer(False, "couldn't find port: 'nobody'")
    assert resolve_port(MAIN, "8080") == 8080
    assert resolve_port(MAIN, 9) == 9


def test_a_host_is_connected_to_directly() -> None:
    async def run() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        checker = Checker(FakeRuntime(), clock=SystemClock())
        action = TCPSocketAction(host="127.0.0.1", port=port)
        assert (await checker.tcp_socket(BOX, MAIN, action, 5)).success
        server.close()
        await server.wait_closed()
        assert not (await checker.tcp_socket(BOX, MAIN, action, 5)).success

    asyncio.run(run())


@pytest.mark.parametrize(("host", "port"), [("a..b", "80"), ("127.0.0.1", "99999")])
def test_nobody_can_be_asked_where_nobody_can_be(host: str, port: str) -> None:
    async def run() -> None:
        checker = Checker(FakeRuntime(), clock=SystemClock())
        connection = TCPSocketAction(host=host, port=port)
        assert not (await checker.tcp_socket(BOX, MAIN, connection, 5)).success
        request = HTTPGetAction(host=host, port=port)
        assert not (await checker.http_get(BOX, MAIN, request, 5)).success

    asyncio.run(run())


@pytest.mark.parametrize(("status", "success"), [(1, True), (2, False)])
def test_a_service_is_asked_for_its_health(status: int, success: bool) -> None:
    async def run() -> None:
        asked: list[bytes] = []

        async def check(request: bytes, context: Any) -> bytes:
            asked.append(request)
            return bytes([0x08, status])

        handler = grpc.method_handlers_generic_handler(
            "grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(check)}
        )
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((handler,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        checker = Checker(FakeRuntime(), clock=SystemClock())
        answer = await checker.grpc(BOX, GRPCAction(port=port, service="db"), 5)
        assert answer.success is success
        assert asked == [b"\x0a\x02db"]
        await server.stop(None)

    asyncio.run(run())
