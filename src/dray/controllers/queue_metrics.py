"""How the queues of controllers are doing, in upstream's names for it.

Upstream counterpart: component-base/metrics/prometheus/workqueue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dray.client import WorkQueue
from dray.metrics import Family, Histogram

__all__ = ["QueueMetrics"]

# Upstream's: from ten nanoseconds to a thousand seconds.
SECONDS_BUCKETS: Final = tuple(10.0**exponent for exponent in range(-8, 4))

_LABELS: Final = ("name",)


class QueueMetrics:
    """What is measured of all queues of a process, each under the name of its controller."""

    def __init__(self) -> None:
        self._depth = _gauge("workqueue_depth", "Names that wait to be looked at.")
        self._adds = _counter("workqueue_adds_total", "Names that were added.")
        self._retries = _counter("workqueue_retries_total", "Names that failed.")
        self._unfinished = _gauge(
            "workqueue_unfinished_work_seconds",
            "For how long all names that are not done have been looked at, together.",
        )
        self._longest = _gauge(
            "workqueue_longest_running_processor_seconds",
            "For how long the name has been looked at that has been for longest.",
        )
        self._waits = _histogram(
            "workqueue_queue_duration_seconds", "How long names waited to be looked at."
        )
        self._looks = _histogram(
            "workqueue_work_duration_seconds", "How long it took to look at a name."
        )

    def waited(self, name: str, seconds: float) -> None:
        """A name in the queue of a controller was ready for so long before it was taken."""
        self._waits.observe(seconds, name)

    def worked(self, name: str, seconds: float) -> None:
        """A controller took so long to look at a name."""
        self._looks.observe(seconds, name)

    def families(self, queues: Mapping[str, WorkQueue[Any]]) -> Sequence[Family | Histogram]:
        """All metrics, as these queues are now."""
        for name, queue in queues.items():
            self._depth.set(len(queue), name)
            self._adds.set(queue.added_count, name)
            self._retries.set(queue.retried_count, name)
            self._unfinished.set(queue.unfinished_seconds(), name)
            self._longest.set(queue.longest_seconds(), name)
        return (
            self._depth,
            self._adds,
            self._retries,
            self._unfinished,
            self._longest,
            self._waits,
            self._looks,
        )


def _counter(name: str, text: str) -> Family:
    return Family(name, text, kind="counter", labels=_LABELS)


def _gauge(name: str, text: str) -> Family:
    return Family(name, text, kind="gauge", labels=_LABELS)


def _histogram(name: str, text: str) -> Histogram:
    return Histogram(name, text, buckets=SECONDS_BUCKETS, labels=_LABELS)
