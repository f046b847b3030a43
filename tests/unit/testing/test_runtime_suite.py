"""The suite for runtimes, run against the simplest of them: what it asks for is possible."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import Runtime
from dray.testing import FakeClock
from dray.testing.runtime_suite import RuntimeSuite


class TestMemoryRuntime(RuntimeSuite):
    runs_processes = False

    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        yield MemoryRuntime(FakeClock())
