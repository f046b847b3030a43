"""What a power failure may leave of files, given all that was done to them (see disk_trace.c).

What was synced is there. Of what was not, any part may be: sectors of 512 bytes in any choice, so
pages may be torn and later writes may survive earlier ones. A name that was created or removed
without syncing its directory may or may not have been; file systems keep the order of those.

After a sync that failed, an operating system may believe that what it could not write is written:
any part of that may be missing for good, however often the file is synced later.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from struct import Struct

__all__ = ["Disk", "Operation", "build_tracer", "read_trace"]

SECTOR_BYTES = 512
_HEADER = Struct("<IIQQ")


@dataclass(frozen=True)
class Operation:
    kind: str
    path: Path
    offset: int
    data: bytes


def build_tracer(directory: Path) -> Path | None:
    """Compile the library; None where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    library = directory / "disk_trace.so"
    source = Path(__file__).with_suffix(".c")
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run([compiler, *flags, "-o", library, source, "-ldl", "-lpthread"], check=True)
    return library


def read_trace(path: Path) -> Iterator[Operation]:
    data = path.read_bytes()
    position = 0
    while position < len(data):
        kind, name_length, offset, length = _HEADER.unpack_from(data, position)
        position += _HEADER.size
        name = data[position : position + name_length].decode()
        position += name_length
        yield Operation(chr(kind), Path(name), offset, data[position : position + length])
        position += length


@dataclass
class _File:
    """Contents: what is synced, and what happened since."""

    synced: bytearray = field(default_factory=bytearray)
    since: list[Operation] = field(default_factory=list)

    def sync(self) -> None:
        for operation in self.since:
            _apply(self.synced, operation)
        self.since.clear()

    def fail_to_sync(self, random: Random) -> None:
        self.synced = bytearray(self.after_failure(random, 0.5))
        self.since.clear()

    def after_failure(self, random: Random, share: float) -> bytes:
        left = bytearray(self.synced)
        for operation in self.since:
            for part in _sectors(operation):
                if random.random() < share:
                    _apply(left, part)
        return bytes(left)


class Disk:
    """A directory of files, moved forward by operations."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._names: dict[str, _File] = {}
        # Names at the last sync of the directory, and each state of them since.
        self._states: list[dict[str, _File]] = [{}]

    def do(self, operation: Operation, random: Random) -> None:
        name = operation.path.name
        if operation.kind == "F":
            self._names[name].fail_to_sync(random)
        elif operation.kind == "S":
            if operation.path == self._directory:
                self._states = [dict(self._names)]
            elif name in self._names:
                self._names[name].sync()
        elif operation.kind == "C":
            self._names[name] = _File()
            self._states.append(dict(self._names))
        elif operation.kind == "U":
            self._names.pop(name, None)
            self._states.append(dict(self._names))
        elif name in self._names:
            self._names[name].since.append(operation)

    def fail(self, random: Random, target: Path) -> None:
        """Write a state that a failure right now could leave to a directory."""
        share = random.choice([0.0, 0.1, 0.5, 0.9, 1.0])
        for name, file in random.choice(self._states).items():
            (target / name).write_bytes(file.after_failure(random, share))


def _sectors(operation: Operation) -> Iterator[Operation]:
    if operation.kind != "W":
        yield operation
        return
    start, end = operation.offset, operation.offset + len(operation.data)
    while start < end:
        stop = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        part = operation.data[start - operation.offset : stop - operation.offset]
        yield Operation("W", operation.path, start, part)
        start = stop


def _apply(contents: bytearray, operation: Operation) -> None:
    end = operation.offset + len(operation.data)
    if len(contents) < end:
        contents.extend(bytes(end - len(contents)))
    if operation.kind == "T":
        del contents[operation.offset :]
    else:
        contents[operation.offset : end] = operation.data
