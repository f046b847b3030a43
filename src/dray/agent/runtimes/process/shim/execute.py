"""A command inside a container: enters what the container is in, and becomes the command.

Started by the agent for every exec; what to run is in an open file, so that neither environment nor
arguments show in the list of processes twice. It dies with the agent.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from dray.agent.runtimes.process.shim import child, kernel
from dray.agent.runtimes.process.shim.identity import ProcessIdentity, is_alive

__all__ = ["main"]

# As shells and container runtimes have it.
NOT_EXECUTABLE = 126
NOT_FOUND = 127


def main(descriptor: int) -> None:
    """Run what the file says; returns never."""
    with open(descriptor, "rb") as file:
        launch = json.loads(file.read())
    code = NOT_EXECUTABLE
    try:
        os.setsid()
        child.be_nobody_special()
        if launch["tty"]:
            child.take_streams(0, 1, 2, tty=True)
        child.join_cgroup(launch["cgroup"])
        if launch["namespace"]:
            _enter(ProcessIdentity.from_json(launch["process"]))
        child.become(launch)
        kernel.die_with_parent(signal.SIGKILL)
        child.execute(launch)
    except FileNotFoundError as error:
        code = NOT_FOUND
        told = error.strerror
    except OSError as error:
        told = error.strerror or str(error)
    sys.stderr.write(f"{told}\n")
    sys.stderr.flush()
    os._exit(code)


def _enter(process: ProcessIdentity | None) -> None:
    """Go where the container's first process is."""
    gone = OSError(0, "the container has ended")
    if process is None:
        raise gone
    kinds = (("uts", kernel.CLONE_NEWUTS), ("mnt", kernel.CLONE_NEWNS))
    try:
        opened = [
            (os.open(f"/proc/{process.pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), kind)
            for name, kind in kinds
        ]
    except OSError as error:
        raise gone from error
    # What is open now was that process's if it is alive now.
    if not is_alive(process):
        raise gone
    for descriptor, kind in opened:
        kernel.set_namespace(descriptor, kind)
