"""Those who come to a supervisor's socket: to attach, to send signals, to end the container."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import termios
from contextlib import suppress

from dray.agent.runtimes.process.shim import frames
from dray.agent.runtimes.process.shim.records import SOCKET

__all__ = ["Visitors"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Host(Protocol):
        """What visitors need of the supervisor."""

        def watch(self, descriptor: int, events: int, handler: Callable[[int], None]) -> None: ...
        def unwatch(self, descriptor: int) -> None: ...
        def send_signal(self, number: int) -> None: ...
        def kill(self) -> None: ...


READ_BYTES = 64 * 1024
VISITORS_MAX = 32

# Output that waits for one who attached: behind by more than this, they are not reading.
BEHIND_BYTES_MAX = 1024 * 1024
# How long one who is behind may take to catch up when the container has ended.
FAREWELL_SECONDS = 30
# Input that waits for the container: beyond it, visitors wait instead.
INPUT_BYTES_MAX = 64 * 1024

_END_OF_INPUT = b"\x04"  # as typed at a terminal
_WINDOW = struct.Struct("HHHH")


class Visitors:
    """All of one supervisor, and the container's stdin, which only they feed."""

    def __init__(self, host: Host, launch: dict[str, Any]) -> None:
        self._host = host
        self._stdin_once = bool(launch["stdinOnce"])
        self._visitors: dict[int, _Visitor] = {}
        self._listener: socket.socket | None = None
        self._input = -1
        self._input_is_terminal = False
        self._input_pending = bytearray()
        self._input_ends = False
        self._is_waiting = False  # for room
        self.terminal = -1

    def open(self) -> None:
        """Listen, in the current directory."""
        with suppress(FileNotFoundError):
            os.unlink(SOCKET)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(SOCKET)
        listener.listen(VISITORS_MAX)
        listener.setblocking(False)
        self._listener = listener
        self._host.watch(listener.fileno(), select.POLLIN, self._accept)

    def close(self) -> None:
        """Say goodbye. Whoever is behind gets the rest from a copy of this process.

        Nobody learns of the container's end later because somebody reads slowly.
        """
        if self._listener is not None:
            self._listener.close()
        behind = [visitor for visitor in self._visitors.values() if visitor.behind]
        if behind and not os.fork():
            for visitor in behind:
                visitor.socket.settimeout(FAREWELL_SECONDS)
                with suppress(OSError):
                    visitor.socket.sendall(visitor.behind)
            os._exit(0)
        for visitor in self._visitors.values():
            visitor.socket.close()
        self._visitors.clear()

    def take_input(self, descriptor: int, *, terminal: bool) -> None:
        """What visitors write goes here."""
        self._input = descriptor
        self._input_is_terminal = terminal

    def uses(self, descriptor: int) -> bool:
        """Whether this is the container's stdin as well."""
        return descriptor == self._input

    def show(self, stream: str, data: bytes) -> None:
        """Give output to all who attached."""
        kind = frames.OUTPUT_STDERR if stream == "stderr" else frames.OUTPUT_STDOUT
        for visitor in list(self._visitors.values()):
            if visitor.attached:
                self._send(visitor, frames.frame(kind, data))

    # Private --------------------------------------------------------------------------------------

    def _accept(self, _: int) -> None:
        """Let in all who came, and hear what they want: most have said it by now."""
        assert self._listener is not None
        while True:
            try:
                accepted, _address = self._listener.accept()
            except OSError:
                return
            if len(self._visitors) >= VISITORS_MAX:
                accepted.close()
                continue
            accepted.setblocking(False)
            visitor = _Visitor(accepted)
            self._visitors[accepted.fileno()] = visitor
            self._watch(visitor)
            self._serve(visitor, select.POLLIN)

    def _watch(self, visitor: _Visitor) -> None:
        is_full = len(self._input_pending) >= INPUT_BYTES_MAX and visitor.feeds
        events = (0 if is_full else select.POLLIN) | (select.POLLOUT if visitor.behind else 0)
        number = visitor.socket.fileno()
        self._host.watch(number, events, lambda happened: self._serve(visitor, happened))

    def _serve(self, visitor: _Visitor, happened: int) -> None:
        if happened & select.POLLOUT:
            self._send(visitor, b"")
        if happened & (select.POLLIN | select.POLLHUP | select.POLLERR):
            try:
                data = visitor.socket.recv(READ_BYTES)
                asked = visitor.reader.feed(data)
            except BlockingIOError:
                return
            except (OSError, ValueError):
                data, asked = b"", []
            for kind, payload in asked:
                self._obey(visitor, kind, payload)
            if not data:
                self._leave(visitor)

    def _obey(self, visitor: _Visitor, kind: int, payload: bytes) -> None:
        if kind == frames.ATTACH:
            visitor.attached = True
        elif kind == frames.INPUT:
            # Whoever attached before this was written is to see what comes of it.
            self._accept(select.POLLIN)
            visitor.feeds = True
            self._feed(payload)
        elif kind == frames.INPUT_END and self._stdin_once:
            self._end_input()
        elif kind == frames.RESIZE and self.terminal >= 0:
            with suppress(OSError, struct.error):
                width, height = frames.unpack_size(payload)
                fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, _WINDOW.pack(height, width, 0, 0))
        elif kind == frames.SIGNAL and payload:
            with suppress(ValueError, OSError):
                self._host.send_signal(payload[0])
        elif kind == frames.KILL:
            self._host.kill()

    def _send(self, visitor: _Visitor, data: bytes) -> None:
        visitor.behind += data
        try:
            sent = visitor.socket.send(visitor.behind)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._leave(visitor)
            return
        del visitor.behind[:sent]
        if len(visitor.behind) > BEHIND_BYTES_MAX:
            self._leave(visitor)
        else:
            self._watch(visitor)

    def _leave(self, visitor: _Visitor) -> None:
        number = visitor.socket.fileno()
        if self._visitors.pop(number, None) is None:
            return
        self._host.unwatch(number)
        visitor.socket.close()
        if visitor.feeds and self._stdin_once:
            self._end_input()

    def _feed(self, data: bytes) -> None:
        if self._input < 0 or self._input_ends:
            return
        self._input_pending += data
        self._push()

    def _end_input(self) -> None:
        if self._input >= 0 and not self._input_ends:
            if self._input_is_terminal:
                self._input_pending += _END_OF_INPUT
            self._input_ends = True
            self._push()

    def _push(self) -> None:
        """Give the container what it takes now; the rest when it takes more."""
        if self._input < 0:
            return  # closed since somebody began to wait for room
        try:
            taken = os.write(self._input, self._input_pending) if self._input_pending else 0
        except BlockingIOError:
            taken = 0
        except OSError:
            self._input_pending.clear()  # it closed its stdin
            self._input_ends = True
            taken = 0
        was_full = len(self._input_pending) >= INPUT_BYTES_MAX
        del self._input_pending[:taken]
        if was_full:
            self._watch_all()  # who had to wait may go on, or the other way round
        if self._input_pending:
            self._wait_for_room()
            return
        if self._input_ends and not self._input_is_terminal:
            os.close(self._input)
            self._input = -1

    def _wait_for_room(self) -> None:
        """A terminal is watched for output already, so a copy is watched for room."""
        if self._is_waiting:
            return
        self._is_waiting = True
        copy = os.dup(self._input)

        def again(_: int) -> None:
            self._is_waiting = False
            self._host.unwatch(copy)
            os.close(copy)
            self._push()

        self._host.watch(copy, select.POLLOUT, again)

    def _watch_all(self) -> None:
        for visitor in list(self._visitors.values()):
            self._watch(visitor)


class _Visitor:
    """One connection."""

    __slots__ = ("attached", "behind", "feeds", "reader", "socket")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.reader = frames.FrameReader()
        self.behind = bytearray()
        self.attached = False
        self.feeds = False
