"""What users are told of a pod that was refused, or bound: its condition, and events.

A pod whose condition says the same already is not written to again: an attempt in vain costs the
API nothing, however often it is repeated. Upstream counterpart: handleSchedulingFailure.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import CONDITION_FALSE, Pod, PodCondition
from dray.api.wire import Time
from dray.client import Client, EventRecorder, PatchType
from dray.clock import Clock

__all__ = ["Reports"]

CONDITION_SCHEDULED: Final = "PodScheduled"

# What the events API allows a note to have.
NOTE_BYTES_MAX: Final = 1024


class Reports:
    """Tells of pods, as one scheduler."""

    def __init__(self, client: Client, events: EventRecorder, clock: Clock) -> None:
        self._client = client
        self._events = events
        self._clock = clock

    def bound(self, pod: Pod, node_name: str) -> None:
        """A pod has its node."""
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        told = f"Successfully assigned {name} to {node_name}"
        self._events.record(pod, "Normal", "Scheduled", told, action="Binding")

    def preempted(self, victim: Pod, by: Pod, node_name: str) -> None:
        """A pod has to go for another."""
        told = f"Preempted by pod {by.metadata.uid} on node {node_name}"
        self._events.record(victim, "Normal", "Preempted", told, action="Preempting", related=by)

    async def refused(
        self, pod: Pod, reason: str, message: str, *, nominated_node_name: str | None = None
    ) -> None:
        """A pod has no node: Unschedulable, or SchedulerError. Raises APIError, TransportError.

        `nominated_node_name` is where room is being made for it; None leaves what was said before.
        """
        self._events.record(pod, "Warning", "FailedScheduling", _cut(message), action="Scheduling")
        now = Time(self._clock.now())
        known = next((c for c in pod.status.conditions if c.type == CONDITION_SCHEDULED), None)
        condition = PodCondition(
            type=CONDITION_SCHEDULED,
            observed_generation=pod.metadata.generation,
            status=CONDITION_FALSE,
            reason=reason,
            message=message,
            last_transition_time=known.last_transition_time
            if known is not None and known.status == CONDITION_FALSE
            else now,
        )
        status: dict[str, object] = {}
        if known is None or (known.status, known.reason, known.message) != (
            CONDITION_FALSE,
            reason,
            message,
        ):
            status["conditions"] = [condition]
        if (
            nominated_node_name is not None
            and nominated_node_name != pod.status.nominated_node_name
        ):
            status["nominatedNodeName"] = nominated_node_name
        if status:
            await self._client.patch(
                Pod,
                pod.metadata.name,
                {"metadata": {"uid": pod.metadata.uid}, "status": status},
                namespace=pod.metadata.namespace,
                type=PatchType.STRATEGIC,
                subresource="status",
            )


def _cut(note: str) -> str:
    """As much of a message as an event may carry."""
    data = note.encode()
    if len(data) <= NOTE_BYTES_MAX:
        return note
    return data[: NOTE_BYTES_MAX - len(_CUT)].decode(errors="ignore") + _CUT


_CUT: Final = " ..."
