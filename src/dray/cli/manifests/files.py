"""The files a command is pointed at: which ones, and their bytes.

A path is a file, a directory, read through to its end in sorted order, or `-` for standard input.
Whatever it is, it is read within bounds: a device that never ends and a pipe that nobody writes to
come out as a ManifestError, and links between directories are not followed, so no tree is endless.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Final

from dray.api.yaml.errors import ManifestError
from dray.cli.manifests.documents import JSON_BYTES_MAX

__all__ = ["STANDARD_INPUT", "find_files", "read_file"]

STANDARD_INPUT: Final = "-"

SUFFIXES: Final = (".json", ".yaml", ".yml")

# A repository with its build output has tens of thousands of entries. Beyond this someone
# pointed at a whole disk.
ENTRIES_MAX: Final = 100_000

BYTES_MAX: Final = JSON_BYTES_MAX


def find_files(paths: Sequence[str]) -> Iterator[str | ManifestError]:
    """The files, each once, in the order given and sorted within a directory."""
    seen: set[str] = set()
    for path in paths:
        for found in _files_of(path):
            if isinstance(found, str):
                identity = found if found == STANDARD_INPUT else os.path.realpath(found)
                if identity in seen:
                    continue
                seen.add(identity)
            yield found


def read_file(path: str, standard_input: BinaryIO | None) -> bytes:
    """The file's bytes. Raises ManifestError, without the file's name."""
    if path == STANDARD_INPUT:
        if standard_input is None:
            raise ManifestError("standard input is closed")
        return _read(standard_input)
    try:
        # Opening a pipe would wait for someone to write to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(error) from error
    about = os.fstat(descriptor)
    if stat.S_ISDIR(about.st_mode):
        os.close(descriptor)
        raise ManifestError("cannot be read: Is a directory")
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if stat.S_ISREG(about.st_mode) and about.st_size > BYTES_MAX:
            raise _too_large()
        os.set_blocking(descriptor, True)
        data = _read(file)
    if not data and stat.S_ISFIFO(about.st_mode):
        raise ManifestError("is a pipe that nobody writes to")
    return data


def _read(file: BinaryIO) -> bytes:
    parts: list[bytes] = []
    size = 0
    # A buffered read goes on until it has everything, deaf to interrupts.
    read = getattr(file, "read1", file.read)
    try:
        while size <= BYTES_MAX and (part := read(_PART_BYTES)):
            parts.append(part)
            size += len(part)
    except (OSError, ValueError) as error:
        raise _unreadable(error) from error
    if size > BYTES_MAX:
        raise _too_large()
    return b"".join(parts)


_PART_BYTES: Final = 1024 * 1024


def _files_of(path: str) -> Iterator[str | ManifestError]:
    if path == STANDARD_INPUT or not os.path.isdir(path):
        yield path
        return
    left = ENTRIES_MAX
    # Directories still to be read, the next one last.
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as scan:
                # One more than is left tells that there are too many.
                entries = sorted(islice(scan, left + 1), key=lambda entry: entry.name)
        except OSError as error:
            yield _unreadable(error).in_file(directory)
            continue
        left -= len(entries)
        if left < 0:
            yield ManifestError(f"holds more than {ENTRIES_MAX} files").in_file(path)
            return
        inner = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.path)
            elif entry.name.endswith(SUFFIXES) and not os.path.isdir(entry.path):
                yield entry.path
        waiting.extend(reversed(inner))


def _unreadable(error: OSError | ValueError) -> ManifestError:
    reason = error.strerror if isinstance(error, OSError) else None
    return ManifestError(f"cannot be read: {reason or error}")


def _too_large() -> ManifestError:
    return ManifestError(f"has more than {BYTES_MAX} bytes, the limit")
