"""The log of changes in an SQLite file: appended to, read once, compacted from the far end.

Blocking, and used by one thread at a time. A batch of rows is one statement, which is its own
transaction: SQLite syncs once, and Python's interpreter lock is given up once instead of once per
row, which under a busy event loop would cost milliseconds each. Compaction is one statement for the
same reason; a trigger does what belongs to it.

After `floor` the log is complete. Up to it only the rows of current values are kept.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, Protocol, Self

from dray.errors import StoreCorrupt, StoreError, StoreUnavailable
from dray.store.files import PRIVATE_MODE, Lock, Mark, companions, sync_directory
from dray.store.rows import COLUMNS, Row
from dray.store.store import FIRST_REVISION

__all__ = ["Appendable", "Log", "check_format", "check_pages", "connect", "read_rows", "translated"]

APPLICATION_ID: Final = 0x64726179  # "dray": `file` and friends can tell
SCHEMA_VERSION: Final = 1

# A statement is kept for each length of a batch; longer ones would keep more memory than they save
# time. What does not fit goes into the next batch.
BATCH_ROWS_MAX: Final = 128
# More would make the writers of small values wait for those of big ones.
BATCH_BYTES_MAX: Final = 4 * 1024 * 1024

# Only a foreign program, or a backup that starts, holds the file's lock, and not for long.
BUSY_SECONDS: Final = 5.0

# After a burst the WAL is cut back to this; SQLite starts over in it every thousand pages.
WAL_BYTES_MAX: Final = 16 * 1024 * 1024

# Rows per step of compaction: a few milliseconds, no more than a slow sync.
COMPACTION_ROWS: Final = 256
# Pages per step of giving free ones back; each is a step of SQLite's as well.
VACUUM_PAGES: Final = 64
# Free pages are used again by the next rows. Giving them back is for a store that shrank for good.
FREE_PAGES_MIN: Final = 4096
FREE_SHARE_MIN: Final = 0.5

# Rows handed over at once when all are read: their values are kept, so this only bounds calls.
ROWS_AT_ONCE: Final = 1000
# Of a damaged file, so many places are named.
FINDINGS_MAX: Final = 3

_SCHEMA: Final = f"""\
BEGIN IMMEDIATE;
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    step INTEGER NOT NULL,
    key TEXT NOT NULL,
    value BLOB,
    created INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE extent (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    base INTEGER NOT NULL,
    floor INTEGER NOT NULL
);
INSERT INTO extent VALUES (1, {FIRST_REVISION}, 0);
CREATE TRIGGER compaction AFTER UPDATE OF floor ON extent BEGIN
    DELETE FROM log WHERE revision IN (
        SELECT previous FROM log
        WHERE revision > old.floor AND revision <= new.floor AND previous > 0);
    DELETE FROM log
        WHERE revision > old.floor AND revision <= new.floor AND value IS NULL;
END;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""  # noqa: S608 - constants of ours


class Appendable(Protocol):
    """What the writer thread asks of a log."""

    floor: int

    def append(self, rows: Sequence[Row]) -> None:
        """Make the rows durable, all or none."""
        ...

    def note(self, revision: int) -> None:
        """Remember outside the database that the revision was acknowledged."""
        ...

    def compact(self, target: int) -> bool:
        """Move the floor towards the target, a step at a time; True when it is there."""
        ...

    def vacuum(self) -> bool:
        """Give some free pages back to the file system; False when there is nothing to give."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class Log:
    """The file, opened and locked. `floor` and `base` are as in the table `extent`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock, mark: Mark) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        self._mark = mark
        row = connection.execute("SELECT base, floor FROM extent WHERE id = 1").fetchone()
        if row is None or not all(type(number) is int for number in row):
            raise StoreCorrupt(f"{path}: the table extent has no usable row")
        self.base: int = row[0]
        self.floor: int = row[1]

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file, or make it; refuse what is not a healthy store of our own."""
        lock = Lock.take(path)
        try:
            return cls._open(path, lock)
        except StoreError:
            lock.release()
            raise
        except sqlite3.Error as error:
            lock.release()
            raise translated(path, error) from error
        except OSError as error:
            lock.release()
            raise StoreUnavailable(f"{path}: {error.strerror}") from error

    @classmethod
    def _open(cls, path: Path, lock: Lock) -> Self:
        marked = Mark.read(path)
        _find_file(path, marked)
        mark = Mark(path)
        connection = connect(path)
        try:
            _prepare(connection, path)
            check_pages(connection, path)
            log = cls(path, connection, lock, mark)
            log._check_mark(marked)
        except (StoreError, sqlite3.Error, OSError):
            mark.close()
            _close_untouched(connection, path)
            raise
        return log

    def rows(self) -> Iterator[Row]:
        """Every row, in order of revision."""
        return read_rows(self._connection, self.path)

    def append(self, rows: Sequence[Row]) -> None:
        """Make the rows durable, all or none."""
        self._execute(_insertion(len(rows)), list(chain.from_iterable(rows)))

    def note(self, revision: int) -> None:
        """Remember outside the database that the revision was acknowledged."""
        self._mark.write(revision)

    def compact(self, target: int) -> bool:
        """Move the floor towards the target, a step at a time; True when it is there."""
        if self.floor >= target:
            return True
        found = self._execute(
            "SELECT revision FROM log WHERE revision > ? ORDER BY revision LIMIT 1 OFFSET ?",
            (self.floor, COMPACTION_ROWS - 1),
        )
        floor = min(target, found[0][0]) if found else target
        self._execute("UPDATE extent SET floor = ? WHERE id = 1", (floor,))
        self.floor = floor
        return floor >= target

    def vacuum(self) -> bool:
        """Give some free pages back to the file system; False when there is nothing to give."""
        ((free,),) = self._execute("PRAGMA freelist_count")
        ((every,),) = self._execute("PRAGMA page_count")
        if free < FREE_PAGES_MIN or free < FREE_SHARE_MIN * every:
            return False
        self._execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")
        return True

    def abandon(self) -> None:
        """Release the file as it is: whoever repairs it may need all of it."""
        _close_untouched(self._connection, self.path)
        self._mark.close()
        self._lock.release()

    def close(self) -> None:
        """Release the file. SQLite folds the WAL into it."""
        try:
            self._connection.close()
        except sqlite3.Error as error:
            raise translated(self.path, error) from error
        finally:
            self._mark.close()
            self._lock.release()

    def _execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[int, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.rollback()
            raise translated(self.path, error) from error

    def _check_mark(self, marked: int) -> None:
        ((newest,),) = self._connection.execute("SELECT coalesce(max(revision), 0) FROM log")
        newest = max(newest, self.base, self.floor)
        if newest < marked:
            raise StoreCorrupt(
                f"{self.path} ends at revision {newest}, but {marked} was acknowledged: part of "
                "it, such as its -wal file, was removed, cut off or replaced. Put it back, or "
                "restore a backup; restoring the file onto itself accepts the loss"
            )


def connect(path: Path, *, mode: str = "rw") -> sqlite3.Connection:
    """A connection to an existing file, in which statements are their own transactions."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # opened by one thread, then used by another
        cached_statements=2 * BATCH_ROWS_MAX,
    )
    # Built in by some, left out by others: what is deleted is overwritten where that is free.
    connection.execute("PRAGMA secure_delete = FAST").fetchall()
    return connection


def read_rows(connection: sqlite3.Connection, path: Path) -> Iterator[Row]:
    """Every row of the log, in order of revision."""
    try:
        cursor = connection.execute(
            f"SELECT {', '.join(COLUMNS)} FROM log ORDER BY revision"  # noqa: S608 - constants
        )
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from rows
    except sqlite3.Error as error:
        raise translated(path, error) from error


def check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is not ours, or of a format we do not know."""
    application = _number(connection, "PRAGMA application_id")
    version = _number(connection, "PRAGMA user_version")
    if application != APPLICATION_ID:
        raise StoreUnavailable(f"{path} is a database, but not one of dray's")
    if version != SCHEMA_VERSION:
        raise StoreUnavailable(
            f"{path} was written by a newer dray: its format is {version}, "
            f"this one knows {SCHEMA_VERSION}"
        )


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """What SQLite itself knows to be wrong. Contents are checked row by row when they are read."""
    findings = [row[0] for row in connection.execute(f"PRAGMA quick_check({FINDINGS_MAX})")]
    if findings != ["ok"]:
        raise StoreCorrupt(f"{path} is damaged: {'; '.join(findings)}; restore a backup")


def translated(path: Path, error: sqlite3.Error) -> StoreError:
    """The error as one of ours: which file, and what is wrong with it."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreCorrupt(f"{path}: {error}; restore a backup")
    if name.startswith("SQLITE_CONSTRAINT"):
        return StoreCorrupt(f"{path}: another program wrote to it: {error}")
    if name.startswith("SQLITE_FULL"):
        return StoreUnavailable(f"{path}: the disk is full")
    if name.startswith("SQLITE_READONLY"):
        return StoreUnavailable(f"{path} cannot be written: {error}")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreUnavailable(f"{path} is locked by another program")
    return StoreUnavailable(f"{path}: {error} ({name or type(error).__name__})")


def _find_file(path: Path, marked: int) -> None:
    """Make the file if there is none, readable by its owner only, and its name durable."""
    wal, _ = companions(path)
    # Asked before SQLite has a look: it removes the WAL of an empty file.
    was_used = marked > FIRST_REVISION or (wal.exists() and wal.stat().st_size > 0)
    if was_used and (not path.exists() or path.stat().st_size == 0):
        what = "is empty" if path.exists() else "is gone"
        raise StoreCorrupt(
            f"{path} {what}, but was not: put it back or restore a backup; to begin with nothing, "
            f"remove all files called {path.name}…"
        )
    if path.exists():
        # SQLite would open it all the same, and complain at the first write.
        if not os.access(path, os.R_OK | os.W_OK):
            raise StoreUnavailable(
                f"{path} cannot be written: it, or its file system, is read-only"
            )
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_MODE))
        sync_directory(path.parent)
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror}") from error


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the connection and, if it is new, the file into the shape we work with."""
    # Tables are asked for, not the size of the file: a process that ended while it made them leaves
    # a file with pages, and perhaps a journal by which SQLite takes them back.
    unused = _number(connection, "SELECT count(*) FROM sqlite_master") == 0
    if unused and _number(connection, "PRAGMA application_id") == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
        connection.executescript(_SCHEMA)
    check_format(connection, path)
    ((journal,),) = connection.execute("PRAGMA journal_mode = WAL")
    if journal != "wal":
        raise StoreUnavailable(f"{path} cannot have a write-ahead log; it is on {journal}")
    connection.execute("PRAGMA synchronous = FULL")  # a commit is on disk when it returns
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_MAX}").fetchall()
    sync_directory(path.parent)


def _close_untouched(connection: sqlite3.Connection, path: Path) -> None:
    """Close without what SQLite does for the last one: folding the WAL into the file."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(sqlite3.Error):
            # One more that only reads, and has read: then ours is not the last, and it cannot fold.
            other = stack.enter_context(contextlib.closing(connect(path, mode="ro")))
            other.execute("SELECT count(*) FROM sqlite_master").fetchall()
        connection.close()


def _number(connection: sqlite3.Connection, statement: str) -> int:
    (number,) = connection.execute(statement).fetchone()
    assert isinstance(number, int)
    return number


@cache
def _insertion(rows_count: int) -> str:
    places = f"({', '.join('?' * len(COLUMNS))})"
    every: Iterable[str] = (places for _ in range(rows_count))
    return f"INSERT INTO log ({', '.join(COLUMNS)}) VALUES {', '.join(every)}"  # noqa: S608
