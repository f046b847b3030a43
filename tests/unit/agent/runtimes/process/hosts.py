"""Runtimes and containers for tests that look closer than the suite."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dray.agent.kubelet_api.directory_watch import DirectoryWatch
from dray.agent.runtimes.process.runtime import ProcessRuntime
from dray.agent.runtimes.process.shim.identity import ProcessIdentity
from dray.agent.runtimes.process.shim.records import SUPERVISOR, read_record
from dray.agent.runtimes.runtime import Container, ContainerConfig, Sandbox
from dray.clock import Clock, SystemClock
from dray.entropy import SeededEntropy
from dray.testing.runtime_suite import POD, find, find_sandbox, sandbox_config


@dataclass
class Host:
    """A directory, and a runtime of it."""

    directory: Path
    runtime: ProcessRuntime
    sandbox: Sandbox

    async def start(self, *command: str, name: str = "app", **fields: Any) -> str:
        container_id = await self.create(*command, name=name, **fields)
        await self.runtime.start_container(container_id)
        return container_id

    async def create(self, *command: str, name: str = "app", **fields: Any) -> str:
        config = ContainerConfig(
            name=name,
            attempt=0,
            image="image",
            command=command,
            log_path=f"{name}/0.log",
            **fields,
        )
        return await self.runtime.create_container(self.sandbox, config)

    async def ended(self, container_id: str) -> Container:
        """The container, once it has ended."""
        await self.runtime._containers[container_id].ended.wait()
        return await find(self.runtime, container_id)

    async def said(self, container_id: str, line: str) -> None:
        """Return once this line is in the log."""
        await self.wrote(container_id, lambda lines: line in lines)

    async def wrote(self, container_id: str, is_enough: Callable[[list[str]], bool]) -> list[str]:
        """What is in the log, once it is enough."""
        path = Path((await find(self.runtime, container_id)).log_path)
        watch, changed = DirectoryWatch(SystemClock()), asyncio.Event()
        watch.open()
        try:
            with watch.watching(path.parent, changed) as is_watched:
                while not is_enough(lines := log(path)):
                    await watch.wait(changed, is_watched=is_watched)
                    changed.clear()
                return lines
        finally:
            watch.close()

    def record(self, container_id: str) -> dict[str, Any]:
        """What the supervisor wrote down."""
        directory = self.runtime._containers[container_id].directory
        return read_record(str(directory / SUPERVISOR)) or {}

    def supervisor(self, container_id: str) -> int:
        return self._pid(container_id, "supervisor")

    def process(self, container_id: str) -> int:
        return self._pid(container_id, "process")

    def _pid(self, container_id: str, noun: str) -> int:
        identity = ProcessIdentity.from_json(self.record(container_id)[noun])
        assert identity is not None
        return identity.pid


@asynccontextmanager
async def host(clock: Clock | None = None, **options: Any) -> AsyncIterator[Host]:
    """A host with one sandbox; nothing of it is left afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
    try:
        async with open_runtime(directory, clock, **options) as runtime:
            sandbox_id = await runtime.run_sandbox(sandbox_config(directory))
            try:
                yield Host(directory, runtime, await find_sandbox(runtime, sandbox_id))
            finally:
                # A new one: the test may have closed its own.
                async with open_runtime(directory, None, **options) as last:
                    await last.remove_sandbox(sandbox_id)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def open_runtime(directory: Path, clock: Clock | None = None, **options: Any) -> ProcessRuntime:
    return ProcessRuntime(
        directory / "runtime",
        clock=clock or SystemClock(),
        entropy=SeededEntropy(1),
        cdi_directories=options.pop("cdi_directories", (directory / "cdi",)),
        **options,
    )


def log(path: Path) -> list[str]:
    """Texts of the entries of a log."""
    if not path.exists():
        return []
    return [line.split(" ", 3)[-1] for line in path.read_text(errors="replace").splitlines()]


def write_spec(here: Host, edits: dict[str, Any]) -> None:
    """A CDI file with one device."""
    spec = {
        "cdiVersion": "0.6.0",
        "kind": "vendor.example.com/gpu",
        "devices": [{"name": "gpu-0", "containerEdits": edits}],
    }
    directory = here.directory / "cdi"
    directory.mkdir(exist_ok=True)
    (directory / "vendor.json").write_text(json.dumps(spec))


async def gone(pid: int) -> None:
    """Return once a process has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, event.set)
    try:
        await event.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


__all__ = ["POD", "Host", "gone", "host", "kill", "log", "open_runtime", "write_spec"]
