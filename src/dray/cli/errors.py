"""Failures of the command line itself: each knows its exit code and how to show itself.

Exit codes: 0 all is well, 1 the answer is no (an object is invalid), 2 the question could not be
asked (a wrong option, a file that cannot be read), 70 a bug in dray, 130 interrupted, 141 nobody
reads the output any more.
"""

from __future__ import annotations

import sys
from typing import IO, Any

import click

from dray.cli.output import printable

__all__ = [
    "EXIT_BROKEN_PIPE",
    "EXIT_BUG",
    "EXIT_INTERRUPTED",
    "EXIT_INVALID",
    "EXIT_UNREADABLE",
    "CommandError",
    "CommandFailed",
]

EXIT_INVALID = 1
EXIT_UNREADABLE = 2
EXIT_BUG = 70  # EX_SOFTWARE of sysexits.h
EXIT_INTERRUPTED = 130  # 128 and the signal's number, as shells have it
EXIT_BROKEN_PIPE = 141


class CommandError(click.ClickException):
    """A command cannot go on. One line, on standard error."""

    exit_code = EXIT_UNREADABLE

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"dray: {printable(self.message)}", file=file or sys.stderr)


class CommandFailed(CommandError):
    """A command was understood and begun, and did not succeed."""

    exit_code = EXIT_INVALID
