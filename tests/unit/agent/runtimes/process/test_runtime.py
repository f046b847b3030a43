"""Containers as processes: with cgroups and without, as root and as nobody special."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dray.agent.runtimes.process.runtime import ProcessRuntime
from dray.agent.runtimes.runtime import Runtime
from dray.clock import SystemClock
from dray.entropy import SeededEntropy
from dray.testing.runtime_suite import RuntimeSuite

pytestmark = pytest.mark.slow


class TestProcessRuntime(RuntimeSuite):
    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        async with ProcessRuntime(
            directory / "runtime",
            clock=SystemClock(),
            entropy=SeededEntropy(1),
            cdi_directories=(directory / "cdi",),
        ) as runtime:
            yield runtime


class TestProcessRuntimeWithoutCgroups(RuntimeSuite):
    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        async with ProcessRuntime(
            directory / "runtime",
            clock=SystemClock(),
            entropy=SeededEntropy(1),
            cdi_directories=(directory / "cdi",),
            use_cgroups=False,
        ) as runtime:
            yield runtime
