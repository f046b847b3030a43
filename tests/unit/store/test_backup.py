from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dray.errors import RevisionCompacted, RevisionConflict, StoreCorrupt, StoreUnavailable
from dray.store.backup import RESTORE_JUMP_REVISIONS, back_up, restore, set_aside_name
from dray.store.files import Lock, Mark
from dray.store.log import connect
from dray.store.sqlite import SQLiteStore
from dray.store.store import Record


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "dray.db"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


def with_store(path: Path, steps: Callable[[SQLiteStore], Awaitable[None]]) -> None:
    async def main() -> None:
        store = SQLiteStore.open(path)
        try:
            await steps(store)
        finally:
            await store.close()

    asyncio.run(main())


def writing(*keys: str) -> Callable[[SQLiteStore], Awaitable[None]]:
    async def write(store: SQLiteStore) -> None:
        for key in keys:
            await store.put(key, b"value of " + key.encode())

    return write


def state(path: Path) -> tuple[int, list[Record]]:
    found: list[tuple[int, list[Record]]] = []

    async def look(store: SQLiteStore) -> None:
        found.append((store.revision, list(store.range("").records)))

    with_store(path, look)
    return found[0]


def strays(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".")]


# Backing up ------------------------------------------------------------------------------------


def test_a_backup_is_the_state_at_one_revision_while_the_store_goes_on(
    database: Path, copy: Path
) -> None:
    async def steps(store: SQLiteStore) -> None:
        await writing("/a", "/b", "/a")(store)
        before.append((store.revision, list(store.range("").records)))
        contents = back_up(database, copy)
        await writing("/c")(store)
        assert (contents.revision, contents.records_count) == (before[0][0], 2)

    before: list[tuple[int, list[Record]]] = []
    with_store(database, steps)
    assert state(copy) == before[0]


def test_a_backup_has_what_is_only_in_the_wal(database: Path, copy: Path) -> None:
    async def steps(store: SQLiteStore) -> None:
        await writing("/a")(store)
        assert b"value of /a" not in database.read_bytes()
        back_up(database, copy)
        assert b"value of /a" in copy.read_bytes()

    with_store(database, steps)


def test_a_backup_is_one_private_file(database: Path, copy: Path) -> None:
    with_store(database, writing("/a"))
    contents = back_up(database, copy)
    assert [path.name for path in copy.parent.iterdir() if path.is_file()] == ["copy.db"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert contents.bytes_count == copy.stat().st_size


def test_a_backup_replaces_an_older_one(database: Path, copy: Path) -> None:
    with_store(database, writing("/a"))
    back_up(database, copy)
    with_store(database, writing("/b"))
    assert back_up(database, copy).records_count == 2


def test_a_backup_of_damaged_data_is_not_made(database: Path, copy: Path) -> None:
    with_store(database, writing("/a"))
    database.write_bytes(database.read_bytes().replace(b"value of /a", b"value of /x"))
    copy.write_bytes(b"the one of yesterday")
    with pytest.raises(StoreCorrupt, match=r"revision 2 .* does not match its checksum"):
        back_up(database, copy)
    assert copy.read_bytes() == b"the one of yesterday"
    assert not strays(copy.parent)


def test_what_cannot_be_backed_up_is_named(database: Path, copy: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=f"{database} does not exist"):
        back_up(database, copy)
    with_store(database, writing("/a"))
    with pytest.raises(StoreUnavailable, match="is the database itself"):
        back_up(database, database)
    with pytest.raises(StoreUnavailable, match="none: No such file or directory"):
        back_up(database, tmp_path / "none" / "copy.db")
    with pytest.raises(StoreUnavailable, match="Is a directory"):
        back_up(database, tmp_path)
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreUnavailable, match=r"other\.db is a database, but not one of dray's"):
        back_up(other, copy)
    other.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreCorrupt, match=r"other\.db: file is not a database"):
        back_up(other, copy)
    assert not strays(tmp_path)


# Restoring -------------------------------------------------------------------------------------


def test_a_restored_store_has_the_objects_as_they_were(database: Path, copy: Path) -> None:
    with_store(database, writing("/a", "/b", "/a"))
    back_up(database, copy)
    revision, records = state(database)
    with_store(database, writing("/a", "/c"))
    contents = restore(copy, database, force=True)
    assert contents.records_count == 2
    assert state(database) == (contents.revision, records)
    assert contents.revision > revision + RESTORE_JUMP_REVISIONS


def test_revisions_from_before_a_restore_have_expired(database: Path, copy: Path) -> None:
    with_store(database, writing("/a"))
    back_up(database, copy)
    with_store(database, writing("/a", "/b", "/c"))
    newest, records = state(database)
    contents = restore(copy, database, force=True)

    async def steps(store: SQLiteStore) -> None:
        for revision in range(newest + 1):
            with pytest.raises(RevisionCompacted):
                store.watch("", revision, lambda _: None)
        with pytest.raises(RevisionCompacted):
            store.range("", revision=newest)
        assert store.range("", revision=contents.revision).revision == contents.revision
        # Somebody who read the newer /a does not overwrite the older one unawares.
        with pytest.raises(RevisionConflict):
            await store.put("/a", b"", expected=records[0].revision)
        assert (await store.put("/d", b"")).revision == contents.revision + 1

    with_store(database, steps)
    assert state(database)[0] == contents.revision + 1


def test_the_jump_clears_a_store_that_cannot_be_read_any_more(database: Path, copy: Path) -> None:
    with_store(database, writing("/a"))
    back_up(database, copy)
    mark = Mark(database)
    mark.write(7 * RESTORE_JUMP_REVISIONS)
    mark.close()
    database.write_bytes(b"gone" * 1000)
    assert restore(copy, database, force=True).revision >= 8 * RESTORE_JUMP_REVISIONS
    assert set_aside_name(database).read_bytes() == b"gone" * 1000
    assert len(state(database)[1]) == 1


def test_a_restore_into_nothing_makes_the_directory(
    database: Path, copy: Path, tmp_path: Path
) -> None:
    with_store(database, writing("/a"))
    back_up(database, copy)
    fresh = tmp_path / "new" / "place" / "dray.db"
    restore(copy, fresh)
    assert len(state(fresh)[1]) == 1
    assert stat.S_IMODE(fresh.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o600


def test_data_is_replaced_only_by_force_and_set_aside(database: Path, copy: Path) -> None:
    with_store(database, writing("/a"))
    back_up(database, copy)
    with_store(database, writing("/b"))
    before = state(database)
    with pytest.raises(StoreUnavailable, match=f"{database} exists"):
        restore(copy, database)
    assert state(database) == before
    restore(copy, database, force=True)
    assert state(set_aside_name(database)) == before


def test_a_wal_that_a_reader_keeps_open_does_not_reach_the_new_database(
    database: Path, copy: Path
) -> None:
    with_store(database, writing("/a"))
    back_up(database, copy)
    reader = connect(database)
    reader.execute("SELECT count(*) FROM log").fetchall()
    with_store(database, writing("/b"))
    assert database.with_name("dray.db-wal").exists()
    restore(copy, database, force=True)
    assert [record.key for record in state(database)[1]] == ["/a"]
    reader.close()


def test_a_store_in_use_is_not_replaced(database: Path, copy: Path) -> None:
    with_store(database, writing("/a"))
    back_up(database, copy)
    lock = Lock.take(database)
    with pytest.raises(StoreUnavailable, match="is in use by process"):
        restore(copy, database, force=True)
    lock.release()


@pytest.mark.parametrize("damage", ["flipped", "truncated", "garbage", "missing"])
def test_a_damaged_backup_touches_nothing(database: Path, copy: Path, damage: str) -> None:
    with_store(database, writing(*(f"/{n}" for n in range(300))))
    back_up(database, copy)
    before = state(database)
    data = copy.read_bytes()
    if damage == "flipped":
        copy.write_bytes(data.replace(b"value of /17", b"value of /71"))
    elif damage == "truncated":
        copy.write_bytes(data[: len(data) // 2 // 4096 * 4096])
    elif damage == "garbage":
        copy.write_bytes(b"garbage" * 1000)
    else:
        copy.unlink()
    with pytest.raises((StoreCorrupt, StoreUnavailable), match=r"copy\.db"):
        restore(copy, database, force=True)
    assert state(database) == before
    assert not set_aside_name(database).exists()
    assert not strays(database.parent)


def test_restoring_a_database_onto_itself_accepts_its_loss(database: Path) -> None:
    with_store(database, writing("/a", "/b"))
    mark = Mark(database)
    mark.write(99)
    mark.close()
    with pytest.raises(StoreCorrupt, match="99 was acknowledged"):
        SQLiteStore.open(database)
    contents = restore(database, database, force=True)
    assert contents.revision > RESTORE_JUMP_REVISIONS
    assert [record.key for record in state(database)[1]] == ["/a", "/b"]


def test_a_directory_that_cannot_be_made_is_named(copy: Path, tmp_path: Path) -> None:
    copy.write_bytes(b"")
    with pytest.raises(StoreUnavailable, match=r"File exists|Not a directory"):
        restore(copy, copy / "dray.db")
