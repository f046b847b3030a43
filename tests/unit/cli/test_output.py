from __future__ import annotations

import pytest

from dray.cli.output import MESSAGE_CHARACTERS_MAX, examples, indented, printable, wants_colour


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("gpu-0", "gpu-0", id="plain"),
        pytest.param("größe", "größe", id="letters-of-any-language"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="terminal-command"),
        pytest.param("a\nb", "a\\nb", id="line-feed"),
        pytest.param("a\udcffb", "a\\udcffb", id="a-file-name-that-is-not-utf-8"),
        pytest.param("\u202egpj", "\\u202egpj", id="right-to-left-override"),
    ],
)
def test_nothing_shown_can_act_on_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_huge_value_is_shown_without_its_middle() -> None:
    assert len(printable("x" * 1_000_000)) <= MESSAGE_CHARACTERS_MAX


def test_further_lines_are_indented_below_the_first() -> None:
    assert indented("failed:\n | a = b\n | ..^") == "failed:\n     | a = b\n     | ..^"


@pytest.mark.parametrize(("value", "wanted"), [("1", False), ("", None)])
def test_no_color_is_respected(
    value: str, wanted: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    assert wants_colour() is wanted


def test_examples_are_marked_so_that_click_leaves_their_lines_alone() -> None:
    assert examples("dray a", "dray b") == "\b\nExamples:\n  dray a\n  dray b"
