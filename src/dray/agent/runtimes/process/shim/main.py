"""Where a supervisor begins: it leaves whoever started it, and takes the container for itself.

`python -I -S -c … <directory>` is given the container's directory and says on its stdout, in one
line of JSON, how starting went: `{}` for well, `already` if somebody else supervises or did, and
`error` with a sentence otherwise. The line comes once the process runs, and the stream ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
from contextlib import suppress

from dray.agent.runtimes.process.shim.records import (
    EXIT,
    LAUNCH,
    LOCK,
    SUPERVISOR,
    read_record,
)
from dray.agent.runtimes.process.shim.supervisor import Supervisor

__all__ = ["main"]

# What a process may give others of the files it makes: the usual.
UMASK = 0o022

# Only when two agents start one container at the same time.
LOOK_AGAIN_MS = 10


def main(directory: str) -> None:
    """Start supervising the container of a directory, in a process of its own."""
    os.chdir(directory)
    if os.fork():
        os._exit(0)
    os.setsid()
    os.umask(UMASK)
    # The lock is held for as long as this process lives. Whoever was first has begun, or will have
    # in a moment: until then there would be nothing for the agent to find.
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    while not _is_ours(lock):
        if _has_begun():
            _report({"already": True})
            return
        select.poll().poll(LOOK_AGAIN_MS)
    if read_record(SUPERVISOR) is not None:
        _report({"already": True})
        return
    launch = read_record(LAUNCH)
    if launch is None:
        _report({"error": f"{directory} has no launch"})
        return
    Supervisor(launch, directory, _report).run()


def _is_ours(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _has_begun() -> bool:
    record = read_record(SUPERVISOR)
    return record is not None and (bool(record["startedAt"]) or read_record(EXIT) is not None)


def _report(told: dict[str, object]) -> None:
    """Tell the agent, which waits for the end of the stream, or is gone."""
    with suppress(OSError):
        os.write(1, json.dumps(told).encode())
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 1)
    os.close(null)
