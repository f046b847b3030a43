"""scheduling.k8s.io/v1: priority classes, which rank pods against each other.

Upstream counterpart: k8s.io/api/scheduling/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.meta import ListMeta, Object
from dray.api.wire import Int32, Struct, always

__all__ = [
    "SYSTEM_CLUSTER_CRITICAL",
    "SYSTEM_NODE_CRITICAL",
    "SYSTEM_PRIORITY_CLASS_PREFIX",
    "PriorityClass",
    "PriorityClassList",
]

SYSTEM_PRIORITY_CLASS_PREFIX: Final = "system-"
SYSTEM_CLUSTER_CRITICAL: Final = "system-cluster-critical"
SYSTEM_NODE_CRITICAL: Final = "system-node-critical"


class PriorityClass(Object):
    """A named rank: pods of a higher value are scheduled first, and may displace lower ones."""

    api_version: str = always("scheduling.k8s.io/v1")
    kind: str = always("PriorityClass")
    value: Int32 = always(0)
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None


class PriorityClassList(Struct):
    """Several priority classes."""

    api_version: str = always("scheduling.k8s.io/v1")
    kind: str = always("PriorityClassList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[PriorityClass, ...] | None = always(None)
