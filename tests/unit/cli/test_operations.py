from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from dray.cli.operations import operations_options, parse_operations
from dray.cli.server import command as server
from dray.server.operations.audit_log import Rotation
from dray.server.operations.fairness import FairnessLimits
from dray.server.operations.operations import OperationsSettings
from dray.server.operations.request_log import Requests


@pytest.fixture(autouse=True)
def _root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def run(*arguments: str) -> tuple[Result, list[OperationsSettings]]:
    found: list[OperationsSettings] = []

    @click.command()
    @operations_options
    def command(**options: Any) -> None:
        found.append(parse_operations(data_directory=Path("data"), **options))

    return CliRunner().invoke(command, arguments, catch_exceptions=False), found


def parsed(*arguments: str) -> OperationsSettings:
    done, (settings,) = run(*arguments)
    assert done.exit_code == 0, done.output
    return settings


def test_without_options_everything_is_as_the_server_has_it() -> None:
    assert parsed() == OperationsSettings(data_directory=Path("data"))


def test_options_say_what_operators_want() -> None:
    assert parsed(
        *("--request-timeout", "30", "--no-fairness", "--fairness-queue", "9"),
        *("--log-requests", "all"),
        *("--log-slow-seconds", "0.5", "--audit-log-path", "a.log", "--audit-policy-file", "p"),
        *("--audit-log-maxsize", "1", "--audit-log-maxage", "2", "--audit-log-maxbackup", "3"),
    ) == OperationsSettings(
        request_seconds=30.0,
        requests=Requests.ALL,
        slow_seconds=0.5,
        fairness=False,
        fairness_limits=FairnessLimits(flow_queue_max=9),
        audit_log=Path("a.log"),
        audit_policy=Path("p"),
        audit_rotation=Rotation(bytes_max=1024 * 1024, days_max=2, backups_max=3),
        data_directory=Path("data"),
    )


def test_the_log_is_set_up_by_its_options() -> None:
    parsed("--log-level", "warning", "--log-format", "json")
    assert logging.getLogger().level == logging.WARNING


def test_a_policy_without_a_log_is_a_mistake() -> None:
    done, _found = run("--audit-policy-file", "p")
    assert done.exit_code == 2
    assert "--audit-log-path" in done.output


def test_the_reference_tells_of_every_option() -> None:
    reference = Path(__file__).parents[3] / "docs" / "reference"
    page = (reference / "server.md").read_text() + (reference / "operations.md").read_text()
    names = [name for option in server.params for name in option.opts if name.startswith("--")]
    assert not [name for name in names if name != "--help" and f"`{name}" not in page]
