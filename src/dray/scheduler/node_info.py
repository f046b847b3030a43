"""What the scheduler knows of one node: the node, the pods on it, and what they leave.

A pod counts from the moment it is assigned until it is gone or has ended, so also while it is
terminating. Two numbers tell whoever remembers answers when to ask again: `version` is new with
every change, `place` only with a change that node-only filters can see (labels, taints, whether it
takes pods at all). A heartbeat changes neither place nor pods. Upstream counterpart: NodeInfo of
the scheduler's framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Final

from dray.api.core import RESOURCE_PODS, Node
from dray.scheduler.pod_amounts import whole_units
from dray.scheduler.pod_info import HostPort, PodInfo

__all__ = ["NodeInfo"]

_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - compared, never bound

# Shared by all nodes, so that a node that went and came back is never taken for what it was.
_serials: Final = count(1)


class NodeInfo:
    """One node and its pods. Owned by a Snapshot; whoever plays with what might be takes a copy."""

    __slots__ = (
        "allocatable",
        "labels",
        "name",
        "node",
        "place",
        "pods",
        "pods_max",
        "requested",
        "scored_cpu",
        "scored_memory",
        "used_ports",
        "version",
    )

    node: Node
    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    pods_max: int
    place: int
    version: int
    pods: dict[str, PodInfo]  # by uid, in the order in which they came
    requested: dict[str, int]
    scored_cpu: int
    scored_memory: int
    # Protocol and port, then addresses and how many pods take the port there.
    used_ports: dict[tuple[str, int], dict[str, int]]

    def __init__(self, node: Node) -> None:
        self.pods = {}
        self.requested = {}
        self.scored_cpu = 0
        self.scored_memory = 0
        self.used_ports = {}
        self.name = node.metadata.name
        self.place = next(_serials)
        self._take(node)

    def apply(self, node: Node) -> None:
        """Take the node as it is now; its pods stay."""
        if _looks_different(self.node, node):
            self.place = next(_serials)
        self._take(node)

    def _take(self, node: Node) -> None:
        self.node = node
        self.labels = node.metadata.labels
        self.allocatable = whole_units(node.status.allocatable)
        self.pods_max = self.allocatable.get(RESOURCE_PODS, 0)
        self.version = next(_serials)

    def add_pod(self, info: PodInfo) -> None:
        """Count a pod that is not on the node yet."""
        self.pods[info.uid] = info
        requested = self.requested
        for name, amount in info.requests.items():
            requested[name] = requested.get(name, 0) + amount
        self.scored_cpu += info.scored_cpu
        self.scored_memory += info.scored_memory
        for protocol, port, address in info.host_ports:
            takers = self.used_ports.setdefault((protocol, port), {})
            takers[address] = takers.get(address, 0) + 1
        self.version = next(_serials)

    def remove_pod(self, info: PodInfo) -> None:
        """Give back what the pod took; it is the very info that was added that counts."""
        info = self.pods.pop(info.uid)
        requested = self.requested
        for name, amount in info.requests.items():
            requested[name] -= amount
        self.scored_cpu -= info.scored_cpu
        self.scored_memory -= info.scored_memory
        for protocol, port, address in info.host_ports:
            takers = self.used_ports[protocol, port]
            takers[address] -= 1
            if not takers[address]:
                del takers[address]
                if not takers:
                    del self.used_ports[protocol, port]
        self.version = next(_serials)

    def has_free(self, ports: Iterable[HostPort]) -> bool:
        """Whether nobody here takes one of the ports; any address collides with every other."""
        for protocol, port, address in ports:
            takers = self.used_ports.get((protocol, port))
            if takers and (address == _ANY_ADDRESS or address in takers or _ANY_ADDRESS in takers):
                return False
        return True

    def copy(self) -> NodeInfo:
        """The same node to play with; neither sees what becomes of the other."""
        other = NodeInfo.__new__(NodeInfo)
        other.node = self.node
        other.name = self.name
        other.labels = self.labels
        other.allocatable = self.allocatable
        other.pods_max = self.pods_max
        other.place = self.place
        other.version = self.version
        other.pods = self.pods.copy()
        other.requested = self.requested.copy()
        other.scored_cpu = self.scored_cpu
        other.scored_memory = self.scored_memory
        other.used_ports = {port: takers.copy() for port, takers in self.used_ports.items()}
        return other

    def __repr__(self) -> str:
        return f"NodeInfo({self.name}, pods={len(self.pods)})"


def _looks_different(old: Node, new: Node) -> bool:
    return (
        old.metadata.labels != new.metadata.labels
        or old.spec.taints != new.spec.taints
        or old.spec.unschedulable != new.spec.unschedulable
    )
