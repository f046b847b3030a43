from __future__ import annotations

from pathlib import Path

import pytest

from dray.errors import ConfigurationError
from dray.server.auth import private_files
from dray.server.auth.private_files import create_private_file, read_private_file


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"
    assert create_private_file(path, b"secret")
    assert read_private_file(path) == b"secret"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    create_private_file(path, b"first")
    assert not create_private_file(path, b"second")
    assert read_private_file(path) == b"first"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    create_private_file(path, b"secret")
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match=f"by its owner alone .* not mode {mode:04o}"):
        read_private_file(path)


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="absent cannot be read: No such file"):
        read_private_file(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        create_private_file(tmp_path / "file" / "key", b"")


def test_a_file_beyond_all_measure_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_files, "FILE_BYTES_MAX", 3)
    create_private_file(tmp_path / "key", b"four")
    with pytest.raises(ConfigurationError, match="larger than 3 bytes"):
        read_private_file(tmp_path / "key")
