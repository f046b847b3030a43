"""Asking a container something: a command in it, a request or a connection to it, a call of gRPC.

Probes and hooks both do. Without a host, connections go into the pod's sandbox through the runtime,
which knows the way; with one, and for TLS and gRPC, to the address itself. Every answer is bounded
in time and size. Upstream counterpart: pkg/probe and pkg/kubelet/lifecycle.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import grpc

from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import Runtime, Sandbox, Sink
from dray.api.core import Container
from dray.api.core.parts import ExecAction, GRPCAction, HTTPGetAction, TCPSocketAction
from dray.clock import Clock, within

__all__ = ["Answer", "Checker", "resolve_port"]

# What is shown of an answer; upstream reads as much.
OUTPUT_BYTES_MAX: Final = 10 * 1024
HEAD_BYTES_MAX: Final = 64 * 1024

_USER_AGENT: Final = "kube-probe/1.37"
_HEALTH_CHECK: Final = "/grpc.health.v1.Health/Check"
_SERVING: Final = 1

# What Python raises for hosts that are no names and ports that are no numbers of ports.
_UNUSABLE: Final = (ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether it went well, and what came back."""

    success: bool
    output: str = ""


class Checker:
    """Asks containers of one runtime."""

    def __init__(self, runtime: Runtime, *, clock: Clock) -> None:
        self._runtime = runtime
        self._clock = clock

    async def execute(
        self, container_id: str, action: ExecAction, timeout_seconds: float
    ) -> Answer:
        try:
            result = await self._runtime.execute(
                container_id,
                action.command,
                timeout_seconds=timeout_seconds,
                output_bytes_max=OUTPUT_BYTES_MAX,
            )
        except TimeoutError:
            command = " ".join(action.command)
            return Answer(
                False, f'command timed out: "{command}" timed out after {_go(timeout_seconds)}'
            )
        except RuntimeFailed as error:
            return Answer(False, str(error))
        return Answer(result.exit_code == 0, result.output.decode(errors="replace"))

    async def http_get(
        self, sandbox: Sandbox, container: Container, action: HTTPGetAction, timeout_seconds: float
    ) -> Answer:
        port = resolve_port(container, action.port)
        if port is None:
            return Answer(False, f"couldn't find port: {action.port!r}")
        tls = action.scheme.upper() == "HTTPS"
        host = action.host or _address(sandbox)
        path = action.path if action.path.startswith("/") else f"/{action.path}"
        url = f"{'https' if tls else 'http'}://{host}:{port}{path}"
        headers = {"Host": f"{host}:{port}", "User-Agent": _USER_AGENT, "Accept": "*/*"}
        headers |= {header.name: header.value for header in action.http_headers}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        request = "\r\n".join((*lines, "Connection: close", "", "")).encode()
        try:
            code = await within(
                self._clock,
                timeout_seconds,
                self._request(sandbox, action.host, port, request, tls=tls),
            )
        except TimeoutError:
            return Answer(
                False,
                f'Get "{url}": context deadline exceeded '
                "(Client.Timeout exceeded while awaiting headers)",
            )
        except (OSError, RuntimeFailed, *_UNUSABLE) as error:
            return Answer(False, f'Get "{url}": {error}')
        if 200 <= code < 400:
            return Answer(True)
        return Answer(False, f"HTTP probe failed with statuscode: {code}")

    async def tcp_socket(
        self,
        sandbox: Sandbox,
        container: Container,
        action: TCPSocketAction,
        timeout_seconds: float,
    ) -> Answer:
        port = resolve_port(container, action.port)
        if port is None:
            return Answer(False, f"couldn't find port: {action.port!r}")
        try:
            await within(self._clock, timeout_seconds, self._touch(sandbox, action.host, port))
        except TimeoutError:
            return Answer(False, f"dial tcp {action.host or _address(sandbox)}:{port}: i/o timeout")
        except (OSError, RuntimeFailed, *_UNUSABLE) as error:
            return Answer(False, str(error))
        return Answer(True)

    async def grpc(self, sandbox: Sandbox, action: GRPCAction, timeout_seconds: float) -> Answer:
        target = f"{_address(sandbox)}:{action.port}"
        try:
            status = await within(
                self._clock, timeout_seconds, _health_check(target, action.service or "")
            )
        except TimeoutError:
            return Answer(
                False,
                f'timeout: failed to connect service "{target}" within {_go(timeout_seconds)}',
            )
        except grpc.aio.AioRpcError as error:
            return Answer(False, f'service unhealthy: "{target}": {error.details()}')
        if status == _SERVING:
            return Answer(True)
        return Answer(False, f"service unhealthy (responded with {status})")

    async def _touch(self, sandbox: Sandbox, host: str, port: int) -> None:
        _, sink = await self._connect(sandbox, host, port, tls=False)
        await sink.close()

    async def _request(
        self, sandbox: Sandbox, host: str, port: int, request: bytes, *, tls: bool
    ) -> int:
        """The status code that a request is answered with."""
        pieces, sink = await self._connect(sandbox, host, port, tls=tls)
        try:
            await sink.write(request)
            head = b""
            async for piece in pieces:
                head += piece
                if b"\r\n" in head or len(head) > HEAD_BYTES_MAX:
                    break
            return _status_code(head)
        finally:
            await sink.close()

    async def _connect(
        self, sandbox: Sandbox, host: str, port: int, *, tls: bool
    ) -> tuple[AsyncIterator[bytes], Sink]:
        if not host and not tls:
            return await self._runtime.connect(sandbox.id, port)
        context = None
        if tls:
            # A probe asks whether somebody answers, not who: upstream does not verify either.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(host or _address(sandbox), port, ssl=context)
        return _pieces(reader), _Writer(writer)


def resolve_port(container: Container, port: int | str) -> int | None:
    """A port by its number or by its name among the container's ports."""
    if isinstance(port, int):
        return port
    for known in container.ports:
        if known.name == port:
            return known.container_port
    return int(port) if port.isdecimal() else None


class _Writer:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        # The answer is known: how the other end takes the goodbye is its own affair.
        self._writer.transport.abort()


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await reader.read(HEAD_BYTES_MAX):
        yield piece


async def _health_check(target: str, service: str) -> int:
    """The status that grpc.health.v1 reports; both messages have one field, number 1."""
    name = service.encode()
    # A length below 2^14 takes two bytes at most; names of services are far shorter.
    size = bytes([len(name)]) if len(name) < 128 else bytes([len(name) & 127 | 128, len(name) >> 7])
    request = b"\x0a" + size + name if name else b""
    async with grpc.aio.insecure_channel(target) as channel:
        check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_HEALTH_CHECK)
        answer = await check(request)
    return answer[1] if len(answer) > 1 and answer[0] == 0x08 else 0


def _status_code(head: bytes) -> int:
    words = head.split(b"\r\n", 1)[0].split(b" ")
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise ValueError("malformed HTTP response")
    return int(words[1])


def _address(sandbox: Sandbox) -> str:
    return sandbox.addresses[0] if sandbox.addresses else "127.0.0.1"


def _go(seconds: float) -> str:
    return f"{seconds:g}s"
