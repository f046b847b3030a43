"""A scheduler that could never schedule is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dray.errors import ConfigurationError
from dray.scheduler.settings import SchedulerSettings


@pytest.mark.parametrize(
    "options",
    [{"name": ""}, {"search_steps_max": 0}, {"binding_timeout_seconds": 0.5}],
    ids=lambda options: next(iter(options)),
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        SchedulerSettings(**options)


def test_without_options_it_is_upstreams() -> None:
    assert SchedulerSettings().name == "default-scheduler"
