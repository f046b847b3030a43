"""Taints on disk, so that a driver that restarts does not offer again what it knew to be broken.

During an update two processes share the file: each write keeps what the other changed since. A file
that cannot be read is set aside and its content forgotten: a driver must start in any case, and
what it forgot shows again at the next failure.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from dray.api.resource import DeviceTaint
from dray.files import set_aside, write_file

__all__ = ["StoredTaint", "TaintFile"]

_log = logging.getLogger(__name__)

VERSION: Final = 1

# 16 taints of 600 bytes on each of 16,384 devices: no honest file is larger.
FILE_BYTES_MAX: Final = 160 * 1024 * 1024


class StoredTaint(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """A taint on a device, and who may take it away."""

    pool: str
    device: str
    taint: DeviceTaint
    # Whether good health takes it away; else only whoever set it does.
    recovers: bool = False
    # Whether it came from health alone.
    judged: bool = False


# By what tells taints apart: pool, device, key and effect.
_Taints: TypeAlias = dict[tuple[str, str, str, str], StoredTaint]


class _Document(msgspec.Struct):
    version: int
    taints: list[StoredTaint]


class TaintFile:
    """One file; without a path, nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        # What the file held when it was last read or written, and which file that was.
        self._known: _Taints = {}
        self._seen: tuple[int, int, int] | None = None

    def read(self) -> list[StoredTaint]:
        """What was written last; nothing if that cannot be told."""
        if self._path is not None:
            seen = _identity(self._path)
            found = self._load(self._path)
            if found is not None:
                self._known, self._seen = found, seen
        return list(self._known.values())

    def write(self, taints: Iterable[StoredTaint]) -> list[StoredTaint] | None:
        """Keep these; but what another process changed since, and this one did not, stays as it is.

        Returns what is kept if that is something else. A disk that fails is logged: the taints hold
        without it.
        """
        if self._path is None:
            return None
        ours = {_order(each): each for each in taints}
        try:
            with _locked(self._path.parent):
                kept = self._merged(self._path, ours)
                document = _Document(VERSION, [kept[order] for order in sorted(kept)])
                write_file(self._path, msgspec.json.encode(document, enc_hook=str, order="sorted"))
                self._known, self._seen = kept, _identity(self._path)
        except OSError as error:
            _log.error("taints cannot be kept in %s: %s", self._path, error)
            return None
        return None if kept == ours else list(kept.values())

    def _merged(self, path: Path, ours: _Taints) -> _Taints:
        theirs = None if _identity(path) == self._seen else self._load(path)
        if theirs is None:
            return ours
        for order in {*self._known, *ours}:
            if ours.get(order) == self._known.get(order):
                continue
            if order in ours:
                theirs[order] = ours[order]
            else:
                theirs.pop(order, None)
        return theirs

    def _load(self, path: Path) -> _Taints | None:
        try:
            if path.stat().st_size > FILE_BYTES_MAX:
                raise msgspec.DecodeError(f"larger than {FILE_BYTES_MAX} bytes")
            document = msgspec.json.decode(path.read_bytes(), type=_Document, dec_hook=_decode)
            if document.version != VERSION:
                raise msgspec.DecodeError(f"version {document.version} is not {VERSION}")
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            _log.error("taints in %s cannot be read: %s", path, error)
            self._set_aside(path)
            return None
        except OSError as error:
            _log.error("taints in %s cannot be read: %s", path, error)
            return None
        return {_order(each): each for each in document.taints}

    def _set_aside(self, path: Path) -> None:
        try:
            _log.error("taints: the file is kept as %s", set_aside(path))
        except OSError as error:
            _log.error("taints: the file cannot be set aside: %s", error)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep other processes out for one write: they, too, wait for nothing meanwhile."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _order(stored: StoredTaint) -> tuple[str, str, str, str]:
    return stored.pool, stored.device, stored.taint.key, stored.taint.effect


def _decode(kind: type, value: object) -> object:
    """Times, which msgspec does not know."""
    parse = getattr(kind, "parse", None)
    if parse is None or not isinstance(value, str):
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return parse(value)
