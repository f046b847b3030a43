"""Which process is meant: a pid is used again, a pid with its start time and boot is not."""

from __future__ import annotations

import os

__all__ = ["ProcessIdentity", "boot_id", "identify", "is_alive"]

# Fields of /proc/<pid>/stat after the command, which ends with the last parenthesis.
_STATE = 0
_START_TICKS = 19

# Ended, and only waiting for its parent to notice.
_DEAD = (b"Z", b"X")


class ProcessIdentity:
    """One process, of all that ever ran here."""

    __slots__ = ("boot_id", "pid", "start_ticks")

    def __init__(self, pid: int, start_ticks: int, boot_id: str) -> None:
        self.pid = pid
        self.start_ticks = start_ticks
        self.boot_id = boot_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProcessIdentity) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        return hash((self.pid, self.start_ticks, self.boot_id))

    def __repr__(self) -> str:
        return f"process {self.pid}"

    def as_json(self) -> dict[str, object]:
        """What a record holds."""
        return {"pid": self.pid, "startTicks": self.start_ticks, "bootID": self.boot_id}

    @classmethod
    def from_json(cls, value: object) -> ProcessIdentity | None:
        """What a record held, None when it is nothing of the kind."""
        if not isinstance(value, dict):
            return None
        pid, ticks, boot = value.get("pid"), value.get("startTicks"), value.get("bootID")
        if isinstance(pid, int) and isinstance(ticks, int) and isinstance(boot, str) and pid > 1:
            return cls(pid, ticks, boot)
        return None


def identify(pid: int) -> ProcessIdentity | None:
    """The process that has this pid now, unless it has ended."""
    fields = _fields(pid)
    if fields is None or fields[_STATE] in _DEAD:
        return None
    return ProcessIdentity(pid, int(fields[_START_TICKS]), boot_id())


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether exactly this process still runs."""
    return identify(identity.pid) == identity


def boot_id() -> str:
    """Which start of this host it is: start times count from it, and would repeat."""
    if not _boot_ids:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            _boot_ids.append(file.read().strip())
    return _boot_ids[0]


_boot_ids: list[str] = []


def _fields(pid: int) -> list[bytes] | None:
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        text = os.read(descriptor, 4096)
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)
    return text[text.rindex(b")") + 1 :].split()
