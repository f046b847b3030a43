from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from dray.agent.kubelet_api.directory_watch import DirectoryWatch
from dray.agent.kubelet_api.log_options import LogOptions
from dray.agent.kubelet_api.logs import read_log
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import Container, ContainerConfig
from dray.testing import FakeClock
from dray.testing.runtime_suite import POD, find, find_sandbox, sandbox_config


@asynccontextmanager
async def container(
    tmp_path: Path,
) -> AsyncIterator[tuple[MemoryRuntime, Container, DirectoryWatch, Callable[[str], None]]]:
    """A container that seems to run, and what writes to its log."""

    runtime, watch = MemoryRuntime(FakeClock()), DirectoryWatch(FakeClock())
    sandbox = await find_sandbox(runtime, await runtime.run_sandbox(sandbox_config(tmp_path)))
    container_id = await runtime.create_container(sandbox, ContainerConfig("app", 0, "image"))
    await runtime.start_container(container_id)
    found = replace(await find(runtime, container_id), log_path=str(tmp_path / "0.log"))

    def write(text: str) -> None:
        with (tmp_path / "0.log").open("a") as file:
            file.write(f"2026-01-01T00:00:00Z stdout F {text}\n")

    watch.open()
    try:
        yield runtime, found, watch, write
    finally:
        watch.close()


def test_what_there_is_is_read_and_no_more(tmp_path: Path) -> None:
    async def main() -> None:
        async with container(tmp_path) as (runtime, found, watch, write):
            for number in range(5):
                write(str(number))
            pieces = [piece async for piece in read_log(runtime, found, LogOptions(), watch)]
            assert b"".join(pieces) == b"0\n1\n2\n3\n4\n"
            options = LogOptions(tail_lines=2, limit_bytes=3)
            pieces = [piece async for piece in read_log(runtime, found, options, watch)]
            assert b"".join(pieces) == b"3\n4"

    asyncio.run(main())


def test_a_log_that_is_followed_goes_on_until_the_container_ends(tmp_path: Path) -> None:
    async def main() -> None:
        async with container(tmp_path) as (runtime, found, watch, write):
            write("before")
            pieces = read_log(runtime, found, LogOptions(follow=True), watch)
            assert await anext(pieces) == b"before\n"
            following = asyncio.ensure_future(anext(pieces))
            await asyncio.sleep(0)
            write("after")
            assert await following == b"after\n"
            write("last")
            runtime.exit_container(POD.uid, "app", 0)
            assert [piece async for piece in pieces] == [b"last\n"]

    asyncio.run(main())


def test_who_stops_following_leaves_nothing_behind(tmp_path: Path) -> None:
    async def main() -> None:
        async with container(tmp_path) as (runtime, found, watch, write):
            write("one")
            async with aclosing(read_log(runtime, found, LogOptions(follow=True), watch)) as pieces:
                assert await anext(pieces) == b"one\n"
            assert runtime._listeners == []
            assert watch._waiters == {}
            assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_container_that_has_no_log_has_an_empty_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with container(tmp_path) as (runtime, found, watch, _):
            assert [piece async for piece in read_log(runtime, found, LogOptions(), watch)] == []

    asyncio.run(main())
