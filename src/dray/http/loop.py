"""Which event loop a server runs in: uvloop where it is installed, else Python's own.

Python's serves as well, at half the speed; and each TLS connection takes ten times the memory,
because asyncio fills with zeros what uvloop leaves untouched.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run"]

Result = TypeVar("Result")


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end in a new loop."""
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.run(main)
    import uvloop  # noqa: PLC0415 - not on every system

    return uvloop.run(main)
