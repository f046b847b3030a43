"""The store on disk: SQLite keeps the log, memory keeps the state.

A write is checked against the head of its key and takes its revision at once, then waits with
others for the next commit of the writer thread. When that reports back, the view moves, watches
hear of it, and the writers go on. If the disk refuses a batch, every write that is not durable by
then fails and the heads are again what is durable; the next write tries anew, so the store is back
as soon as the disk is.

Revisions of refused writes are not used again: somebody may have read them from a head and expect
them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from typing import Final, Self

from dray.errors import DrayError, RevisionConflict, StoreError, StoreUnavailable
from dray.store.history import BYTES_MAX, EVENTS_MAX, History
from dray.store.loading import load
from dray.store.log import Appendable, Log
from dray.store.rows import Row, delete_row, put_row
from dray.store.settling import Settling, again
from dray.store.store import Record
from dray.store.view import View
from dray.store.writer import Committed, Compacted, Failed, Report, Writer
from dray.store.writes import Write, check_write

__all__ = ["FILE_NAME", "SQLiteStore"]

# What a data directory calls its database.
FILE_NAME: Final = "dray.db"

# Writes that wait for the disk. A server has far fewer requests in flight; beyond this something is
# stuck, and saying so is better than growing.
WAITING_WRITES_MAX: Final = 20_000
WAITING_BYTES_MAX: Final = 256 * 1024 * 1024


class SQLiteStore(View):
    """A view of a log, and the writes on their way into it."""

    def __init__(
        self, log: Appendable, revision: int, records: dict[str, Record], history: History
    ) -> None:
        super().__init__(revision, records, history)
        self._writer = Writer(log, self._report)
        self._started = False
        self._stopped: asyncio.Future[None] | None = None
        self._refusal: StoreError | None = None  # why nothing is accepted any more
        self._settling = Settling()
        self._compacting = Settling()
        # Accepted and not yet durable: in order, and the last one of each key.
        self._waiting: deque[Write] = deque()
        self._waiting_bytes = 0
        self._heads: dict[str, Write] = {}
        self._next = revision + 1
        self._last_accepted = revision  # the row that the next one will follow
        self._epoch = 0

    @classmethod
    def open(cls, path: Path, *, events_max: int = EVENTS_MAX, bytes_max: int = BYTES_MAX) -> Self:
        """Open the database at the path, or make it. Blocks: about a second for 100,000 records.

        StoreUnavailable if it cannot be used (in use, read-only, of a newer dray), StoreCorrupt if
        it is not what was written.
        """
        log = Log.open(path)
        history = History(log.floor, events_max=events_max, bytes_max=bytes_max)
        try:
            revision, records = load(log.rows(), history, path, base=log.base)
        except StoreError:
            log.abandon()
            raise
        return cls(log, revision, records, history)

    @property
    def accepted(self) -> int:
        """The newest revision given to a write, durable or not: what heads may show."""
        return self._last_accepted

    def head(self, key: str) -> Record | None:
        """What the key will hold once every write accepted so far is durable."""
        write = self._heads.get(key)
        return self._records.get(key) if write is None else write.record

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        """Write a value, and return once it is durable."""
        check_write(key, value)
        head, previous = self._checked(key, expected)
        revision = self._next
        record = Record(key, value, revision if head is None else head.created, revision)
        row = put_row(record, revision - self._last_accepted, previous)
        await self._accept(row, record, len(value))
        return record

    async def delete(self, key: str, *, expected: int | None = None) -> int | None:
        """Remove a key; the revision of its deletion, or None if there was no such key."""
        head, previous = self._checked(key, expected)
        if head is None:
            write = self._heads.get(key)
            if write is not None:
                await asyncio.shield(write.future)
            return None
        revision = self._next
        row = delete_row(revision, key, revision - self._last_accepted, previous)
        await self._accept(row, None, 0)
        return revision

    async def settled(self, revision: int) -> None:
        """Return once all writes up to this revision are durable."""
        refusal = self._settling.refusal(revision)
        if refusal is not None:
            raise again(refusal)
        if revision > self._revision:
            if self._refusal is not None:
                raise again(self._refusal)
            await self._settling.wait(revision)

    async def compact(self, revision: int) -> None:
        """Forget history before the revision."""
        self._check_open()
        self._forget(revision)
        self._start()
        self._writer.compact(revision)
        await self._compacting.wait(revision)

    async def close(self) -> None:
        """Finish accepted writes, then release everything. Watches end."""
        if self._refusal is None:
            self._refusal = StoreUnavailable("the store is closed")
        if self._stopped is None:
            self._start()
            self._stopped = asyncio.get_running_loop().create_future()
            self._writer.stop()
        await asyncio.shield(self._stopped)

    # Writing --------------------------------------------------------------------------------

    def _checked(self, key: str, expected: int | None) -> tuple[Record | None, int]:
        """The head of the key and its revision, 0 for none, if it is the one expected."""
        if self._refusal is not None:
            raise again(self._refusal)
        if not self._started:
            self._start()
        write = self._heads.get(key)
        head = self._records.get(key) if write is None else write.record
        found = 0 if head is None else head.revision
        if expected is not None and expected != found:
            raise RevisionConflict(key, expected=expected, found=found)
        return head, found

    def _accept(self, row: Row, record: Record | None, size: int) -> asyncio.Future[None]:
        """Give the write its place; its future is done when it is durable."""
        if len(self._waiting) >= WAITING_WRITES_MAX or self._waiting_bytes > WAITING_BYTES_MAX:
            raise StoreUnavailable(
                f"{len(self._waiting)} writes of {self._waiting_bytes} bytes wait for the disk"
            )
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        write = Write(row, record, future, self._epoch)
        self._last_accepted = row[0]
        self._next = row[0] + 1
        self._heads[row[2]] = write
        self._waiting.append(write)
        self._waiting_bytes += size
        self._writer.submit(write)
        return future

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._writer.start()

    def _check_open(self) -> None:
        if self._refusal is not None:
            raise again(self._refusal)

    # Reports of the writer ------------------------------------------------------------------

    def _report(self, report: Report) -> None:
        if isinstance(report, Committed):
            self._committed(report.writes)
        elif isinstance(report, Failed):
            self._failed(report.error)
        elif isinstance(report, Compacted):
            if report.error is not None:
                self._compacting.abandon(report.error)
            self._compacting.reach(report.floor)
        else:
            self._ended(report.error)

    def _committed(self, writes: list[Write]) -> None:
        heads, waiting = self._heads, self._waiting
        changes = []
        for write in writes:
            row = write.row
            key = row[2]
            changes.append((row[0], key, write.record))
            if heads.get(key) is write:
                del heads[key]
            waiting.popleft()
            self._waiting_bytes -= len(row[3] or b"")
        self._apply(changes)
        for write in writes:
            if not write.future.done():
                write.future.set_result(None)
        self._settling.reach(self._revision)
        self._writer.allow_compaction(self._history.floor)

    def _failed(self, error: StoreError) -> None:
        """Nothing that waits will be durable: take it all back."""
        self._epoch += 1
        refused, self._waiting = self._waiting, deque()
        self._waiting_bytes = 0
        self._heads.clear()
        self._last_accepted = self._revision
        self._settling.refuse(self._revision + 1, self._next - 1, error)
        for write in refused:
            if not write.future.done():
                write.future.set_exception(again(error))
                # Whoever gave up waiting need not hear of it.
                write.future.exception()

    def _ended(self, error: DrayError | None) -> None:
        reason = error if isinstance(error, StoreError) else StoreUnavailable("the store is closed")
        if error is not None and not isinstance(error, StoreError):
            reason = StoreUnavailable(f"the store has failed: {error}")
        if self._refusal is None or error is not None:
            self._refusal = reason
        self._failed(reason)
        self._settling.abandon(reason)
        self._compacting.abandon(reason)
        self._watches.close()
        if self._stopped is None:
            self._stopped = asyncio.get_running_loop().create_future()
        if not self._stopped.done():
            self._stopped.set_result(None)
