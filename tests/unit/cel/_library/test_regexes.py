from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import pytest

from dray.cel._failures import Failure
from dray.cel._library import regexes
from dray.cel._library.regexes import FUNCTIONS
from dray.cel._values import Value
from dray.errors import InternalError


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


@pytest.mark.parametrize(
    ("text", "pattern", "result"),
    [
        ("fish", "is", True),
        ("fish", "^is", False),
        ("fish", "^f.*h$", True),
        ("a\n", "a$", False),
        ("a\nb", "(?m)a$", True),
        ("日", "^.$", True),
        ("É", "(?i)é", True),
        ("K", "(?i)k", True),  # the sign of the kelvin
        ("Σ", r"\p{greek}", True),
        ("a日b", r"\B", False),
        ("aa", "(?P<n>a)(?P<n>a)", True),
    ],
)
def test_a_pattern_matches_anywhere_in_a_text(text: str, pattern: str, result: bool) -> None:
    assert call("matches", text, pattern) is result


@pytest.mark.parametrize(
    ("text", "pattern", "result"),
    [("abc 日本", "[日本]+", "日本"), ("abc", "x", ""), ("abc", "", ""), ("aXb", "(?U)a.*", "a")],
)
def test_the_first_match_is_found(text: str, pattern: str, result: str) -> None:
    assert call("find", text, pattern) == result


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        (("a1b22", "[0-9]+"), ["1", "22"]),
        (("a1b22", "[0-9]+", 1), ["1"]),
        (("a1b22", "[0-9]+", 0), []),
        (("a1b22", "[0-9]+", -7), ["1", "22"]),
        (("é日", ""), ["", "", ""]),
        (("baac", "a*"), ["", "aa", ""]),
        (("ab", "^a|^b"), ["a"]),
        (("a b", r"\b"), ["", "", "", ""]),
        (("A日ß", r"\B"), ["", ""]),
        (("", "x*"), [""]),
    ],
)
def test_all_matches_are_found_as_go_finds_them(
    arguments: tuple[Value, ...], result: list[str]
) -> None:
    assert call("findAll", *arguments) == result


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        ("matches", ("x", "("), "error parsing regexp: missing closing ): `(`"),
        ("find", ("x", "("), "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("findAll", ("x", "("), "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("matches", ("x", 1), "no such overload"),
        ("find", ("x", 1), "no such overload: find(string, int)"),
        ("findAll", ("x", "x", "x"), "no such overload: findAll(string, string, string)"),
    ],
)
def test_what_is_no_pattern_fails(function: str, arguments: tuple[Value, ...], text: str) -> None:
    for _ in range(2):  # a refusal is remembered
        with pytest.raises(Failure) as caught:
            call(function, *arguments)
        assert str(caught.value) == text


def test_names_of_any_script_are_within_the_usual_memory() -> None:
    assert call("matches", "größe-1", r"^[\pL\pN_-]{1,253}$") is True


@pytest.mark.slow
def test_go_s_largest_repetition_is_within_memory() -> None:
    assert call("matches", "é" * 1000, r"^\pL{1000}$") is True


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern", [r"\pL{1000}\pL{1000}\pL{1000}", "a" * 100_001], ids=["large", "long"]
)
def test_a_pattern_that_needs_more_memory_is_too_large(pattern: str) -> None:
    for _ in range(2):
        with pytest.raises(Failure) as caught:
            call("matches", "a", pattern)
        assert str(caught.value) == f"error parsing regexp: expression too large: `{pattern}`"


def test_a_refused_pattern_leaves_no_words_on_the_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(Failure):
        call("matches", "a", "(?P<quiet>")
    call("matches", "a", r"quiet\pL{1,2}")
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def without_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "re2":
            raise ImportError(name)
        return real(name, *arguments, **named)

    regexes._engine.cache_clear()
    monkeypatch.setattr(builtins, "__import__", refuse)
    yield
    regexes._engine.cache_clear()


@pytest.mark.usefixtures("without_engine")
def test_a_missing_engine_is_named() -> None:
    with pytest.raises(InternalError, match="google-re2"):
        call("matches", "a", "never seen before")
