"""The files beside the database: who has it open, and how far it had come.

`NAME.lock` is held while a process has the store open, and says which one. `NAME.mark` holds the
newest revision that was acknowledged: written after each commit and never before, not synced, so it
may lag behind after a power failure but is never ahead of what was on disk. A database that ends
before its mark has lost something that SQLite cannot notice, such as a deleted or cut-off WAL.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from struct import Struct
from typing import Final, Self
from zlib import crc32

from dray.errors import StoreUnavailable

__all__ = ["Lock", "Mark", "companions", "sync_directory"]

_MARK: Final = Struct("<QI")  # a revision and its checksum
PRIVATE_MODE: Final = 0o600  # values are secrets, too
PID_BYTES_MAX: Final = 32


def companions(path: Path) -> tuple[Path, Path]:
    """The write-ahead log and its index, which belong to a database file."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Lock:
    """Held from `take` to `release`, or to the end of the process, however that comes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Self:
        """Lock the database at the path; StoreUnavailable if another process has it."""
        name = path.with_name(f"{path.name}.lock")
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT, PRIVATE_MODE)
        except OSError as error:
            raise StoreUnavailable(f"{name}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, PID_BYTES_MAX, 0).decode(errors="replace").strip()
            os.close(descriptor)
            who = f"process {holder}" if holder.isdigit() else "another process"
            raise StoreUnavailable(f"{path} is in use by {who}") from error
        # Only for people: a full disk is no reason to fail here.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Let others have it. The file stays: removing it would race with whoever opens it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Mark:
    """The newest acknowledged revision, as far as it is known outside the database."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}.mark")
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE_MODE)
        except OSError as error:
            raise StoreUnavailable(f"{self.path}: {error.strerror}") from error

    @staticmethod
    def read(path: Path) -> int:
        """The mark beside a database; 0 if there is none, or none that makes sense."""
        try:
            data = path.with_name(f"{path.name}.mark").read_bytes()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreUnavailable(f"{path}.mark: {error.strerror}") from error
        if len(data) != _MARK.size:
            return 0
        revision, checksum = _MARK.unpack(data)
        return int(revision) if checksum == crc32(data[:8]) else 0

    def write(self, revision: int) -> None:
        """Note a revision that is durable. Failing to is no failure: the mark may lag."""
        number = revision.to_bytes(8, "little")
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, number + crc32(number).to_bytes(4, "little"), 0)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
