from __future__ import annotations

import errno
import json
import logging
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dray.errors import ConfigurationError
from dray.server.operations import audit_log
from dray.server.operations.audit_event import AuditEntry
from dray.server.operations.audit_log import AuditLog, Rotation
from dray.server.operations.audit_policy import AuditDecision, AuditLevel
from dray.server.routing import route
from dray.testing import FakeClock
from tests.unit.server.operations.requests import BOB, request

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def entry(audit_id: str, body: bytes = b"") -> AuditEntry:
    asked = request(body=body)
    where = route(asked.method, asked.path, asked.query)
    decision = AuditDecision(AuditLevel.METADATA)
    facts: tuple[Any, ...] = (BOB, BOB, None, MOMENT, MOMENT, 200)
    return AuditEntry(decision, audit_id, "ResponseComplete", asked, where, *facts)


def ids(path: Path) -> list[str]:
    return [json.loads(line)["auditID"] for line in path.read_text().splitlines()]


class Losses:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, count: int) -> None:
        self.count += count


def opened(path: Path, **rotation: int) -> tuple[AuditLog, FakeClock, Losses]:
    clock, losses = FakeClock(), Losses()
    return AuditLog(path, clock, losses, rotation=Rotation(**rotation)), clock, losses


def test_entries_are_written_in_order_as_whole_lines(tmp_path: Path) -> None:
    log, _clock, losses = opened(tmp_path / "audit.log")
    log.start()
    for number in range(300):
        assert log.submit(entry(f"id-{number}"))
    log.close()
    assert ids(tmp_path / "audit.log") == [f"id-{number}" for number in range(300)]
    assert losses.count == 0


def test_the_file_is_its_owners_alone_and_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    for number in range(2):
        log, _clock, _losses = opened(path)
        log.start()
        log.submit(entry(f"id-{number}"))
        log.close()
    assert ids(path) == ["id-0", "id-1"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        opened(tmp_path / "missing" / "audit.log")


def test_when_too_many_wait_the_next_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "WAITING_ENTRIES_MAX", 3)
    log, _clock, _losses = opened(tmp_path / "audit.log")
    assert [log.submit(entry("x")) for _ in range(4)] == [True, True, True, False]
    log.start()
    log.close()
    assert ids(tmp_path / "audit.log") == ["x"] * 3


def test_when_too_much_waits_the_next_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "WAITING_BYTES_MAX", 100_000)
    log, _clock, _losses = opened(tmp_path / "audit.log")
    large = entry("x", b"x" * 50_000)
    assert [log.submit(large) for _ in range(4)] == [True, True, False, False]
    log.close()


def rotated(log: AuditLog, clock: FakeClock, count: int) -> None:
    """Write so many entries into files that hold one each."""
    for number in range(count):
        log._write([entry(f"id-{number}")])
        clock.advance(1.25)


def test_a_full_file_is_put_aside_under_the_time(tmp_path: Path) -> None:
    log, clock, _losses = opened(tmp_path / "audit.log", bytes_max=100)
    rotated(log, clock, 3)
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit-2026-01-01T00-00-01.250.log",
        "audit-2026-01-01T00-00-02.500.log",
        "audit.log",
    ]
    assert ids(tmp_path / "audit.log") == ["id-2"]
    assert ids(tmp_path / "audit-2026-01-01T00-00-01.250.log") == ["id-0"]


def test_only_so_many_backups_are_kept_the_newest_ones(tmp_path: Path) -> None:
    (tmp_path / "audit-of-somebody.log").touch()
    log, clock, _losses = opened(tmp_path / "audit.log", bytes_max=100, backups_max=2)
    rotated(log, clock, 6)
    log.close()
    kept = sorted(path.name for path in tmp_path.glob("audit-2026*"))
    assert kept == ["audit-2026-01-01T00-00-05.000.log", "audit-2026-01-01T00-00-06.250.log"]
    assert (tmp_path / "audit-of-somebody.log").exists()


def test_backups_are_kept_only_so_long(tmp_path: Path) -> None:
    log, clock, _losses = opened(tmp_path / "audit.log", bytes_max=100, days_max=1)
    rotated(log, clock, 2)
    clock.advance(2 * 86_400)
    rotated(log, clock, 1)
    log.close()
    assert len(list(tmp_path.glob("audit-2026*"))) == 1


def test_a_disk_that_takes_nothing_loses_entries_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log, _clock, losses = opened(tmp_path / "audit.log")
    log._write([entry("before")])

    def full(descriptor: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
        patched.setattr(os, "write", full)
        log._write([entry("x"), entry("y")])
        log._write([entry("z")])
    log._write([entry("after")])
    log.close()
    assert losses.count == 3
    assert len(caplog.records) == 1
    assert ids(tmp_path / "audit.log") == ["before", "after"]


def test_half_a_line_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, _clock, losses = opened(tmp_path / "audit.log")
    log._write([entry("before")])
    real = os.write
    calls = iter([lambda descriptor, data: real(descriptor, data[:10])])

    def filling(descriptor: int, data: memoryview) -> int:
        write = next(calls, None)
        if write is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", filling)
        log._write([entry("x")])
    log._write([entry("after")])
    log.close()
    assert losses.count == 1
    assert ids(tmp_path / "audit.log") == ["before", "after"]


def test_a_dash_is_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    log, _clock, _losses = opened(Path("-"), bytes_max=1)
    log.start()
    log.submit(entry("x"))
    log.submit(entry("y"))
    log.close()
    assert [json.loads(line)["auditID"] for line in capfd.readouterr().out.splitlines()] == [
        "x",
        "y",
    ]
