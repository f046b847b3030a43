from __future__ import annotations

import asyncio
import sys

import pytest

from dray.server import memory
from dray.server.memory import TRIM_SECONDS, keep_trimmed, trimmer
from dray.testing import FakeClock


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has it")
def test_the_c_library_lets_go_when_asked() -> None:
    trim = trimmer()
    assert trim is None or trim() in (0, 1)


def test_memory_is_given_back_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(memory, "trimmer", lambda: lambda: loop.call_soon_threadsafe(asked.set))
        clock = FakeClock()
        task = asyncio.ensure_future(keep_trimmed(clock))
        await asyncio.sleep(0)
        assert not asked.is_set()
        clock.advance(TRIM_SECONDS)
        await asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())
