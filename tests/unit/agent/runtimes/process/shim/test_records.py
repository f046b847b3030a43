from __future__ import annotations

from pathlib import Path

import pytest

from dray.agent.runtimes.process.shim.records import (
    RESERVED_BYTES,
    now,
    read_record,
    reserve_record,
    write_record,
    write_reserved,
)


def test_a_record_is_read_as_it_was_written_and_nothing_is_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_record(str(path), {"a": [1, "ü"]})
    write_record(str(path), {"a": [2]})
    assert read_record(str(path)) == {"a": [2]}
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_record_is_none_and_a_damaged_one_an_error(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    assert read_record(str(path)) is None
    for data in (b"", b"{", b"[]", b"\xff"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"Expecting|object|decode"):
            read_record(str(path))


def test_times_are_in_utc() -> None:
    assert now().endswith("+00:00")


def test_a_record_takes_no_more_room_than_was_reserved_for_it(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    reserve_record(str(path))
    assert read_record(str(path)) is None
    (reserved,) = tmp_path.iterdir()
    assert reserved.stat().st_size == RESERVED_BYTES
    before = reserved.stat()
    write_reserved(str(path), {"a": 1})
    assert read_record(str(path)) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_ino == before.st_ino
    assert path.stat().st_blocks == before.st_blocks
