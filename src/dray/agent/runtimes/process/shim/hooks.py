"""Hooks of a container: programs that are told the container's state on their stdin.

As OCI has them. Each runs by itself, in the order given, and one that fails or takes too long is
killed and fails what it belongs to.
"""

from __future__ import annotations

import json
import os
import select
import signal
from contextlib import suppress

__all__ = ["HookFailed", "run_hooks"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A hook without a timeout of its own. Upstream waits for ever, and so would the pod.
TIMEOUT_SECONDS = 60
# What is repeated of what a failing hook said.
OUTPUT_BYTES_MAX = 2048


class HookFailed(Exception):
    """A hook did not do its work."""


def run_hooks(launch: dict[str, Any], name: str, status: str, pid: int) -> None:
    """Run all hooks of this name. Raises HookFailed at the first that fails."""
    state = {**launch["state"], "status": status}
    if pid:
        state["pid"] = pid
    for hook in launch["hooks"]:
        if hook["name"] == name:
            _run(hook, json.dumps(state).encode())


def _run(hook: dict[str, Any], state: bytes) -> None:
    path, title = hook["path"], f"{hook['name']} hook {hook['path']}"
    # Files in memory: neither side can wait for the other.
    given, said = os.memfd_create("state"), os.memfd_create("output")
    try:
        os.write(given, state)
        os.lseek(given, 0, os.SEEK_SET)
        actions = [
            (os.POSIX_SPAWN_DUP2, given, 0),
            (os.POSIX_SPAWN_DUP2, said, 1),
            (os.POSIX_SPAWN_DUP2, said, 2),
        ]
        environment = dict(item.partition("=")[::2] for item in hook["env"])
        try:
            pid = os.posix_spawn(
                path,
                hook["args"] or [path],
                environment,
                file_actions=actions,
                setpgroup=0,
                setsigmask=(),
                setsigdef=(signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE),
            )
        except OSError as error:
            raise HookFailed(f"{title}: {error.strerror}") from error
        _wait(pid, title, hook["timeout"] or TIMEOUT_SECONDS, said)
    finally:
        os.close(given)
        os.close(said)


def _wait(pid: int, title: str, timeout_seconds: int, said: int) -> None:
    ended = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        in_time = bool(poll.poll(timeout_seconds * 1000))
        if not in_time:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(ended)
    if not in_time:
        raise HookFailed(f"{title}: not done after {timeout_seconds} s")
    if status:
        code = os.waitstatus_to_exitcode(status)
        output = os.pread(said, OUTPUT_BYTES_MAX, 0).decode(errors="replace").strip()
        told = f"{title}: " + (f"exit status {code}" if code > 0 else f"signal {-code}")
        raise HookFailed(f"{told}: {output}" if output else told)
