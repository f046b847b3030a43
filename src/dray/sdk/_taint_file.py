"""Taints on disk, so that a driver that restarts does not offer again what it knew to be broken.

A file that cannot be read is set aside and its content forgotten: a driver must start in any case,
and what it forgot shows again at the next failure.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

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


class _Document(msgspec.Struct):
    version: int
    taints: list[StoredTaint]


class TaintFile:
    """One file; without a path, nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> list[StoredTaint]:
        """What was written last; nothing if that cannot be told."""
        if self._path is None:
            return []
        try:
            if self._path.stat().st_size > FILE_BYTES_MAX:
                raise msgspec.DecodeError(f"larger than {FILE_BYTES_MAX} bytes")
            document = msgspec.json.decode(
                self._path.read_bytes(), type=_Document, dec_hook=_decode
            )
            if document.version != VERSION:
                raise msgspec.DecodeError(f"version {document.version} is not {VERSION}")
        except FileNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            _log.error("taints in %s cannot be read: %s", self._path, error)
            self._set_aside()
            return []
        except OSError as error:
            _log.error("taints in %s cannot be read: %s", self._path, error)
            return []
        return document.taints

    def _set_aside(self) -> None:
        assert self._path is not None, "something was read"
        try:
            _log.error("taints: the file is kept as %s", set_aside(self._path))
        except OSError as error:
            _log.error("taints: the file cannot be set aside: %s", error)

    def write(self, taints: Iterable[StoredTaint]) -> None:
        """Keep these, and no others. A disk that fails is logged: the taints hold without it."""
        if self._path is None:
            return
        document = _Document(VERSION, sorted(taints, key=_order))
        try:
            write_file(self._path, msgspec.json.encode(document, enc_hook=str, order="sorted"))
        except OSError as error:
            _log.error("taints cannot be kept in %s: %s", self._path, error)


def _order(stored: StoredTaint) -> tuple[str, str, str, str]:
    return stored.pool, stored.device, stored.taint.key, stored.taint.effect


def _decode(kind: type, value: object) -> object:
    """Times, which msgspec does not know."""
    parse = getattr(kind, "parse", None)
    if parse is None or not isinstance(value, str):
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return parse(value)
