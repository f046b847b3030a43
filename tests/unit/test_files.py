"""Files that are whole or absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dray.files import SET_ASIDE_MAX, remove_file, set_aside, sync_directory, write_file


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_file(tmp_path / "state", b"one")
    write_file(tmp_path / "state", b"two")
    assert (tmp_path / "state").read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_file_gets_the_mode_it_was_given(tmp_path: Path) -> None:
    write_file(tmp_path / "state", b"", mode=0o600)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600


def test_a_failed_write_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "state", b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(tmp_path / "state", b"new")
    assert (tmp_path / "state").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_two_processes_of_one_number_do_not_write_into_each_others_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, other = os.fsync, [b"theirs"]

    def interrupted(descriptor: int) -> None:
        if other:
            write_file(tmp_path / "state", other.pop())
        real(descriptor)

    monkeypatch.setattr("os.fsync", interrupted)
    write_file(tmp_path / "state", b"ours")
    assert (tmp_path / "state").read_bytes() == b"ours"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_removing_says_whether_there_was_a_file(tmp_path: Path) -> None:
    write_file(tmp_path / "state", b"")
    assert remove_file(tmp_path / "state")
    assert not remove_file(tmp_path / "state")


def test_damaged_files_are_kept_apart_up_to_a_limit(tmp_path: Path) -> None:
    for n in range(SET_ASIDE_MAX + 2):
        write_file(tmp_path / "state", str(n).encode())
        kept = set_aside(tmp_path / "state")
        assert kept.read_bytes() == str(n).encode()
    assert len(list(tmp_path.iterdir())) == SET_ASIDE_MAX


def test_a_directory_that_is_missing_cannot_be_synced(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync_directory(tmp_path / "missing")
