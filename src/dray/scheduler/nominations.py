"""The pods for which room is being made, and where: others of no more priority keep out of it.

Upstream counterpart: the nominator of the scheduling queue.
"""

from __future__ import annotations

from collections.abc import Sequence

from dray.api.resource import ResourceClaim
from dray.scheduler.pod_info import PodInfo

__all__ = ["Nominations"]


class Nominations:
    """Who is meant for which node."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}  # by uid of the pod
        self._claims: dict[str, tuple[ResourceClaim, ...]] = {}  # by uid of the pod
        self._pods: dict[str, dict[str, PodInfo]] = {}  # by node, then uid

    def add(self, pod: PodInfo, node_name: str, claims: tuple[ResourceClaim, ...] = ()) -> None:
        """A pod is to go to a node, and no longer to another, once these claims are idle."""
        self.remove(pod.uid)
        self._nodes[pod.uid] = node_name
        self._claims[pod.uid] = claims
        self._pods.setdefault(node_name, {})[pod.uid] = pod

    def remove(self, uid: str) -> bool:
        """Nothing is meant for the pod; whether something was."""
        node_name = self._nodes.pop(uid, None)
        if node_name is None:
            return False
        del self._claims[uid]
        pods = self._pods[node_name]
        del pods[uid]
        if not pods:
            del self._pods[node_name]
        return True

    def uids(self, node_name: str | None = None) -> tuple[str, ...]:
        """The pods, or those that are meant for one node."""
        return tuple(self._nodes if node_name is None else self._pods.get(node_name, ()))

    def node_of(self, uid: str) -> str | None:
        """Where a pod is to go."""
        return self._nodes.get(uid)

    def claims_of(self, uid: str) -> tuple[ResourceClaim, ...]:
        """The claims whose devices a pod was to get, as they were then."""
        return self._claims.get(uid, ())

    def ahead_of(self, pod: PodInfo, node_name: str) -> Sequence[PodInfo]:
        """The pods meant for a node to which this one has to leave their room."""
        return [
            other
            for other in self._pods.get(node_name, {}).values()
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def __bool__(self) -> bool:
        return bool(self._nodes)
