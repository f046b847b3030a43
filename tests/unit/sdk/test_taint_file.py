"""Taints on disk."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dray.api.resource import DeviceTaint
from dray.api.wire import Time
from dray.sdk._taint_file import StoredTaint, TaintFile

TAINT = DeviceTaint(
    key="k.example.com/x",
    value="v",
    effect="NoSchedule",
    time_added=Time.parse("2026-01-01T00:00:00Z"),
)
STORED = StoredTaint("p", "d", TAINT, recovers=True, judged=False)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    file = TaintFile(tmp_path / "taints.json")
    assert file.read() == []
    file.write([STORED])
    assert file.read() == [STORED]
    assert (tmp_path / "taints.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"version":2,"taints":[]}',
        b'{"version":1,"taints":[{"pool":1}]}',
        b'{"version":1,"taints":[{"pool":"p","device":"d","taint":{"timeAdded":"noon"}}]}',
        b"\xff\xfe",
    ],
)
def test_a_damaged_file_is_set_aside_and_forgotten(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "taints.json"
    path.write_bytes(content)
    file = TaintFile(path)
    assert file.read() == []
    assert (tmp_path / "taints.json.damaged-0").read_bytes() == content
    assert "cannot be read" in caplog.text
    file.write([STORED])
    assert file.read() == [STORED]


def test_a_damaged_file_that_cannot_be_set_aside_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def read_only(_: Path) -> Path:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("dray.sdk._taint_file.set_aside", read_only)
    (tmp_path / "taints.json").write_bytes(b"?")
    assert TaintFile(tmp_path / "taints.json").read() == []
    assert "cannot be set aside" in caplog.text


def test_two_processes_keep_what_the_other_wrote_and_took_away(tmp_path: Path) -> None:
    other = msgspec.structs.replace(STORED, device="other")
    third = msgspec.structs.replace(STORED, device="third")
    one, two = TaintFile(tmp_path / "taints.json"), TaintFile(tmp_path / "taints.json")
    assert one.write([STORED, third]) is None
    assert two.read() == [STORED, third]
    assert two.write([STORED, third, other]) is None
    assert one.write([third]) == [other, third]
    assert two.write([other, STORED]) == [other]
    assert TaintFile(tmp_path / "taints.json").read() == [other]


def test_a_file_that_vanishes_takes_nothing_away(tmp_path: Path) -> None:
    file = TaintFile(tmp_path / "taints.json")
    file.write([STORED])
    (tmp_path / "taints.json").unlink()
    assert file.write([STORED]) is None
    assert TaintFile(tmp_path / "taints.json").read() == [STORED]


def test_without_a_path_nothing_is_kept() -> None:
    file = TaintFile(None)
    file.write([STORED])
    assert file.read() == []


def test_a_disk_that_fails_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = TaintFile(tmp_path / "missing" / "taints.json")
    file.write([STORED])
    assert "cannot be kept" in caplog.text
    directory = TaintFile(tmp_path)
    assert directory.read() == []
