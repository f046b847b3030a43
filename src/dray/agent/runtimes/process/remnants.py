"""What is left of a container whose supervisor was killed, found and killed by the agent.

The kernel kills the container's first process with its supervisor, and the cgroup the rest. Where
there is no cgroup, the processes of the container's session are found by looking at all: those that
left it for a session of their own cannot be told from others, and live on.

Blocking: for threads.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dray.agent.runtimes.process.shim.identity import ProcessIdentity, boot_id, identify, is_alive
from dray.agent.runtimes.process.shim.remains import kill_cgroup

__all__ = ["kill_process", "kill_remnants", "kill_supervisor", "wait_for_end"]

# How long the death of a process that was killed may take.
DEATH_MS: Final = 10_000

# Fields of /proc/<pid>/stat after the command.
_SESSION: Final = 3


def kill_remnants(record: dict[str, Any]) -> None:
    """Kill all that is left by what the supervisor wrote down about the container."""
    cgroup, process = record.get("cgroup"), ProcessIdentity.from_json(record.get("process"))
    if isinstance(cgroup, str) and cgroup:
        kill_cgroup(cgroup)
    if process is None or process.boot_id != boot_id():
        return
    kill_process(process)
    for member in _session_of(process):
        kill_process(member)


def kill_process(process: ProcessIdentity) -> None:
    """Kill exactly this process, and wait until it is gone."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        # What is open now is what is alive now, and the signal goes to what is open.
        if is_alive(process):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            wait_for_end(descriptor)
    finally:
        os.close(descriptor)


def kill_supervisor(supervisor: ProcessIdentity) -> None:
    """Kill a supervisor, and the hook it may be waiting for, which would go on without it."""
    if not is_alive(supervisor):
        return
    children = _children_of(supervisor)
    kill_process(supervisor)
    for child in children:
        # Hooks lead groups of their own, of which the number is nobody else's while they live.
        if is_alive(child):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        kill_process(child)


def wait_for_end(descriptor: int) -> None:
    """Return once the process of a pidfd has ended, or after a while."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll(DEATH_MS)


def _children_of(parent: ProcessIdentity) -> list[ProcessIdentity]:
    try:
        words = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
    except OSError:
        return []
    return [found for word in words if (found := identify(int(word))) is not None]


def _session_of(leader: ProcessIdentity) -> list[ProcessIdentity]:
    """Members of the session that a process began which has ended.

    While a session has members its number is given to no new process; and if the number is some
    process's now, then the session is not ours.
    """
    if identify(leader.pid) is not None:
        return []
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            text = Path("/proc", entry, "stat").read_bytes()
            fields = text[text.rindex(b")") + 1 :].split()
            member = identify(int(entry))
            if (
                int(fields[_SESSION]) == leader.pid
                and member is not None
                and member.start_ticks >= leader.start_ticks
            ):
                found.append(member)
    return found
