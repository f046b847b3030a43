from __future__ import annotations

import io

from dray.cli.errors import EXIT_UNREADABLE, CommandError


def test_a_command_error_shows_itself_on_one_line_and_knows_its_exit_code() -> None:
    error = CommandError("no objects in a\nb.yaml")
    stream = io.StringIO()
    error.show(stream)
    assert stream.getvalue() == "dray: no objects in a\\nb.yaml\n"
    assert error.exit_code == EXIT_UNREADABLE
