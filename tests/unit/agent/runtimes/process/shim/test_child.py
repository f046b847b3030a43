"""How a process becomes its container's: each test in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dray.agent.runtimes.process.shim import child

LAUNCH: dict[str, Any] = {
    "env": [["PATH", "/usr/bin:/bin"]],
    "cwd": "",
    "uid": None,
    "gid": None,
    "groups": None,
    "dropCapabilities": [],
}


def alone(steps: Callable[[], None]) -> tuple[int, str]:
    """Do this in a child; returns how it ended, and what it said."""
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(tell, 1)
        os.close(told)
        try:
            steps()
            os._exit(0)
        except OSError as error:
            os.write(1, (error.strerror or str(error)).encode())
        finally:
            os._exit(99)
    os.close(tell)
    with open(told, "rb") as file:
        said = file.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


@pytest.mark.parametrize("argv", [["echo", "hi"], ["/bin/echo", "hi"]], ids=["by-name", "by-path"])
def test_a_command_is_found_and_run(argv: list[str]) -> None:
    assert alone(lambda: child.execute({**LAUNCH, "argv": argv})) == (0, "hi\n")


def test_a_command_that_cannot_be_run_says_why(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    script = tmp_path / "script"
    script.write_text("#!/no/such/shell\n")
    script.chmod(0o755)
    for name, told in (
        ("no-such", "exec no-such: not found in $PATH"),
        ("/no/such", "exec /no/such: not found on this host"),
        (str(tmp_path / "plain"), f"exec {tmp_path}/plain: Permission denied"),
        (str(script), f"exec {script}: its interpreter does not exist"),
        ("/tmp", "exec /tmp: Permission denied"),
    ):
        code, said = alone(lambda name=name: child.execute({**LAUNCH, "argv": [name]}))  # type: ignore[misc]  # a default, not an argument
        assert (code, said) == (99, told)


def test_a_working_directory_must_be_there() -> None:
    assert alone(lambda: child.become({**LAUNCH, "cwd": "/tmp"})) == (0, "")
    told = (99, "working directory /no/such: No such file or directory")
    assert alone(lambda: child.become({**LAUNCH, "cwd": "/no/such"})) == told


def test_signals_are_as_they_are_for_anybody() -> None:
    def steps() -> None:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        child.be_nobody_special()
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()

    assert alone(steps)[0] == 0


# In a process of its own and not in a copy of this one, whose threads could take the signal.
PAUSING = """
import os, signal, sys
from dray.agent.runtimes.process.shim import child

number = signal.Signals(int(sys.argv[1]))
signal.pthread_sigmask(signal.SIG_BLOCK, {number})
os.kill(os.getpid(), number)
pause = signal.pause

def unblock():
    # Delivered when it may be: once there is somebody to take it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    pause()

signal.pause = unblock
child.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_pause_ends_well_when_asked_to(number: signal.Signals) -> None:
    words = [sys.executable, "-c", PAUSING, str(int(number))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_cgroup_is_no_cgroup() -> None:
    child.join_cgroup("")
    with pytest.raises(FileNotFoundError):
        child.join_cgroup("/nonexistent")
    child.adjust_oom_score(0)


def test_streams_take_the_places_of_the_standard_ones(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def steps() -> None:
        null = os.open("/dev/null", os.O_RDONLY)
        file = os.open(out, os.O_WRONLY | os.O_CREAT, 0o600)
        child.take_streams(null, file, file, tty=False)
        os.write(1, b"out ")
        os.write(2, b"bad")
        assert os.read(0, 1) == b""

    assert alone(steps)[0] == 0
    assert out.read_bytes() == b"out bad"


def test_whoever_may_gain_no_privileges_executes_without() -> None:
    for wanted in (False, True):

        def steps(wanted: bool = wanted) -> None:
            launch = {**LAUNCH, "noNewPrivileges": wanted}
            child.become(launch)
            child.execute({**launch, "argv": ["grep", "NoNewPrivs", "/proc/self/status"]})

        assert alone(steps) == (0, f"NoNewPrivs:\t{int(wanted)}\n")
