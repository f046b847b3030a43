from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dray.cli.data_directory import data_directory_option


@click.command()
@data_directory_option
def show(data_directory: Path) -> None:
    click.echo(str(data_directory))


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ([], "/home/me/.local/share/dray"),
        (["--data-dir", "~/x"], "/home/me/x"),
        (["--data-dir", "/var/lib/dray"], "/var/lib/dray"),
    ],
)
def test_the_directory_may_be_under_home(arguments: list[str], shown: str) -> None:
    result = CliRunner().invoke(show, arguments, env={"HOME": "/home/me"})
    assert result.output == f"{shown}\n"


def test_help_tells_the_default() -> None:
    assert "~/.local/share/dray" in CliRunner().invoke(show, ["--help"]).output


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.touch()
    result = CliRunner().invoke(show, ["--data-dir", str(file)])
    assert (result.exit_code, "is a file" in result.output) == (2, True)
