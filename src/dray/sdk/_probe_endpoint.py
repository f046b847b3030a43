"""Where a kubelet asks whether a driver is alive and ready, and a scraper how it has been.

`/healthz` and `/livez` ask what a restart would cure, `/readyz` what users depend on, each with one
line per check. A check that does not answer in time has failed. Plain HTTP, for the node's own
network; nothing that is told here is secret, and nothing can be changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import grpc
import grpc.aio

from dray.clock import Clock, within
from dray.errors import ConfigurationError, quote
from dray.http.limits import Limits
from dray.http.listener import Listener
from dray.http.messages import Request, Response
from dray.metrics import CONTENT_TYPE
from dray.proto import dra_v1_pb2, dra_v1_pb2_grpc

__all__ = ["Check", "ProbeEndpoint", "answers_calls", "parse_address"]

# Kubelets wait for one second by default, and checks run side by side.
CHECK_SECONDS: Final = 0.9

STOP_SECONDS: Final = 1.0

# Nobody but a kubelet and a scraper has business here, and neither sends anything.
_LIMITS: Final = Limits(connections_max=64, body_bytes_max=1024, idle_seconds=30.0)

# What is wrong; empty when nothing is. One that waits is given its time.
Check: TypeAlias = Callable[[], str | Awaitable[str]]

_TEXT: Final = (("content-type", "text/plain; charset=utf-8"),)


class ProbeEndpoint:
    """Serves checks and metrics at an address."""

    def __init__(
        self,
        address: str,
        *,
        live: Mapping[str, Check],
        ready: Mapping[str, Check],
        metrics: Callable[[], str],
        clock: Clock,
    ) -> None:
        """Raises ConfigurationError for what is no address. Port 0 is one that is free."""
        host, port = parse_address(address)
        self._live = dict(live)
        self._ready = dict(ready)
        self._metrics = metrics
        self._clock = clock
        self._listener = Listener(self._answer, clock=clock, host=host, port=port, limits=_LIMITS)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listener.port

    async def start(self) -> None:
        """Listen. Raises ConfigurationError when the address cannot be had."""
        await self._listener.start()

    async def stop(self) -> None:
        """Stop listening."""
        await self._listener.stop(STOP_SECONDS)

    async def _answer(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return Response(405, (*_TEXT, ("allow", "GET, HEAD")), b"only GET is answered here\n")
        match request.path:
            case "/metrics":
                headers = (("content-type", CONTENT_TYPE),)
                return Response(200, headers, self._metrics().encode())
            case "/healthz" | "/livez":
                return await self._checked(request.path, self._live)
            case "/readyz":
                return await self._checked(request.path, {**self._live, **self._ready})
            case _:
                return Response(404, _TEXT, b"there are /healthz, /livez, /readyz and /metrics\n")

    async def _checked(self, path: str, checks: Mapping[str, Check]) -> Response:
        problems = await asyncio.gather(*(self._problem(check) for check in checks.values()))
        lines = [
            f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok"
            for name, problem in zip(checks, problems, strict=True)
        ]
        failed = any(problems)
        lines.append(f"{path[1:]} check {'failed' if failed else 'passed'}")
        return Response(503 if failed else 200, _TEXT, ("\n".join(lines) + "\n").encode())

    async def _problem(self, check: Check) -> str:
        answer = check()
        if isinstance(answer, str):
            return answer.replace("\n", " ")
        try:
            return (await within(self._clock, CHECK_SECONDS, answer)).replace("\n", " ")
        except TimeoutError:
            return f"no answer within {CHECK_SECONDS:g} s"


def answers_calls(socket: Path) -> Check:
    """Whether the driver's service answers at its socket: to a call that asks for nothing."""

    async def check() -> str:
        channel = grpc.aio.insecure_channel(f"unix:{socket}")
        try:
            stub = dra_v1_pb2_grpc.DRAPluginStub(channel)
            await stub.NodePrepareResources(dra_v1_pb2.NodePrepareResourcesRequest())
        except grpc.aio.AioRpcError as error:
            return f"{socket}: {error.code().name} {error.details() or ''}".rstrip()
        finally:
            await channel.close()
        return ""

    return check


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port`; without a host, all addresses. Raises ConfigurationError."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise ConfigurationError(
            f"health address {quote(address)}: must be host:port, such as 127.0.0.1:8080"
        )
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if ":" in bare and bare == host:
        raise ConfigurationError(
            f"health address {quote(address)}: an IPv6 address is written in brackets"
        )
    return bare or "0.0.0.0", int(port)  # noqa: S104 - what `:8080` means everywhere
