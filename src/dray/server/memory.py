"""Memory given back to the system after it was needed.

The C library keeps what TLS connections and large answers had for a moment, in the hope of needing
it again; after a burst that is hundreds of megabytes which nobody else can use. Asking it to let go
takes some milliseconds, in a thread, once a minute.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from typing import Final

from dray.clock import Clock

__all__ = ["keep_trimmed", "trimmer"]

TRIM_SECONDS: Final = 60.0


def trimmer() -> Callable[[], object] | None:
    """What makes the C library let go, or None where it has no such thing."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    trim.argtypes = [ctypes.c_size_t]
    return lambda: trim(0)


async def keep_trimmed(clock: Clock) -> None:
    """Give back once a minute, for ever."""
    trim = trimmer()
    while True:
        await clock.sleep(TRIM_SECONDS)
        if trim is not None:
            await asyncio.to_thread(trim)
