"""Calls to a runtime that is there, is not, or comes back."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from dray.agent.runtimes.cri.connection import STARTING, CallFailed, Connection
from dray.clock import Clock, SystemClock
from dray.errors import ConfigurationError
from dray.proto import cri_v1_pb2 as cri
from dray.proto import cri_v1_pb2_grpc as services
from dray.testing import FakeClock
from tests.unit.agent.runtimes.cri.servers import FakeCRI


@pytest.fixture
def path() -> Iterator[str]:
    directory = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
    yield str(directory / "runtime.sock")
    shutil.rmtree(directory)


@asynccontextmanager
async def serving(fake: FakeCRI, path: str) -> AsyncIterator[None]:
    server = grpc.aio.server()
    services.add_RuntimeServiceServicer_to_server(fake, server)
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    try:
        yield
    finally:
        await server.stop(None)


@asynccontextmanager
async def connected(path: str, clock: Clock | None = None) -> AsyncIterator[Connection]:
    connection = Connection(path, clock=clock or SystemClock())
    try:
        yield connection
    finally:
        await connection.close()


READY = grpc.ChannelConnectivity.READY


async def ask(connection: Connection, seconds: float = 10.0) -> str:
    answer = await connection.call(
        "Version", cri.VersionRequest(), cri.VersionResponse, seconds=seconds
    )
    return answer.runtime_name


async def until(holds: Callable[[], object]) -> None:
    while not holds():
        await asyncio.sleep(0)


async def failing(awaitable: Awaitable[object]) -> CallFailed:
    with pytest.raises(CallFailed) as raised:
        await awaitable
    return raised.value


@pytest.mark.parametrize("endpoint", ["", "localhost:1234", "tcp://localhost:1", "unix://run/x"])
def test_an_endpoint_is_a_socket_of_this_host(endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match="should be unix:///path"):
        Connection(endpoint, clock=FakeClock())


def test_a_runtime_that_comes_is_waited_for(path: str) -> None:
    async def main() -> None:
        async with connected(f"unix://{path}", FakeClock()) as connection:
            asking = asyncio.ensure_future(ask(connection))
            await asyncio.sleep(0)
            async with serving(FakeCRI(), path):
                assert await asking == "containerd"

    asyncio.run(main())


def test_nobody_is_waited_for_for_long(path: str) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with connected(path, clock) as connection:
            asking = asyncio.ensure_future(failing(ask(connection)))
            for _ in range(3):
                await asyncio.sleep(0)
            clock.advance(5)
            failure = await asking
            assert failure.is_unreachable
            assert str(failure) == f"no container runtime answers at unix://{path}"

    asyncio.run(main())


@pytest.mark.slow
def test_a_runtime_that_was_restarted_is_found_again(path: str) -> None:
    async def main() -> None:
        async with connected(path) as connection:
            for _ in range(2):
                async with serving(FakeCRI(), path):
                    assert await ask(connection) == "containerd"
                channel = connection._opened
                assert channel is not None
                # What is asked before the end of the connection is noticed may be lost with it.
                await until(lambda: channel.get_state() is not READY)  # noqa: B023 - at once

    asyncio.run(main())


async def passing(clock: FakeClock, asking: asyncio.Future[str]) -> None:
    """Let time pass until there is an answer, but none while a call is under way."""
    while not asking.done():
        wake = clock.next_wake
        if wake is not None and wake - clock.monotonic() < 1e6:  # not the deadline of the call
            clock.advance(0.2)
        await asyncio.sleep(0)


def test_a_runtime_that_remembers_nothing_yet_is_asked_again(path: str) -> None:
    async def main() -> None:
        fake, clock = FakeCRI(), FakeClock()
        fake.refusals["Version"] = (grpc.StatusCode.UNKNOWN, STARTING)
        async with serving(fake, path), connected(path, clock) as connection:
            asking = asyncio.ensure_future(ask(connection, seconds=1e9))
            await until(lambda: len(fake.calls) == 1)
            fake.refusals.clear()
            await passing(clock, asking)
            assert await asking == "containerd"
            fake.refusals["Version"] = (grpc.StatusCode.UNKNOWN, STARTING)
            asking = asyncio.ensure_future(ask(connection, seconds=1e9))
            await passing(clock, asking)
            assert STARTING in str(await failing(asking))

    asyncio.run(main())


def test_a_deadline_ends_the_call_at_the_runtime_too(path: str) -> None:
    async def main() -> None:
        fake, clock = FakeCRI(), FakeClock()
        fake.hanging.add("Version")
        async with serving(fake, path), connected(path, clock) as connection:
            asking = asyncio.ensure_future(failing(ask(connection, seconds=7)))
            await until(lambda: fake.calls)
            clock.advance(7)
            failure = await asking
            assert (failure.code, failure.is_unreachable) == (
                grpc.StatusCode.DEADLINE_EXCEEDED,
                True,
            )
            assert "Version was not answered within 7 s" in str(failure)
            await fake.cancelled.wait()

    asyncio.run(main())


def test_refusals_have_a_code_and_the_runtimes_words(path: str) -> None:
    async def main() -> None:
        fake = FakeCRI()
        fake.refusals["Version"] = (grpc.StatusCode.NOT_FOUND, "no such thing")
        async with serving(fake, path), connected(path) as connection:
            failure = await failing(ask(connection))
            assert (failure.code, failure.message) == (grpc.StatusCode.NOT_FOUND, "no such thing")
            fake.refusals["Version"] = (grpc.StatusCode.UNKNOWN, "x" * 7000)
            assert len((await failing(ask(connection))).message) <= 4096

    asyncio.run(main())


def test_closing_ends_what_is_under_way(path: str) -> None:
    async def main() -> None:
        fake = FakeCRI()
        fake.hanging.add("Version")
        async with serving(fake, path), connected(path) as connection:
            asking = asyncio.ensure_future(failing(ask(connection)))
            await until(lambda: fake.calls)
            await connection.close()
            assert "was closed" in str(await asking)
            assert "was closed" in str(await failing(ask(connection)))

    asyncio.run(main())


def test_an_answer_that_is_none_is_refused(path: str) -> None:
    async def main() -> None:
        async with serving(FakeCRI(), path), connected(path) as connection:
            # The field of a runtime's name is that of a sandbox's metadata, which is no text.
            asking = connection.call("Version", cri.VersionRequest(), cri.PodSandbox, seconds=10)
            failure = await failing(asking)
            assert failure.code is grpc.StatusCode.INTERNAL
            assert "what is no PodSandbox" in str(failure)

    asyncio.run(main())
