"""What a daemon set says: on how many nodes a pod should be, is, and is of use."""

from __future__ import annotations

from dray.api.apps import DaemonSetStatus
from dray.api.wire import replace
from dray.controllers.daemon_sets.plan import Scene, oldest_first
from dray.controllers.pod_states import is_ready

__all__ = ["current_status"]


def current_status(scene: Scene) -> DaemonSetStatus:
    """The status of now; of several pods on a node the oldest counts."""
    wanted = current = misplaced = ready = available = updated = 0
    for node, fit in scene.fits.items():
        pods = scene.pods.get(node)
        if not fit.wanted:
            misplaced += bool(pods)
            continue
        wanted += 1
        if not pods:
            continue
        current += 1
        pod = oldest_first(pods)[0] if len(pods) > 1 else pods[0]
        ready += is_ready(pod)
        available += scene.is_available(pod)
        updated += scene.is_current(pod)
    return replace(
        scene.daemon_set.status,
        current_number_scheduled=current,
        number_misscheduled=misplaced,
        desired_number_scheduled=wanted,
        number_ready=ready,
        observed_generation=scene.daemon_set.metadata.generation,
        updated_number_scheduled=updated,
        number_available=available,
        number_unavailable=wanted - available,
    )
