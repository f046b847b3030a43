"""Long-running commands: told to stop by a signal, and ended by the first part that fails.

Parts of such a command run side by side for ever. One that ends by itself ends the command.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Iterator
from contextlib import suppress
from typing import Any

from dray.errors import ConfigurationError, InternalError

__all__ = ["either", "end", "only_configuration", "sentences", "told_to_stop"]


async def told_to_stop() -> None:
    """Return on SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()


async def either(wanted: Awaitable[Any], running: asyncio.Future[None]) -> None:
    """Wait for one thing, unless another that should go on has ended, which is an error."""
    waiting = asyncio.ensure_future(wanted)
    try:
        await asyncio.wait((waiting, running), return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not waiting.done():
            waiting.cancel()
            await asyncio.wait((waiting,))
    if waiting.cancelled():
        running.result()
        raise InternalError("a part ended by itself")
    waiting.result()


async def end(running: asyncio.Future[None]) -> None:
    """Cancel what runs, and wait until it has ended."""
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


def only_configuration(group: BaseExceptionGroup) -> ConfigurationError | None:
    """What a group says if all of it is about configuration, else None.

    Parts run side by side, and fail in a group even when one of them fails alone.
    """
    problems, others = group.split(ConfigurationError)
    if problems is None or others is not None:
        return None
    return ConfigurationError("; ".join(sentences(problems)))


def sentences(group: BaseExceptionGroup) -> Iterator[str]:
    """What every error in a group says."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from sentences(error)
        else:
            yield str(error)
