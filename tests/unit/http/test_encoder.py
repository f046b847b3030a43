"""Heads of answers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dray.errors import InternalError
from dray.http.encoder import CHUNKED, UNTIL_CLOSED, HeadEncoder, without_body
from dray.testing import FakeClock


def test_a_head_is_status_date_fields_and_length() -> None:
    clock = FakeClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    head = HeadEncoder(clock).encode(
        404, [("Warning", '299 - "ä"')], 12, minor_version=1, keep_alive=True
    )
    assert head.decode() == (
        "HTTP/1.1 404 Not Found\r\n"
        "Date: Fri, 02 Jan 2026 03:04:05 GMT\r\n"
        'Warning: 299 - "ä"\r\n'
        "Content-Length: 12\r\n"
        "\r\n"
    )


@pytest.mark.parametrize(
    ("status", "length", "minor", "keep", "fields"),
    [
        (200, CHUNKED, 1, True, ["Transfer-Encoding: chunked"]),
        (200, UNTIL_CLOSED, 0, False, ["Connection: close"]),
        (200, 0, 0, True, ["Content-Length: 0", "Connection: keep-alive"]),
        (204, 0, 1, True, []),
        (304, 5, 1, False, ["Connection: close"]),
        (299, 1, 1, True, ["Content-Length: 1"]),
    ],
)
def test_a_head_says_where_the_body_ends_and_whether_the_connection_stays(
    status: int, length: int, minor: int, keep: bool, fields: list[str]
) -> None:
    head = HeadEncoder(FakeClock()).encode(status, [], length, minor_version=minor, keep_alive=keep)
    assert head.decode().split("\r\n")[2:-2] == fields


def test_the_date_changes_with_the_second() -> None:
    clock = FakeClock(datetime(2026, 1, 2, 3, 4, 5, 900_000, tzinfo=UTC))
    encoder = HeadEncoder(clock)

    def date() -> bytes:
        head = encoder.encode(200, [], 0, minor_version=1, keep_alive=True)
        return head.split(b"\r\n")[1][-12:]

    assert date() == b"03:04:05 GMT"
    clock.advance(0.05)
    assert date() == b"03:04:05 GMT"
    clock.advance(0.06)
    assert date() == b"03:04:06 GMT"


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b", "a\nb", "a\rb", "a\0b"])
def test_a_value_cannot_write_the_rest_of_the_answer(value: str) -> None:
    with pytest.raises(InternalError):
        HeadEncoder(FakeClock()).encode(
            200, [("Warning", value)], 0, minor_version=1, keep_alive=True
        )


def test_some_answers_have_no_body() -> None:
    assert [status for status in (101, 200, 204, 304, 404) if without_body(status)] == [
        101,
        204,
        304,
    ]
