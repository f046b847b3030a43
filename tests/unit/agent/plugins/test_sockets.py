"""The directory is read in full, whatever is in it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.agent.plugins import sockets
from dray.agent.plugins.sockets import SocketDirectory, connect_problem, is_abandoned
from tests.unit.agent.plugins.drivers import short_directory, tick


@pytest.fixture
def root() -> Iterator[Path]:
    with short_directory() as path:
        yield path


def names(directory: SocketDirectory, root: Path) -> list[str]:
    return sorted(os.path.relpath(found.path, root) for found in directory.read())


def make_socket(path: Path | bytes) -> None:
    """A socket file at which nobody listens."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.fsencode(path))


def test_a_missing_directory_is_created_for_the_owner_and_group(root: Path) -> None:
    directory = SocketDirectory(root / "a" / "registry")
    assert directory.read() == frozenset()
    assert (root / "a" / "registry").stat().st_mode & 0o777 == 0o750


def test_sockets_are_found_at_every_level_and_nothing_else_is(root: Path) -> None:
    (root / "below" / "deeper").mkdir(parents=True)
    (root / ".hidden").mkdir()
    for name in ("a.sock", ".a.sock", "below/b", "below/deeper/c.sock", ".hidden/d.sock"):
        make_socket(root / name)
    (root / "file.sock").touch()
    os.mkfifo(root / "pipe.sock")
    (root / "linked.sock").symlink_to(root / "a.sock")
    (root / "nowhere.sock").symlink_to(root / "missing")
    (root / "circle").symlink_to(root)
    (root / "self").symlink_to(root / "self")
    assert names(SocketDirectory(root), root) == [
        "a.sock",
        "below/b",
        "below/deeper/c.sock",
        "linked.sock",
    ]


def test_a_name_that_is_no_text_is_a_name(root: Path) -> None:
    make_socket(os.fsencode(root) + b"/\xff\xfe.sock")
    assert len(SocketDirectory(root).read()) == 1


def test_directories_are_followed_down_to_a_limit(root: Path) -> None:
    path = root
    for _ in range(sockets.DEPTH_MAX + 1):
        path = path / "d"
        path.mkdir()
        make_socket(path / "s")
    assert len(SocketDirectory(root).read()) == sockets.DEPTH_MAX


def test_the_same_socket_is_the_same_and_a_re_created_one_is_another(root: Path) -> None:
    make_socket(root / "a.sock")
    directory = SocketDirectory(root)
    first = directory.read()
    assert directory.read() == first
    (root / "a.sock").unlink()
    tick(root)
    make_socket(root / "a.sock")
    second = directory.read()
    assert len(second) == 1
    assert second != first
    (root / "a.sock").unlink()
    assert directory.read() == frozenset()


def test_junk_beyond_the_limit_is_not_looked_at_and_known_sockets_stay(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = SocketDirectory(root, entries_max=20)
    make_socket(root / "a.sock")
    known = directory.read()
    for number in range(100):
        (root / f"{number}").touch()
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert known <= directory.read()
    assert len(caplog.records) == 1, "told once"
    assert "more than 20 entries" in caplog.text
    (root / "a.sock").unlink()
    assert directory.read() == frozenset()


def test_too_many_sockets_are_too_many(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "SOCKETS_MAX", 3)
    for number in range(5):
        make_socket(root / f"{number}.sock")
    assert len(SocketDirectory(root).read()) == 3


def test_a_directory_that_cannot_be_read_says_nothing_about_its_sockets(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make_socket(root / "a.sock")
    directory = SocketDirectory(root)
    known = directory.read()

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch, caplog.at_level(logging.INFO):
        patch.setattr(os, "scandir", refuse)
        assert directory.read() == known
        assert directory.read() == known
    assert directory.read() == known
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "Permission denied" in told[0].message


def test_something_else_in_place_of_the_directory_is_reported_and_outlived(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = root / "registry"
    path.touch()
    directory = SocketDirectory(path)
    with caplog.at_level(logging.INFO):
        assert directory.read() == frozenset()
        path.unlink()
        assert directory.read() == frozenset()
    assert "cannot be created" in caplog.text
    assert "can be read again" in caplog.text
    make_socket(path / "a.sock")
    assert len(directory.read()) == 1


def test_a_socket_without_a_listener_is_abandoned_and_no_other(root: Path) -> None:
    make_socket(root / "stale")
    assert is_abandoned(str(root / "stale"))
    assert not is_abandoned(str(root / "missing"))
    assert not is_abandoned(str(root / ("x" * 200)))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "listening"))
        assert is_abandoned(str(root / "listening"))
        listening.listen(0)
        assert connect_problem(str(root / "listening")) is None
        for _ in range(3):  # also with more callers than it has room for
            assert not is_abandoned(str(root / "listening"))
