"""The directory in which drivers put their registration sockets.

It is read again and again instead of watched: a read costs microseconds and cannot miss anything,
while a lost notification is lost for good. What was re-created between two reads shows in its inode
and its time of change. (So does a change of mode or owner, which then looks like a new socket;
registering a driver once more is harmless, missing a new process is not.)

The content is anybody's: names that begin with a dot, whatever is no socket and directories behind
links are skipped, and one read looks at so many entries and no more. A directory that cannot be
read says nothing about its sockets, so they stay what they were. Nothing is ever removed.
Upstream counterpart: kubelet pluginmanager/pluginwatcher.
"""

from __future__ import annotations

import logging
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["RegistrationSocket", "SocketDirectory", "connect_problem", "is_abandoned"]

DIRECTORY_MODE: Final = 0o750

# A node has a handful of drivers. These keep one read within milliseconds whatever somebody puts
# there: entries looked at, sockets taken, and levels of directories below the first.
ENTRIES_MAX: Final = 10_000
SOCKETS_MAX: Final = 1_000
DEPTH_MAX: Final = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, order=True)
class RegistrationSocket:
    """A socket, and which one of those that ever had this path."""

    path: str
    inode: int
    changed_ns: int


class SocketDirectory:
    """What is in the directory, read anew each time."""

    def __init__(self, path: str | os.PathLike[str], *, entries_max: int = ENTRIES_MAX) -> None:
        self._path = os.fspath(path)
        self._entries_max = entries_max
        self._known: dict[str, RegistrationSocket] = {}
        self._problem = ""

    def read(self) -> frozenset[RegistrationSocket]:
        """All sockets that are there now. The directory is created when it is missing."""
        try:
            os.makedirs(self._path, mode=DIRECTORY_MODE, exist_ok=True)
        except OSError as error:
            self._report(f"cannot be created: {error.strerror or error}")
            return self._recheck()
        scan = _Scan(self._entries_max)
        found = {item.path: item for item in scan.sockets(self._path, depth=0)}
        if scan.problem:
            # Part of it was not seen: what was known is still there unless its own path says no.
            for known in self._recheck():
                found.setdefault(known.path, known)
        self._report(scan.problem)
        self._known = found
        return frozenset(found.values())

    def _recheck(self) -> frozenset[RegistrationSocket]:
        """The known sockets, one by one, when the directory as a whole does not answer."""
        checked: dict[str, RegistrationSocket] = {}
        for path, known in self._known.items():
            try:
                now = _identify(path)
            except FileNotFoundError:
                continue
            except OSError:
                now = known  # not allowed to look is not the same as gone
            if now is not None:
                checked[path] = now
        self._known = checked
        return frozenset(checked.values())

    def _report(self, problem: str) -> None:
        """Say what is wrong when it begins, and that it is over; not four times a second."""
        if problem == self._problem:
            return
        if problem:
            _log.warning("registration directory %s: %s", self._path, problem)
        else:
            _log.info("registration directory %s can be read again", self._path)
        self._problem = problem


class _Scan:
    def __init__(self, entries_max: int) -> None:
        self._entries_left = entries_max
        self._entries_max = entries_max
        self._sockets_left = SOCKETS_MAX
        self.problem = ""

    def sockets(self, directory: str, *, depth: int) -> Iterator[RegistrationSocket]:
        below: list[str] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if self._entries_left == 0 or self._sockets_left == 0:
                        self.problem = (
                            f"more than {self._entries_max} entries or {SOCKETS_MAX} sockets,"
                            " the others are not looked at"
                        )
                        return
                    self._entries_left -= 1
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
                    elif not entry.is_file(follow_symlinks=False):
                        found = _identify_quietly(entry.path)
                        if found is not None:
                            self._sockets_left -= 1
                            yield found
        except FileNotFoundError:
            return  # removed since it was listed
        except OSError as error:
            self.problem = f"{directory} cannot be read: {error.strerror or error}"
        if depth == DEPTH_MAX:
            return
        for path in sorted(below):
            yield from self.sockets(path, depth=depth + 1)


def connect_problem(path: str) -> OSError | None:
    """What the system says to a connection, which is dropped at once; None if it succeeds."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # A full queue of connections must not hold us up; it means that somebody listens.
        probe.setblocking(False)
        try:
            probe.connect(path)
        except OSError as error:
            return error
    return None


def is_abandoned(path: str) -> bool:
    """Whether nobody listens any more: a socket outlives a process that was killed."""
    return isinstance(connect_problem(path), ConnectionRefusedError)


def _identify(path: str) -> RegistrationSocket | None:
    """The socket at a path, also behind a link; None for anything else."""
    facts = os.stat(path)
    if not stat.S_ISSOCK(facts.st_mode):
        return None
    return RegistrationSocket(path, facts.st_ino, facts.st_ctime_ns)


def _identify_quietly(path: str) -> RegistrationSocket | None:
    try:
        return _identify(path)
    except OSError:
        return None  # gone, or a link that leads nowhere or in circles
