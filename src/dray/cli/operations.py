"""The options by which a command that serves the API is told what operators want of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from dray.cli.errors import CommandError
from dray.cli.log_options import LOG_OPTIONS, log_as
from dray.server.operations.audit_log import Rotation
from dray.server.operations.fairness import FairnessLimits
from dray.server.operations.operations import OperationsSettings
from dray.server.operations.request_log import SLOW_SECONDS, Requests
from dray.server.operations.time_limits import REQUEST_SECONDS

__all__ = ["operations_options", "parse_operations"]

F = TypeVar("F", bound=Callable[..., Any])

MEGABYTE: Final = 1024 * 1024

# No request is worth a day, and none can be answered in no time.
REQUEST_SECONDS_RANGE: Final = (0.1, 86_400.0)

_OPTIONS: Final = (
    click.option(
        "--request-timeout",
        "request_seconds",
        type=click.FloatRange(*REQUEST_SECONDS_RANGE),
        default=REQUEST_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="How long a request may take, watches and the like excepted.",
    ),
    click.option(
        "--fairness/--no-fairness",
        default=True,
        show_default=True,
        help="Let clients take turns, and refuse those with too much at once.",
    ),
    click.option(
        "--fairness-queue",
        type=click.IntRange(min=1),
        default=FairnessLimits().flow_queue_max,
        show_default=True,
        metavar="COUNT",
        help="How many requests of one client may wait for their turn.",
    ),
    *LOG_OPTIONS,
    click.option(
        "--log-requests",
        type=click.Choice([each.value for each in Requests]),
        default=Requests.FAILURES.value,
        show_default=True,
        help="Requests that get a line: failures are those of the server, and slow ones.",
    ),
    click.option(
        "--log-slow-seconds",
        "slow_seconds",
        type=click.FloatRange(min=0.0),
        default=SLOW_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="From when on a request is slow.",
    ),
    click.option(
        "--audit-log-path",
        "audit_log",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        help="Where to write audit events, a line of JSON each; - is standard output.",
    ),
    click.option(
        "--audit-policy-file",
        "audit_policy",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A Policy of audit.k8s.io/v1.  [default: metadata of everything that writes]",
    ),
    click.option(
        "--audit-log-maxsize",
        type=click.IntRange(min=1),
        default=100,
        show_default=True,
        metavar="MEGABYTES",
        help="At which size the audit log is rotated.",
    ),
    click.option(
        "--audit-log-maxage",
        type=click.IntRange(min=0),
        default=0,
        metavar="DAYS",
        help="How long rotated audit logs are kept.  [default: always]",
    ),
    click.option(
        "--audit-log-maxbackup",
        type=click.IntRange(min=0),
        default=0,
        metavar="COUNT",
        help="How many rotated audit logs are kept.  [default: all]",
    ),
)


def operations_options(command: F) -> F:
    """Give a command these options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def parse_operations(
    *,
    log_format: str,
    log_level: str,
    log_requests: str,
    fairness_queue: int,
    audit_log: Path | None,
    audit_policy: Path | None,
    audit_log_maxsize: int,
    audit_log_maxage: int,
    audit_log_maxbackup: int,
    data_directory: Path,
    **others: Any,
) -> OperationsSettings:
    """What the options say; the log is set up by them at once."""
    if audit_policy is not None and audit_log is None:
        raise CommandError("--audit-policy-file is of no use without --audit-log-path")
    log_as(log_format, log_level)
    return OperationsSettings(
        requests=Requests(log_requests),
        fairness_limits=FairnessLimits(flow_queue_max=fairness_queue),
        audit_log=audit_log,
        audit_policy=audit_policy,
        audit_rotation=Rotation(
            bytes_max=audit_log_maxsize * MEGABYTE,
            days_max=audit_log_maxage,
            backups_max=audit_log_maxbackup,
        ),
        data_directory=data_directory,
        **others,
    )
