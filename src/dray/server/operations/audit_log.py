"""The file of audit events: whole lines, appended by a thread of its own, rotated as it grows.

The event loop never waits for it. Entries wait in a bounded queue; when the disk is so slow that
the queue is full, or takes nothing, entries are dropped and counted, as upstream's batch mode does:
a cluster that stops because its audit disk is full helps nobody, and the metric says that it is. A
batch is one write, so a line is there whole or not at all. The disk is asked to keep what was
written once a second and at every rotation: a crash of the process loses nothing that was written,
a power failure at most that second.

Upstream counterparts: apiserver plugin/pkg/audit/{log,buffered}, and lumberjack for rotation.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

import msgspec

from dray.clock import Clock
from dray.errors import ConfigurationError
from dray.server.operations.audit_event import AuditEntry, encode_event

__all__ = ["AuditLog", "Rotation"]

_logger: Final = logging.getLogger(__name__)

# Upstream's buffer of events; bodies in them are bounded by bytes as well.
WAITING_ENTRIES_MAX: Final = 10_000
WAITING_BYTES_MAX: Final = 64 * 1024 * 1024

# Written in one go: more would keep the interpreter from the event loop for too long.
BATCH_ENTRIES_MAX: Final = 128

SYNC_SECONDS: Final = 1.0

FILE_MODE: Final = 0o600
STDOUT: Final = "-"

_BACKUP_TIME: Final = "%Y-%m-%dT%H-%M-%S"


class Rotation(msgspec.Struct, frozen=True):
    """When a file is full, and what is kept. 0 for the last two means everything."""

    bytes_max: int = 100 * 1024 * 1024
    days_max: int = 0
    backups_max: int = 0


class AuditLog:
    """A file, and the thread that appends to it."""

    def __init__(
        self, path: Path, clock: Clock, lost: Callable[[int], None], *, rotation: Rotation
    ) -> None:
        """`lost` is told how many events could not be written. "-" is standard output."""
        self._path = path
        self._clock = clock
        self._lost = lost
        self._rotation = rotation
        self._queue: SimpleQueue[AuditEntry | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="dray-audit", daemon=True)
        # The loop counts what it hands over, the thread what it is done with.
        self._bytes_taken = 0
        self._bytes_done = 0
        self._failing = False
        self._dirty = False
        self._synced_at = clock.monotonic()
        self._descriptor = 1
        self._size = 0
        if str(path) != STDOUT:
            try:
                self._open()
            except OSError as error:
                raise ConfigurationError(f"the audit log cannot be opened: {error}") from error

    def start(self) -> None:
        self._thread.start()

    def submit(self, entry: AuditEntry) -> bool:
        """Write an entry soon; False if too many wait already."""
        waiting = self._bytes_taken - self._bytes_done
        if self._queue.qsize() >= WAITING_ENTRIES_MAX or waiting > WAITING_BYTES_MAX:
            return False
        self._bytes_taken += entry.size
        self._queue.put(entry)
        return True

    def close(self) -> None:
        """Write what waits, and close the file. Blocks."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()
        else:
            self._finish()

    # In the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._take()
            if batch:
                self._write(batch)
            if self._dirty and self._clock.monotonic() - self._synced_at >= SYNC_SECONDS:
                self._sync()
        self._finish()

    def _take(self) -> tuple[list[AuditEntry], bool]:
        """What waits, up to a batch; and whether more may come."""
        batch: list[AuditEntry] = []
        try:
            entry = self._queue.get(timeout=SYNC_SECONDS if self._dirty else None)
            while entry is not None:
                batch.append(entry)
                if len(batch) >= BATCH_ENTRIES_MAX:
                    break
                entry = self._queue.get_nowait()
            else:
                return batch, False
        except Empty:
            pass
        return batch, True

    def _write(self, batch: list[AuditEntry]) -> None:
        data = b"".join([encode_event(entry) for entry in batch])
        try:
            if self._size and self._size + len(data) > self._rotation.bytes_max:
                self._rotate()
            self._append(data)
        except OSError as error:
            self._lost(len(batch))
            if not self._failing:  # once, not for every batch of a full disk
                _logger.error("the audit log %s cannot be written: %s", self._path, error)
            self._failing = True
        else:
            self._failing = False
            self._dirty = True
        self._bytes_done += sum(entry.size for entry in batch)

    def _append(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            if len(left) < len(data) and self._is_file:
                os.ftruncate(self._descriptor, self._size)  # half a line is worse than none
            raise
        if self._is_file:
            self._size += len(data)

    @property
    def _is_file(self) -> bool:
        return str(self._path) != STDOUT

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, FILE_MODE)
        self._size = os.fstat(self._descriptor).st_size

    def _sync(self) -> None:
        if self._is_file:
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                _logger.error("the audit log %s cannot be kept: %s", self._path, error)
        self._dirty = False
        self._synced_at = self._clock.monotonic()

    def _rotate(self) -> None:
        if not self._is_file:
            return
        self._sync()
        now = self._clock.now()
        stamp = f"{now.strftime(_BACKUP_TIME)}.{now.microsecond // 1000:03d}"
        path = self._path
        path.rename(path.with_name(f"{path.stem}-{stamp}{path.suffix}"))
        os.close(self._descriptor)
        self._open()
        self._prune(now)

    def _prune(self, now: datetime) -> None:
        """Remove backups that are too old or too many."""
        backups = sorted(self._backups(), reverse=True)
        kept = self._rotation.backups_max or len(backups)
        days = self._rotation.days_max
        oldest = (now - timedelta(days=days)).strftime(_BACKUP_TIME) if days else ""
        for number, (stamp, path) in enumerate(backups):
            if number >= kept or stamp < oldest:
                path.unlink(missing_ok=True)

    def _backups(self) -> list[tuple[str, Path]]:
        prefix = f"{self._path.stem}-"
        found = []
        for path in self._path.parent.glob(f"{prefix}*{self._path.suffix}"):
            stamp = path.name[len(prefix) : len(path.name) - len(self._path.suffix)]
            try:
                datetime.strptime(stamp.partition(".")[0], _BACKUP_TIME)  # noqa: DTZ007 - a check
            except ValueError:
                continue  # somebody else's
            found.append((stamp, path))
        return found

    def _finish(self) -> None:
        self._sync()
        if self._is_file:
            os.close(self._descriptor)
