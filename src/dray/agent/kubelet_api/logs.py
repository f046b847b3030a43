"""The log of a container, piece by piece, as far as it goes or while the container runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Final

from dray.agent.kubelet_api.directory_watch import DirectoryWatch
from dray.agent.kubelet_api.log_entries import Presenter
from dray.agent.kubelet_api.log_files import LogFiles
from dray.agent.kubelet_api.log_options import LogOptions
from dray.agent.runtimes.runtime import Container, ContainerState, Runtime

__all__ = ["read_log"]

_OVER: Final = (ContainerState.EXITED, ContainerState.UNKNOWN)


async def read_log(
    runtime: Runtime, container: Container, options: LogOptions, watch: DirectoryWatch
) -> AsyncGenerator[bytes, None]:
    """What is asked for of the log. Followed, it ends with the container."""
    path = Path(container.log_path)
    files = await asyncio.to_thread(LogFiles, path)
    presenter = Presenter(options)
    changed = asyncio.Event()
    ending: asyncio.Task[None] | None = None
    try:
        if options.tail_lines is not None:
            await asyncio.to_thread(files.seek_tail, options.tail_lines, options.stream)
        if options.follow and container.state not in _OVER:
            ending = asyncio.ensure_future(_ended(runtime, container, changed))
        with watch.watching(path.parent, changed) as is_watched:
            while True:
                # Before reading: what comes after is heard of, and what came before is read.
                changed.clear()
                is_over = ending is None or ending.done()
                async with aclosing(_read(files, presenter)) as pieces:
                    async for piece in pieces:
                        yield piece
                if is_over or presenter.is_done:
                    return
                await watch.wait(changed, is_watched=is_watched)
    finally:
        if ending is not None:
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)
        files.close()


async def _read(files: LogFiles, presenter: Presenter) -> AsyncGenerator[bytes, None]:
    """All there is now."""
    while not presenter.is_done:
        lines = await asyncio.to_thread(files.read)
        if not lines:
            return
        piece = bytearray()
        for line in lines:
            piece += presenter.show(line)
        if piece:
            yield bytes(piece)


async def _ended(runtime: Runtime, container: Container, changed: asyncio.Event) -> None:
    """Return once the container has ended, and say that something changed."""
    try:
        async with aclosing(_changes(runtime)) as changes:
            async for uid in changes:
                if uid not in ("", container.pod.uid):
                    continue
                listed = await runtime.list_containers()
                found = next((each for each in listed if each.id == container.id), None)
                if found is None or found.state in _OVER:
                    return
    finally:
        changed.set()


async def _changes(runtime: Runtime) -> AsyncGenerator[str, None]:
    """Changes from now on, beginning with one that is none: what happened before is looked at."""
    changes = runtime.changes()
    first = asyncio.ensure_future(anext(changes, ""))
    try:
        # A listener is one from when it first waits.
        await asyncio.sleep(0)
        yield ""
        yield await first
        async for uid in changes:
            yield uid
    finally:
        first.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration):
            await first
        close = getattr(changes, "aclose", None)
        if close is not None:
            await close()
