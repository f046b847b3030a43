"""Those who attach to a container."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from dray.agent.runtimes.process.shim import frames
from dray.agent.runtimes.process.shim.visitors import VISITORS_MAX
from dray.agent.runtimes.runtime import SessionConfig
from tests.unit.agent.runtimes.process.hosts import host, log

pytestmark = pytest.mark.slow

TYPING = SessionConfig(stdin=True)


def test_all_who_attached_see_what_is_written_and_feed_one_stdin() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("cat", stdin=True)
            first, second = [
                await here.runtime.open_session(container_id, TYPING) for _ in range(2)
            ]
            await first.write(b"one\n")
            assert await first.read() == await second.read() == (1, b"one\n")
            await first.close()
            # Its stdin is for more than one visit.
            await second.write(b"two\n")
            assert await second.read() == (1, b"two\n")
            await second.write(b"")
            await second.write(b"three\n")
            assert await second.read() == (1, b"three\n")
            await second.close()

    asyncio.run(main())


def test_who_attached_before_something_was_written_sees_what_comes_of_it() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("cat", stdin=True)
            first = await here.runtime.open_session(container_id, TYPING)
            await first.write(b"one\n")
            assert await first.read() == (1, b"one\n")
            # All of this is there when the supervisor looks again.
            os.kill(here.supervisor(container_id), signal.SIGSTOP)
            others = [await here.runtime.open_session(container_id, TYPING) for _ in range(5)]
            await first.write(b"two\n")
            os.kill(here.supervisor(container_id), signal.SIGCONT)
            for session in (first, *others):
                assert await asyncio.wait_for(session.read(), 20) == (1, b"two\n")
                await session.close()

    asyncio.run(main())


def test_a_stdin_for_one_visit_ends_with_it() -> None:
    async def main() -> None:
        async with host() as here:
            for name, is_told in (("told", True), ("left", False)):
                container_id = await here.start("cat", name=name, stdin=True, stdin_once=True)
                session = await here.runtime.open_session(container_id, TYPING)
                data = bytes(range(256)) * 2000
                await session.write(data)
                if is_told:
                    await session.write(b"")
                    seen = b""
                    while (piece := await session.read())[0]:
                        seen += piece[1]
                    assert len(seen) == len(data)
                    assert seen == data
                    assert await session.wait() == 0
                await session.close()
                assert (await here.ended(container_id)).exit_code == 0

    asyncio.run(main())


def test_much_input_waits_for_the_container_and_all_of_it_arrives() -> None:
    async def main() -> None:
        async with host() as here:
            out = here.directory / "out"
            container_id = await here.start("sh", "-c", f"cat > {out}", stdin=True, stdin_once=True)
            session = await here.runtime.open_session(container_id, TYPING)
            data = bytes(range(256)) * 8000
            await session.write(data)
            await session.write(b"")
            assert await session.wait() == 0
            assert out.read_bytes() == data
            await session.close()

    asyncio.run(main())


def test_a_terminal_can_be_typed_at_and_resized() -> None:
    async def main() -> None:
        async with host() as here:
            script = "echo up; while read word; do echo got $word; stty size; done"
            container_id = await here.start("sh", "-c", script, stdin=True, tty=True)
            await here.said(container_id, "up")
            session = await here.runtime.open_session(
                container_id, SessionConfig(stdin=True, tty=True)
            )
            await session.write(b"this\n")
            seen = b""
            while b"got this\r\n" not in seen:
                seen += (await session.read())[1]
            session.resize(100, 40)
            await session.write(b"again\n")
            while b"40 100\r\n" not in seen:
                seen += (await session.read())[1]
            await session.close()

    asyncio.run(main())


def test_one_who_does_not_read_is_left_behind_and_holds_nobody_up() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start(
                "sh", "-c", "read word; seq 1 400000; echo end", stdin=True
            )
            idle = await here.runtime.open_session(container_id, TYPING)
            await idle.write(b"go\n")
            ended = await here.ended(container_id)
            assert log(Path(ended.log_path))[-1] == "end"
            await idle.close()

    asyncio.run(main())


def test_one_who_reads_late_gets_all_of_it_and_delays_no_end() -> None:
    async def main() -> None:
        async with host() as here:
            script = "read word; head -c 900000 /dev/zero"
            container_id = await here.start("sh", "-c", script, stdin=True)
            late = await here.runtime.open_session(container_id, TYPING)
            await late.write(b"go\n")
            await here.ended(container_id)
            size = 0
            while (piece := await late.read())[0]:
                size += len(piece[1])
            assert size == 900_000
            await late.close()

    asyncio.run(main())


def test_what_is_no_frame_ends_the_visit_alone() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("cat", stdin=True)
            container = here.runtime._containers[container_id]
            loop = asyncio.get_running_loop()
            for rubbish in (b"\xff" * 100, frames.frame(frames.RESIZE, b"x"), b""):
                connection = await container.connect()
                with connection:
                    await loop.sock_sendall(connection, rubbish)
                    connection.shutdown(socket.SHUT_WR)
                    assert await loop.sock_recv(connection, 10) == b""
            session = await here.runtime.open_session(container_id, TYPING)
            await session.write(b"still here\n")
            assert await session.read() == (1, b"still here\n")
            await session.close()

    asyncio.run(main())


def test_there_may_be_only_so_many_visitors() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("sleep", "1000")
            container = here.runtime._containers[container_id]
            loop = asyncio.get_running_loop()
            visits = [await container.connect() for _ in range(VISITORS_MAX)]
            for each in visits:
                await loop.sock_sendall(each, frames.frame(frames.ATTACH))
            one_more = await container.connect()
            assert await loop.sock_recv(one_more, 10) == b""
            for each in (*visits, one_more):
                each.close()

    asyncio.run(main())
