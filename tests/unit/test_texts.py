"""How values look in messages."""

from __future__ import annotations

from typing import Any

import pytest

from dray.texts import quote, shorten, show


def test_quoting_escapes_as_go_does() -> None:
    assert quote('a"b\n\x01\u200b') == '"a\\"b\\n\\x01\\u200b"'


def test_a_long_text_loses_its_middle() -> None:
    assert shorten("a" * 10, characters_max=9) == "aaa...aaa"
    assert shorten("a" * 9, characters_max=9) == "a" * 9


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(None, "null", id="nothing"),
        pytest.param(True, "true", id="truth"),
        pytest.param("x", '"x"', id="text"),
        pytest.param(3, "3", id="number"),
        pytest.param({"a": "<"}, '{"a":"\\u003c"}', id="object"),
    ],
)
def test_values_look_as_upstream_shows_them(value: Any, shown: str) -> None:
    assert show(value) == shown
