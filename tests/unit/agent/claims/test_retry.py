"""When a pod's claims are tried again."""

from __future__ import annotations

import pytest

from dray.agent.claims.claim_info import ClaimName
from dray.agent.claims.failures import ClaimFailure, ErrorClass, PrepareFailed
from dray.agent.claims.retry import RetrySchedule
from dray.agent.plugins.plugin import Change, PluginChange
from dray.entropy import SeededEntropy
from tests.unit.agent.claims.world import GPU, NIC, FakeDriver

SCHEDULE = RetrySchedule(SeededEntropy(1))


def test_delays_double_from_a_second_to_a_minute_with_jitter() -> None:
    for attempt, least in enumerate([1, 2, 4, 8, 16, 32, 60, 60, 60], start=1):
        for _ in range(20):
            delay_seconds = SCHEDULE.delay_seconds(ErrorClass.TRANSIENT, attempt)
            assert delay_seconds is not None
            assert least <= delay_seconds <= least * 1.2


def test_any_number_of_attempts_has_a_delay() -> None:
    for attempt in (-1, 0, 10**9):
        delay_seconds = SCHEDULE.delay_seconds(ErrorClass.UNKNOWN, attempt)
        assert delay_seconds is not None
        assert 1 <= delay_seconds <= 72


def test_what_is_final_is_not_tried_again() -> None:
    for error_class in ErrorClass:
        assert (SCHEDULE.delay_seconds(error_class, 1) is None) is error_class.final


@pytest.mark.parametrize(
    ("driver", "change", "error_class", "now"),
    [
        pytest.param(GPU, Change.CONNECTED, ErrorClass.TRANSIENT, True, id="connected"),
        pytest.param(GPU, Change.REGISTERED, ErrorClass.UNKNOWN, True, id="registered"),
        pytest.param(GPU, Change.DISCONNECTED, ErrorClass.TRANSIENT, False, id="lost"),
        pytest.param(GPU, Change.DEREGISTERED, ErrorClass.TRANSIENT, False, id="left"),
        pytest.param(NIC, Change.CONNECTED, ErrorClass.TRANSIENT, False, id="another-driver"),
        pytest.param(GPU, Change.CONNECTED, ErrorClass.PERMANENT, False, id="final"),
    ],
)
def test_a_driver_that_comes_back_is_asked_at_once(
    driver: str, change: Change, error_class: ErrorClass, now: bool
) -> None:
    failed = PrepareFailed("no", [ClaimFailure(ClaimName("n", "c", "u"), "no", GPU, error_class)])
    assert SCHEDULE.should_retry_now(failed, PluginChange(FakeDriver(driver), change)) is now
