from __future__ import annotations

import asyncio
import os

from dray.agent.runtimes.process.exits import ExitWatch
from dray.agent.runtimes.process.shim.identity import ProcessIdentity, identify


def test_an_end_is_heard_of_at_once_and_once() -> None:
    async def main() -> None:
        pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
        identity = identify(pid)
        assert identity is not None
        ended = asyncio.Event()
        watch = ExitWatch.begin(identity, ended.set)
        assert watch is not None
        os.kill(pid, 9)
        await ended.wait()
        # It was a child of this process, and nobody else would have reaped it.
        assert not os.path.exists(f"/proc/{pid}")
        watch.close()
        assert ExitWatch.begin(identity, ended.set) is None

    asyncio.run(main())


def test_a_process_with_the_same_pid_is_another() -> None:
    async def main() -> None:
        me = identify(os.getpid())
        assert me is not None
        before = ProcessIdentity(me.pid, me.start_ticks - 1, me.boot_id)
        assert ExitWatch.begin(before, lambda: None) is None

    asyncio.run(main())


def test_a_watch_that_is_closed_says_nothing() -> None:
    async def main() -> None:
        pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
        identity = identify(pid)
        assert identity is not None
        heard: list[int] = []
        watch = ExitWatch.begin(identity, lambda: heard.append(1))
        assert watch is not None
        watch.close()
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        await asyncio.sleep(0)
        assert heard == []

    asyncio.run(main())
