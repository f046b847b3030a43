from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from dray.api.yaml.errors import ManifestError
from dray.cli.manifests import files
from dray.cli.manifests.files import find_files, read_file


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a.yml", "c.json", "d.txt", ".hidden.yaml", "sub/e.yaml", ".git/f.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(tree: Path, *paths: str) -> list[str]:
    found = list(find_files(paths or [str(tree)]))
    return [str(path).removeprefix(f"{tree}/") for path in found]


def test_a_directory_is_its_manifests_sorted_and_all_below_it(tree: Path) -> None:
    assert names(tree) == ["a.yml", "b.yaml", "c.json", "sub/e.yaml"]


def test_a_file_is_read_once_however_often_it_is_given(tree: Path) -> None:
    link = tree / "z.yaml"
    link.symlink_to(tree / "b.yaml")
    assert names(tree, str(tree / "b.yaml"), str(tree), str(link)) == [
        "b.yaml",
        "a.yml",
        "c.json",
        "sub/e.yaml",
    ]


def test_a_named_file_is_taken_whatever_its_name(tree: Path) -> None:
    assert names(tree, str(tree / "d.txt"), "-") == ["d.txt", "-"]


def test_links_between_directories_are_not_followed(tree: Path) -> None:
    (tree / "sub" / "loop").symlink_to(tree)
    (tree / "sub" / "loop.yaml").symlink_to(tree)
    assert names(tree) == ["a.yml", "b.yaml", "c.json", "sub/e.yaml"]


def test_a_tree_is_bounded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ENTRIES_MAX", 3)
    assert names(tree) == [f"{tree}: holds more than 3 files"]


def test_a_directory_that_cannot_be_listed_is_one_error(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: str) -> os._ScandirIterator[str]:
        if path.endswith("sub"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names(tree)[-1] == "sub: cannot be read: Permission denied"


# Reading ---------------------------------------------------------------------------------------


def test_a_file_is_its_bytes(tree: Path) -> None:
    assert read_file(str(tree / "b.yaml"), None) == b"b.yaml"


def test_standard_input_is_read_to_its_end() -> None:
    assert read_file("-", io.BytesIO(b"a: 1")) == b"a: 1"


def test_standard_input_may_be_closed() -> None:
    with pytest.raises(ManifestError, match="standard input is closed"):
        read_file("-", None)


@pytest.mark.parametrize(
    ("name", "rule"),
    [("missing.yaml", "cannot be read: No such file or directory"), ("sub", "Is a directory")],
)
def test_what_cannot_be_read_says_why(tree: Path, name: str, rule: str) -> None:
    with pytest.raises(ManifestError, match=rule):
        read_file(str(tree / name), None)


def test_a_sparse_giant_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "giant.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(ManifestError, match="has more than 67108864 bytes"):
        read_file(str(path), None)


def test_a_device_without_end_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BYTES_MAX", 1000)
    with pytest.raises(ManifestError, match="has more than 1000 bytes"):
        read_file("/dev/zero", None)


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    with pytest.raises(ManifestError, match="is a pipe that nobody writes to"):
        read_file(str(path), None)


def test_a_pipe_with_a_writer_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a: 1")
    os.close(writing)
    assert read_file(f"/dev/fd/{reading}", None) == b"a: 1"
    os.close(reading)
