"""The certain death of whatever a container leaves behind.

With a cgroup the kernel kills all in it, however they hid. Without one, the supervisor is the
parent of every orphan among its descendants, and kills its children until there are none: what a
killed process started is a child by then.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress

__all__ = ["count_oom_kills", "kill_cgroup", "kill_children", "kill_group"]

# Death by SIGKILL takes as long as the kernel needs to free memory, or to give up on a dead mount.
CGROUP_WAIT_MS = 10_000
# Kernels before 5.14 have no cgroup.kill: there all members are killed, again and again.
KILL_AGAIN_MS = 50


def kill_cgroup(path: str, *, wait_ms: int = CGROUP_WAIT_MS) -> bool:
    """Kill all in a cgroup; whether it is empty when this returns."""
    try:
        events = os.open(f"{path}/cgroup.events", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True  # it is gone, and so is everyone in it
    try:
        poll = select.poll()
        poll.register(events, select.POLLPRI)
        is_certain = _kill_at_once(path)
        while _is_populated(events):
            if not is_certain:
                _kill_members(path)  # a fork may have been faster
            if not poll.poll(wait_ms if is_certain else KILL_AGAIN_MS):
                wait_ms -= wait_ms if is_certain else KILL_AGAIN_MS
                if wait_ms <= 0:
                    return not _is_populated(events)
        return True
    except OSError:
        return True
    finally:
        os.close(events)


def kill_group(group: int) -> None:
    """Kill a process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def kill_children(main: int) -> int | None:
    """Kill and reap every child, and every child that comes by their death.

    Returns how the main one ended, if it did now.
    """
    status = None
    while True:
        for pid in _children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            pid, ended = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        if pid == main:
            status = ended


def count_oom_kills(path: str) -> int:
    """How many processes of a cgroup were killed because memory ran out."""
    try:
        with open(f"{path}/memory.events", encoding="ascii") as file:
            for line in file:
                name, _, number = line.partition(" ")
                if name == "oom_kill":
                    return int(number)
    except (OSError, ValueError):
        pass
    return 0


def _is_populated(events: int) -> bool:
    return b"populated 1" in os.pread(events, 4096, 0)


def _kill_at_once(path: str) -> bool:
    try:
        _write(f"{path}/cgroup.kill", b"1")
    except OSError:
        return False
    return True


def _kill_members(path: str) -> None:
    with suppress(OSError), open(f"{path}/cgroup.procs", encoding="ascii") as file:
        for line in file:
            with suppress(ProcessLookupError, ValueError):
                os.kill(int(line), signal.SIGKILL)


def _children() -> list[int]:
    """The children of this process, which has one thread."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        # A kernel built without that file.
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
        return [int(name) for name in pids if _parent(name) == pid]


def _parent(name: str) -> int:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            text = file.read()
        return int(text[text.rindex(b")") + 1 :].split()[1])
    except (OSError, ValueError):
        return 0


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
