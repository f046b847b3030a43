from __future__ import annotations

from typing import Any

import pytest

from dray.api.shapes import JSONNumber
from dray.errors import BadRequest
from dray.server.custom.bodies import read_document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.0", 2),
        ("2.5", 2.5),
        ("9007199254740993", 9007199254740993),
        ("1e3", 1000),
        ("9223372036854775808", 9223372036854775808.0),
        ("1" * 30, float("1" * 30)),
    ],
)
def test_numbers_are_integers_where_64_bits_hold_them(text: str, value: Any) -> None:
    found = read_document(f'{{"a":{text}}}'.encode())[0]["a"]
    assert (found, type(found)) == (value, type(value))


def test_the_last_word_counts_and_the_first_is_told() -> None:
    document, problems = read_document(b'{"a":1,"b":{"c":1,"c":2}}')
    assert document == {"a": 1, "b": {"c": 2}}
    assert problems == ['duplicate field "b.c"']


@pytest.mark.parametrize(
    "body", [b"[]", b"null", b'"x"', b"{", b'{"a":NaN}', b"\xff", b'{"a":1e999}']
)
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        read_document(body)


def test_a_body_nested_too_deep_is_refused() -> None:
    with pytest.raises(BadRequest):
        read_document(b'{"a":' + b"[" * 300 + b"]" * 300 + b"}")


def test_values_of_other_readers_are_copied_and_normalised() -> None:
    given: Any = {"a": JSONNumber("1.0"), "b": [2.0, 2**70], "c": {"d": 1}}
    document, problems = read_document(given)
    assert document == {"a": 1, "b": [2, float(2**70)], "c": {"d": 1}}
    assert problems == []
    document["c"]["d"] = 2
    assert given["c"]["d"] == 1
