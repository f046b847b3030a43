from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel import _types as types
from dray.cel._failures import Abort
from dray.cel._library.go_text import from_bytes, quoted, shown, to_bytes
from dray.cel._values import NONE, DerivedQuantity, Duration, Optional, Timestamp, UInt, Value


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("plain", '"plain"'),
        ('a "quote" \\', '"a \\"quote\\" \\\\"'),
        ("é\u2028", '"é\\u2028"'),
        (from_bytes(b"%a\xc3"), '"%a\\xc3"'),
        ("\\udcff", '"\\\\udcff"'),
    ],
)
def test_texts_are_quoted_as_go_does(text: str, result: str) -> None:
    assert quoted(text) == result


def test_bytes_that_are_no_text_survive_being_held_as_one() -> None:
    data = b"a\xff\xe2\x82\xc3\xa9"
    assert to_bytes(from_bytes(data)) == data
    assert len(from_bytes(data)) == 5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (-5, "-5"),
        (UInt(5), "5"),
        (1e20, "1e+20"),
        ("é", "é"),
        (b"ab", "[97 98]"),
        (None, "0"),
        (Duration(0), "0s"),
        (Duration(90_000_000_000), "1m30s"),
        (Duration(-3_600_000_000_000), "-1h0m0s"),
        (Duration(1_500_000), "1.5ms"),
        (Duration(1_500), "1.5µs"),
        (Duration(7), "7ns"),
        (Timestamp(0, 0), "1970-01-01 00:00:00 +0000 UTC"),
        (Timestamp(-62135596800, 6_000_000), "0001-01-01 00:00:00.006 +0000 UTC"),
        (types.INT, "int"),
        (types.list_of(types.DYN), "list(dyn)"),
        (Quantity.parse("1000m"), "1"),
        (DerivedQuantity(Quantity.parse("2")), "2"),
        (Semver.parse("1.2.3"), "1.2.3"),
        ([], "[]"),
        ([1, ["a", None]], "[1, [a, 0]]"),
        ({}, "{}"),
        ({"a": 1, (int, 2): [True]}, "{a: 1, 2: [true]}"),
        (Optional(Optional([1])), "optional(optional([1]))"),
        (NONE, "optional.none()"),
    ],
    ids=str,
)
def test_values_are_shown_as_go_does(value: Value, text: str) -> None:
    assert shown(value) == text


def test_a_value_that_shares_its_parts_is_not_shown_in_full() -> None:
    value: list[Value] = ["a"]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(Abort, match="cost limit exceeded"):
        shown(value)
