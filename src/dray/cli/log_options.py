"""How much a long-running command logs, and in which form."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from dray.server.operations.log_format import FORMATS, configure_logging

__all__ = ["LOG_OPTIONS", "log_as", "log_options"]

F = TypeVar("F", bound=Callable[..., Any])

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

LOG_OPTIONS: Final = (
    click.option(
        "--log-format",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="Lines for people, or for programs.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(tuple(_LEVELS)),
        default="info",
        show_default=True,
        help="What is worth a line.",
    ),
)


def log_options(function: F) -> F:
    """Give a command the options; it passes what they say to `log_as`."""
    for option in reversed(LOG_OPTIONS):
        function = option(function)
    return function


def log_as(log_format: str, log_level: str) -> None:
    """Log to standard error from now on."""
    configure_logging(log_format, _LEVELS[log_level])
