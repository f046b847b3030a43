from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dray.agent.kubelet_api.log_options import LogOptions, parse_options
from dray.errors import BadRequest
from dray.testing import FakeClock


def parse(**query: str) -> LogOptions:
    return parse_options({name: (value,) for name, value in query.items()}, FakeClock())


def test_nothing_asked_is_everything_there_is() -> None:
    assert parse() == LogOptions()


def test_all_options_are_understood() -> None:
    assert parse(
        follow="true", previous="1", timestamps="T", tailLines="0", limitBytes="5", stream="Stderr"
    ) == LogOptions(
        follow=True, previous=True, timestamps=True, tail_lines=0, limit_bytes=5, stream="stderr"
    )
    assert parse(sinceSeconds="60").since == FakeClock().now() - timedelta(seconds=60)
    assert parse(sinceTime="2026-01-01T00:00:00Z").since == datetime(2026, 1, 1, tzinfo=UTC)
    assert parse(tailLines="9" * 100).tail_lines == 10**10


@pytest.mark.parametrize(
    "query",
    [
        {"follow": "perhaps"},
        {"tailLines": "-1"},
        {"tailLines": "ten"},
        {"limitBytes": "0"},
        {"sinceSeconds": "0"},
        {"sinceTime": "yesterday"},
        {"sinceTime": "2026-01-01T00:00:00"},
        {"sinceTime": "2026-01-01T00:00:00Z", "sinceSeconds": "1"},
        {"stream": "stdout"},
    ],
)
def test_what_makes_no_sense_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(BadRequest):
        parse(**query)
