"""What a supervisor does while its container runs."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from dray.agent.kubelet_api.directory_watch import DirectoryWatch
from dray.agent.runtimes.process.shim.identity import identify
from dray.agent.runtimes.process.shim.records import EXIT
from dray.agent.runtimes.runtime import ContainerState
from dray.clock import SystemClock
from dray.testing.runtime_suite import find
from tests.unit.agent.runtimes.process.hosts import Host, host, log

pytestmark = pytest.mark.slow


def test_signals_are_handed_on_to_the_container() -> None:
    async def main() -> None:
        async with host() as here:
            script = "trap 'echo asked; exit 5' TERM; echo up; while :; do sleep 1000 & wait; done"
            container_id = await here.start("sh", "-c", script)
            await here.said(container_id, "up")
            os.kill(here.supervisor(container_id), signal.SIGTERM)
            ended = await here.ended(container_id)
            assert ended.exit_code == 5
            assert log(Path(ended.log_path)) == ["up", "asked"]

    asyncio.run(main())


def test_orphans_are_reaped_while_the_container_runs() -> None:
    async def main() -> None:
        async with host() as here:
            # The inner shell is an orphan when it ends; its pid is known before.
            script = "(sh -c 'echo $$; read word < fifo' &); exec sleep 1000"
            os.mkfifo(here.directory / "fifo")
            container_id = await here.start(
                "sh", "-c", script, working_directory=str(here.directory)
            )
            pid = int((await here.wrote(container_id, bool))[0])
            descriptor = os.pidfd_open(pid)
            await asyncio.to_thread((here.directory / "fifo").write_text, "go\n")
            await asyncio.to_thread(_until_reaped, pid)
            os.close(descriptor)
            container = await find(here.runtime, container_id)
            assert container.state is ContainerState.RUNNING
            assert identify(pid) is None

    asyncio.run(main())


def _until_reaped(pid: int) -> None:
    """Return once no process has this pid: a zombie has one."""
    while Path(f"/proc/{pid}").exists():
        os.sched_yield()


def test_a_container_with_a_terminal_has_one() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("sh", "-c", "test -t 0 && test -t 2 && tty", tty=True)
            ended = await here.ended(container_id)
            assert ended.exit_code == 0
            assert log(Path(ended.log_path))[0].startswith("/dev/pts/")

    asyncio.run(main())


def test_a_container_whose_log_cannot_be_written_cannot_run() -> None:
    async def main() -> None:
        from dray.agent.runtimes.failures import RuntimeFailed

        async with host() as here:
            container_id = await here.create("true")
            Path((await find(here.runtime, container_id)).log_path).parent.write_text("in the way")
            with pytest.raises(RuntimeFailed, match="its supervisor ended early"):
                await here.runtime.start_container(container_id)
            assert (await find(here.runtime, container_id)).state is ContainerState.CREATED

    asyncio.run(main())


def test_an_end_is_told_though_no_new_file_can_be_written() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start(
                "sh", "-c", "trap 'exit 0' TERM; echo; sleep 1000 & wait"
            )
            await here.said(container_id, "")
            _block(here, container_id)
            os.kill(here.process(container_id), signal.SIGTERM)
            assert (await here.ended(container_id)).exit_code == 0

    asyncio.run(main())


def test_an_end_that_cannot_be_written_is_written_later() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start(
                "sh", "-c", "trap 'exit 3' TERM; echo; sleep 1000 & wait"
            )
            await here.said(container_id, "")
            blocked = _block(here, container_id)
            (blocked.parent / f"{EXIT}.reserved").unlink()
            os.kill(here.process(container_id), signal.SIGTERM)
            await _tried(blocked.parent / "supervisor.log")
            assert (await find(here.runtime, container_id)).state is ContainerState.RUNNING
            blocked.rmdir()
            assert (await here.ended(container_id)).exit_code == 3

    asyncio.run(main())


async def _tried(log_path: Path) -> None:
    """Return once the supervisor has said that it cannot write the end."""
    watch, changed = DirectoryWatch(SystemClock()), asyncio.Event()
    watch.open()
    try:
        with watch.watching(log_path.parent, changed) as is_watched:
            while "cannot be written yet: Is a directory" not in log_path.read_text():
                await watch.wait(changed, is_watched=is_watched)
                changed.clear()
    finally:
        watch.close()


def _block(here: Host, container_id: str) -> Path:
    """Keep the supervisor from making the file of the end."""
    directory = here.runtime._containers[container_id].directory
    blocked = directory / f"{EXIT}.{here.supervisor(container_id)}.tmp"
    blocked.mkdir()
    return blocked
