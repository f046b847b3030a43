"""A supervisor as a program: what it says, and that there is only ever one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from dray.agent.runtimes.process.container import python_command
from tests.unit.agent.runtimes.process.hosts import host

pytestmark = pytest.mark.slow


async def supervise(directory: Path) -> object:
    process = await asyncio.create_subprocess_exec(
        *python_command("main", "sys.argv[2]"), str(directory), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return json.loads(output)


def test_a_container_is_supervised_once() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.create("sleep", "1000")
            directory = here.runtime._containers[container_id].directory
            both = await asyncio.gather(supervise(directory), supervise(directory))
            assert sorted(both, key=str) == [{"already": True}, {}]
            here.runtime._containers[container_id].adopt()
            await here.runtime.stop_container(container_id, 0)
            assert await supervise(directory) == {"already": True}

    asyncio.run(main())


def test_a_directory_without_a_launch_is_no_container(tmp_path: Path) -> None:
    assert asyncio.run(supervise(tmp_path)) == {"error": f"{tmp_path} has no launch"}


def test_a_supervisor_is_small_and_soon_there() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("sleep", "1000")
            status = Path(f"/proc/{here.supervisor(container_id)}/status").read_text()
            (line,) = [each for each in status.splitlines() if each.startswith("RssAnon:")]
            # What it has for itself; the interpreter's pages are everybody's.
            assert int(line.split()[1]) < 10 * 1024

    asyncio.run(main())
