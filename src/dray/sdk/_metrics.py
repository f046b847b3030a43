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
has the label `driver`. No library is needed for so little.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from dray.errors import DeviceFailed, InvalidConfig, PermanentError, TransientError
from dray.sdk._health import Health

__all__ = ["CONTENT_TYPE", "DriverMetrics", "Family", "Histogram", "outcome_of"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

# Labels are meant to have a few values. What has more is a mistake, and is counted together.
SERIES_MAX: Final = 100
OTHER: Final = "other"

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


class Family:
    """A counter or a gauge, with one label or none."""

    def __init__(self, name: str, help_text: str, *, kind: str, label: str = "") -> None:
        self._name = name
        self._help = help_text
        self._kind = kind
        self._label = label
        self._values: dict[str, float] = {} if label else {"": 0.0}

    def add(self, label: str = "", amount: float = 1.0) -> None:
        """Count something."""
        key = _bounded(self._values, label)
        self._values[key] = self._values.get(key, 0.0) + amount

    def set(self, value: float, label: str = "") -> None:
        """Show another value."""
        self._values[_bounded(self._values, label)] = value

    def lines(self, common: Mapping[str, str]) -> Iterator[str]:
        """The text of the family."""
        yield from _head(self._name, self._help, self._kind)
        for label, value in sorted(self._values.items()):
            labels = {**common, self._label: label} if self._label else common
            yield f"{self._name}{_labels(labels)} {_number(value)}"


class Histogram:
    """How long something took, by one label."""

    def __init__(
        self, name: str, help_text: str, *, label: str, buckets: Sequence[float] = SECONDS_BUCKETS
    ) -> None:
        self._name = name
        self._help = help_text
        self._label = label
        self._buckets = tuple(buckets)
        # By label: counts for each bucket and one for what is beyond, and the sum.
        self._series: dict[str, tuple[list[int], list[float]]] = {}

    def observe(self, seconds: float, label: str) -> None:
        """It took so long."""
        key = _bounded(self._series, label)
        counts, total = self._series.setdefault(key, ([0] * (len(self._buckets) + 1), [0.0]))
        counts[bisect_left(self._buckets, seconds)] += 1
        total[0] += seconds

    def lines(self, common: Mapping[str, str]) -> Iterator[str]:
        """The text of the family."""
        yield from _head(self._name, self._help, "histogram")
        for label, (counts, total) in sorted(self._series.items()):
            labels = {**common, self._label: label}
            below = 0
            for bound, count in zip((*self._buckets, float("inf")), counts, strict=True):
                below += count
                shown = _labels({**labels, "le": _number(bound)})
                yield f"{self._name}_bucket{shown} {below}"
            yield f"{self._name}_sum{_labels(labels)} {_number(total[0])}"
            yield f"{self._name}_count{_labels(labels)} {below}"


class DriverMetrics:
    """Everything a driver counts. Parts are handed this and call what concerns them."""

    def __init__(self, driver: str) -> None:
        self._common = {"driver": driver}
        self._prepare = Histogram(
            "dray_driver_prepare_duration_seconds",
            "How long it took to prepare a claim, retries included.",
            label="outcome",
        )
        self._unprepare = Histogram(
            "dray_driver_unprepare_duration_seconds",
            "How long it took to unprepare a claim, retries included.",
            label="outcome",
        )
        self._devices = Family(
            "dray_driver_devices",
            "Devices by the last word on their health.",
            kind="gauge",
            label="health",
        )
        self._slice_writes = Family(
            "dray_driver_slice_writes_total",
            "Writes of ResourceSlices that succeeded.",
            kind="counter",
            label="verb",
        )
        self._publish_failures = Family(
            "dray_driver_publish_failures_total",
            "Attempts to publish a pool that failed.",
            kind="counter",
            label="reason",
        )
        self._errors = Family(
            "dray_driver_errors_total",
            "Errors in the driver's background work.",
            kind="counter",
            label="source",
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
        self._slice_writes.add(verb, count)

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
        families: Iterable[Family | Histogram] = (
            self._prepare,
            self._unprepare,
            self._devices,
            self._slice_writes,
            self._publish_failures,
            self._errors,
            self._registered,
            self._journal,
        )
        lines = [line for family in families for line in family.lines(self._common)]
        return "\n".join(lines) + "\n"


def _bounded(series: Mapping[str, object], label: str) -> str:
    return label if label in series or len(series) < SERIES_MAX else OTHER


def _head(name: str, help_text: str, kind: str) -> Iterator[str]:
    escaped = help_text.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {name} {escaped}"
    yield f"# TYPE {name} {kind}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
