from __future__ import annotations

import pytest

from dray.cel._lexer import EscapeError, bytes_value, string_value, tokens


def kinds(text: str) -> list[str]:
    found = tokens(text)
    assert found is not None
    return [token.kind for token in found][:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b", ["IDENTIFIER", ".", "IDENTIFIER"]),
        ("in inside", ["in", "IDENTIFIER"]),
        (
            "1 1u 0x1F 0xFFU 1.5 .5 1e3",
            ["NUM_INT", "NUM_UINT", "NUM_INT", "NUM_UINT"] + ["NUM_FLOAT"] * 3,
        ),
        ("1.foo", ["NUM_INT", ".", "IDENTIFIER"]),
        ("r'\\' b\"x\" br'y' '''a\n'''", ["STRING", "BYTES", "BYTES", "STRING"]),
        ("a // b\n&& c", ["IDENTIFIER", "&&", "IDENTIFIER"]),
        ("`a/b.c-d`", ["ESC_IDENTIFIER"]),
        ('""""""', ["STRING"]),
        ("<=<>=>!===", ["<=", "<", ">=", ">", "!=", "=="]),
    ],
)
def test_the_longest_token_wins(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    "text", ["#", "a & b", "a = b", '"open', "'\\q'", "`", '"line\nbreak"', "é"]
)
def test_what_starts_no_token_ends_the_run(text: str) -> None:
    assert tokens(text) is None


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'a\n\t\\'", "a\n\t\\"),
        (r"'\x41\u00e9\U0001F600\101'", "Aé😀A"),
        (r"r'\x41'", r"\x41"),
        ('"""a"b"""', 'a"b'),
        ("'''a\r\nb\rc'''", "a\nb\nc"),
    ],
)
def test_a_string_literal_stands_for_its_text(literal: str, value: str) -> None:
    assert string_value(literal) == value


def test_escapes_in_bytes_are_bytes_and_text_is_utf8() -> None:
    assert bytes_value(r"b'\xff\101é'") == b"\xff\x41" + "é".encode()


@pytest.mark.parametrize("literal", [r"'\ud800'", r"'\U00110000'"])
def test_an_escape_that_is_no_character_is_refused(literal: str) -> None:
    with pytest.raises(EscapeError, match="invalid unicode code point"):
        string_value(literal)


def test_bytes_have_no_unicode_escapes() -> None:
    with pytest.raises(EscapeError, match="unable to unescape string"):
        bytes_value(r"b'\u0041'")
