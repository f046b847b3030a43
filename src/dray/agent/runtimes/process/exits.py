"""Ends of processes, learned of at once: whether they are children, or were another agent's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from dray.agent.runtimes.process.shim.identity import ProcessIdentity, is_alive

__all__ = ["ExitWatch"]


class ExitWatch:
    """Calls back once, when a process has ended."""

    def __init__(self, descriptor: int, ended: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._ended = ended
        asyncio.get_running_loop().add_reader(descriptor, self._readable)

    @classmethod
    def begin(cls, process: ProcessIdentity, ended: Callable[[], None]) -> ExitWatch | None:
        """Watch a process; None if it has ended already. Raises OSError."""
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return None
        # Looked at after it was opened: what is open cannot become another.
        if not is_alive(process):
            os.close(descriptor)
            return None
        return cls(descriptor, ended)

    def close(self) -> None:
        """Want to know no more."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _readable(self) -> None:
        # An agent that is the first process of its host, or a subreaper, is its parent by now.
        with suppress(ChildProcessError):
            os.waitid(os.P_PIDFD, self._descriptor, os.WEXITED | os.WNOHANG)
        self.close()
        self._ended()
