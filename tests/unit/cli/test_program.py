from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dray.cli import program as module
from dray.cli.program import COMMANDS, program, run, show_bug
from dray.errors import ConfigurationError, InternalError


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    result = CliRunner().invoke(program, [name, "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.output


def test_the_list_of_commands_is_sorted_and_complete() -> None:
    assert program.list_commands(click.Context(program)) == sorted(COMMANDS)


def test_a_misspelled_command_gets_a_hint() -> None:
    result = CliRunner().invoke(program, ["validat"])
    assert result.exit_code == 2
    assert "no such command validat; did you mean validate?" in result.output


def test_a_wrong_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version", "--colour"]) == 2
    assert "No such option" in capsys.readouterr().err


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(KeyboardInterrupt(), 130, "dray: interrupted\n", id="interrupted"),
        pytest.param(click.Abort(), 130, "dray: interrupted\n", id="aborted"),
        pytest.param(ConfigurationError("no such gate"), 2, "dray: no such gate\n", id="ours"),
        pytest.param(
            PermissionError(13, "Permission denied", "a.yaml"),
            2,
            "dray: a.yaml: Permission denied\n",
            id="operating-system",
        ),
        pytest.param(RecursionError(), 2, "dray: the input is nested too deeply\n", id="recursion"),
        pytest.param(MemoryError(), 2, "dray: not enough memory for this input\n", id="memory"),
    ],
)
def test_whatever_ends_a_command_is_a_sentence_and_an_exit_code(
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(module.program, "main", raising(error))
    assert run(["version"]) == code
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("error", [InternalError("rows differ"), KeyError("x")])
def test_a_bug_is_not_caught(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.program, "main", raising(error))
    with pytest.raises(type(error)):
        run(["version"])


@pytest.mark.parametrize("asked", [True, False])
def test_a_bug_is_shown_as_one_with_a_traceback_for_who_asks(
    asked: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setenv("DRAY_TRACEBACK", "1" if asked else "")
    show_bug(KeyError, KeyError("x"), None)
    shown = capsys.readouterr().err
    assert shown.endswith(
        "dray: this is a bug in dray: KeyError: 'x' (set DRAY_TRACEBACK=1 to see where)\n"
    )
    assert (shown.count("\n") > 1) is asked
    assert codes == [70]


def test_a_reader_that_went_away_is_told_by_the_exit_code_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.program, "main", raising(BrokenPipeError()))
    monkeypatch.setattr(module, "_discard_output", lambda: None)
    assert run(["version"]) == 141
    assert capsys.readouterr().err == ""


def test_every_command_and_option_is_in_the_reference() -> None:
    folder = Path(__file__).parents[3] / "docs" / "reference"
    page = (folder / "cli.md").read_text()
    context = click.Context(program)
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert command is not None
        section = page.partition(f"## dray {name}\n")[2].partition("\n## ")[0]
        assert section, name
        # A command with many options has pages of its own, which its section leads to.
        for linked in re.findall(r"\]\((\w+\.md)", section):
            section += (folder / linked).read_text()
        options = [option for option in command.params if isinstance(option, click.Option)]
        spellings = [text for option in options for text in (*option.opts, *option.secondary_opts)]
        assert [text for text in spellings if f"`{text}" not in section] == []


@pytest.mark.slow
def test_a_command_whose_parts_are_missing_says_what_to_install() -> None:
    script = """
import sys
sys.modules["httptools"] = None
from dray.cli.program import run
assert run(["--help"]) == 0
sys.exit(run(["server", "--port", "0"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install '.[cli,server]' in a checkout of dray" in done.stderr
