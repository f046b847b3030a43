from __future__ import annotations

import pytest

from dray.cel._library.re2_patterns import in_re2_words


@pytest.mark.parametrize(
    ("pattern", "result"),
    [
        ("^a[b-c]$", "^a[b-c]$"),
        (r"\pL", r"\p{L}"),
        (r"\PL", r"\P{L}"),
        (r"\p{Upper-case_letter}", r"\p{Lu}"),
        (r"\p{^greek}", r"\P{Greek}"),
        (r"\P{^greek}", r"\p{Greek}"),
        (r"[x\p{letter}]", r"[x\p{L}]"),
        (r"\p{ASCII}", r"[\x{0}-\x{7f}]"),
        (r"[x\P{ASCII}]", r"[x\x{80}-\x{10ffff}]"),
        ("(?P<n>a)(?<n>b)", "(a)(b)"),
        (r"\(?<n>\pN", r"\(?<n>\p{N}"),
        (r"[(?<n>]\pN", r"[(?<n>]\p{N}"),
        (r"[](?<n>]\pN", r"[](?<n>]\p{N}"),
        (r"[^](?<n>]\pN", r"[^](?<n>]\p{N}"),
        (r"[[(?<n>]\pN", r"[[(?<n>]\p{N}"),
        (r"[[:alpha:](?<n>]\pN", r"[[:alpha:](?<n>]\p{N}"),
        (r"[\](?<n>]\pN", r"[\](?<n>]\p{N}"),
        (r"\Q\pL(?<n>\E\pN", r"\Q\pL(?<n>\E\p{N}"),
        (r"\pN\Q\pL", r"\p{N}\Q\pL"),
        (r"[:a:]\pN(?<n>)", r"[:a:]\p{N}()"),
        (r"\\pL(?<n>)", r"\\pL()"),
    ],
)
def test_only_words_of_go_s_own_are_changed(pattern: str, result: str) -> None:
    assert in_re2_words(pattern) == result
