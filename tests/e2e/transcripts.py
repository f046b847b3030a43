"""Plays the sessions that pages show: a server is started, spoken to and stopped, line by line.

A session is the console blocks of a page from the one that starts a server or a whole cluster in
the background (`$ dray server … &`, `$ dray up … &`) to the one that ends with stopping it
(`$ kill $!`, `$ kill $! %1` where nodes and drivers were started as well, or `$ dray down …`).
Whatever is started in the background says in a line that it is ready; more are read where a page
shows more. Commands run as they are written, but in a directory and on ports of the run's own.
A block marked `console second` is another terminal: its command is started and left running, and
blocks so marked without a command are what it shows later. Blocks marked `console up` are not of a
session of their own: pages of the course in examples/ share the cluster that its first page starts.
What differs from run to run (ages, times, uids) is made equal before it is compared.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

__all__ = [
    "SECOND",
    "UP",
    "Block",
    "Session",
    "Step",
    "normalise",
    "outside_sessions",
    "sessions_of",
    "steps_on_a_cluster",
]

ROOT: Final = Path(__file__).parents[2]
BIN: Final = Path(sys.executable).parent

# What pages call the directory and the address of their server.
SHOWN_FOLDER: Final = "/tmp/dray"
SHOWN_ADDRESS: Final = "127.0.0.1:7443"
SHOWN_PORT: Final = "--port 7443"

SECOND: Final = "second"
UP: Final = "up"
SECONDS_MAX: Final = 60

_FENCE: Final = re.compile(r"^```(console[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_START: Final = re.compile(r"dray (?:server|up) .*&")
_BACKGROUND: Final = " &"
# The one that was started last, or by number, as shells count them: %1 is the server.
_STOP: Final = re.compile(r"kill (?:\$!|%1|(?:\$!|%\d)(?: %\d)* %1)(?: && wait \$!)?")
_DOWN: Final = re.compile(r"dray down .*")
_TARGET: Final = re.compile(r"\$!|%\d")
_CRASH: Final = "kill -9 $!"

# In this order: a uid has digits that an age would be found in.
_PASSING: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"SHA256=[0-9a-f]{64}"), "SHA256=DIGEST"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"(?<![^\s])(?:\d+[smhd]){1,2}(?![^\s])"), "AGE"),
    (re.compile(r"\(\d+[smhd] ago\)"), "(AGE ago)"),
    (re.compile(r"ready at (\S+) in \d+\.\d s"), r"ready at \1 in SECONDS"),
    # Of what controllers make: a hash of the template, if any, and five characters by chance.
    (re.compile(r"(?:-[b-df-hj-np-tv-xz2456789]{10})?-[b-df-hj-np-tv-xz2456789]{5}\b"), "-SUFFIX"),
    (re.compile(r"process \d+"), "process NUMBER"),
    (re.compile(r"up \d+ s,"), "up SECONDS,"),
    (re.compile(r" deleted from \S+ namespace"), " deleted"),  # newer kubectl says where
    (re.compile(r"revision \d+"), "revision NUMBER"),
    (re.compile(r"\d+ objects, \d+ bytes"), "COUNT objects, COUNT bytes"),
    (re.compile(r"\d+ objects, goes on"), "COUNT objects, goes on"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), f"https://{SHOWN_ADDRESS}"),
    (re.compile(r" {2,}"), "  "),
)


class Step(NamedTuple):
    """A command, empty for more output of the second terminal, and what it shows."""

    command: str
    output: str
    is_second: bool = False


class Block(NamedTuple):
    """A console block of a page."""

    steps: tuple[Step, ...]
    is_up: bool = False

    @property
    def starts(self) -> bool:
        return any(_START.fullmatch(step.command) for step in self.steps)

    @property
    def stops(self) -> bool:
        last = self.steps[-1].command
        return _STOP.fullmatch(last) is not None or _DOWN.fullmatch(last) is not None


def _blocks(page: str) -> Iterator[Block]:
    for language, body in _FENCE.findall(page):
        is_second = SECOND in language.split()
        steps: list[Step] = []
        for line in body.splitlines():
            if line.startswith("$ "):
                steps.append(Step(line.removeprefix("$ "), "", is_second))
                continue
            if not steps:
                steps.append(Step("", "", is_second))
            last = steps.pop()
            steps.append(last._replace(output=f"{last.output}{line}\n"))
        yield Block(tuple(steps), UP in language.split())


def sessions_of(page: str) -> list[tuple[Step, ...]]:
    """The sessions that a page shows."""
    found: list[tuple[Step, ...]] = []
    under_way: list[Step] | None = None
    for block in _blocks(page):
        if block.is_up:
            continue
        if under_way is None and block.starts:
            under_way = []
        if under_way is None:
            continue
        under_way += block.steps
        if block.stops:
            found.append(tuple(under_way))
            under_way = None
    assert under_way is None, "a session starts a server and does not stop it"
    return found


def steps_on_a_cluster(page: str) -> tuple[Step, ...]:
    """What a page shows of the cluster that runs already."""
    return tuple(step for block in _blocks(page) if block.is_up for step in block.steps)


def outside_sessions(page: str) -> str:
    """The page without the blocks of its sessions."""
    is_under_way = False

    def kept(match: re.Match[str]) -> str:
        nonlocal is_under_way
        (block,) = _blocks(match.group())
        if block.is_up:
            return ""
        is_part = is_under_way = is_under_way or block.starts
        if block.stops:
            is_under_way = False
        return "" if is_part else match.group()

    return _FENCE.sub(kept, page)


def normalise(text: str) -> str:
    """The text with what differs from run to run made equal."""
    for pattern, name in _PASSING:
        text = pattern.sub(name, text)
    lines = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines)  # kubectl's own versions differ here


@dataclass
class Session:
    """One run of a session; leaving it ends whatever it started."""

    folder: Path
    environment: dict[str, str] = field(init=False)
    # As a shell numbers them, from 1 on.
    _jobs: list[subprocess.Popen[str]] = field(default_factory=list)
    _second: subprocess.Popen[str] | None = None
    _address: str = SHOWN_ADDRESS

    def __post_init__(self) -> None:
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        # A kubectl without a home of its own keeps nothing from one run for the next.
        self.environment = {**os.environ, "PATH": path, "HOME": str(self.folder)}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in (self._second, *self._jobs):
            if process is not None:
                process.kill()
                process.communicate()
        # Pods outlive their node; a page that is as it should be has deleted them.
        _kill_all_of(self.folder)

    def play(self, steps: Sequence[Step]) -> None:
        """Run every step, and hold what it prints to what the page shows."""
        for step in steps:
            shown = self._shown(step)
            # kubectl says nothing of what had gone before it began to wait.
            if "--for=delete" in step.command and not shown:
                continue
            assert normalise(shown) == normalise(step.output), f"{step.command}\n{shown}"

    def _shown(self, step: Step) -> str:
        """What the step prints, in the page's own names."""
        command = step.command.replace(SHOWN_FOLDER, str(self.folder))
        command = command.replace(SHOWN_PORT, "--port 0").replace(SHOWN_ADDRESS, self._address)
        if step.is_second:
            output = self._second_terminal(command, step.output.count("\n"))
        elif command.endswith(_BACKGROUND):
            output = self._start(command.removesuffix(_BACKGROUND), step.output.count("\n"))
        elif command == _CRASH:
            output = self._end("$!", signal.SIGKILL)
        elif _STOP.fullmatch(command):
            targets = _TARGET.findall(command.partition(" && ")[0])
            output = "".join(self._end(target, signal.SIGTERM) for target in targets)
        elif command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.environment[name] = value
            output = ""
        else:
            output = self._run(command)
        return output.replace(str(self.folder), SHOWN_FOLDER)

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert "Traceback" not in done.stdout, done.stdout
        return done.stdout

    def _start(self, command: str, lines_count: int) -> str:
        if command.startswith("dray node "):
            command += " --port 0"
        with (self.folder.parent / "jobs.log").open("a") as log:
            job = subprocess.Popen(
                shlex.split(command),
                cwd=ROOT,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._jobs.append(job)
        assert job.stdout is not None
        line = job.stdout.readline()
        assert line, (self.folder.parent / "jobs.log").read_text()
        if address := re.search(r"https://(\S+?),", line):
            self._address = address[1]
        return line + "".join(job.stdout.readline() for _ in range(lines_count - 1))

    def _end(self, target: str, number: signal.Signals) -> str:
        job = self._jobs.pop(-1 if target == "$!" else int(target[1:]) - 1)
        job.send_signal(number)
        rest, _ = job.communicate(timeout=SECONDS_MAX)
        assert job.returncode == (0 if number == signal.SIGTERM else -number)
        return rest

    def _second_terminal(self, command: str, lines_count: int) -> str:
        """As many lines as are shown, when they come."""
        if command:
            # Whatever does not come is not waited for without end.
            self._second = subprocess.Popen(
                ["timeout", str(SECONDS_MAX), *shlex.split(command)],
                cwd=ROOT,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        assert self._second is not None, "the second terminal runs nothing yet"
        assert self._second.stdout is not None
        return "".join(self._second.stdout.readline() for _ in range(lines_count))


def _kill_all_of(folder: Path) -> None:
    """Kill what runs for the sake of this directory, and what that has started."""
    supervisors = set()
    processes = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    for pid in processes:
        with suppress(OSError):
            if str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                supervisors.add(pid)
    for pid in processes:
        with suppress(OSError):
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if parent in supervisors or pid in supervisors:
                os.kill(pid, signal.SIGKILL)
