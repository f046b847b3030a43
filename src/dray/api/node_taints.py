"""Taints of nodes: those that Kubernetes sets itself, and whether a pod withstands one.

Upstream counterparts: the well-known taints of k8s.io/api/core/v1, and ToleratesTaint there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from dray.api.core import (
    TAINT_EFFECT_NO_EXECUTE,
    TOLERATION_OPERATOR_EQUAL,
    TOLERATION_OPERATOR_EXISTS,
    TOLERATION_OPERATOR_GREATER_THAN,
    TOLERATION_OPERATOR_LESS_THAN,
    Node,
    Taint,
    Toleration,
)

__all__ = [
    "TAINT_DISK_PRESSURE",
    "TAINT_MEMORY_PRESSURE",
    "TAINT_NETWORK_UNAVAILABLE",
    "TAINT_NOT_READY",
    "TAINT_OUT_OF_SERVICE",
    "TAINT_PID_PRESSURE",
    "TAINT_UNREACHABLE",
    "TAINT_UNSCHEDULABLE",
    "evicting_taints",
    "matching_tolerations",
    "tolerates",
]

TAINT_NOT_READY: Final = "node.kubernetes.io/not-ready"
TAINT_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
TAINT_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
TAINT_MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
TAINT_DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
TAINT_PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
TAINT_NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"
TAINT_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"

_EQUAL: Final = frozenset({"", TOLERATION_OPERATOR_EQUAL})
# What upstream compares: no leading zeros, no plus sign.
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration is about a taint, for however long."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == TOLERATION_OPERATOR_EXISTS:
        return True
    if toleration.operator in _EQUAL:
        return toleration.value == taint.value
    if not _INTEGER.fullmatch(toleration.value) or not _INTEGER.fullmatch(taint.value):
        return False
    if toleration.operator == TOLERATION_OPERATOR_LESS_THAN:
        return int(taint.value) < int(toleration.value)
    if toleration.operator == TOLERATION_OPERATOR_GREATER_THAN:
        return int(taint.value) > int(toleration.value)
    return False


def matching_tolerations(
    tolerations: Iterable[Toleration], taints: Iterable[Taint]
) -> tuple[Toleration, ...] | None:
    """The first toleration for each of the taints; None if one is not tolerated."""
    known = tuple(tolerations)
    found: list[Toleration] = []
    for taint in taints:
        matching = next((each for each in known if tolerates(each, taint)), None)
        if matching is None:
            return None
        found.append(matching)
    return tuple(found)


def evicting_taints(node: Node) -> tuple[Taint, ...]:
    """The taints that make running pods leave."""
    return tuple(taint for taint in node.spec.taints if taint.effect == TAINT_EFFECT_NO_EXECUTE)
