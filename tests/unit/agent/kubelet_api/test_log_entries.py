from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dray.agent.kubelet_api.log_entries import Entry, Presenter, parse_entry
from dray.agent.kubelet_api.log_options import LogOptions

LINES = (
    b"2026-01-01T00:00:01.5Z stdout F one",
    b"2026-01-01T00:00:02Z stderr F two",
    b"2026-01-01T00:00:03.123456789Z stdout P th",
    b"2026-01-01T00:00:04.000001+02:00 stdout F ree",
)


def shown(options: LogOptions, *lines: bytes) -> bytes:
    presenter = Presenter(options)
    return b"".join(presenter.show(line) for line in lines or LINES)


def test_an_entry_has_its_parts() -> None:
    assert parse_entry(LINES[2]) == Entry(b"2026-01-01T00:00:03.123456789Z", "stdout", True, b"th")
    assert parse_entry(b"t stdout F:extra with  spaces") == Entry(
        b"t", "stdout", False, b"with  spaces"
    )


@pytest.mark.parametrize("line", [b"", b"one", b"a b c d", b"\xff\x00 stdout"])
def test_what_is_no_entry_is_shown_as_it_is(line: bytes) -> None:
    assert shown(LogOptions(timestamps=True, stream="stdout"), line) == line + b"\n"


def test_parts_of_a_line_are_put_together() -> None:
    assert shown(LogOptions()) == b"one\ntwo\nthree\n"


def test_times_come_once_a_line_with_nine_digits() -> None:
    assert shown(LogOptions(timestamps=True)).split(b"\n") == [
        b"2026-01-01T00:00:01.500000000Z one",
        b"2026-01-01T00:00:02.000000000Z two",
        b"2026-01-01T00:00:03.123456789Z three",
        b"",
    ]


def test_one_stream_is_shown_without_the_other() -> None:
    assert shown(LogOptions(stream="stdout")) == b"one\nthree\n"
    assert shown(LogOptions(stream="stderr")) == b"two\n"


def test_what_is_older_is_left_out() -> None:
    since = datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert shown(LogOptions(since=since)) == b"two\nthree\n"


def test_no_more_is_shown_than_was_asked_for() -> None:
    presenter = Presenter(LogOptions(limit_bytes=6))
    assert presenter.show(LINES[0]) + presenter.show(LINES[1]) == b"one\ntw"
    assert presenter.is_done
    assert presenter.show(LINES[2]) == b""
