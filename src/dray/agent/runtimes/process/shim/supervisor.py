"""The supervisor itself: starts one process, keeps its output, and says how it ended.

One thread, one poll. It reaps what the container leaves, hands signals on, and serves whoever
attaches. When it is killed, the kernel kills the container's first process with it, and the agent
sees to the others. Nothing here waits for a client: one that does not read is dropped.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress

from dray.agent.runtimes.process.shim import child, kernel, remains
from dray.agent.runtimes.process.shim.hooks import HookFailed, run_hooks
from dray.agent.runtimes.process.shim.identity import ProcessIdentity, identify
from dray.agent.runtimes.process.shim.log_file import LogFile
from dray.agent.runtimes.process.shim.mounts import enter_namespace
from dray.agent.runtimes.process.shim.records import (
    EXIT,
    LAUNCH,
    SUPERVISOR,
    now,
    reserve_record,
    write_record,
    write_reserved,
)
from dray.agent.runtimes.process.shim.visitors import Visitors

__all__ = ["CANNOT_RUN", "CANNOT_RUN_CODE", "Supervisor"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

READ_BYTES = 64 * 1024

# Whoever holds the output open after all processes are dead is not of the container.
DRAIN_MS = 2_000

# A disk that is full may be so for long, and how the container ended is known to nobody else.
RECORD_AGAIN_MS = 1_000

# What a container that never ran is said to have ended with.
CANNOT_RUN = "ContainerCannotRun"
CANNOT_RUN_CODE = 128

_FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


class Supervisor:
    """Of the container in the current directory."""

    def __init__(
        self,
        launch: dict[str, Any],
        directory: str,
        report: Callable[[dict[str, object]], None],
    ) -> None:
        self._launch = launch
        self._directory = directory
        self._report = report
        self._log = LogFile(launch["log"])
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._outputs: dict[int, str] = {}
        self._visitors = Visitors(self, launch)
        self._pid = 0
        self._status: int | None = None  # as wait has it, once the process ended
        self._process: ProcessIdentity | None = None
        self._started_at = ""

    def run(self) -> None:
        """Start the process, and stay until nothing is left of it."""
        self._watch_signals()
        with suppress(OSError):
            child.join_cgroup(self._launch["supervisorsCgroup"])
        with suppress(OSError):
            kernel.become_subreaper()
        reserve_record(EXIT)
        self._record()
        try:
            self._start()
        except (OSError, HookFailed) as error:
            told = (error.strerror if isinstance(error, OSError) else "") or str(error)
            self._end_all()
            self._record_exit(CANNOT_RUN_CODE, 0, CANNOT_RUN, told)
            self._report({"error": told})
            return
        self._report({})
        while self._status is None:
            for descriptor, events in self._poll.poll():
                handler = self._handlers.get(descriptor)
                if handler is not None:
                    handler(events)
        self._finish(self._status)

    # What visitors ask for ------------------------------------------------------------------------

    def watch(self, descriptor: int, events: int, handler: Callable[[int], None]) -> None:
        """Call the handler when any of these happen to the descriptor."""
        self._handlers[descriptor] = handler
        self._poll.register(descriptor, events)

    def unwatch(self, descriptor: int) -> None:
        """Want to know no more of it."""
        if self._handlers.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def send_signal(self, number: int) -> None:
        """To the process and its group. Until it is reaped, the pid is nobody else's."""
        if self._pid and self._status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)

    def kill(self) -> None:
        """End it at once; what is left of it is ended when it has."""
        self.send_signal(signal.SIGKILL)

    # Beginning ------------------------------------------------------------------------------------

    def _watch_signals(self) -> None:
        waking, wakeup = os.pipe()
        os.set_blocking(waking, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *_FORWARDED):
            signal.signal(number, lambda *_: None)

        def woken(_: int) -> None:
            with suppress(BlockingIOError):
                for number in os.read(waking, READ_BYTES):
                    if number != signal.SIGCHLD:
                        self.send_signal(number)
            self._reap()

        self.watch(waking, select.POLLIN, woken)

    def _start(self) -> None:
        launch = self._launch
        streams, ours = self._open_streams()
        told, tell = os.pipe()
        wait, go = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(told)
            os.close(go)
            self._be_container(streams, wait, tell)
        for descriptor in {*streams, tell, wait}:
            os.close(descriptor)
        self._process = identify(self._pid)
        self._record()
        for descriptor in ours:
            os.set_blocking(descriptor, False)
        try:
            # Its namespace is made; or it cannot be, and then there is a sentence and an end.
            if (sentence := os.read(told, READ_BYTES)) != b"+":
                raise OSError(0, sentence.decode(errors="replace") or "it ended before it began")
            for name in ("prestart", "createRuntime"):
                run_hooks(launch, name, "creating", self._pid)
            with suppress(BrokenPipeError):
                os.write(go, b"+")
            # Executing closes its end; what comes before that is why it could not.
            if sentence := os.read(told, READ_BYTES):
                raise OSError(0, sentence.decode(errors="replace"))
        finally:
            os.close(told)
            os.close(go)
        self._started_at = now()
        self._visitors.open()
        self._record()
        run_hooks(launch, "poststart", "running", self._pid)

    def _open_streams(self) -> tuple[tuple[int, int, int], list[int]]:
        """The container's ends, and ours."""
        if self._launch["tty"]:
            ours, theirs = os.openpty()
            self._take_output(ours, "stdout")
            if self._launch["stdin"]:
                self._visitors.take_input(ours, terminal=True)
            self._visitors.terminal = ours
            return (theirs, theirs, theirs), [ours]
        output, stdout = os.pipe()
        errors, stderr = os.pipe()
        self._take_output(output, "stdout")
        self._take_output(errors, "stderr")
        if not self._launch["stdin"]:
            return (os.open(os.devnull, os.O_RDONLY), stdout, stderr), [output, errors]
        stdin, feed = os.pipe()
        self._visitors.take_input(feed, terminal=False)
        return (stdin, stdout, stderr), [output, errors, feed]

    def _take_output(self, descriptor: int, stream: str) -> None:
        self._outputs[descriptor] = stream
        self.watch(descriptor, select.POLLIN, lambda _: self._read_output(descriptor))

    def _be_container(self, streams: tuple[int, int, int], wait: int, tell: int) -> NoReturn:
        launch = self._launch
        try:
            os.setsid()
            child.be_nobody_special()
            kernel.die_with_parent(signal.SIGKILL)
            child.join_cgroup(launch["cgroup"])
            if launch["namespace"]:
                enter_namespace(launch, f"{self._directory}/stage")
            run_hooks(launch, "createContainer", "creating", os.getpid())
            os.write(tell, b"+")
            if os.read(wait, 1) != b"+":
                os._exit(CANNOT_RUN_CODE)
            run_hooks(launch, "startContainer", "created", os.getpid())
            child.adjust_oom_score(launch["oomScoreAdjustment"])
            child.become(launch)
            # Becoming somebody else has undone it.
            kernel.die_with_parent(signal.SIGKILL)
            child.take_streams(*streams, tty=launch["tty"])
            if launch["argv"] is None:
                child.pause()
            child.execute(launch)
        except (OSError, HookFailed) as error:
            told = (error.strerror if isinstance(error, OSError) else "") or str(error)
            os.write(tell, told.encode())
        finally:
            # Nobody above may go on as if this were the supervisor, nor would anybody be told.
            if (unexpected := sys.exc_info()[1]) is not None:
                os.write(tell, f"{type(unexpected).__name__}: {unexpected}".encode())
            os._exit(CANNOT_RUN_CODE)

    # While it runs --------------------------------------------------------------------------------

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self._pid:
                self._status = status

    def _read_output(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # how a terminal ends
        stream = self._outputs[descriptor]
        if data:
            self._log.write(stream, data)
            self._visitors.show(stream, data)
            return
        del self._outputs[descriptor]
        self.unwatch(descriptor)
        if not self._visitors.uses(descriptor):
            os.close(descriptor)

    # The end --------------------------------------------------------------------------------------

    def _finish(self, status: int) -> None:
        finished_at = now()
        cgroup = self._launch["cgroup"]
        # Asked before the cgroup is emptied: those we kill are not the kernel's.
        is_oom = bool(cgroup) and remains.count_oom_kills(cgroup) > 0
        self._end_all()
        self._drain()
        self._log.close()
        code = os.waitstatus_to_exitcode(status)
        number = max(-code, 0)
        reason = "Completed" if code == 0 else "Error"
        if is_oom and number == signal.SIGKILL:
            reason = "OOMKilled"
        message = ""
        try:
            run_hooks(self._launch, "poststop", "stopped", 0)
        except HookFailed as error:
            message = str(error)
            with suppress(OSError):
                sys.stderr.write(f"{message}\n")
        self._record_exit(128 + number if number else code, number, reason, message, finished_at)
        self._visitors.close()

    def _end_all(self) -> None:
        if cgroup := self._launch["cgroup"]:
            remains.kill_cgroup(cgroup)
        status = remains.kill_children(self._pid)
        if status is not None:
            self._status = status

    def _drain(self) -> None:
        poll = select.poll()
        for descriptor in self._outputs:
            poll.register(descriptor, select.POLLIN)
        while self._outputs:
            ready = poll.poll(DRAIN_MS)
            if not ready:
                return
            for descriptor, _ in ready:
                self._read_output(descriptor)
                if descriptor not in self._outputs:
                    poll.unregister(descriptor)

    # Records --------------------------------------------------------------------------------------

    def _record(self) -> None:
        me = identify(os.getpid())
        write_record(
            SUPERVISOR,
            {
                "supervisor": me.as_json() if me else None,
                "process": self._process.as_json() if self._process else None,
                "cgroup": self._launch["cgroup"],
                "startedAt": self._started_at,
            },
        )

    def _record_exit(
        self, code: int, number: int, reason: str, message: str, finished_at: str = ""
    ) -> None:
        record = {
            "exitCode": code,
            "signal": number,
            "reason": reason,
            "message": message,
            "startedAt": self._started_at,
            "finishedAt": finished_at or now(),
        }
        with suppress(OSError):
            write_reserved(EXIT, record)
            return
        # Without a directory, removed by force, there is nobody left to tell.
        while os.path.exists(LAUNCH):
            try:
                write_record(EXIT, record)
            except OSError as error:
                with suppress(OSError):
                    os.write(2, f"its end cannot be written yet: {error.strerror}\n".encode())
            else:
                return
            select.poll().poll(RECORD_AGAIN_MS)
