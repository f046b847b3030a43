"""A log in memory that commits when told to, and fails when told to."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from dray.errors import StoreError, StoreUnavailable
from dray.store.history import History
from dray.store.loading import load
from dray.store.rows import Row
from dray.store.sqlite import SQLiteStore
from dray.store.store import FIRST_REVISION

__all__ = ["ScriptedLog", "store_on"]


class ScriptedLog:
    """`gate` is open at first; while it is closed, commits wait. `fail` fails the next commits."""

    def __init__(self) -> None:
        self.floor = 0
        self.batches: list[list[Row]] = []
        self.noted: list[int] = []
        self.compactions: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Semaphore(0)  # released whenever a commit begins
        self.failures: list[BaseException] = []
        self.closed = False
        self.free = 0  # steps of vacuuming that find something to give back
        self.vacuumed = threading.Semaphore(0)

    @property
    def rows(self) -> list[Row]:
        return [row for batch in self.batches for row in batch]

    def fail(self, error: BaseException | None = None) -> None:
        self.failures.append(error or StoreUnavailable("the disk is full"))

    def append(self, rows: Sequence[Row]) -> None:
        self.entered.release()
        self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append(list(rows))

    def note(self, revision: int) -> None:
        self.noted.append(revision)

    def compact(self, target: int) -> bool:
        if self.failures:
            raise self.failures.pop(0)
        self.floor = min(target, self.floor + 10)
        self.compactions.append(self.floor)
        return self.floor == target

    def vacuum(self) -> bool:
        if self.free == 0:
            return False
        self.free -= 1
        self.vacuumed.release()
        return True

    def close(self) -> None:
        self.closed = True
        if self.failures:
            error = self.failures.pop(0)
            assert isinstance(error, StoreError)
            raise error


def store_on(log: ScriptedLog) -> SQLiteStore:
    from pathlib import Path

    history = History(0, events_max=1000)
    revision, records = load(log.rows, history, Path("scripted"), base=FIRST_REVISION)
    return SQLiteStore(log, revision, records, history)
