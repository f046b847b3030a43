"""What a scheduler counts, under the names that upstream's dashboards know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.metrics import Family, Histogram, render

__all__ = ["SchedulerMetrics"]

_SECONDS: Final = tuple(0.001 * 2.0**power for power in range(15))
_LONG_SECONDS: Final = tuple(0.01 * 2.0**power for power in range(20))
_WAIT_SECONDS: Final = tuple(0.1 * 2.0**power for power in range(14))


class SchedulerMetrics:
    """All metrics of one scheduler."""

    def __init__(self, profile: str) -> None:
        """The profile is the name of the scheduler, which pods ask for."""
        self._profile = profile
        self._attempts = Family(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule a pod, by how they ended.",
            kind="counter",
            labels=("profile", "result"),
        )
        self._duration = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "From taking a pod off the queue to having it bound, or refused.",
            buckets=_SECONDS,
            labels=("profile", "result"),
        )
        self._algorithm = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "How long it took to decide.",
            buckets=_SECONDS,
        )
        self._sli = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From when a pod could first be tried to having it bound.",
            buckets=_LONG_SECONDS,
            labels=("attempts",),
        )
        self._pending = Family(
            "scheduler_pending_pods", "Pods without a node.", kind="gauge", labels=("queue",)
        )
        self._unschedulable = Family(
            "scheduler_unschedulable_pods",
            "Pods without a node, by who refused them.",
            kind="gauge",
            labels=("plugin", "profile"),
        )
        self._incoming = Family(
            "scheduler_queue_incoming_pods_total",
            "Pods that came to a queue, and why.",
            kind="counter",
            labels=("queue", "event"),
        )
        self._victims = Histogram(
            "scheduler_preemption_victims",
            "Pods that had to go for another.",
            buckets=(1, 2, 4, 8, 16, 32, 64),
        )
        self._special = Family(
            "scheduler_resourceclaim_creates_total",
            "Claims made for extended resources.",
            kind="counter",
            labels=("status",),
        )
        self._conditions = Family(
            "scheduler_dra_bindingconditions_allocations_total",
            "Claims that drivers had to make ready first, by how that ended.",
            kind="counter",
            labels=("profile", "status"),
        )
        self._conditions_wait = Histogram(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            "How long pods waited for drivers to make devices ready.",
            buckets=_WAIT_SECONDS,
            labels=("profile", "status"),
        )

    def attempted(self, result: str, seconds: float) -> None:
        """An attempt ended: scheduled, unschedulable or error."""
        self._attempts.add(self._profile, result)
        self._duration.observe(seconds, self._profile, result)

    def decided(self, seconds: float) -> None:
        """A decision was made, whichever."""
        self._algorithm.observe(seconds)

    def scheduled(self, attempts: int, seconds: float) -> None:
        """A pod is bound, after so many attempts."""
        self._sli.observe(seconds, str(attempts) if attempts < 16 else "16+")

    def preempted(self, victims: int) -> None:
        """Pods have to go for another."""
        self._victims.observe(victims)

    def special_claim(self, status: str) -> None:
        """A claim for extended resources was made (success), or could not be (failure)."""
        self._special.add(status)

    def conditions_waited(self, status: str, seconds: float) -> None:
        """Drivers made devices ready (success), or not (failure, timeout, error)."""
        self._conditions.add(self._profile, status)
        self._conditions_wait.observe(seconds, self._profile, status)

    def render(
        self,
        pending: Mapping[str, int],
        unschedulable: Mapping[str, int],
        incoming: Mapping[tuple[str, str], int],
    ) -> bytes:
        """In Prometheus' format, with what the queue counts."""
        self._pending.replace({(queue,): count for queue, count in pending.items()})
        self._unschedulable.replace(
            {(plugin, self._profile): count for plugin, count in unschedulable.items()}
        )
        self._incoming.replace({key: float(count) for key, count in incoming.items()})
        return render(
            (
                self._attempts,
                self._duration,
                self._algorithm,
                self._sli,
                self._pending,
                self._unschedulable,
                self._incoming,
                self._victims,
                self._special,
                self._conditions,
                self._conditions_wait,
            )
        )
