"""One agent per root directory: two would prepare, report and clean up against each other.

The kernel holds the lock for the process that has the file open, and lets go when that ends,
however it ends. The file stays, and says who has it, or had it last.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dray.errors import ConfigurationError

__all__ = ["lock_root"]

FILE_NAME: Final = "agent.lock"
PRIVATE_FILE: Final = 0o600

# A pid and a newline; whatever else somebody wrote there is not read.
_PID_BYTES_MAX: Final = 32


@contextmanager
def lock_root(root: Path) -> Iterator[None]:
    """Have a root directory for this process alone. Raises ConfigurationError naming who has it."""
    path = root / FILE_NAME
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be opened: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigurationError(
                f"another node uses the root directory {root}: {_holder(descriptor)}; stop it, or "
                "choose another directory"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    text = os.pread(descriptor, _PID_BYTES_MAX, 0).decode(errors="replace").strip()
    # Whoever has just taken it may not have said so yet.
    return f"process {text}" if text.isdecimal() else "a process that has only just started"
