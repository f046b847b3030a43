from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dray.errors import StoreUnavailable
from dray.store.files import Lock, Mark, companions, sync_directory


def test_a_lock_is_held_by_one_and_says_by_whom(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    lock = Lock.take(path)
    with pytest.raises(StoreUnavailable, match=f"x.db is in use by process {os.getpid()}$"):
        Lock.take(path)
    lock.release()
    lock.release()
    Lock.take(path).release()


def test_a_holder_that_left_no_name_is_another_process(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    lock = Lock.take(path)
    (tmp_path / "x.db.lock").write_text("")
    with pytest.raises(StoreUnavailable, match="in use by another process"):
        Lock.take(path)
    lock.release()


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"none/x\.db\.lock: No such file"):
        Lock.take(tmp_path / "none" / "x.db")
    with pytest.raises(StoreUnavailable, match=r"none/x\.db\.mark: No such file"):
        Mark(tmp_path / "none" / "x.db")


def test_a_mark_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    assert Mark.read(path) == 0
    mark = Mark(path)
    for revision in (7, 2**40):
        mark.write(revision)
        assert Mark.read(path) == revision
    mark.close()
    mark.close()
    assert stat.S_IMODE(mark.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("data", [b"", b"1234", bytes(8) + b"1234", bytes(100)])
def test_a_mark_that_makes_no_sense_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.db.mark").write_bytes(data)
    assert Mark.read(tmp_path / "x.db") == 0


def test_a_mark_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.db.mark").mkdir()
    with pytest.raises(StoreUnavailable, match="Is a directory"):
        Mark.read(tmp_path / "x.db")


def test_what_belongs_to_a_database_lies_beside_it(tmp_path: Path) -> None:
    assert [path.name for path in companions(tmp_path / "x.db")] == ["x.db-wal", "x.db-shm"]
    sync_directory(tmp_path)
