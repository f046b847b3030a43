"""Programs that are started, whatever loop we run in."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from dray.agent.runtimes.process.children import spawn

Run = Callable[[Coroutine[Any, Any, None]], None]

loops = pytest.mark.parametrize(
    "run", [pytest.param(asyncio.run, id="asyncio"), pytest.param(uvloop.run, id="uvloop")]
)

# Says what it has open, and leaves a daemon behind that has let go of its output.
DAEMON = """
import os, time
print(sorted(int(each) for each in os.listdir("/proc/self/fd")), flush=True)
if os.fork():
    os._exit(3)
os.dup2(os.open("/dev/null", os.O_RDWR), 1)
time.sleep(5)
"""


@loops
def test_output_ends_though_a_daemon_goes_on(run: Run) -> None:
    async def body() -> None:
        child = spawn((sys.executable, "-c", DAEMON), stderr=subprocess.DEVNULL)
        output = await asyncio.wait_for(child.output(), 10)
        # The last is the directory that is listed.
        assert output == b"[0, 1, 2, 3]\n", "nothing of ours is open in it"
        assert await child.wait() == 3

    run(body())


@loops
def test_the_end_by_a_signal_is_told(run: Run) -> None:
    async def body() -> None:
        command = (sys.executable, "-c", "import time; time.sleep(60)")
        null = subprocess.DEVNULL
        child = spawn(command, stdout=null, stderr=null)
        waiting = asyncio.ensure_future(child.wait())
        await asyncio.sleep(0)
        os.kill(child.pid, signal.SIGKILL)
        assert await asyncio.wait_for(waiting, 10) == -signal.SIGKILL
        assert await child.wait() == -signal.SIGKILL

    run(body())


def test_what_is_passed_on_is_open() -> None:
    async def body() -> None:
        reading, writing = os.pipe()
        os.write(writing, b"x")
        command = (sys.executable, "-c", f"import os; print(os.read({reading}, 1))")
        try:
            child = spawn(command, stderr=subprocess.DEVNULL, pass_fds=(reading,))
            assert await child.output() == b"b'x'\n"
        finally:
            os.close(reading)
            os.close(writing)

    asyncio.run(body())


def test_a_program_that_is_not_there_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        spawn(("/nonexistent",), stderr=subprocess.DEVNULL)


def test_one_that_outlives_who_started_it_is_nothing_to_warn_of() -> None:
    child = spawn(["/bin/sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = child.pid
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        del child
        gc.collect()
    assert not [each for each in said if str(pid) in str(each.message)]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
