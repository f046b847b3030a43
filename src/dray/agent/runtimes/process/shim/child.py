"""Between fork and exec: how a process becomes what its container says it is.

Everything here runs in the process that will be the container's, or a command's inside it. Errors
are OSErrors with a sentence; the caller hands it to whoever waits.
"""

from __future__ import annotations

import fcntl
import os
import signal
import termios
from contextlib import suppress

from dray.agent.runtimes.process.shim import kernel

__all__ = [
    "adjust_oom_score",
    "be_nobody_special",
    "become",
    "execute",
    "join_cgroup",
    "pause",
    "take_streams",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_DESCRIPTORS_MAX = 65536


def be_nobody_special() -> None:
    """Undo what the supervisor set up for itself: signals, and descendants."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            # Some are the C library's own.
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def take_streams(stdin: int, stdout: int, stderr: int, *, tty: bool) -> None:
    """Have these as the standard streams; with a terminal, as the controlling one."""
    for number, descriptor in enumerate((stdin, stdout, stderr)):
        os.dup2(descriptor, number)
    if tty:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def join_cgroup(path: str) -> None:
    """Enter a cgroup."""
    if path:
        descriptor = os.open(f"{path}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, b"0")
        finally:
            os.close(descriptor)


def adjust_oom_score(value: int) -> None:
    """Be sooner or later among those who die when memory runs out, where that is allowed."""
    if value:
        with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(value))


def become(launch: dict[str, Any]) -> None:
    """Take on user, groups and capabilities, and go to the working directory."""
    for number in launch["dropCapabilities"]:
        # A capability this kernel does not know nobody can have.
        with suppress(OSError):
            kernel.drop_capability(number)
    if os.geteuid() == 0:
        if launch["groups"] is not None:
            os.setgroups(launch["groups"])
        if launch["gid"] is not None:
            os.setresgid(launch["gid"], launch["gid"], launch["gid"])
        if launch["uid"] is not None:
            os.setresuid(launch["uid"], launch["uid"], launch["uid"])
    # Launches of agents before this one do not say.
    if launch.get("noNewPrivileges"):
        kernel.gain_no_privileges()
    directory = launch["cwd"] or "/"
    try:
        os.chdir(directory)
    except OSError as error:
        raise OSError(0, f"working directory {directory}: {error.strerror}") from error


def execute(launch: dict[str, Any]) -> NoReturn:
    """Run the command, found by the container's own PATH."""
    argv = launch["argv"]
    name = argv[0]
    environment = dict(launch["env"])
    # Not os.execvpe: it loads modules, which another user may not be allowed to read.
    directories = [""] if "/" in name else environment.get("PATH", "").split(":")
    refusal: OSError | None = None
    for directory in directories:
        path = f"{directory}/{name}" if directory else name
        try:
            os.execve(path, argv, environment)  # noqa: S606 - running what a pod says is the point
        except (FileNotFoundError, NotADirectoryError):
            if refusal is None and os.path.exists(path):
                refusal = OSError(0, f"exec {path}: its interpreter does not exist")
        except OSError as error:
            refusal = refusal or OSError(0, f"exec {path}: {error.strerror}")
    where = "on this host" if "/" in name else "in $PATH"
    raise refusal or FileNotFoundError(2, f"exec {name}: not found {where}")


def pause() -> NoReturn:
    """Do nothing until told to end: what a container without a command does."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    os.closerange(3, _DESCRIPTORS_MAX)
    while True:
        signal.pause()
