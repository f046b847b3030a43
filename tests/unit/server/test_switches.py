from __future__ import annotations

import pytest

from dray.server.switches import is_on, is_said


@pytest.mark.parametrize("word", ["true", "1", "T", "yes", "", "f", "no"])
def test_any_word_switches_on(word: str) -> None:
    assert is_on({"x": [word]}, "x")


@pytest.mark.parametrize("word", ["false", "False", "FALSE", "0"])
def test_a_known_no_switches_off(word: str) -> None:
    assert not is_on({"x": [word]}, "x")
    assert is_said({"x": [word]}, "x")


def test_what_is_not_named_is_off() -> None:
    assert not is_on({"y": ["1"]}, "x")
    assert not is_on({"x": []}, "x")
    assert not is_said({"y": ["1"]}, "x")


def test_the_first_word_counts() -> None:
    assert not is_on({"x": ["0", "1"]}, "x")
