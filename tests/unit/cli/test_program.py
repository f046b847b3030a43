from __future__ import annotations

from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner

from dray.cli import program as module
from dray.cli.program import COMMANDS, program, run
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
        pytest.param(
            InternalError("rows differ"),
            70,
            "dray: this is a bug in dray: InternalError: rows differ "
            "(set DRAY_TRACEBACK=1 to see where)\n",
            id="broken-invariant",
        ),
        pytest.param(
            KeyError("x"),
            70,
            "dray: this is a bug in dray: KeyError: 'x' (set DRAY_TRACEBACK=1 to see where)\n",
            id="bug",
        ),
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


def test_a_traceback_is_there_for_who_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRAY_TRACEBACK", "1")
    monkeypatch.setattr(module.program, "main", raising(KeyError("x")))
    assert run(["version"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_went_away_is_told_by_the_exit_code_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.program, "main", raising(BrokenPipeError()))
    monkeypatch.setattr(module, "_discard_output", lambda: None)
    assert run(["version"]) == 141
    assert capsys.readouterr().err == ""
