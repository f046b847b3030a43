from __future__ import annotations

import pytest

from dray.server.custom.formats import is_known, is_recognized, text_fits


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        ("date-time", "2020-01-01T00:00:00Z", "soon"),
        ("datetime", "2020-01-01t00:00:00.5+01:00", "2020-13-01T00:00:00Z"),
        ("date", "2020-02-29", "2021-02-29"),
        ("uri", "https://example.com/a", "no uri"),
        ("email", "a@example.com", "a.example.com"),
        ("hostname", "example.com", "exa mple.com"),
        ("ipv4", "10.0.0.01", "10.0.0.256"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("mac", "01:23:45:67:89:ab", "01:23:45:67:89"),
        ("mac", "0123.4567.89ab", "0123.4567"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("isbn", "978-0321751041", "978-0321751042"),
        ("isbn10", "0321751043", "0321751044"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("ssn", "111-22-3333", "111223333"),
        ("hexcolor", "#FFFFFF", "#FFFFF"),
        ("rgbcolor", "rgb(255, 255, 0)", "rgb(256,0,0)"),
        ("byte", "aGk=", "aGk"),
        ("duration", "1h30m", "soon"),
        ("duration", "3 days", "3 moons"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
        ("k8s-short-name", "my-name", "My-Name"),
        ("k8s-long-name", "my.name", "my..name"),
    ],
)
def test_a_text_has_a_format_or_not(format_: str, good: str, bad: str) -> None:
    assert text_fits(good, format_)
    assert not text_fits(bad, format_)


def test_any_text_is_a_password() -> None:
    assert text_fits("", "password")


def test_formats_nobody_knows_are_not_looked_at() -> None:
    assert not is_known("colour")
    assert is_known("date-time")


@pytest.mark.parametrize(
    ("format_", "types", "recognized"),
    [
        ("int32", ("integer",), True),
        ("int32", ("number",), False),
        ("double", ("number",), True),
        ("date", (), True),
        ("date", ("boolean",), False),
        ("date", ("integer", "string"), True),
    ],
)
def test_a_format_is_for_one_type(format_: str, types: tuple[str, ...], recognized: bool) -> None:
    assert is_recognized(format_, types) is recognized
