"""A driver's command as real processes: started, read, killed with its children, stopped."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dray.clock import SystemClock
from dray.conform.check import NotApplicable, Violation
from dray.conform.subject import OUTPUT_LINES_MAX, Process, Subject

pytestmark = pytest.mark.slow

PLACES = {"kubeconfig": "/k", "node": "n1", "driver": "d"}


def subject(script: str, *words: str) -> Subject:
    return Subject((sys.executable, "-u", "-c", script, *words), PLACES, SystemClock())


def run(commands: Subject, scenario: Callable[[Process], Awaitable[None]], **places: str) -> None:
    async def body() -> None:
        try:
            await scenario(await commands.start(**places))
        finally:
            await commands.end()

    asyncio.run(body())


async def ended(process: Process) -> None:
    await process._ended()


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A pipe to which a script writes when it is ready: reading waits for that."""
    os.mkfifo(tmp_path / "ready")
    return tmp_path / "ready"


READY = "open(sys.argv[1], 'w').close()"


def test_words_in_braces_and_the_environment_say_where_things_are() -> None:
    async def scenario(process: Process) -> None:
        await ended(process)
        assert process.output == "--node=n1 {unknown} uid-1 /k n1"

    script = (
        "import os, sys; print(*sys.argv[1:], os.environ['KUBECONFIG'], os.environ['NODE_NAME'])"
    )
    commands = subject(script, "--node={node}", "{unknown}", "{pod_uid}")
    assert commands.takes("node")
    assert not commands.takes("cdi")
    run(commands, scenario, pod_uid="uid-1")


def test_a_line_is_one_line_in_however_many_parts_it_comes() -> None:
    async def scenario(process: Process) -> None:
        await ended(process)
        assert process.output == "one line of é\nand another"

    script = """
import os
for part in ("one ", "line ", "of ", "\\u00e9", "\\nand another"):
    for byte in part.encode():
        os.write(1, bytes([byte]))
"""
    run(subject(script), scenario)


def test_only_the_end_of_what_a_driver_writes_is_kept() -> None:
    async def scenario(process: Process) -> None:
        await ended(process)
        lines = process.output.splitlines()
        assert len(lines) <= OUTPUT_LINES_MAX
        assert lines[-1] == "line 999"

    run(subject("for n in range(1000): print('line', n)"), scenario)


def test_all_that_a_driver_wrote_is_read_after_its_end() -> None:
    async def scenario(process: Process) -> None:
        await process._process.wait()
        await process.read_out()
        assert process.output == "no hardware"

    run(subject("import sys; sys.exit('no hardware')"), scenario)


def test_a_driver_is_killed_with_what_it_started(ready: Path) -> None:
    script = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
{READY}
child.wait()
"""

    async def scenario(process: Process) -> None:
        await asyncio.to_thread(ready.read_text)
        # The child holds the other end of the output: only its death ends the reading.
        await process.kill()
        assert not process.running

    run(subject(script, str(ready)), scenario)


def test_a_driver_that_is_asked_to_end_says_how_it_ended(ready: Path) -> None:
    script = f"""
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
{READY}
time.sleep(600)
"""

    async def scenario(process: Process) -> None:
        await asyncio.to_thread(ready.read_text)
        assert await process.terminate() == 3

    run(subject(script, str(ready)), scenario)


def test_a_driver_that_does_not_end_is_killed_and_told_of(ready: Path) -> None:
    script = f"""
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{READY}
time.sleep(600)
"""

    async def scenario(process: Process) -> None:
        await asyncio.to_thread(ready.read_text)
        with pytest.raises(Violation, match=r"still running 0\.1 s after SIGTERM"):
            await process.terminate(0.1)
        assert not process.running

    run(subject(script, str(ready)), scenario)


def test_whatever_still_runs_is_ended_at_the_end() -> None:
    started: list[Process] = []

    async def scenario(process: Process) -> None:
        started.append(process)

    run(subject("import time; time.sleep(600)"), scenario)
    assert not started[0].running


def test_a_command_that_is_not_there_is_the_drivers_fault() -> None:
    async def body() -> None:
        with pytest.raises(Violation, match="cannot start /no/such/driver: No such file"):
            await Subject(("/no/such/driver",), PLACES, SystemClock()).start()

    asyncio.run(body())


def test_without_a_command_nothing_is_started() -> None:
    nothing = Subject((), PLACES, SystemClock())
    assert not nothing.startable
    with pytest.raises(NotApplicable):
        asyncio.run(nothing.start())
