"""Mounts that a node makes for its pods."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.agent.pods.mounts import bind, detach, detach_below, may_mount, mount_memory, mounts_below

pytestmark = pytest.mark.skipif(not may_mount(), reason="needs the right to mount")


@pytest.fixture(autouse=True)
def _mounts_go_with_the_test(tmp_path: Path) -> Iterator[None]:
    yield
    detach_below(tmp_path)


def show(source: Path, target: Path) -> None:
    descriptor = os.open(source, os.O_PATH)
    bind(descriptor, target)
    os.close(descriptor)


def test_what_is_open_is_shown_whatever_its_name_leads_to(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    descriptor = os.open(source, os.O_PATH)
    (source / "mine").touch()
    source.rename(tmp_path / "other")
    source.symlink_to("/")
    bind(descriptor, target)
    os.close(descriptor)
    assert [path.name for path in target.iterdir()] == ["mine"]


def test_memory_can_be_without_a_limit(tmp_path: Path) -> None:
    mount_memory(tmp_path, mode=0o777, group=None, bytes_max=0)
    assert mounts_below(tmp_path) == [tmp_path]
    assert tmp_path.stat().st_mode & 0o7777 == 0o777
    with pytest.raises(OSError, match=r"mount .*/none: No such file"):
        mount_memory(tmp_path / "none", mode=0o777, group=None, bytes_max=0)


def test_all_that_is_below_goes_and_what_it_showed_stays(tmp_path: Path) -> None:
    source, top = tmp_path / "source", tmp_path / "a place\\with \t" / "top"
    (source / "inner").mkdir(parents=True)
    top.mkdir(parents=True)
    show(source, top)
    show(source, top)
    show(source, top / "inner")
    assert mounts_below(top.parent) == [top, top / "inner"]
    detach_below(top.parent)
    assert mounts_below(tmp_path) == []
    assert list(top.iterdir()) == []
    assert (source / "inner").is_dir()


def test_where_nothing_is_mounted_nothing_is_taken_away(tmp_path: Path) -> None:
    detach(tmp_path)
    detach(tmp_path / "none")
    assert mounts_below(tmp_path / "none") == []


def test_what_cannot_be_mounted_says_where(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"mount .*/none: No such file"):
        show(tmp_path, tmp_path / "none")
