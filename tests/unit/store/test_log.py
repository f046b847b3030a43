from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from dray.errors import StoreCorrupt, StoreUnavailable
from dray.store import log as log_module
from dray.store.files import Mark
from dray.store.log import COMPACTION_ROWS, SCHEMA_VERSION, Log, connect, translated
from dray.store.rows import Row, delete_row, put_row
from dray.store.store import Record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dray.db"


def put(revision: int, key: str = "/a", *, previous: int = 0, size: int = 1) -> Row:
    return put_row(Record(key, b"x" * size, 2, revision), 1, previous)


def fill(path: Path, rows: list[Row]) -> None:
    log = Log.open(path)
    log.append(rows)
    log.close()


def kept(log: Log) -> list[int]:
    return [row[0] for row in log.rows()]


# Opening ---------------------------------------------------------------------------------------


def test_rows_are_there_when_the_file_is_opened_again(path: Path) -> None:
    rows = [put(2), put(3, "/b"), delete_row(4, "/a", 1, 2)]
    fill(path, rows)
    log = Log.open(path)
    assert list(log.rows()) == rows
    assert (log.base, log.floor) == (1, 0)
    log.close()


def test_files_are_for_their_owner_only(path: Path) -> None:
    log = Log.open(path)
    log.append([put(2)])
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    log.close()
    assert set(modes) == {f"dray.db{end}" for end in ("", "-wal", "-shm", ".lock", ".mark")}
    assert set(modes.values()) == {0o600}


def test_commits_are_synced(path: Path) -> None:
    log = Log.open(path)
    pragmas = {
        name: log._connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "auto_vacuum", "secure_delete")
    }
    log.close()
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,  # full
        "auto_vacuum": 2,  # incremental
        "secure_delete": 2,  # fast
    }


def test_a_second_opener_is_told_who_has_it(path: Path) -> None:
    log = Log.open(path)
    with pytest.raises(StoreUnavailable, match=f"{path} is in use by process {os.getpid()}"):
        Log.open(path)
    log.close()


def refusal(path: Path) -> str:
    with pytest.raises((StoreUnavailable, StoreCorrupt)) as caught:
        Log.open(path)
    # Nothing stays locked after a refusal.
    with pytest.raises(type(caught.value)):
        Log.open(path)
    return f"{type(caught.value).__name__} {caught.value}"


def test_what_is_no_database_is_left_alone(path: Path) -> None:
    path.write_bytes(b"something else entirely" * 100)
    assert "StoreCorrupt" in refusal(path)
    assert "file is not a database" in refusal(path)
    assert path.read_bytes() == b"something else entirely" * 100


def test_somebody_elses_database_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    assert "is a database, but not one of dray's" in refusal(path)


def test_a_newer_format_is_not_touched(path: Path) -> None:
    fill(path, [put(2)])
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    other.close()
    assert refusal(path) == (
        f"StoreUnavailable {path} was written by a newer dray: its format is 2, this one knows 1"
    )


def test_an_empty_file_is_a_new_store_only_if_nothing_was_ever_acknowledged(path: Path) -> None:
    path.touch()
    fill(path, [put(2)])
    mark = Mark(path)
    mark.write(2)
    mark.close()
    path.write_bytes(b"")
    assert "is empty, but was not" in refusal(path)
    path.unlink()
    assert "is gone, but was not" in refusal(path)
    for other in path.parent.iterdir():
        other.unlink()
    fill(path, [put(2)])


def test_a_refusal_leaves_the_wal_to_whoever_repairs_it(path: Path) -> None:
    log = Log.open(path)
    log.append([put(2)])
    log.append([put(3, "/b")])
    image = path.parent / "image"
    image.mkdir()
    for name in ("dray.db", "dray.db-wal"):
        (image / name).write_bytes(path.with_name(name).read_bytes())
    log.close()
    mark = Mark(image / "dray.db")
    mark.write(9)
    mark.close()
    before = (image / "dray.db-wal").read_bytes()
    assert "ends at revision 3, but 9 was acknowledged" in refusal(image / "dray.db")
    assert (image / "dray.db-wal").read_bytes() == before


def test_a_file_that_ends_before_its_mark_is_refused(path: Path) -> None:
    fill(path, [put(2), put(3, "/b")])
    mark = Mark(path)
    mark.write(4)
    mark.close()
    assert "ends at revision 3, but 4 was acknowledged" in refusal(path)


def test_a_database_without_its_extent_is_damaged(path: Path) -> None:
    fill(path, [put(2)])
    other = sqlite3.connect(path)
    other.execute("DELETE FROM extent")
    other.commit()
    other.close()
    assert "the table extent has no usable row" in refusal(path)


def test_a_damaged_page_is_found_before_anything_is_served(path: Path) -> None:
    fill(path, [put(revision, f"/{revision}", size=900) for revision in range(2, 100)])
    data = bytearray(path.read_bytes())
    data[5 * 4096 : 6 * 4096] = os.urandom(4096)
    path.write_bytes(data)
    assert "StoreCorrupt" in refusal(path)


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "none/dray.db.lock: No such file" in refusal(tmp_path / "none" / "dray.db")


def test_a_directory_in_place_of_the_file_is_named(path: Path) -> None:
    path.mkdir()
    assert str(path) in refusal(path)


def test_a_directory_that_has_no_room_for_the_wal_is_named(path: Path) -> None:
    fill(path, [put(2)])
    path.with_name("dray.db-wal").mkdir()
    assert str(path) in refusal(path)


# Writing ---------------------------------------------------------------------------------------


def test_a_batch_is_written_whole_or_not_at_all(path: Path) -> None:
    log = Log.open(path)
    log.append([put(2)])
    with pytest.raises(StoreCorrupt, match="another program wrote to it: UNIQUE"):
        log.append([put(3, "/b"), put(2, "/c")])
    assert kept(log) == [2]
    log.append([put(3, "/b")])
    log.close()


def test_a_full_disk_is_called_by_its_name(path: Path) -> None:
    log = Log.open(path)
    log.append([put(2)])
    limit = log._connection.execute("PRAGMA page_count").fetchone()[0]
    log._connection.execute(f"PRAGMA max_page_count = {limit}").fetchall()
    with pytest.raises(StoreUnavailable, match=r"dray\.db: the disk is full"):
        log.append([put(3, "/b", size=100_000)])
    log._connection.execute("PRAGMA max_page_count = 100000").fetchall()
    log.append([put(3, "/b", size=100_000)])
    assert kept(log) == [2, 3]
    log.close()


def test_a_foreign_lock_is_waited_for_and_then_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "BUSY_SECONDS", 0.0)
    log = Log.open(path)
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="is locked by another program"):
        log.append([put(2)])
    other.execute("ROLLBACK")
    other.close()
    log.append([put(2)])
    log.close()


def test_errors_without_a_name_are_told_as_they_are() -> None:
    error = translated(Path("x.db"), sqlite3.ProgrammingError("closed"))
    assert str(error) == "x.db: closed (ProgrammingError)"


# Compacting ------------------------------------------------------------------------------------


def test_compaction_keeps_what_is_current_and_what_is_recent(path: Path) -> None:
    log = Log.open(path)
    log.append(
        [
            put(2, "/a"),
            put(3, "/b"),
            put(4, "/a", previous=2),
            delete_row(5, "/b", 1, 3),
            put(6, "/c"),
            put(7, "/a", previous=4),
            delete_row(8, "/c", 1, 6),
        ]
    )
    assert log.compact(6)
    assert kept(log) == [4, 6, 7, 8]
    assert log.compact(8)
    assert kept(log) == [7]
    assert log.compact(5)
    assert log.floor == 8
    log.close()
    log = Log.open(path)
    assert (kept(log), log.floor) == ([7], 8)
    log.close()


def test_compaction_goes_step_by_step(path: Path) -> None:
    log = Log.open(path)
    last = 1
    count = 2 * COMPACTION_ROWS + 10
    log.append([put(2)])
    log.append([put(revision, previous=revision - 1) for revision in range(3, count + 2)])
    floors = []
    done = False
    while not done:
        done = log.compact(count + 1)
        floors.append(log.floor)
    assert floors == [COMPACTION_ROWS + last, 2 * COMPACTION_ROWS + last, count + last]
    assert kept(log) == [count + 1]
    log.close()


def test_a_gap_of_refused_revisions_is_one_step(path: Path) -> None:
    log = Log.open(path)
    log.append([put(2), put_row(Record("/b", b"", 2, 10**12), 10**12 - 2, 0)])
    assert log.compact(10**12)
    log.close()


def test_a_store_that_shrank_gives_its_pages_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "FREE_PAGES_MIN", 100)
    log = Log.open(path)
    log.append([put(revision, f"/{revision}", size=4000) for revision in range(2, 302)])
    log.append(
        [delete_row(revision + 300, f"/{revision}", 1, revision) for revision in range(2, 302)]
    )
    assert not log.vacuum()
    while not log.compact(601):
        pass
    steps = 0
    while log.vacuum():
        steps += 1
    assert steps > 1
    pages = log._connection.execute("PRAGMA page_count").fetchone()[0]
    log.close()
    assert path.stat().st_size == pages * 4096
    assert pages < 200


def test_pages_of_compacted_rows_are_used_again(path: Path) -> None:
    log = Log.open(path)
    sizes = []
    for round_ in range(6):
        start = 2 + round_ * 200
        log.append(
            [put(n, previous=n - 1 if n > 2 else 0, size=3000) for n in range(start, start + 200)]
        )
        while not log.compact(start + 199):
            pass
        sizes.append(log._connection.execute("PRAGMA page_count").fetchone()[0])
    log.close()
    assert sizes[-1] == sizes[1]
