"""One container: started, watched, stopped, and found again by the next agent.

Its supervisor does the work; here is what the agent knows of it. A container runs while its
supervisor does. When that has ended, the exit it wrote down is the container's; when it wrote down
none it was killed, and the agent kills what is left and writes the exit itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import dray
from dray.agent.runtimes.failures import RUN_CONTAINER_ERROR, RuntimeFailed
from dray.agent.runtimes.process.children import spawn
from dray.agent.runtimes.process.exits import ExitWatch
from dray.agent.runtimes.process.records import ContainerRecord
from dray.agent.runtimes.process.remnants import kill_remnants, kill_supervisor
from dray.agent.runtimes.process.shim import frames
from dray.agent.runtimes.process.shim.hooks import HookFailed, run_hooks
from dray.agent.runtimes.process.shim.identity import ProcessIdentity, boot_id
from dray.agent.runtimes.process.shim.records import (
    EXIT,
    LAUNCH,
    SOCKET,
    SUPERVISOR,
    read_record,
    write_record,
)
from dray.agent.runtimes.runtime import Container, ContainerState
from dray.clock import Clock, within

__all__ = ["ProcessContainer", "python_command"]

logger = logging.getLogger(__name__)

# Hooks of a container may take a while before it runs; a supervisor alone takes milliseconds.
START_SECONDS: Final = 300.0
# How long a start that nobody wants any more may take, whatever the grace: without hooks it is over
# long before.
STARTING_SECONDS: Final = 2.0
# After a kill only the kernel, and hooks that run when all is over, can be slow.
KILL_SECONDS: Final = 90.0

_BOOT: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from dray.agent.runtimes.process.shim.{module} import main; main({argument})"
)
_SUPERVISOR_LOG: Final = "supervisor.log"


class ProcessContainer:
    """A container of this host."""

    def __init__(
        self,
        record: ContainerRecord,
        directory: Path,
        *,
        clock: Clock,
        changed: Callable[[ProcessContainer], None],
        begin: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        """`changed` hears of every change; `begin` keeps a task that nobody waits for."""
        self.record = record
        self.directory = directory
        self.ended = asyncio.Event()
        self._clock = clock
        self._changed = changed
        self._begin = begin
        self._state = ContainerState.CREATED
        self._supervisor: dict[str, Any] = {}
        self._exit: dict[str, Any] = {}
        self._watch: ExitWatch | None = None
        self._starting: asyncio.Task[None] | None = None

    @property
    def state(self) -> ContainerState:
        return self._state

    @property
    def process(self) -> ProcessIdentity | None:
        """The first process, once there was one."""
        self._refresh()
        return ProcessIdentity.from_json(self._supervisor.get("process"))

    @property
    def exit_code(self) -> int:
        """Of a container that has ended."""
        return _number(self._exit, "exitCode")

    def listed(self) -> Container:
        """As the runtime lists it."""
        self._refresh()
        record = self.record
        return Container(
            id=record.id,
            sandbox_id=record.sandbox_id,
            pod=record.pod,
            name=record.name,
            attempt=record.attempt,
            state=self._state,
            image=record.image,
            image_id=record.image,
            created_at=record.created_at,
            started_at=_time(self._exit, "startedAt") or _time(self._supervisor, "startedAt"),
            finished_at=_time(self._exit, "finishedAt"),
            exit_code=self.exit_code,
            signal=_number(self._exit, "signal"),
            reason=_text(self._exit, "reason"),
            message=_text(self._exit, "message"),
            log_path=record.log_path,
        )

    def launch(self) -> dict[str, Any]:
        """How it is run. Raises RuntimeFailed."""
        launch = self._read(LAUNCH)
        if not launch:
            raise RuntimeFailed(
                f"what container {self.record.id} runs is not known: its record is damaged",
                reason=RUN_CONTAINER_ERROR,
            )
        return launch

    def adopt(self) -> None:
        """Find out what became of it, and hear of its end."""
        self._supervisor = self._read(SUPERVISOR)
        self._exit = self._read(EXIT)
        if not self._supervisor and not self._exit:
            return
        if self._exit:
            self._end()
            return
        self._state = ContainerState.RUNNING
        identity = ProcessIdentity.from_json(self._supervisor.get("supervisor"))
        if identity is not None:
            self._watch = ExitWatch.begin(identity, self._supervisor_ended)
        if self._watch is None:
            self._supervisor_ended()

    async def start(self) -> None:
        """Run it, if it has not run. Raises RuntimeFailed."""
        if self._state is not ContainerState.CREATED:
            return
        if self._starting is None:
            # Its own task: a caller who leaves does not leave half a container.
            self._starting = self._begin(self._start())
        await asyncio.shield(self._starting)

    async def stop(self, grace_seconds: float) -> None:
        """Ask it to end, then kill it; returns once nothing of it is left."""
        patience = max(grace_seconds, STARTING_SECONDS)
        while self._starting is not None and not self._starting.done():
            try:
                with suppress(RuntimeFailed):
                    await within(self._clock, patience, asyncio.shield(self._starting))
            except TimeoutError:
                logger.warning("%s is stopped while it starts, and killed", self.record.id)
                await asyncio.to_thread(self._kill_supervisor)
                patience = STARTING_SECONDS
        if self._state is not ContainerState.RUNNING:
            return
        if grace_seconds > 0:
            await self._ask(frames.frame(frames.SIGNAL, bytes([self.record.stop_signal])))
            with suppress(TimeoutError):
                await within(self._clock, grace_seconds, self.ended.wait())
                return
        await self._ask(frames.frame(frames.KILL))
        with suppress(TimeoutError):
            await within(self._clock, KILL_SECONDS, self.ended.wait())
            return
        logger.error("the supervisor of %s does not end, and is killed", self.record.id)
        identity = ProcessIdentity.from_json(self._supervisor.get("supervisor"))
        if identity is not None:
            await asyncio.to_thread(kill_supervisor, identity)
        await self.ended.wait()

    async def connect(self) -> socket.socket:
        """A connection to its supervisor. Raises OSError."""
        with ExitStack() as stack:
            directory = os.open(self.directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, directory)
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            with ExitStack() as unless_connected:
                unless_connected.callback(connection.close)
                connection.setblocking(False)
                # By way of the open directory: the path of a socket may have 107 bytes only.
                path = f"/proc/self/fd/{directory}/{SOCKET}"
                await asyncio.get_running_loop().sock_connect(connection, path)
                unless_connected.pop_all()
        return connection

    def close(self) -> None:
        """Leave it as it is, and hear no more of it."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    # Private --------------------------------------------------------------------------------------

    async def _start(self) -> None:
        log = os.open(
            self.directory / _SUPERVISOR_LOG,
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC,
            0o600,
        )
        try:
            command = (*python_command("main", "sys.argv[2]"), str(self.directory.absolute()))
            process = spawn(command, stderr=log)
        except OSError as error:
            self._starting = None  # nothing has happened: it may be tried again
            raise self._failed(f"its supervisor cannot be started: {error.strerror}") from error
        finally:
            os.close(log)
        try:
            output = await within(self._clock, START_SECONDS, process.output())
        except TimeoutError:
            output = b""
            await asyncio.to_thread(self._kill_supervisor)
        self.adopt()
        told = _report(output)
        if told is None:
            if self._state is ContainerState.CREATED:
                self._starting = None
                raise self._failed(f"its supervisor ended early: {self._last_words()}")
            # What it began is over, or is being ended.
            await self.ended.wait()
            raise self._failed(_text(self._exit, "message") or self._last_words())
        if sentence := _text(told, "error"):
            await self.ended.wait()
            raise self._failed(sentence)
        self._changed(self)

    async def _ask(self, frame: bytes) -> None:
        """Tell the supervisor; one that cannot be told is ended, and the container with it."""
        try:
            connection = await self.connect()
        except OSError:
            if not self.ended.is_set() and frame == frames.frame(frames.KILL):
                await asyncio.to_thread(self._kill_supervisor)
            return
        with connection, suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(connection, frame)

    def _kill_supervisor(self) -> None:
        supervisor = self._read(SUPERVISOR)
        identity = ProcessIdentity.from_json(supervisor.get("supervisor"))
        if identity is not None:
            kill_supervisor(identity)

    def _supervisor_ended(self) -> None:
        self._watch = None
        self._supervisor = self._read(SUPERVISOR)
        self._exit = self._read(EXIT)
        if self._exit:
            self._end()
        else:
            self._begin(self._bury())

    async def _bury(self) -> None:
        """Kill what a supervisor left that was killed, and write down the end in its place."""
        supervisor = self._supervisor
        await asyncio.to_thread(kill_remnants, supervisor)
        identity = ProcessIdentity.from_json(supervisor.get("supervisor"))
        message = "its supervisor was killed, and so were its processes"
        code, number, reason = 128 + signal.SIGKILL, int(signal.SIGKILL), "Error"
        if identity is not None and identity.boot_id != boot_id():
            message, code, number, reason = "the host was restarted", 255, 0, "Unknown"
        try:
            launch = self._read(LAUNCH)
            if launch.get("hooks"):
                await asyncio.to_thread(run_hooks, launch, "poststop", "stopped", 0)
        except HookFailed as error:
            message = f"{message}; {error}"
        self._exit = {
            "exitCode": code,
            "signal": number,
            "reason": reason,
            "message": message,
            "startedAt": _text(supervisor, "startedAt"),
            "finishedAt": self._clock.now().isoformat(),
        }
        # Its directory may have been removed by force; then there is nobody left to tell.
        with suppress(OSError):
            write_record(str(self.directory / EXIT), self._exit)
        self._end()

    def _end(self) -> None:
        self._state = ContainerState.EXITED
        self.ended.set()
        self._changed(self)

    def _refresh(self) -> None:
        """A supervisor that was found while it was starting has more to say by now."""
        if self._state is ContainerState.RUNNING and not self._supervisor.get("startedAt"):
            self._supervisor = self._read(SUPERVISOR) or self._supervisor

    def _read(self, name: str) -> dict[str, Any]:
        try:
            return read_record(str(self.directory / name)) or {}
        except (OSError, ValueError) as error:
            logger.error("%s of %s is damaged: %s", name, self.record.id, error)
            return {}

    def _last_words(self) -> str:
        try:
            lines = (self.directory / _SUPERVISOR_LOG).read_text(errors="replace").split("\n")
        except OSError:
            lines = []
        return next((line for line in reversed(lines) if line.strip()), "it says nothing")

    def _failed(self, why: str) -> RuntimeFailed:
        record = self.record
        return RuntimeFailed(
            f"container {record.name} of pod {record.pod.namespace}/{record.pod.name}: {why}",
            reason=RUN_CONTAINER_ERROR,
        )


def python_command(module: str, argument: str) -> list[str]:
    """How a module of the shim is run: alone, without what site-packages would bring."""
    boot = _BOOT.format(module=module, argument=argument)
    return [sys.executable, "-I", "-S", "-c", boot, str(Path(dray.__file__).parent.parent)]


def _report(output: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(output)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _number(record: dict[str, Any], name: str) -> int:
    value = record.get(name)
    return value if isinstance(value, int) else 0


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _time(record: dict[str, Any], name: str) -> datetime | None:
    try:
        return datetime.fromisoformat(_text(record, name))
    except ValueError:
        return None
