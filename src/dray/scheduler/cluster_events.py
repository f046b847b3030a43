"""What happened in the cluster, told so that waiting pods can judge whether it helps them.

A ClusterEvent names a resource, what was done to it, and the object before and after. An update
says which parts changed that a scheduler cares about; one that changed none of them makes no event
at all, so heartbeats cost nothing. `Pod` is the waiting pod itself (upstream's TargetPod); a pod
that has a node is an `AssignedPod`. Upstream counterpart: pkg/scheduler/framework/events.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache
from typing import Final, TypeAlias

from dray.api.core import Node, NodeCondition, Pod
from dray.api.equality import semantically_equal
from dray.api.meta import Object
from dray.api.pod_resources import sum_requests
from dray.api.quantity import Quantity
from dray.errors import DrayError

__all__ = [
    "ASSIGNED_POD",
    "DEVICE_CLASS",
    "GATE",
    "NODE",
    "POD",
    "RESOURCE_CLAIM",
    "RESOURCE_SLICE",
    "Action",
    "ClusterEvent",
    "Hint",
    "Interest",
    "node_event",
    "object_event",
    "pod_event",
]

ASSIGNED_POD: Final = "AssignedPod"
DEVICE_CLASS: Final = "DeviceClass"
NODE: Final = "Node"
POD: Final = "Pod"
RESOURCE_CLAIM: Final = "ResourceClaim"
RESOURCE_SLICE: Final = "ResourceSlice"

# Stands among the plugins for whatever keeps pods from being tried at all.
GATE: Final = "PreEnqueue"


class Action(IntFlag):
    """What was done to an object; an update may be several of these at once."""

    NONE = 0
    ADD = 1
    DELETE = 2
    LABELS = 4
    ANNOTATIONS = 8
    TAINTS = 16
    ALLOCATABLE = 32
    CONDITIONS = 64
    UNSCHEDULABLE = 128  # a node became schedulable
    SCALE_DOWN = 256
    SCALE_UP = 512
    GATES = 1024  # a pod lost its last scheduling gate
    TOLERATIONS = 2048
    GENERATED_CLAIM = 4096
    OTHER = 8192
    UPDATE = (
        LABELS
        | ANNOTATIONS
        | TAINTS
        | ALLOCATABLE
        | CONDITIONS
        | UNSCHEDULABLE
        | SCALE_DOWN
        | SCALE_UP
        | GATES
        | TOLERATIONS
        | GENERATED_CLAIM
        | OTHER
    )


# Upstream's names of resources that differ from ours, and of what was done, as metrics show them.
# Of an update that is several things at once the first counts.
_RESOURCE_NAMES: Final = {
    POD: "TargetPod",
    DEVICE_CLASS: "resource.k8s.io/DeviceClass",
    RESOURCE_CLAIM: "resource.k8s.io/ResourceClaim",
    RESOURCE_SLICE: "resource.k8s.io/ResourceSlice",
}
_NODE_ACTION_NAMES: Final = (
    (Action.ADD, "Add"),
    (Action.DELETE, "Delete"),
    (Action.UNSCHEDULABLE, "UpdateNodeTaint"),
    (Action.ALLOCATABLE, "UpdateNodeAllocatable"),
    (Action.LABELS, "UpdateNodeLabel"),
    (Action.TAINTS, "UpdateNodeTaint"),
    (Action.CONDITIONS, "UpdateNodeCondition"),
    (Action.ANNOTATIONS, "UpdateNodeAnnotation"),
)
_ACTION_NAMES: Final = (
    (Action.ADD, "Add"),
    (Action.DELETE, "Delete"),
    (Action.LABELS, "UpdatePodLabel"),
    (Action.SCALE_DOWN, "UpdatePodScaleDown"),
    (Action.SCALE_UP, "UpdatePodScaleUp"),
    (Action.GATES, "UpdatePodSchedulingGatesEliminated"),
    (Action.TOLERATIONS, "UpdatePodToleration"),
    (Action.GENERATED_CLAIM, "UpdatePodGeneratedResourceClaim"),
)


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """One change: an addition has no old object, a deletion no new one."""

    resource: str
    action: Action
    old: Object | None = None
    new: Object | None = None

    @property
    def label(self) -> str:
        """The name under which metrics count it."""
        return _label(self.resource, int(self.action))


Hint: TypeAlias = Callable[[Pod, ClusterEvent], bool]


@dataclass(frozen=True, slots=True)
class Interest:
    """A hint, with what spares asking it: a hint in its own right.

    `hint` None says that each of the actions is worth a try. Pods with the same `shape` get the
    same answer to every event, so that one of them is asked for all. Where `event_keys` answers
    something, only pods that have one of these among their `pod_keys` can be helped.
    """

    actions: Action
    hint: Hint | None = None
    shape: Callable[[Pod], Hashable] | None = None
    pod_keys: Callable[[Pod], tuple[str, ...]] | None = None
    event_keys: Callable[[ClusterEvent], tuple[str, ...] | None] | None = None

    def __call__(self, pod: Pod, event: ClusterEvent) -> bool:
        if not event.action & self.actions:
            return False
        if self.event_keys is not None and self.pod_keys is not None:
            keys = self.event_keys(event)
            if keys is not None and not any(key in keys for key in self.pod_keys(pod)):
                return False
        return self.helps(pod, event)

    def helps(self, pod: Pod, event: ClusterEvent) -> bool:
        """What the hint says of an event with one of the actions; one that fails says yes."""
        try:
            return self.hint is None or self.hint(pod, event)
        except DrayError:
            return True


def object_event(resource: str, old: Object | None, new: Object | None) -> ClusterEvent:
    """What happened to an object of which nothing more is to be told apart."""
    if old is None:
        return ClusterEvent(resource, Action.ADD, None, new)
    if new is None:
        return ClusterEvent(resource, Action.DELETE, old, None)
    return ClusterEvent(resource, Action.OTHER, old, new)


def node_event(old: Node | None, new: Node | None) -> ClusterEvent | None:
    """What happened to a node; None if no pod can care, as about a heartbeat."""
    if old is None or new is None:
        return object_event(NODE, old, new)
    action = Action.NONE
    if old.spec is not new.spec:
        if old.spec.unschedulable and not new.spec.unschedulable:
            action |= Action.UNSCHEDULABLE
        if old.spec.taints != new.spec.taints:
            action |= Action.TAINTS
    if old.status.allocatable != new.status.allocatable:
        action |= Action.ALLOCATABLE
    if old.metadata.labels != new.metadata.labels:
        action |= Action.LABELS
    if old.metadata.annotations != new.metadata.annotations:
        action |= Action.ANNOTATIONS
    if _standing(old.status.conditions) != _standing(new.status.conditions):
        action |= Action.CONDITIONS
    return ClusterEvent(NODE, action, old, new) if action else None


def pod_event(old: Pod | None, new: Pod | None) -> ClusterEvent | None:
    """What happened to a pod, with a node or without; None for an update of its mere status."""
    current = new if new is not None else old
    resource = ASSIGNED_POD if current is not None and current.spec.node_name else POD
    if old is None or new is None:
        return object_event(resource, old, new)
    action = _pod_changes(old, new)
    return ClusterEvent(resource, action, old, new) if action else None


# How events are called: there are a few dozen kinds of them.
@lru_cache(maxsize=1024)
def _label(resource: str, action: int) -> str:
    name = _RESOURCE_NAMES.get(resource, resource)
    if action & Action.UPDATE == Action.UPDATE:
        return f"{name}Update"
    names = _NODE_ACTION_NAMES if resource == NODE else _ACTION_NAMES
    return f"{name}{next((text for each, text in names if action & each), 'Update')}"


# What changed ----------------------------------------------------------------------------------


def _standing(conditions: tuple[NodeCondition, ...]) -> dict[str, str]:
    return {condition.type: condition.status for condition in conditions}


def _pod_changes(old: Pod, new: Pod) -> Action:
    action = Action.NONE
    if old.metadata.labels != new.metadata.labels:
        action |= Action.LABELS
    if old.metadata.annotations != new.metadata.annotations:
        action |= Action.ANNOTATIONS
    if old.spec != new.spec:
        action |= _spec_changes(old, new) or Action.OTHER
    before, after = old.status, new.status
    if not semantically_equal(
        before.resource_claim_statuses, after.resource_claim_statuses
    ) or not semantically_equal(
        before.extended_resource_claim_status, after.extended_resource_claim_status
    ):
        action |= Action.GENERATED_CLAIM
    return action


def _spec_changes(old: Pod, new: Pod) -> Action:
    action = Action.NONE
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        action |= Action.GATES
    if old.spec.tolerations != new.spec.tolerations:
        action |= Action.TOLERATIONS
    before, after = sum_requests(old.spec), sum_requests(new.spec)
    if _any_less(after, before):
        action |= Action.SCALE_DOWN
    if _any_less(before, after):
        action |= Action.SCALE_UP
    return action


def _any_less(amounts: Mapping[str, Quantity], others: Mapping[str, Quantity]) -> bool:
    return any(name not in amounts or amounts[name] < other for name, other in others.items())
