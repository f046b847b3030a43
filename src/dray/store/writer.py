"""The one thread that writes: whatever queued up during the last commit goes into the next.

It knows rows and the log, not what they mean. What it has to tell goes to one function, called in
the event loop, once per batch. After a batch failed, nothing accepted before its owner heard of
that is written any more: it was accepted on top of what is not there. Writes carry an epoch for
this purpose.

Between batches, and while there is nothing to write, it compacts: a step at a time, so that no
writer waits longer than for one of them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

import msgspec

from dray.errors import InternalError, StoreError
from dray.store.log import BATCH_BYTES_MAX, BATCH_ROWS_MAX, Appendable
from dray.store.writes import Write

__all__ = ["Committed", "Compacted", "Failed", "Report", "Stopped", "Writer"]

# How far the log may fall behind the history in memory: four steps of work, done at once.
COMPACTION_LAG_REVISIONS: Final = 1024

# Writes that are handed over together: whatever comes in so many turns of the loop in a row, a few
# milliseconds under load and next to nothing without, but no more than make a good batch.
TURNS_MAX: Final = 8
GATHERED_MIN: Final = 32

_LOGGER: Final = logging.getLogger(__name__)


class Committed(msgspec.Struct, frozen=True):
    """These are durable."""

    writes: list[Write]


class Failed(msgspec.Struct, frozen=True):
    """Nothing of this epoch that was not reported as durable ever will be."""

    epoch: int
    error: StoreError


class Compacted(msgspec.Struct, frozen=True):
    """The log's floor arrived where it was asked to be, or cannot."""

    floor: int
    error: StoreError | None = None


class Stopped(msgspec.Struct, frozen=True):
    """The thread ends. `error` says why if nobody asked it to."""

    error: StoreError | InternalError | None = None


Report = Committed | Failed | Compacted | Stopped


class Writer:
    """A thread with a log of its own. Everything but `_run` is called from the event loop."""

    def __init__(self, log: Appendable, report: Callable[[Report], None]) -> None:
        self._log = log
        self._report = report
        # A number asks for compaction up to it; None only wakes the thread up.
        self._queue: SimpleQueue[list[Write] | int | None] = SimpleQueue()
        # What was submitted since the thread was woken up. That takes longer than to queue a write,
        # and then the thread competes with the loop for Python's lock: once per batch, not once per
        # write.
        self._gathered: list[Write] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="dray-store", daemon=True)
        self._failed_epoch = -1
        # Written by the loop, read by the thread; one assignment needs no lock.
        self._allowed = log.floor
        self._stopping = False
        # The thread's own: what it has yet to write, what somebody waits for, and how far it got.
        self._backlog: deque[Write] = deque()
        self._wanted: int | None = None
        # Compaction may have left pages to give back.
        self._shrunk = True
        # Compaction failed: wait for the next batch before trying again.
        self._resting = False

    def start(self) -> None:
        """Begin; reports go to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._hand_over()
        self._thread.start()

    def submit(self, write: Write) -> None:
        """Queue a write. Returns at once; the thread hears of those of some turns together."""
        if not self._gathered and self._loop is not None:
            self._loop.call_soon(self._turn_ended, 0, 0)
        self._gathered.append(write)

    def _turn_ended(self, turns: int, count: int) -> None:
        """Wait for more as long as each turn of the loop brings some."""
        assert self._loop is not None
        if turns < TURNS_MAX and count < len(self._gathered) < GATHERED_MIN:
            self._loop.call_soon(self._turn_ended, turns + 1, len(self._gathered))
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._queue.put(gathered)

    def allow_compaction(self, revision: int) -> None:
        """Nobody needs what led up to the revision; it may be compacted when convenient."""
        self._allowed = max(self._allowed, revision)

    def compact(self, revision: int) -> None:
        """Compact now; Compacted reports it."""
        self._hand_over()
        self._queue.put(revision)

    def stop(self) -> None:
        """Write what is queued, then end; Stopped reports it."""
        self._hand_over()
        self._stopping = True
        self._queue.put(None)

    # In the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        error: StoreError | InternalError | None = InternalError("the writer ended unexpectedly")
        try:
            while not (self._stopping and self._idle()):
                if self._idle() and self._tidy():
                    continue
                batch = self._take()
                if batch:
                    self._commit(batch)
                    self._resting = False
                    if self._compaction_due():
                        self._compact_step()
            error = self._close()
        finally:
            # Whatever ended the thread, nobody must wait for it. What Python makes of an
            # exception that nobody caught is shown by threading's hook.
            self._tell(Stopped(error))

    def _idle(self) -> bool:
        return not self._backlog and self._queue.empty()

    def _take(self) -> list[Write]:
        """Wait for work, and take all there is, within bounds."""
        if not self._backlog:
            self._receive()
        while not self._queue.empty() and len(self._backlog) < BATCH_ROWS_MAX:
            self._receive()
        batch: list[Write] = []
        size = 0
        while self._backlog and len(batch) < BATCH_ROWS_MAX and size < BATCH_BYTES_MAX:
            write = self._backlog.popleft()
            if write.epoch > self._failed_epoch:
                batch.append(write)
                size += len(write.row[3] or b"")
        return batch

    def _receive(self) -> None:
        item = self._queue.get()
        if isinstance(item, list):
            self._backlog.extend(item)
        elif item is not None:
            self._wanted = max(item, self._wanted or 0)
            self._resting = False

    def _commit(self, batch: list[Write]) -> None:
        try:
            self._log.append([write.row for write in batch])
        except StoreError as error:
            self._failed_epoch = batch[-1].epoch
            self._tell(Failed(batch[-1].epoch, error))
            return
        self._tell(Committed(batch))
        self._log.note(batch[-1].revision)

    def _compaction_due(self) -> bool:
        if self._resting:
            return False
        behind = self._allowed - self._log.floor
        return self._wanted is not None or behind >= COMPACTION_LAG_REVISIONS

    def _tidy(self) -> bool:
        """Do a step of what can wait; False if there is nothing to do."""
        if self._resting:
            return False
        if self._compaction_due():
            self._compact_step()
            return True
        if not self._shrunk:
            return False
        try:
            self._shrunk = self._log.vacuum()
        except StoreError as error:
            self._rest(error)
            return False
        return self._shrunk

    def _compact_step(self) -> None:
        try:
            self._log.compact(max(self._allowed, self._wanted or 0))
            self._shrunk = True
        except StoreError as error:
            self._rest(error)
            if self._wanted is not None:
                self._wanted = None
                self._tell(Compacted(self._log.floor, error))
            return
        if self._wanted is not None and self._log.floor >= self._wanted:
            self._wanted = None
            self._tell(Compacted(self._log.floor))

    def _rest(self, error: StoreError) -> None:
        self._resting = True
        _LOGGER.warning("the log stays longer than it should: %s", error)

    def _close(self) -> StoreError | None:
        try:
            self._log.close()
        except StoreError as error:
            return error
        return None

    def _tell(self, report: Report) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._report, report)
        except RuntimeError:
            # The loop was closed without closing the store. What is durable stays durable.
            self._stopping = True
