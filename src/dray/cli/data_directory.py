"""Where a server on this machine keeps its data: the option that says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

__all__ = ["DEFAULT", "data_directory_option"]

DEFAULT: Final = "~/.local/share/dray"

F = TypeVar("F", bound=Callable[..., Any])


def data_directory_option(command: F) -> F:
    """Give a command --data-dir; it gets a Path called `data_directory`."""
    option = click.option(
        "--data-dir",
        "data_directory",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        default=DEFAULT,
        show_default=True,
        callback=lambda _context, _option, value: value.expanduser(),
        help="Where the server keeps its data.",
    )
    return option(command)
