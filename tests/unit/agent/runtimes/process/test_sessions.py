"""Sessions of commands; those who attach are with the supervisor's visitors."""

from __future__ import annotations

import asyncio

import pytest

from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.process.sessions import UNREAD_BYTES_MAX, run_command
from dray.agent.runtimes.runtime import Session, SessionConfig
from tests.unit.agent.runtimes.process.hosts import Host, gone, host

pytestmark = pytest.mark.slow


async def opened(here: Host, *command: str, **fields: bool) -> Session:
    container_id = await here.start("sleep", "1000")
    config = SessionConfig(command=command, **fields)
    return await here.runtime.open_session(container_id, config)


async def read_until(session: Session, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        stream, data = await session.read()
        assert stream, seen
        seen += data
    return seen


def test_a_terminal_is_one_and_has_a_size() -> None:
    async def main() -> None:
        async with host() as here:
            script = "test -t 0 && echo up; while read word; do stty size; done; echo over"
            session = await opened(here, "sh", "-c", script, stdin=True, tty=True)
            await read_until(session, b"up\r\n")
            session.resize(132, 43)
            await session.write(b"now\n")
            await read_until(session, b"43 132\r\n")
            await session.write(b"")
            await read_until(session, b"over\r\n")
            assert await session.wait() == 0
            session.resize(1, 1)
            await session.write(b"nobody hears")
            await session.close()

    asyncio.run(main())


def test_closing_a_session_kills_its_command_and_what_that_started() -> None:
    async def main() -> None:
        async with host() as here:
            script = "sleep 1000 & echo $!; wait"
            session = await opened(here, "sh", "-c", script)
            child = int(await read_until(session, b"\n"))
            await session.close()
            await session.close()
            assert await session.wait() == 137
            assert await session.read() == (0, b"")
            await gone(child)

    asyncio.run(main())


def test_a_session_ends_with_its_command_though_somebody_holds_its_output() -> None:
    async def main() -> None:
        async with host() as here:
            session = await opened(here, "sh", "-c", "echo out; sleep 1000 &")
            assert await session.read() == (1, b"out\n")
            assert await session.read() == (0, b"")
            assert await session.wait() == 0
            await session.close()

    asyncio.run(main())


def test_what_nobody_reads_waits_in_the_command() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("sleep", "1000")
            container = here.runtime._containers[container_id]
            config = SessionConfig(command=("sh", "-c", "head -c 3000000 /dev/zero"))
            session = await run_command(container, config)
            while session._is_reading:
                session._arrived.clear()
                await session._arrived.wait()
            assert session._unread_bytes < UNREAD_BYTES_MAX + 64 * 1024
            size = 0
            while (piece := await session.read())[0]:
                size += len(piece[1])
            assert size == 3_000_000
            await session.close()

    asyncio.run(main())


def test_streams_nobody_wants_are_not_there() -> None:
    async def main() -> None:
        async with host() as here:
            session = await opened(here, "sh", "-c", "echo out; echo bad >&2", stderr=False)
            assert await session.read() == (1, b"out\n")
            assert await session.read() == (0, b"")
            await session.close()

    asyncio.run(main())


def test_a_command_that_reads_no_input_holds_nobody_up() -> None:
    async def main() -> None:
        async with host() as here:
            session = await opened(here, "sh", "-c", "exec 0<&-; echo closed", stdin=True)
            await session.write(bytes(1_000_000))
            await session.write(b"more")
            assert await session.wait() == 0
            await session.close()

    asyncio.run(main())


def test_sessions_of_no_container_are_refused() -> None:
    async def main() -> None:
        async with host() as here:
            with pytest.raises(RuntimeFailed, match="no container process://none"):
                await here.runtime.open_session("process://none", SessionConfig())
            container_id = await here.create("true")
            with pytest.raises(RuntimeFailed, match="is not running"):
                await here.runtime.open_session(container_id, SessionConfig(command=("true",)))

    asyncio.run(main())
