"""What a driver counts, as a scraper reads it."""

from __future__ import annotations

import re

import pytest

from dray.errors import DeviceFailed, InvalidConfig, PermanentError, TransientError
from dray.sdk import _metrics as module
from dray.sdk._health import Health
from dray.sdk._metrics import DriverMetrics, outcome_of

SAMPLE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+')


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "success"),
        (TransientError("m", driver="d"), "transient"),
        (TimeoutError(), "transient"),
        (PermanentError("m", driver="d"), "permanent"),
        (InvalidConfig("m", driver="d"), "invalid_config"),
        (DeviceFailed("m", driver="d"), "device_failed"),
        (KeyError("m"), "unknown"),
    ],
)
def test_an_error_is_counted_by_its_class(error: BaseException | None, outcome: str) -> None:
    assert outcome_of(error) == outcome


def test_everything_a_driver_counts_is_in_the_text() -> None:
    metrics = DriverMetrics("gpu.example.com")
    metrics.prepared(0.02)
    metrics.prepared(40.0, TransientError("m", driver="d"))
    metrics.unprepared(0.001)
    metrics.health_states({Health.HEALTHY: 3})
    metrics.slice_written("create")
    metrics.publish_failed("Conflict")
    metrics.error("health")
    metrics.registered(True)
    metrics.count_journal(lambda: 7)
    text = metrics.text()
    for line in (
        'dray_driver_prepare_duration_seconds_count{driver="gpu.example.com",outcome="success"} 1',
        (
            'dray_driver_unprepare_duration_seconds_sum{driver="gpu.example.com",outcome="success"}'
            " 0.001"
        ),
        'dray_driver_devices{driver="gpu.example.com",health="Healthy"} 3',
        'dray_driver_devices{driver="gpu.example.com",health="Unhealthy"} 0',
        'dray_driver_slice_writes_total{driver="gpu.example.com",verb="create"} 1',
        'dray_driver_publish_failures_total{driver="gpu.example.com",reason="Conflict"} 1',
        'dray_driver_errors_total{driver="gpu.example.com",source="health"} 1',
        'dray_driver_registered{driver="gpu.example.com"} 1',
        'dray_driver_journal_claims{driver="gpu.example.com"} 7',
    ):
        assert f"{line}\n" in text
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line.replace("+Inf", "9")) for line in samples)


def test_every_metric_is_documented() -> None:
    named = set(re.findall(r"# TYPE (\S+)", DriverMetrics("d").text()))
    assert module.__doc__
    assert named == set(re.findall(r"\| (dray_driver_\w+) \|", module.__doc__))
