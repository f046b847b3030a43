"""Streams of a process inside a container, for somebody at the other end.

A command gets pipes or a terminal of its own, and is killed when its session closes. Who attaches
to the container itself talks to its supervisor, and leaves it running. Output that nobody reads is
not read either: the process waits, nothing piles up here.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
import struct
import termios
from collections import deque
from contextlib import suppress
from typing import Any, Final

from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.process.children import Child, spawn
from dray.agent.runtimes.process.container import ProcessContainer, python_command
from dray.agent.runtimes.process.shim import frames
from dray.agent.runtimes.process.shim.identity import identify
from dray.agent.runtimes.runtime import ContainerState, SessionConfig

__all__ = ["AttachSession", "CommandSession", "attach", "run_command"]

SESSION_FAILED: Final = "ExecFailed"

READ_BYTES: Final = 32 * 1024
# What waits here to be read; a pipe holds as much again.
UNREAD_BYTES_MAX: Final = 256 * 1024

_STDOUT: Final = 1
_STDERR: Final = 2
_END_OF_INPUT: Final = b"\x04"  # as typed at a terminal
_WINDOW: Final = struct.Struct("HHHH")


class CommandSession:
    """A command inside a container."""

    def __init__(
        self,
        process: Child,
        outputs: dict[int, int],
        stdin: int,
        terminal: int,
    ) -> None:
        """`outputs` are descriptors and the stream each is."""
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._identity = identify(process.pid)
        self._outputs = outputs
        self._stdin = stdin
        self._terminal = terminal
        self._unread: deque[tuple[int, bytes]] = deque()
        self._unread_bytes = 0
        self._arrived = asyncio.Event()
        self._is_reading = False
        self._watch_outputs()
        self._exit = self._loop.create_task(self._await_exit())

    async def read(self) -> tuple[int, bytes]:
        while not self._unread:
            if not self._outputs:
                return 0, b""
            self._arrived.clear()
            await self._arrived.wait()
        stream, data = self._unread.popleft()
        self._unread_bytes -= len(data)
        if self._unread_bytes < UNREAD_BYTES_MAX:
            self._watch_outputs()
        return stream, data

    async def write(self, data: bytes) -> None:
        if self._stdin < 0:
            return
        if not data:
            if self._stdin == self._terminal:
                data = _END_OF_INPUT
            else:
                self._close_stdin()
                return
        left = memoryview(data)
        while left and self._stdin >= 0:
            try:
                left = left[os.write(self._stdin, left) :]
            except BlockingIOError:
                await self._wait_for_room()
            except OSError:
                self._close_stdin()  # it reads no more

    def resize(self, width: int, height: int) -> None:
        if self._terminal >= 0:
            with suppress(OSError, struct.error):
                fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, _WINDOW.pack(height, width, 0, 0))

    async def wait(self) -> int:
        return await asyncio.shield(self._exit)

    async def close(self) -> None:
        # Its group, if it has one by now, as long as the pid is its own. Not by Process.kill, which
        # may reap it, and then asyncio never learns how it ended.
        if self._identity is not None and identify(self._process.pid) == self._identity:
            for send in (os.killpg, os.kill):
                with suppress(ProcessLookupError, PermissionError):
                    send(self._process.pid, signal.SIGKILL)
        await self._exit
        self._unread.clear()
        for descriptor in list(self._outputs):
            self._end_output(descriptor)
        self._close_stdin()

    # Private --------------------------------------------------------------------------------------

    async def _await_exit(self) -> int:
        code = await self._process.wait()
        # Whoever else holds its output open is no part of the command.
        for descriptor in list(self._outputs):
            while self._read_output(descriptor):
                pass
        for descriptor in list(self._outputs):
            self._end_output(descriptor)
        self._close_stdin()
        return code if code >= 0 else 128 - code

    def _watch_outputs(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            for descriptor in self._outputs:
                self._loop.add_reader(descriptor, self._read_output, descriptor)

    def _read_output(self, descriptor: int) -> bool:
        """Take what there is; whether there was something."""
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""  # how a terminal ends
        if not data:
            self._end_output(descriptor)
            return False
        self._unread.append((self._outputs[descriptor], data))
        self._unread_bytes += len(data)
        if self._unread_bytes >= UNREAD_BYTES_MAX and self._is_reading:
            self._is_reading = False
            for each in self._outputs:
                self._loop.remove_reader(each)
        self._arrived.set()
        return True

    def _end_output(self, descriptor: int) -> None:
        if self._outputs.pop(descriptor, None) is not None:
            self._loop.remove_reader(descriptor)
            if descriptor != self._stdin:
                os.close(descriptor)
                if descriptor == self._terminal:
                    self._terminal = -1
        self._arrived.set()

    async def _wait_for_room(self) -> None:
        # A terminal is watched for output already, so a copy is watched for room.
        copy = os.dup(self._stdin)
        room = asyncio.Event()
        self._loop.add_writer(copy, room.set)
        waiting = asyncio.ensure_future(room.wait())
        try:
            await asyncio.wait((waiting, self._exit), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            self._loop.remove_writer(copy)
            os.close(copy)

    def _close_stdin(self) -> None:
        stdin, self._stdin = self._stdin, -1
        if stdin >= 0 and stdin not in self._outputs:
            os.close(stdin)
            if stdin == self._terminal:
                self._terminal = -1


class AttachSession:
    """The streams of the container's own process, by way of its supervisor."""

    def __init__(
        self, container: ProcessContainer, connection: socket.socket, config: SessionConfig
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._container = container
        self._connection = connection
        self._config = config
        self._reader = frames.FrameReader()
        self._unread: deque[tuple[int, bytes]] = deque()
        self._is_over = False

    async def read(self) -> tuple[int, bytes]:
        while not self._unread:
            if self._is_over:
                return 0, b""
            try:
                data = await self._loop.sock_recv(self._connection, READ_BYTES)
                came = self._reader.feed(data)
            except (OSError, ValueError):
                data, came = b"", []
            self._unread.extend(frame for frame in came if self._wants(frame[0]))
            self._is_over = not data
        return self._unread.popleft()

    async def write(self, data: bytes) -> None:
        if not self._config.stdin:
            return
        if not data:
            await self._send(frames.frame(frames.INPUT_END))
        for at in range(0, len(data), READ_BYTES):
            await self._send(frames.frame(frames.INPUT, data[at : at + READ_BYTES]))

    def resize(self, width: int, height: int) -> None:
        with suppress(OSError):
            # A few bytes: a connection that has no room for them has other worries.
            self._connection.send(frames.frame(frames.RESIZE, frames.pack_size(width, height)))

    async def wait(self) -> int:
        await self._container.ended.wait()
        return self._container.exit_code

    async def close(self) -> None:
        self._is_over = True
        self._connection.close()

    def _wants(self, kind: int) -> bool:
        if kind == frames.OUTPUT_STDERR:
            return self._config.stderr
        return self._config.stdout and kind == frames.OUTPUT_STDOUT

    async def _send(self, frame: bytes) -> None:
        with suppress(OSError):
            await self._loop.sock_sendall(self._connection, frame)


async def attach(container: ProcessContainer, config: SessionConfig) -> AttachSession:
    """Attach to a running container. Raises RuntimeFailed."""
    _require_running(container)
    try:
        connection = await container.connect()
        await asyncio.get_running_loop().sock_sendall(connection, frames.frame(frames.ATTACH))
    except OSError as error:
        raise RuntimeFailed(
            f"container {container.record.id} cannot be attached to: {error.strerror}",
            reason=SESSION_FAILED,
        ) from error
    return AttachSession(container, connection, config)


async def run_command(container: ProcessContainer, config: SessionConfig) -> CommandSession:
    """Run a command in a running container. Raises RuntimeFailed."""
    _require_running(container)
    launch = _command_launch(container, config)
    ours: dict[int, int] = {}
    feed = terminal = -1
    theirs: list[int] = []
    try:
        if config.tty:
            terminal, slave = os.openpty()
            theirs = [slave, slave, slave]
            ours = {terminal: _STDOUT}
            feed = terminal if config.stdin else -1
        else:
            if config.stdin:
                stdin, feed = os.pipe()
            else:
                stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            theirs.append(stdin)
            for stream, wanted in ((_STDOUT, config.stdout), (_STDERR, config.stderr)):
                if wanted:
                    output, end = os.pipe()
                    ours[output] = stream
                else:
                    end = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
                theirs.append(end)
        for descriptor in {*ours, feed} - {-1}:
            os.set_blocking(descriptor, False)
        process = _spawn(launch, theirs)
    except OSError as error:
        for descriptor in {*ours, feed} - {-1}:
            os.close(descriptor)
        raise RuntimeFailed(
            f"no command can be run in container {container.record.id}: {error.strerror}",
            reason=SESSION_FAILED,
        ) from error
    finally:
        for descriptor in set(theirs):
            os.close(descriptor)
    return CommandSession(process, ours, feed, terminal)


def _spawn(launch: dict[str, Any], streams: list[int]) -> Child:
    stdin, stdout, stderr = streams
    # A file in memory: nothing of it shows anywhere, and nobody waits for anybody.
    given = os.memfd_create("launch")
    try:
        os.write(given, json.dumps(launch).encode())
        os.lseek(given, 0, os.SEEK_SET)
        return spawn(
            (*python_command("execute", "int(sys.argv[2])"), str(given)),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(given,),
        )
    finally:
        os.close(given)


def _command_launch(container: ProcessContainer, config: SessionConfig) -> dict[str, Any]:
    launch = container.launch()
    process = container.process
    return {
        **{
            name: launch[name]
            for name in ("env", "cwd", "uid", "gid", "groups", "dropCapabilities", "cgroup")
        },
        "argv": list(config.command),
        "tty": config.tty,
        "namespace": launch["namespace"],
        "process": process.as_json() if process else None,
    }


def _require_running(container: ProcessContainer) -> None:
    if container.state is not ContainerState.RUNNING:
        raise RuntimeFailed(
            f"container {container.record.id} is not running", reason=SESSION_FAILED
        )
