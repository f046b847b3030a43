"""The files of one container's log: the one being written, and those it was rotated to.

Read in order, the oldest first, as one text; what is rotated while it is read is still read to its
end. Blocking, for threads. Nothing is held but the line that is being read.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from dray.agent.kubelet_api.log_entries import parse_entry

__all__ = ["LogFiles"]

BLOCK_BYTES: Final = 64 * 1024
# A line longer than this is no CRI log's: it is cut.
LINE_BYTES_MAX: Final = 1024 * 1024


class LogFiles:
    """A reader of a log, somewhere in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: list[int] = []  # still to be read, oldest first; the last one is being written
        self._offset = 0  # in the first of them
        self._line = b""  # that has begun
        for file in (*_rotated(path), path):
            with suppress(OSError):
                self._open.append(os.open(file, os.O_RDONLY | os.O_CLOEXEC))

    def close(self) -> None:
        """Read no more."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()

    def seek_tail(self, lines: int, stream: str = "") -> None:
        """Go to where the last so many lines begin."""
        if not self._open:
            return
        if lines == 0:
            self._start_at(len(self._open) - 1, os.fstat(self._open[-1]).st_size)
            return
        seen = 0
        is_last = True  # an entry that ends nothing is a line all the same, if it is the last
        for index in range(len(self._open) - 1, -1, -1):
            for start, end, line in _backwards(self._open[index]):
                entry = parse_entry(line)
                if stream and entry.stream not in ("", stream):
                    continue
                if is_last or not entry.is_partial:
                    seen += 1
                    is_last = False
                    if seen > lines:
                        self._start_at(index, end)
                        return
                del start
        # There are not so many: all of it is wanted.

    def read(self) -> list[bytes] | None:
        """The next lines, without their newlines; none when the end is reached for now.

        None once the log is gone, and all of it was read.
        """
        while True:
            if not self._open and not self._reopen():
                return None
            block = os.pread(self._open[0], BLOCK_BYTES, self._offset)
            if block:
                self._offset += len(block)
                *lines, self._line = (self._line + block).split(b"\n")
                if len(self._line) > LINE_BYTES_MAX:
                    lines.append(self._line)
                    self._line = b""
                if lines:
                    return lines
            elif len(self._open) > 1:
                self._next()
            elif not self._was_replaced():
                return []

    # Private --------------------------------------------------------------------------------------

    def _start_at(self, index: int, offset: int) -> None:
        for descriptor in self._open[:index]:
            os.close(descriptor)
        del self._open[:index]
        self._offset = offset

    def _next(self) -> None:
        os.close(self._open.pop(0))
        self._offset = 0
        self._line = b""  # a file ends with a whole line, or was cut off

    def _was_replaced(self) -> bool:
        """Whether the log goes on in other files; then they are opened."""
        here = os.fstat(self._open[-1])
        newer: list[int] = []
        for file in (*_rotated(self._path), self._path):
            with suppress(OSError):
                descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
                status = os.fstat(descriptor)
                if (status.st_dev, status.st_ino) == (here.st_dev, here.st_ino):
                    # Those before it were read.
                    for each in newer:
                        os.close(each)
                    newer.clear()
                    os.close(descriptor)
                else:
                    newer.append(descriptor)
        self._open += newer
        return bool(newer)

    def _reopen(self) -> bool:
        with suppress(OSError):
            self._open.append(os.open(self._path, os.O_RDONLY | os.O_CLOEXEC))
            self._offset = 0
            return True
        return False


def _rotated(path: Path) -> list[Path]:
    """Files the log was rotated to, oldest first. Those compressed since are not read."""
    try:
        found = [
            entry
            for entry in path.parent.iterdir()
            if entry.name.startswith(f"{path.name}.") and entry.suffix not in (".gz", ".tmp")
        ]
    except OSError:
        return []
    return sorted(found)


def _backwards(descriptor: int) -> _Backwards:
    return _Backwards(descriptor)


class _Backwards:
    """Lines of a file from its end: where each begins, where it ends, and what it says."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._at = os.fstat(descriptor).st_size  # what is before this is not read yet
        self._data = b""  # read, and not given out; begins at `_at`

    def __iter__(self) -> _Backwards:
        return self

    def __next__(self) -> tuple[int, int, bytes]:
        while True:
            end = self._at + len(self._data)
            body = self._data.removesuffix(b"\n")
            newline = body.rfind(b"\n")
            if newline >= 0 or (self._at == 0 and self._data):
                line = body[newline + 1 :]
                start = self._at + newline + 1
                self._data = self._data[: newline + 1]
                return start, end, line
            if self._at == 0:
                raise StopIteration
            size = min(BLOCK_BYTES, self._at)
            self._at -= size
            self._data = os.pread(self._descriptor, size, self._at) + self._data
