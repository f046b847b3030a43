"""Pods on a real containerd: the runtimes' suite, devices, crashes.

Needs root, and what `tests/e2e/containerds.py` names.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from dray.agent.runtimes.cri.runtime import CRIRuntime
from dray.agent.runtimes.runtime import ContainerConfig, Runtime
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.testing.runtime_suite import RuntimeSuite
from tests.e2e.containerds import IMAGE, MISSING, Containerd

LISTENING = ("sh", "-c", "trap 'exit 5' TERM; sleep 1000 & wait")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"containerd cannot be run here without {MISSING}"),
]


@pytest.fixture(scope="module", autouse=True)
def daemon() -> Iterator[Containerd]:
    containerd = Containerd()
    TestContainerd.daemon = containerd
    try:
        asyncio.run(containerd.start())
        yield containerd
    finally:
        containerd.close()


def connect(containerd: Containerd) -> CRIRuntime:
    return CRIRuntime(
        containerd.endpoint,
        clock=SystemClock(),
        entropy=SystemEntropy(),
        cdi_directories=(containerd.cdi,),
    )


class TestContainerd(RuntimeSuite):
    daemon: ClassVar[Containerd]
    image = IMAGE

    def config(self, *command: str, name: str = "app", attempt: int = 0) -> ContainerConfig:
        # The first process of a container hears no signal that it does not listen for.
        return super().config(*(command or LISTENING), name=name, attempt=attempt)

    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        async with connect(self.daemon) as runtime:
            yield runtime
