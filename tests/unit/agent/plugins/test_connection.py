"""The wire to one instance: who answers, what their answers mean, and when nobody is there."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import grpc
import pytest

from dray.agent.plugins import connection as connection_module
from dray.agent.plugins.connection import Connection
from dray.agent.plugins.failures import RefusedCall
from dray.agent.plugins.plugin import HealthUnsupported, PluginService
from dray.agent.plugins.services import Services
from dray.errors import TransportError
from dray.proto.dra_v1_pb2 import (
    Claim,
    NodePrepareResourcesRequest,
    NodeUnprepareResourcesRequest,
)
from tests.unit.agent.plugins.drivers import DRIVER, Context, TestDriver, scenario

V1 = Services("v1.DRAPlugin", "v1.DRAResourceHealth")
OLD = Services("v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth")
CLAIM = Claim(namespace="default", name="c", uid="1")
PREPARE = NodePrepareResourcesRequest(claims=[CLAIM])


class Watch:
    """A connection and what it says of itself."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._reports: asyncio.Queue[bool] = asyncio.Queue()
        self.task = asyncio.create_task(connection.watch(self._reports.put_nowait))

    async def next(self) -> bool:
        return await self._reports.get()

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.wait((self.task,))
        await self.connection.close()


@asynccontextmanager
async def connected(
    driver: TestDriver, services: Services = V1, *, call_timeout_seconds: float = 45.0
) -> AsyncIterator[Watch]:
    await driver.start()
    link = Connection(
        DRIVER, str(driver.service_path), services, call_timeout_seconds=call_timeout_seconds
    )
    watch = Watch(link)
    try:
        assert await watch.next()
        yield watch
    finally:
        await watch.close()
        await driver.stop()


def fails_with(code: grpc.StatusCode) -> Callable[[bytes, Context], Awaitable[bytes]]:
    async def fail(_: bytes, context: Context) -> NoReturn:
        await context.abort(code, "because")

    return fail


def answers(answer: bytes) -> Callable[[bytes, Context], Awaitable[bytes]]:
    async def respond(_: bytes, __: Context) -> bytes:
        return answer

    return respond


@pytest.mark.parametrize("services", [V1, OLD], ids=["v1", "v1beta1"])
def test_either_version_of_the_services_is_spoken(services: Services) -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        async with connected(driver, services) as at:
            service: PluginService = at.connection
            assert list((await service.prepare(PREPARE)).claims) == ["1"]
            request = NodeUnprepareResourcesRequest(claims=[CLAIM])
            assert list((await service.unprepare(request)).claims) == ["1"]
            reports = [report async for report in service.watch_health()]
            assert [report.devices[0].message for report in reports] == ["fine"]

    scenario(body)


def test_a_refusal_names_the_driver_and_the_code() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.prepare = fails_with(grpc.StatusCode.FAILED_PRECONDITION)
        async with connected(driver) as at:
            with pytest.raises(RefusedCall) as caught:
                await at.connection.prepare(PREPARE)
            assert str(caught.value) == (
                f"driver {DRIVER}: rpc error: code = FailedPrecondition desc = because"
            )
            assert caught.value.code == "FailedPrecondition"

    scenario(body)


@pytest.mark.parametrize(
    "answer", [b"\xff\xff\xff", b"\x0a\x05\x0a\x03\xff\xfe\xfd"], ids=["no-message", "no-text"]
)
def test_an_answer_that_is_no_message_is_an_error(answer: bytes) -> None:
    """Row 13."""

    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.prepare = answers(answer)
        async with connected(driver) as at:
            with pytest.raises(RefusedCall, match="Internal desc = the answer cannot be read"):
                await at.connection.prepare(PREPARE)
            driver.prepare = answers(b"")
            await at.connection.prepare(PREPARE)

    scenario(body)


@pytest.mark.slow
def test_an_answer_that_is_too_large_is_not_taken_in() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.prepare = answers(bytes(connection_module.RESPONSE_BYTES_MAX + 1))
        async with connected(driver) as at:
            with pytest.raises(RefusedCall, match="ResourceExhausted"):
                await at.connection.prepare(PREPARE)

    scenario(body)


def test_grpc_itself_ends_a_call_without_an_answer() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.answering.clear()
        async with connected(driver, call_timeout_seconds=0.05) as at:
            with pytest.raises(TimeoutError, match=f"driver {DRIVER}: .*DeadlineExceeded"):
                await at.connection.prepare(PREPARE)

    scenario(body)


def test_a_driver_that_dies_during_a_call_is_a_lost_connection() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.answering.clear()
        async with connected(driver) as at:
            call = asyncio.ensure_future(at.connection.prepare(PREPARE))
            await driver.called.wait()
            await driver.stop_service()
            with pytest.raises(TransportError):
                await call
            assert not await at.next()

    scenario(body)


def test_closing_ends_calls_and_streams_with_an_error_and_not_with_a_cancellation() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        streaming = asyncio.Event()

        async def silent(_: bytes, __: Context) -> AsyncIterator[bytes]:
            streaming.set()
            await asyncio.Event().wait()
            yield b""

        driver.health = silent
        driver.answering.clear()
        async with connected(driver) as at:
            call = asyncio.ensure_future(at.connection.prepare(PREPARE))
            stream = at.connection.watch_health()
            report = asyncio.ensure_future(anext(aiter(stream)))
            await driver.called.wait()
            await streaming.wait()
            await at.close()
            for pending in (call, report):
                with pytest.raises(TransportError, match="deregistered"):
                    await pending
            with pytest.raises(TransportError, match="deregistered"):
                await at.connection.prepare(PREPARE)

    scenario(body)


def test_whoever_cancels_a_call_sees_it_cancelled_also_during_the_close() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        driver.answering.clear()
        async with connected(driver) as at:
            call = asyncio.ensure_future(at.connection.prepare(PREPARE))
            await driver.called.wait()
            call.cancel()
            await at.close()
            with pytest.raises(asyncio.CancelledError):
                await call

    scenario(body)


def test_a_health_service_that_was_promised_and_is_not_there_is_unsupported() -> None:
    """Row 14."""

    async def body(root: Path) -> None:
        driver = TestDriver(root)

        async def unimplemented(_: bytes, context: Context) -> AsyncIterator[bytes]:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown service")
            yield b""

        driver.health = unimplemented
        async with connected(driver) as at:
            with pytest.raises(HealthUnsupported, match=f"driver {DRIVER}: .*Unimplemented"):
                await anext(aiter(at.connection.watch_health()))

    scenario(body)


def test_a_stream_breaks_with_the_connection_and_on_nonsense() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)

        async def one(_: bytes, __: Context) -> AsyncIterator[bytes]:
            yield b"\xff"

        driver.health = one
        async with connected(driver) as at:
            with pytest.raises(RefusedCall, match="cannot be read"):
                await anext(aiter(at.connection.watch_health()))

            async def endless(_: bytes, __: Context) -> AsyncIterator[bytes]:
                yield b""
                await asyncio.Event().wait()

            driver.health = endless
            stream = aiter(at.connection.watch_health())
            await anext(stream)
            await driver.stop_service()
            with pytest.raises(TransportError):
                await anext(stream)

    scenario(body)


def test_nobody_at_the_endpoint_is_known_without_a_call_and_a_call_fails_at_once() -> None:
    async def body(root: Path) -> None:
        watch = Watch(Connection(DRIVER, str(root / "missing.sock"), V1))
        with pytest.raises(TransportError, match=f"driver {DRIVER}: .*Unavailable"):
            await watch.connection.prepare(PREPARE)
        await watch.close()

    scenario(body)


def test_somebody_who_accepts_and_does_not_speak_is_not_connected() -> None:
    async def body(root: Path) -> None:
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(root / "silent.sock"))
            silent.listen()
            link = Connection(DRIVER, str(root / "silent.sock"), V1, call_timeout_seconds=0.05)
            watch = Watch(link)
            with pytest.raises(TimeoutError):
                await link.prepare(PREPARE)
            await watch.close()

    scenario(body)


def test_a_path_with_anything_in_it_is_reached() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        await driver.start()
        odd = root / "a b%41#?\udcff.sock"
        driver.service_path.rename(odd)
        watch = Watch(Connection(DRIVER, str(odd), V1))
        assert await watch.next()
        await watch.close()
        await driver.stop()

    scenario(body)


@pytest.mark.slow
def test_a_connection_that_the_driver_closes_for_its_age_is_made_anew() -> None:
    """Row 12: what gRPC closes for being idle, too, comes back without a call."""

    async def body(root: Path) -> None:
        server = grpc.aio.server(
            options=[("grpc.max_connection_age_ms", 200), ("grpc.max_connection_age_grace_ms", 10)]
        )
        server.add_insecure_port(f"unix:{root}/dra.sock")
        await server.start()
        watch = Watch(Connection(DRIVER, f"{root}/dra.sock", V1))
        assert [await watch.next() for _ in range(3)] == [True, False, True]
        await watch.close()
        await server.stop(None)

    scenario(body)
