"""Says in a pod's status why it is about to be ended by somebody else.

Upstream counterpart: the DisruptionTarget condition, as UpdatePodCondition and PatchPodStatus write
it.
"""

from __future__ import annotations

from typing import Any

from dray.api.core import CONDITION_TRUE, POD_CONDITION_DISRUPTION_TARGET, Pod, PodCondition
from dray.api.wire import Time
from dray.client import Client, PatchType

__all__ = ["announce_disruption"]


async def announce_disruption(
    client: Client, pod: Pod, *, reason: str, message: str, now: Time, phase: str = ""
) -> None:
    """Add the condition, and the phase if one is given; nothing is written if both are there.

    Raises NotFound, and Conflict if there is another pod by that name.
    """
    known = next(
        (each for each in pod.status.conditions if each.type == POD_CONDITION_DISRUPTION_TARGET),
        None,
    )
    lasting = known is not None and known.status == CONDITION_TRUE
    condition = PodCondition(
        type=POD_CONDITION_DISRUPTION_TARGET,
        observed_generation=pod.metadata.generation,
        status=CONDITION_TRUE,
        reason=reason,
        message=message,
        last_transition_time=known.last_transition_time if known and lasting else now,
    )
    status: dict[str, Any] = {}
    if condition != known:
        status["conditions"] = (condition,)
    if phase and phase != pod.status.phase:
        status["phase"] = phase
    if not status:
        return
    await client.patch(
        Pod,
        pod.metadata.name,
        {"metadata": {"uid": pod.metadata.uid}, "status": status},
        namespace=pod.metadata.namespace,
        type=PatchType.STRATEGIC,
        subresource="status",
    )
