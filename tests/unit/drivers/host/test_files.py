"""Files are found below a root, and named as the machine names them."""

from __future__ import annotations

from pathlib import Path

from dray.drivers.host.files import FILE_BYTES_MAX, HostFiles


def test_a_file_is_read_without_blanks_and_only_so_far(tmp_path: Path) -> None:
    (tmp_path / "name").write_bytes(b" Board \xff\n\0")
    (tmp_path / "long").write_bytes(b"x" * (FILE_BYTES_MAX + 5))
    files = HostFiles(tmp_path)
    assert files.read("/name").startswith("Board")
    assert len(files.read("/long")) == FILE_BYTES_MAX


def test_links_lead_to_paths_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/sda").touch()
    (tmp_path / "dev/disk").symlink_to("sda")
    (tmp_path / "dev/absolute").symlink_to("/dev/null")
    (tmp_path / "dev/broken").symlink_to("gone")
    files = HostFiles(tmp_path)
    assert files.target("/dev/disk") == "/dev/sda"
    assert files.target("/dev/absolute") == "/dev/null"
    assert files.exists("/dev/disk")
    assert not files.exists("/dev/broken")
