"""What supervisor and agent tell each other through files of the container's directory.

Each file is written whole beside its place and renamed, so that whoever reads sees all of it or
none. The agent writes `launch.json` before there is a supervisor, the supervisor the others; when a
supervisor was killed, the agent writes the exit in its place.
"""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone

__all__ = [
    "EXIT",
    "LAUNCH",
    "LOCK",
    "SOCKET",
    "SUPERVISOR",
    "now",
    "read_record",
    "reserve_record",
    "write_record",
    "write_reserved",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LAUNCH = "launch.json"  # what to run, and how
SUPERVISOR = "supervisor.json"  # who supervises, and whom
EXIT = "exit.json"  # how it ended
LOCK = "lock"  # held while there is a supervisor
SOCKET = "socket"  # where the supervisor listens

PRIVATE_FILE = 0o600

# A launch with a few thousand variables is below a megabyte; nothing of ours is near this.
RECORD_BYTES_MAX = 16 * 1024 * 1024

# How a container ended, with the sentence of a hook that failed, is well below a block of a disk.
RESERVED_BYTES = 4096


def now() -> str:
    """The wall time. The injected clock ends where the agent's process does."""
    return datetime.now(timezone.utc).isoformat()  # noqa: UP017 - the name in every version


def write_record(path: str, record: dict[str, Any]) -> None:
    """Put a record at its place, whole."""
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE
    )
    with open(descriptor, "wb") as file:
        file.write(json.dumps(record).encode())
    os.replace(temporary, path)


def reserve_record(path: str) -> None:
    """Take the room that a record will need, so that a full disk cannot keep it from being told."""
    descriptor = os.open(_reserved(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    with open(descriptor, "wb") as file:
        file.write(b" " * RESERVED_BYTES)


def write_reserved(path: str, record: dict[str, Any]) -> None:
    """Put a record at its place, whole, in the room that was taken for it; once."""
    descriptor = os.open(_reserved(path), os.O_WRONLY | os.O_CLOEXEC)
    with open(descriptor, "wb") as file:
        # Blanks that are left behind it mean nothing in JSON.
        file.write(json.dumps(record).encode())
    os.replace(_reserved(path), path)


def read_record(path: str) -> dict[str, Any] | None:
    """The record, None if there is none. Raises ValueError when it is damaged."""
    try:
        with open(path, "rb") as file:
            data = file.read(RECORD_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    record = json.loads(data)
    if not isinstance(record, dict):
        raise ValueError("the record is no object")
    return record


def _reserved(path: str) -> str:
    return f"{path}.reserved"
