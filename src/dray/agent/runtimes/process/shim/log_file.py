"""A container's log, in the format every reader of CRI logs knows.

Each line is `<time> <stream> <tag> <text>`, the tag F for a line and P for a part of one that goes
on in the next entry of the stream. A text longer than LINE_BYTES_MAX is cut into parts. The file is
renamed when it is full, and the oldest are removed. A full disk costs lines, never the container.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timezone

__all__ = ["LogFile"]

# What readers of CRI logs are prepared for.
LINE_BYTES_MAX = 16 * 1024
# As a kubelet rotates.
FILE_BYTES_MAX = 10 * 1024 * 1024
FILES_MAX = 5

LOG_FILE = 0o640


class LogFile:
    """The log of one container, written by its supervisor alone."""

    def __init__(
        self, path: str, *, file_bytes_max: int = FILE_BYTES_MAX, files_max: int = FILES_MAX
    ) -> None:
        self._path = path
        self._file_bytes_max = file_bytes_max
        self._files_max = files_max
        self._unfinished: dict[str, bytearray] = {}
        self._descriptor = -1
        self._size = 0
        self.lost_bytes = 0
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._open()

    def write(self, stream: str, data: bytes) -> None:
        """Take output as it came out of the stream."""
        unfinished = self._unfinished.setdefault(stream, bytearray())
        prefix = f"{_now()} {stream} ".encode()
        entries = bytearray()
        *ended, rest = data.split(b"\n")
        for line in ended:
            unfinished += line
            _cut(entries, prefix, unfinished)
            entries += prefix + b"F " + unfinished + b"\n"
            unfinished.clear()
        unfinished += rest
        _cut(entries, prefix, unfinished)
        if entries:
            self._write(entries)

    def close(self) -> None:
        """Write what no newline ended, and close."""
        for stream, unfinished in self._unfinished.items():
            if unfinished:
                self._write(f"{_now()} {stream} P ".encode() + bytes(unfinished) + b"\n")
        self._unfinished.clear()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, entries: bytes | bytearray) -> None:
        if self._size and self._size + len(entries) > self._file_bytes_max:
            self._rotate()
        try:
            written = os.write(self._descriptor, entries)
        except OSError:
            written = 0
        self._size += written
        if written < len(entries):
            self.lost_bytes += len(entries) - written
            if written:
                # The next entry must not continue the one that was cut off.
                with suppress(OSError):
                    self._size += os.write(self._descriptor, b"\n")

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, LOG_FILE)
        self._size = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S.%f")  # noqa: UP017
        previous = self._descriptor
        try:
            os.rename(self._path, f"{self._path}.{stamp}")
            self._open()
        except OSError:
            # Better a log that is too long than none.
            self._descriptor = previous
            self._size = 0
            return
        os.close(previous)
        directory, _, name = self._path.rpartition("/")
        rotated = sorted(entry for entry in os.listdir(directory) if entry.startswith(f"{name}."))
        for entry in rotated[: -(self._files_max - 1) or None]:
            with suppress(OSError):
                os.unlink(f"{directory}/{entry}")


def _cut(entries: bytearray, prefix: bytes, text: bytearray) -> None:
    while len(text) > LINE_BYTES_MAX:
        entries += prefix + b"P " + text[:LINE_BYTES_MAX] + b"\n"
        del text[:LINE_BYTES_MAX]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")[:-6] + "Z"  # noqa: UP017
