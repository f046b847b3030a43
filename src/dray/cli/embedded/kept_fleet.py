"""The fleet file of the last start, kept with the data: slices and classes of its nodes are, too.

A start without any word on nodes goes on with it. One that names nodes or drivers otherwise lets
it go: what it says is then no longer what runs.
"""

from __future__ import annotations

from pathlib import Path

from dray.cli.embedded.layout import FLEET
from dray.errors import ConfigurationError
from dray.files import remove_file, write_file

__all__ = ["find_fleet", "keep_fleet"]


def find_fleet(data_directory: Path) -> Path | None:
    """The copy; None if the last start had no fleet file."""
    path = data_directory / FLEET
    return path if path.is_file() else None


def keep_fleet(data_directory: Path, fleet: Path | None) -> None:
    """Keep a copy of what this start goes by, or none. Raises ConfigurationError."""
    path = data_directory / FLEET
    try:
        # What is no file, such as a pipe, cannot be read a second time.
        if fleet is None or not fleet.is_file():
            remove_file(path)
        elif not path.exists() or not fleet.samefile(path):
            write_file(path, fleet.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
