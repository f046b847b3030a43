"""What goes over a supervisor's socket: a byte that says what it is, a length, and the payload."""

from __future__ import annotations

import struct

__all__ = [
    "ATTACH",
    "INPUT",
    "INPUT_END",
    "KILL",
    "OUTPUT_STDERR",
    "OUTPUT_STDOUT",
    "RESIZE",
    "SIGNAL",
    "FrameReader",
    "frame",
    "pack_size",
    "unpack_size",
]

# From the supervisor, to those who attached.
OUTPUT_STDOUT = 1
OUTPUT_STDERR = 2

# To the supervisor.
ATTACH = 10  # send me output from now on
INPUT = 11  # for the container's stdin
INPUT_END = 12  # no more of it
RESIZE = 13  # columns and rows of the terminal
SIGNAL = 14  # send it to the container's processes
KILL = 15  # end all of them at once

_HEADER = struct.Struct(">BI")
_SIZE = struct.Struct(">HH")

# Nobody sends more at a time than is read from a pipe at a time.
PAYLOAD_BYTES_MAX = 64 * 1024


def frame(kind: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return _HEADER.pack(kind, len(payload)) + payload


def pack_size(width: int, height: int) -> bytes:
    """The payload of RESIZE."""
    return _SIZE.pack(min(max(width, 0), 0xFFFF), min(max(height, 0), 0xFFFF))


def unpack_size(payload: bytes) -> tuple[int, int]:
    """Columns and rows. Raises struct.error."""
    width, height = _SIZE.unpack(payload)
    return width, height


class FrameReader:
    """Frames out of bytes as they arrive. Raises ValueError for what is none."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The frames that are complete now."""
        self._data += data
        frames = []
        while len(self._data) >= _HEADER.size:
            kind, size = _HEADER.unpack_from(self._data)
            if size > PAYLOAD_BYTES_MAX:
                raise ValueError(f"a frame of {size} bytes")
            end = _HEADER.size + size
            if len(self._data) < end:
                break
            frames.append((kind, bytes(self._data[_HEADER.size : end])))
            del self._data[:end]
        return frames
