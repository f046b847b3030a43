"""What a pod's status remembers of its containers when the runtime does not.

A runtime forgets containers that were removed, and one in memory forgets all of them with its
process. What was reported is then all there is to go by.
"""

from __future__ import annotations

from dray.agent.pods.conditions import ALL_CONTAINERS_RESTARTING
from dray.agent.pods.pod_state import PodState
from dray.api.core import CONDITION_TRUE, ContainerStatus, PodStatus

__all__ = ["attempts", "forgotten", "was_restarting_all"]


def attempts(status: PodStatus) -> dict[str, int]:
    """How often containers were started, by name; those that never were are left out."""

    def ran(one: ContainerStatus) -> bool:
        return bool(one.container_id) or one.last_state.terminated is not None

    return {one.name: one.restart_count for one in _containers(status) if ran(one)}


def forgotten(status: PodStatus, state: PodState) -> dict[str, int]:
    """How containers ended that the runtime no longer shows: exit codes by name."""
    return {
        one.name: one.state.terminated.exit_code
        for one in _containers(status)
        if one.state.terminated is not None and state.latest(one.name) is None
    }


def was_restarting_all(status: PodStatus) -> bool:
    """Whether every container was about to be restarted."""
    return any(
        condition.type == ALL_CONTAINERS_RESTARTING and condition.status == CONDITION_TRUE
        for condition in status.conditions
    )


def _containers(status: PodStatus) -> tuple[ContainerStatus, ...]:
    return (*status.init_container_statuses, *status.container_statuses)
