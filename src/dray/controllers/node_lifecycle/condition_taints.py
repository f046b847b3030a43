"""The taints that follow from what a node says of itself.

Whatever else taints a node is left alone. Upstream counterpart: doNoScheduleTaintingPass and
processTaintBaseEviction of the node lifecycle controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api.core import (
    CONDITION_FALSE,
    CONDITION_TRUE,
    CONDITION_UNKNOWN,
    NODE_CONDITION_DISK_PRESSURE,
    NODE_CONDITION_MEMORY_PRESSURE,
    NODE_CONDITION_NETWORK_UNAVAILABLE,
    NODE_CONDITION_PID_PRESSURE,
    NODE_CONDITION_READY,
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    Node,
    Taint,
)
from dray.api.node_taints import (
    TAINT_DISK_PRESSURE,
    TAINT_MEMORY_PRESSURE,
    TAINT_NETWORK_UNAVAILABLE,
    TAINT_NOT_READY,
    TAINT_PID_PRESSURE,
    TAINT_UNREACHABLE,
    TAINT_UNSCHEDULABLE,
)
from dray.api.wire import Time
from dray.controllers.node_lifecycle.health import node_condition

__all__ = ["evicting_key", "is_marked", "wanted_taints"]

# What a condition means when it has a status; other statuses mean nothing.
_MEANINGS: Final[Mapping[tuple[str, str], str]] = {
    (NODE_CONDITION_READY, CONDITION_FALSE): TAINT_NOT_READY,
    (NODE_CONDITION_READY, CONDITION_UNKNOWN): TAINT_UNREACHABLE,
    (NODE_CONDITION_MEMORY_PRESSURE, CONDITION_TRUE): TAINT_MEMORY_PRESSURE,
    (NODE_CONDITION_DISK_PRESSURE, CONDITION_TRUE): TAINT_DISK_PRESSURE,
    (NODE_CONDITION_NETWORK_UNAVAILABLE, CONDITION_TRUE): TAINT_NETWORK_UNAVAILABLE,
    (NODE_CONDITION_PID_PRESSURE, CONDITION_TRUE): TAINT_PID_PRESSURE,
}
_NO_SCHEDULE: Final = frozenset({*_MEANINGS.values(), TAINT_UNSCHEDULABLE})
_ADMITTED: Final = (TAINT_NOT_READY, TAINT_EFFECT_NO_SCHEDULE)
_NO_EXECUTE: Final = frozenset({TAINT_NOT_READY, TAINT_UNREACHABLE})


def evicting_key(node: Node) -> str:
    """The taint that says why pods should leave a node; empty if they should not."""
    ready = node_condition(node, NODE_CONDITION_READY)
    return _MEANINGS.get((NODE_CONDITION_READY, ready.status), "") if ready is not None else ""


def is_marked(node: Node) -> bool:
    """Whether pods are leaving a node because of its health."""
    return any(_is_ours_to_evict(taint) for taint in node.spec.taints)


def wanted_taints(node: Node, *, evict: bool, now: Time) -> tuple[Taint, ...]:
    """The taints that a node should have; `evict` is whether pods of a sick one are to leave it."""
    wanted = {
        (key, TAINT_EFFECT_NO_SCHEDULE): None
        for condition in node.status.conditions
        if (key := _MEANINGS.get((condition.type, condition.status)))
    }
    if node.spec.unschedulable:
        wanted[TAINT_UNSCHEDULABLE, TAINT_EFFECT_NO_SCHEDULE] = None
    if evict and (key := evicting_key(node)):
        wanted[key, TAINT_EFFECT_NO_EXECUTE] = None
    # Upstream would take off the taint that a node was admitted with although the node has not said
    # a word yet, and pods could be bound to it before it does.
    silent = node_condition(node, NODE_CONDITION_READY) is None
    kept: list[Taint] = []
    for taint in node.spec.taints:
        identity = (taint.key, taint.effect)
        if not _is_ours(taint) or identity in wanted or (silent and identity == _ADMITTED):
            kept.append(taint)
            wanted.pop(identity, None)
    return (*kept, *(Taint(key=key, effect=effect, time_added=now) for key, effect in wanted))


def _is_ours(taint: Taint) -> bool:
    if taint.effect == TAINT_EFFECT_NO_SCHEDULE:
        return taint.key in _NO_SCHEDULE
    return _is_ours_to_evict(taint)


def _is_ours_to_evict(taint: Taint) -> bool:
    return taint.effect == TAINT_EFFECT_NO_EXECUTE and taint.key in _NO_EXECUTE
