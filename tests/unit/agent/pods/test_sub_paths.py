"""Parts of volumes that containers mount."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dray.agent.pods.mounts import detach_below, may_mount
from dray.agent.pods.starting import ConfigFailed
from dray.agent.pods.sub_paths import hold, locate

needs_mounts = pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
Find = Callable[[Path, str], Path]


@pytest.fixture(autouse=True)
def _mounts_go_with_the_test(tmp_path: Path) -> Iterator[None]:
    yield
    detach_below(tmp_path)


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "volume").mkdir()
    return tmp_path / "volume"


def held(volume: Path, sub_path: str) -> Path:
    return hold(volume, sub_path, volume.parent / "places" / "0")


def located(volume: Path, sub_path: str) -> Path:
    return locate(volume, sub_path, links=False)


either = pytest.mark.parametrize("find", [pytest.param(held, marks=needs_mounts), located])


@either
def test_what_is_missing_is_made_for_whoever_may_use_the_volume(volume: Path, find: Find) -> None:
    volume.chmod(0o2777)
    found = find(volume, "a/b")
    assert found.samefile(volume / "a" / "b")
    modes = [path.stat().st_mode & 0o7777 for path in (volume / "a", volume / "a" / "b")]
    assert modes == [0o2777, 0o2777]


@either
def test_a_file_is_a_part_too(volume: Path, find: Find) -> None:
    (volume / "file").write_text("text")
    assert find(volume, "./file").read_text() == "text"


@either
@pytest.mark.parametrize(
    ("sub_path", "text"),
    [
        ("../outside", "leads out of its volume"),
        ("a/../../outside", "leads out of its volume"),
        ("/etc", "leads out of its volume"),
        ("a\0b", "NUL"),
        ("out", "leads out of its volume|has a link at 'out'"),
        ("out/x", "leads out of its volume|has a link at 'out'"),
        ("loop", "has a link at 'loop'"),
        ("file/x", "Not a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_what_is_not_inside_is_refused(volume: Path, find: Find, sub_path: str, text: str) -> None:
    (volume / "out").symlink_to("../outside")
    (volume / "loop").symlink_to("loop")
    (volume / "file").touch()
    with pytest.raises(ConfigFailed, match=text):
        find(volume, sub_path)
    assert list((volume.parent / "outside").iterdir()) == []


@needs_mounts
def test_a_link_that_stays_inside_is_resolved(volume: Path) -> None:
    (volume / "real").mkdir()
    (volume / "link").symlink_to(volume / "real")
    assert held(volume, "link/x").samefile(volume / "real" / "x")


def test_without_mounts_only_links_of_the_clusters_own_are_followed(volume: Path) -> None:
    (volume / "real").mkdir()
    (volume / "link").symlink_to("real")
    with pytest.raises(ConfigFailed, match="has a link at 'link'"):
        locate(volume, "link", links=False)
    assert locate(volume, "link", links=True) == volume / "real"


@needs_mounts
def test_a_container_that_starts_again_finds_what_is_there_now(volume: Path) -> None:
    (volume / "a").mkdir()
    held(volume, "a")
    (volume / "a").rmdir()
    (volume / "a").write_text("a file now")
    assert held(volume, "a").read_text() == "a file now"
