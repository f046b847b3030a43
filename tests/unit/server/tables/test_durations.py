"""Lengths of time in a few characters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dray.api.wire import MicroTime, Time
from dray.server.tables.durations import UNKNOWN, age, human_duration, short_human_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 31_536_000


@pytest.mark.parametrize(
    ("seconds", "long", "short"),
    [
        pytest.param(-3, "<invalid>", "<invalid>", id="in-the-future"),
        pytest.param(-1.9, "0s", "0s", id="nearly-now"),
        pytest.param(0, "0s", "0s", id="now"),
        pytest.param(119, "119s", "1m", id="seconds-up-to-two-minutes"),
        pytest.param(2 * MINUTE, "2m", "2m", id="no-seconds-if-there-are-none"),
        pytest.param(2 * MINUTE + 5, "2m5s", "2m", id="minutes-and-seconds"),
        pytest.param(10 * MINUTE + 5, "10m", "10m", id="minutes-alone"),
        pytest.param(3 * HOUR, "3h", "3h", id="hours"),
        pytest.param(5 * HOUR + 12 * MINUTE, "5h12m", "5h", id="hours-and-minutes"),
        pytest.param(8 * HOUR + 12 * MINUTE, "8h", "8h", id="hours-alone"),
        pytest.param(47 * HOUR, "47h", "1d", id="hours-up-to-two-days"),
        pytest.param(7 * DAY + 3 * HOUR, "7d3h", "7d", id="days-and-hours"),
        pytest.param(400 * DAY, "400d", "1y", id="days-up-to-two-years"),
        pytest.param(3 * YEAR + 10 * DAY, "3y10d", "3y", id="years-and-days"),
        pytest.param(9 * YEAR + 10 * DAY, "9y", "9y", id="years-alone"),
    ],
)
def test_two_or_three_figures_are_enough(seconds: float, long: str, short: str) -> None:
    assert human_duration(timedelta(seconds=seconds)) == long
    assert short_human_duration(timedelta(seconds=seconds)) == short


def test_an_age_is_taken_from_any_kind_of_time() -> None:
    now = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert age(Time.parse("2026-01-01T00:00:00Z"), now) == "60s"
    assert age(MicroTime.parse("2026-01-01T00:00:00.500000Z"), now) == "59s"
    assert age("2026-01-01T00:00:10Z", now) == "50s"
    assert age(None, now) == UNKNOWN
