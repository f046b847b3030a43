"""What a driver counts, in Prometheus' text format.

| Name | Type | Labels | What |
|---|---|---|---|
| dray_driver_prepare_duration_seconds | histogram | outcome | preparing one claim, with retries |
| dray_driver_unprepare_duration_seconds | histogram | outcome | undoing it |
| dray_driver_devices | gauge | health | devices by the last word on them |
| dray_driver_slice_writes_total | counter | verb | slices created, updated, deleted |
| dray_driver_publish_failures_total | counter | reason | pools that could not be written |
| dray_driver_errors_total | counter | source | what the driver's background work met |
| dray_driver_registered | gauge | | 1 while the node has accepted the driver |
| dray_driver_journal_claims | gauge | | claims that are prepared, or were begun |

Outcomes are success, transient, permanent, invalid_config, device_failed and unknown. Every series
has the label `driver`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dray.errors import DeviceFailed, InvalidConfig, PermanentError, TransientError
from dray.metrics import Family, Histogram, render
from dray.sdk._health import Health

__all__ = ["DriverMetrics", "outcome_of"]

# From a cached answer to the end of the retries within one call.
SECONDS_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


def outcome_of(error: BaseException | None) -> str:
    """The class of an error, as a label."""
    match error:
        case None:
            return "success"
        case InvalidConfig():
            return "invalid_config"
        case DeviceFailed():
            return "device_failed"
        case PermanentError():
            return "permanent"
        case TransientError() | TimeoutError():
            return "transient"
        case _:
            return "unknown"


class DriverMetrics:
    """Everything a driver counts. Parts are handed this and call what concerns them."""

    def __init__(self, driver: str) -> None:
        self._common = {"driver": driver}
        self._prepare = Histogram(
            "dray_driver_prepare_duration_seconds",
            "How long it took to prepare a claim, retries included.",
            buckets=SECONDS_BUCKETS,
            labels=["outcome"],
        )
        self._unprepare = Histogram(
            "dray_driver_unprepare_duration_seconds",
            "How long it took to unprepare a claim, retries included.",
            buckets=SECONDS_BUCKETS,
            labels=["outcome"],
        )
        self._devices = Family(
            "dray_driver_devices",
            "Devices by the last word on their health.",
            kind="gauge",
            labels=["health"],
        )
        self._slice_writes = Family(
            "dray_driver_slice_writes_total",
            "Writes of ResourceSlices that succeeded.",
            kind="counter",
            labels=["verb"],
        )
        self._publish_failures = Family(
            "dray_driver_publish_failures_total",
            "Attempts to publish a pool that failed.",
            kind="counter",
            labels=["reason"],
        )
        self._errors = Family(
            "dray_driver_errors_total",
            "Errors in the driver's background work.",
            kind="counter",
            labels=["source"],
        )
        self._registered = Family(
            "dray_driver_registered",
            "Whether the node has accepted the driver.",
            kind="gauge",
        )
        self._journal = Family(
            "dray_driver_journal_claims",
            "Claims that are prepared, or were begun.",
            kind="gauge",
        )
        self._journal_size: Callable[[], int] | None = None

    def prepared(self, seconds: float, error: BaseException | None = None) -> None:
        """A claim was prepared, or was not."""
        self._prepare.observe(seconds, outcome_of(error))

    def unprepared(self, seconds: float, error: BaseException | None = None) -> None:
        """A claim was unprepared, or was not."""
        self._unprepare.observe(seconds, outcome_of(error))

    def health_states(self, counts: Mapping[Health, int]) -> None:
        """So many devices are in each state."""
        for health in Health:
            self._devices.set(counts.get(health, 0), health.value)

    def slice_written(self, verb: str, count: int = 1) -> None:
        """So many slices were created, updated or deleted."""
        self._slice_writes.add(verb, amount=count)

    def publish_failed(self, reason: str) -> None:
        """A pool could not be written, or not all of it."""
        self._publish_failures.add(reason)

    def error(self, source: str) -> None:
        """Something went wrong in the background."""
        self._errors.add(source)

    def registered(self, is_registered: bool) -> None:
        """The node accepted the driver, or no longer does."""
        self._registered.set(float(is_registered))

    def count_journal(self, size: Callable[[], int]) -> None:
        """How to learn the number of claims in the journal."""
        self._journal_size = size

    def text(self) -> str:
        """All of it, for a scraper."""
        if self._journal_size is not None:
            self._journal.set(self._journal_size())
        families = (
            self._prepare,
            self._unprepare,
            self._devices,
            self._slice_writes,
            self._publish_failures,
            self._errors,
            self._registered,
            self._journal,
        )
        return render(families, self._common).decode()
