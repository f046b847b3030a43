"""Which process has a data directory, and where it is reached: a file that it locks and fills.

The kernel lets go of the lock when the process ends, however it ends, so what the file says is
true exactly while the lock is held. The file stays.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec

from dray.clock import Clock
from dray.errors import ConfigurationError

__all__ = ["FILE_NAME", "Hold", "Instance", "find_instance"]

FILE_NAME: Final = "up.lock"
PRIVATE_FILE: Final = 0o600

# Written whole, with spaces behind: whoever reads meanwhile sees one text or the other.
FILE_BYTES: Final = 4096

# Whoever asks who has the directory holds the lock for a moment. A start must not fail by that.
TRIES: Final = 5
TRY_SECONDS: Final = 0.05


class Instance(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A process that has a data directory. Without a URL it is not ready yet."""

    pid: int
    version: str = ""
    started_at: str = ""
    url: str = ""
    kubeconfig: str = ""
    keep_pods: bool = False  # pods outlive it, whoever stops it


@dataclass(slots=True)
class Hold:
    """The directory, for this process alone."""

    _descriptor: int

    @classmethod
    async def take(cls, data_directory: Path, clock: Clock) -> Self:
        """Have the directory. Raises ConfigurationError naming who has it."""
        path = data_directory / FILE_NAME
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            descriptor = os.open(path, flags, PRIVATE_FILE)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be opened: {error.strerror}") from error
        for _ in range(TRIES):
            if _locked(descriptor, fcntl.LOCK_EX):
                hold = cls(descriptor)
                hold.announce(Instance(pid=os.getpid()))
                return hold
            await clock.sleep(TRY_SECONDS)
        found = _read(descriptor)
        os.close(descriptor)
        raise ConfigurationError(_refusal(data_directory, found))

    def announce(self, instance: Instance) -> None:
        """Say what others need to know of this process."""
        os.pwrite(self._descriptor, msgspec.json.encode(instance).ljust(FILE_BYTES), 0)

    def release(self) -> None:
        """Let others have the directory. The file stays: removing it would race with them."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def find_instance(data_directory: Path) -> Instance | None:
    """The process that has the directory; None if none has. Its pid is 0 if it did not say."""
    try:
        descriptor = os.open(data_directory / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if _locked(descriptor, fcntl.LOCK_SH):
            return None
        return _read(descriptor) or Instance(pid=0)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(descriptor: int) -> Instance | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, FILE_BYTES, 0), type=Instance)
    except msgspec.MsgspecError:
        return None


def _refusal(data_directory: Path, found: Instance | None) -> str:
    who = f"process {found.pid}" if found is not None else "another process"
    where = f" at {found.url}" if found is not None and found.url else ""
    return (
        f"{data_directory} is in use: dray up runs there already ({who}{where}). Stop it with "
        f"`dray down --data-dir {data_directory}`, or choose another --data-dir and --port"
    )
