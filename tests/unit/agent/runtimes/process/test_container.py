"""One container, where the runtime's tests do not look."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.process import container as module
from dray.agent.runtimes.process.shim.identity import identify
from dray.agent.runtimes.runtime import ContainerState
from dray.testing import FakeClock
from tests.unit.agent.runtimes.process.hosts import host, write_spec

pytestmark = pytest.mark.slow

WAITING = ("sleep", "1000")


def test_a_supervisor_that_cannot_be_told_is_ended_with_its_container() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start(*WAITING)
            pid = here.process(container_id)
            (here.runtime._containers[container_id].directory / "socket").unlink()
            await here.runtime.stop_container(container_id, 0)
            assert (await here.ended(container_id)).exit_code == 137
            assert identify(pid) is None

    asyncio.run(main())


def test_a_supervisor_that_does_not_answer_is_ended_after_a_while() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with host(clock) as here:
            container_id = await here.start(*WAITING)
            os.kill(here.supervisor(container_id), signal.SIGSTOP)
            before = len(clock._sleepers)
            stopping = asyncio.ensure_future(here.runtime.stop_container(container_id, 0))
            while len(clock._sleepers) == before:
                await asyncio.sleep(0)
            clock.advance(module.KILL_SECONDS)
            await stopping
            assert (await here.ended(container_id)).exit_code == 137

    asyncio.run(main())


@pytest.mark.parametrize("grace_seconds", [0.0, 30.0])
@pytest.mark.parametrize("name", ["createRuntime", "createContainer"])
def test_a_start_that_hangs_in_a_hook_does_not_outlast_the_grace(
    name: str, grace_seconds: float
) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with host(clock) as here:
            script = f"echo $$ > {here.directory}/pid; sleep 1000"
            args = ["sh", "-c", script]
            hook = {"hookName": name, "path": "/bin/sh", "args": args, "timeout": 1000}
            write_spec(here, {"env": ["A=b"], "hooks": [hook]})
            os.mkfifo(here.directory / "pid")
            container_id = await here.create(
                *WAITING, cdi_devices=("vendor.example.com/gpu=gpu-0",)
            )
            starting = asyncio.ensure_future(here.runtime.start_container(container_id))
            pid = int(await asyncio.to_thread((here.directory / "pid").read_text))
            before = len(clock._sleepers)
            stopping = asyncio.ensure_future(
                here.runtime.stop_container(container_id, grace_seconds)
            )
            while len(clock._sleepers) == before:
                await asyncio.sleep(0)
            clock.advance(max(grace_seconds, module.STARTING_SECONDS))
            await stopping
            with pytest.raises(RuntimeFailed, match="its supervisor was killed"):
                await starting
            assert (await here.ended(container_id)).exit_code == 137
            assert identify(pid) is None

    asyncio.run(main())


def test_a_directory_that_is_gone_is_no_container() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.create(*WAITING)
            (here.runtime._containers[container_id].directory / "launch.json").write_text("{")
            with pytest.raises(RuntimeFailed, match="its supervisor ended early"):
                await here.runtime.start_container(container_id)
            with pytest.raises(RuntimeFailed, match="its record is damaged"):
                here.runtime._containers[container_id].launch()
            await here.runtime.remove_container(container_id)

    asyncio.run(main())


def test_a_container_that_cannot_run_says_so_for_good() -> None:
    async def main() -> None:
        async with host() as here:
            with pytest.raises(RuntimeFailed, match="working directory /no/such: No such file"):
                await here.start("true", working_directory="/no/such")
            (ended,) = await here.runtime.list_containers()
            assert ended.state is ContainerState.EXITED
            assert (ended.exit_code, ended.reason) == (128, "ContainerCannotRun")
            assert ended.started_at is None
            assert "/no/such" in ended.message

    asyncio.run(main())


def test_the_shim_is_run_without_what_others_install() -> None:
    command = module.python_command("main", "sys.argv[2]")
    assert command[1:3] == ["-I", "-S"]
    assert Path(command[-1], "dray").is_dir()
