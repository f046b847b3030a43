"""Files of a volume that change together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dray.agent.pods.starting import ConfigFailed
from dray.agent.pods.volume_files import VolumeFile, write_payload


def test_files_are_seen_through_one_link(tmp_path: Path) -> None:
    payload = {"a": VolumeFile(b"1"), "deep/b": VolumeFile(b"2", 0o400)}
    assert write_payload(tmp_path / "v", payload)
    assert (tmp_path / "v" / "a").read_bytes() == b"1"
    assert (tmp_path / "v" / "deep" / "b").read_bytes() == b"2"
    assert os.readlink(tmp_path / "v" / "a") == "..data/a"
    assert (tmp_path / "v" / "a").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "v" / "deep" / "b").stat().st_mode & 0o777 == 0o400


def test_the_same_files_are_not_written_again(tmp_path: Path) -> None:
    payload = {"a": VolumeFile(b"1")}
    write_payload(tmp_path, payload)
    version = os.readlink(tmp_path / "..data")
    assert not write_payload(tmp_path, payload)
    assert os.readlink(tmp_path / "..data") == version


def test_a_change_replaces_all_files_at_once(tmp_path: Path) -> None:
    write_payload(tmp_path, {"a": VolumeFile(b"1"), "b": VolumeFile(b"1")})
    assert write_payload(tmp_path, {"b": VolumeFile(b"2"), "c": VolumeFile(b"2")})
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("..")) == [
        "b",
        "c",
    ]
    assert (tmp_path / "b").read_bytes() == b"2"
    assert len([path for path in tmp_path.iterdir() if path.name.startswith("..version")]) == 1


@pytest.mark.parametrize("path", ["", ".", "/etc/passwd", "../x", "a/../../b", "..data"])
def test_no_file_leaves_its_volume(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConfigFailed, match="inside of its volume"):
        write_payload(tmp_path, {path: VolumeFile(b"")})


def test_a_path_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigFailed, match="has a NUL character"):
        write_payload(tmp_path, {"a\0b": VolumeFile(b"")})


@pytest.mark.parametrize("link", ["absolute", "../precious", "..version_1/../../precious"])
def test_a_link_that_somebody_else_made_is_not_followed(tmp_path: Path, link: str) -> None:
    volume, precious = tmp_path / "v", tmp_path / "precious"
    precious.mkdir()
    (precious / "a").write_bytes(b"1")
    write_payload(volume, {"a": VolumeFile(b"1")})
    (volume / "..data").unlink()
    (volume / "..data").symlink_to(precious if link == "absolute" else link)
    assert write_payload(volume, {"a": VolumeFile(b"2")})
    assert (volume / "a").read_bytes() == b"2"
    assert (precious / "a").read_bytes() == b"1"
