"""Commands inside containers, as far as what they are and how they fail goes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.unit.agent.runtimes.process.hosts import gone, host

pytestmark = pytest.mark.slow

WAITING = ("sleep", "1000")


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        (("no-such",), 127, b"exec no-such: not found in $PATH\n"),
        (("/etc/passwd",), 126, b"exec /etc/passwd: Permission denied\n"),
        (("sh", "-c", "kill -9 $$"), 137, b""),
    ],
)
def test_a_command_that_fails_has_the_code_a_shell_would_give(
    command: tuple[str, ...], code: int, told: bytes
) -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start(*WAITING)
            result = await here.runtime.execute(container_id, command, timeout_seconds=60)
            assert (result.exit_code, result.output) == (code, told)

    asyncio.run(main())


def test_a_command_is_in_its_containers_place_and_environment() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start(
                *WAITING, environment=(("WORD", "said"),), working_directory="/usr"
            )
            command = ("sh", "-c", "echo $WORD $(pwd); cat /proc/self/cgroup | grep ^0::")
            result = await here.runtime.execute(container_id, command, timeout_seconds=60)
            said, cgroup = result.output.decode().split("\n")[:2]
            assert said == "said /usr"
            record = here.record(container_id)["cgroup"]
            assert record.endswith(cgroup.removeprefix("0::")) or not record

    asyncio.run(main())


def test_a_command_dies_with_its_container() -> None:
    async def main() -> None:
        for use_cgroups in (True, False):
            async with host(use_cgroups=use_cgroups) as here:
                container_id = await here.start(*WAITING)
                running = asyncio.ensure_future(
                    here.runtime.execute(
                        container_id, ("sh", "-c", "echo $$; exec sleep 1000"), timeout_seconds=60
                    )
                )
                while container_id not in here.runtime._sessions:
                    await asyncio.sleep(0)
                (session,) = here.runtime._sessions[container_id]
                command = Path(f"/proc/{session._process.pid}/cmdline")
                while not command.read_bytes().startswith(b"sleep"):
                    await asyncio.sleep(0)  # until then there is no command that could die
                await here.runtime.stop_container(container_id, 0)
                assert (await running).exit_code == 137
                await gone(session._process.pid)

    asyncio.run(main())
