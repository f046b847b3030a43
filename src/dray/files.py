"""Files that are whole or absent: written beside, synced, renamed into place.

Whoever keeps state in files goes through here, so that a crash at any point leaves the old content
or the new, never a part. What cannot be read is moved aside under a name that says so: a damaged
file must neither stop a process nor be lost.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["remove_file", "set_aside", "sync_directory", "write_file"]

# Directory watchers and readers of CDI skip names that begin with a dot.
TEMPORARY_PREFIX: Final = "."
TEMPORARY_SUFFIX: Final = ".tmp"

# How many damaged files of one name are kept; the next takes the place of the last.
SET_ASIDE_MAX: Final = 16


def write_file(path: Path, data: bytes, *, mode: int = 0o600, sync: bool = True) -> None:
    """Put data at the path, all of it or nothing; with `sync`, on disk when this returns."""
    # A name of nobody else's: in two containers that share a directory, both processes may be 1.
    descriptor, name = tempfile.mkstemp(
        prefix=f"{TEMPORARY_PREFIX}{path.name}.", suffix=TEMPORARY_SUFFIX, dir=path.parent
    )
    temporary = Path(name)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        # Renamed, it is no longer there.
        with suppress(OSError):
            temporary.unlink()
    if sync:
        sync_directory(path.parent)


def remove_file(path: Path) -> bool:
    """Remove a file for good, and say whether there was one."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    sync_directory(path.parent)
    return True


def set_aside(path: Path) -> Path:
    """Move a damaged file out of the way, to where somebody can look at it; returns where to."""
    candidates = [path.with_name(f"{path.name}.damaged-{n}") for n in range(SET_ASIDE_MAX)]
    target = next((at for at in candidates if not at.exists()), candidates[-1])
    path.replace(target)
    sync_directory(path.parent)
    return target


def sync_directory(directory: Path) -> None:
    """Make renames and removals in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
