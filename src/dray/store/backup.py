"""Backups: a copy of the database at one revision, and the way back.

A backup is made while the server runs, in one read transaction, so it is the state at one revision;
writers do not wait for it. It is verified row by row, as opening a store does, before it gets its
name.

A restored store must not look like the one it replaces. Clients hold revisions that came after the
backup; if the counter went on from the backup's, they would wait for changes that happened before
they resumed, and miss all others. So the counter jumps far beyond any revision the old store can
have reached, and history begins there: whoever resumes from before is told RevisionCompacted and
lists anew. Objects keep the revisions they were written at, so a writer who expects a newer one
gets a conflict.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dray.errors import StoreCorrupt, StoreError, StoreUnavailable
from dray.store.files import Lock, Mark, companions, sync_directory
from dray.store.history import History
from dray.store.loading import load
from dray.store.log import check_format, check_pages, connect, read_rows, translated

__all__ = ["Contents", "back_up", "restore", "set_aside_name"]

# More writes than anyone makes after a backup: three weeks at 5,000 a second. Numbers stay exact
# for clients that read them as floating point for 900,000 restores.
RESTORE_JUMP_REVISIONS: Final = 10_000_000_000

# Only whether events follow each other is asked, so hardly any need be kept.
VERIFIED_EVENTS_MAX: Final = 1


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database was found to hold."""

    revision: int
    records_count: int
    bytes_count: int


def back_up(source: Path, target: Path) -> Contents:
    """Copy the database to a file, replacing it if it exists; what was copied.

    Works whether or not a server has the source open. The target appears whole or not at all.
    """
    if not source.exists():
        raise StoreUnavailable(f"{source} does not exist: there is nothing to back up")
    if source.resolve() == target.resolve():
        raise StoreUnavailable(f"{target} is the database itself; name another file")
    with _copied(source, target) as copy:
        contents = _verified(copy, source)
        _sync_file(copy)
        copy.rename(target)
        sync_directory(target.parent)
    return contents


def restore(backup: Path, target: Path, *, force: bool = False) -> Contents:
    """Make the database from a backup; what it holds and at which revision it goes on.

    Nothing is touched before the backup is verified. A database that is already there is replaced
    only with `force`, and set aside rather than lost. It may be its own backup: that accepts that
    what is missing from it is gone.
    """
    if not backup.exists():
        raise StoreUnavailable(f"{backup} does not exist")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"{target.parent}: {error.strerror}") from error
    lock = Lock.take(target)
    try:
        if target.exists() and not force:
            raise StoreUnavailable(f"{target} exists: restoring would replace what it holds")
        with _copied(backup, target) as copy:
            found = _verified(copy, backup)
            revision = max(found.revision, _newest_known(target)) + RESTORE_JUMP_REVISIONS
            _jump(copy, revision)
            contents = _verified(copy, backup)
            _sync_file(copy)
            _set_aside(target)
            copy.rename(target)
            sync_directory(target.parent)
        mark = Mark(target)
        mark.write(contents.revision)
        mark.close()
    finally:
        lock.release()
    return contents


def set_aside_name(target: Path) -> Path:
    """Where a database goes that a restore replaces."""
    return target.with_name(f"{target.name}.replaced")


@contextlib.contextmanager
def _copied(source: Path, target: Path) -> Iterator[Path]:
    """A copy of the source beside the target, gone at the end unless it was renamed."""
    try:
        # Readable by its owner only, from the first byte on.
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise StoreUnavailable(f"{target.parent}: {error.strerror}") from error
    os.close(descriptor)
    copy = Path(name)
    try:
        _copy(source, copy)
        yield copy
    except sqlite3.Error as error:
        raise translated(copy, error) from error
    except OSError as error:
        raise StoreUnavailable(f"{target}: {error.strerror}") from error
    finally:
        for path in (copy, *companions(copy), copy.with_name(f"{copy.name}-journal")):
            path.unlink(missing_ok=True)


def _copy(source: Path, copy: Path) -> None:
    try:
        reading = connect(source, mode="ro")
    except sqlite3.Error as error:
        raise translated(source, error) from error
    writing = connect(copy)
    try:
        try:
            check_format(reading, source)
        except sqlite3.Error as error:
            raise translated(source, error) from error
        # All pages in one step: one state, whatever is written meanwhile.
        reading.backup(writing, pages=-1)
        # One file, that can be read where nothing can be written.
        writing.execute("PRAGMA journal_mode = DELETE").fetchall()
    finally:
        writing.close()
        reading.close()


def _verified(copy: Path, named: Path) -> Contents:
    """What the copy holds, if every row is as it should be; errors name what it is a copy of."""
    connection = connect(copy, mode="ro")
    try:
        check_format(connection, named)
        check_pages(connection, named)
        row = connection.execute("SELECT base, floor FROM extent WHERE id = 1").fetchone()
        if row is None or not all(type(number) is int for number in row):
            raise StoreCorrupt(f"{named}: the table extent has no usable row")
        base, floor = row
        history = History(floor, events_max=VERIFIED_EVENTS_MAX)
        revision, records = load(read_rows(connection, named), history, named, base=base)
    except sqlite3.Error as error:
        raise translated(named, error) from error
    finally:
        connection.close()
    return Contents(revision, len(records), copy.stat().st_size)


def _jump(copy: Path, revision: int) -> None:
    """Let the log go on at a revision, with everything before it compacted."""
    connection = connect(copy)
    try:
        connection.execute("UPDATE extent SET base = ?, floor = ? WHERE id = 1", (revision,) * 2)
        connection.execute("VACUUM")
    finally:
        connection.close()


def _newest_known(target: Path) -> int:
    """The newest revision the database to be replaced is known to have reached."""
    newest = 0
    if target.exists():
        # What is broken is a reason to restore, not a reason not to.
        with contextlib.suppress(sqlite3.Error, StoreError):
            connection = connect(target, mode="ro")
            try:
                check_format(connection, target)
                ((newest,),) = connection.execute(
                    "SELECT max(base, floor, coalesce((SELECT max(revision) FROM log), 0)) "
                    "FROM extent"
                )
            finally:
                connection.close()
    with contextlib.suppress(StoreError):
        newest = max(newest, Mark.read(target))
    return newest


def _set_aside(target: Path) -> None:
    """Keep the database that will be replaced, under another name."""
    aside = set_aside_name(target)
    if target.exists():
        for path in (aside, *companions(aside)):
            path.unlink(missing_ok=True)
        os.link(target, aside)
    # A WAL that is left would be taken for the new database's. Should we end right here, the mark
    # tells the next opener that the old database is not whole without it.
    for mine, theirs in zip(companions(target), companions(aside), strict=True):
        with contextlib.suppress(FileNotFoundError):
            mine.rename(theirs)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
