"""How much a command logs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from dray.cli.log_options import log_as, log_options


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, which is everybody's: as it was, afterwards."""
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


def test_options_say_what_is_worth_a_line(root: logging.Logger) -> None:
    @click.command()
    @log_options
    def command(log_format: str, log_level: str) -> None:
        log_as(log_format, log_level)

    assert CliRunner().invoke(command, ["--log-level", "error"]).exit_code == 0
    assert root.level == logging.ERROR


def test_a_level_that_nobody_knows_is_refused() -> None:
    @click.command()
    @log_options
    def command(log_format: str, log_level: str) -> None:
        raise AssertionError("not reached")

    assert CliRunner().invoke(command, ["--log-level", "loud"]).exit_code == 2
