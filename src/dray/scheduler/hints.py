"""Which events are worth another try for a pod that each of the default plugins rejected.

A hint errs on the side of trying: where it cannot tell, it says yes. It looks at the pod and at
the object that changed, never at the rest of the cluster. Where hints depend on a part of the pod
alone, that part is its shape, so that many pods of few templates cost few questions. Claim events
ask the pods that use the claim, unless devices became free, which may help any pod.

Departures from upstream: slices and classes of which only metadata changed help nobody; and a pod
that was assigned and is deleted counts even if it names no node, as one whose binding failed does
not. Upstream counterparts: EventsToRegister of the plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final, Protocol, TypeVar

from dray.api.core import RESOURCE_PODS, TAINT_EFFECT_NO_SCHEDULE, Node, NodeSelector, Pod, Taint
from dray.api.meta import Object
from dray.api.node_matching import node_matches
from dray.api.node_taints import TAINT_UNSCHEDULABLE
from dray.api.pod_claims import references
from dray.api.resource import (
    DEVICE_CLASS_RESOURCE_PREFIX,
    DeviceClass,
    ResourceClaim,
    ResourceSlice,
)
from dray.errors import AllocationError
from dray.scheduler.cluster_events import (
    ASSIGNED_POD,
    DEVICE_CLASS,
    GATE,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    Hint,
    Interest,
)
from dray.scheduler.neighbour_hints import (
    affinity_by_node,
    affinity_by_pod,
    affinity_shape,
    spread_by_node,
    spread_by_pod,
    spread_by_self,
    spread_shape,
)
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo, whole_units
from dray.scheduler.tolerations import tolerated, untolerated

__all__ = ["ClaimNames", "default_hints"]

_UNSCHEDULABLE: Final = Taint(key=TAINT_UNSCHEDULABLE, effect=TAINT_EFFECT_NO_SCHEDULE)
# What may follow when a node may be used again; without a taint it is merely marked.
_TAINTS: Final = Action.ADD | Action.TAINTS | Action.UNSCHEDULABLE
_PODS: Final = Action.ADD | Action.LABELS | Action.DELETE

K = TypeVar("K", bound=Object)


class ClaimNames(Protocol):
    """The names of a pod's claims; None if they do not resolve, so that no claim helps yet."""

    def __call__(self, pod: Pod, /) -> tuple[str, ...] | None: ...


def default_hints(
    claim_names: ClaimNames, *, served_by_devices: Callable[[str], bool] | None = None
) -> Mapping[str, Mapping[str, Hint | None]]:
    """Hints by plugin and resource.

    `served_by_devices` tells whether a class of devices stands for an extended resource: such a
    resource is nothing that a node must offer. Without it, each of them may be.
    """
    fit = _Fit(served_by_devices or (lambda _: True))
    claims = _Claims(claim_names)
    return {
        "SchedulingGates": {POD: Interest(Action.GATES)},
        "NodeUnschedulable": {
            NODE: Interest(_TAINTS, _unschedulable_by_node, shape=_one_shape),
            POD: Interest(Action.TOLERATIONS, _unschedulable_by_self),
        },
        "NodeName": {NODE: Interest(Action.ADD)},
        "TaintToleration": {
            NODE: Interest(_TAINTS, _taints_by_node, shape=_tolerations_shape),
            POD: Interest(Action.TOLERATIONS),
        },
        "NodeAffinity": {
            NODE: Interest(Action.ADD | Action.LABELS, _nodes_by_node, shape=_nodes_shape)
        },
        "NodePorts": {
            ASSIGNED_POD: Interest(Action.DELETE, _ports_by_pod, shape=_ports_shape),
            NODE: Interest(Action.ADD),
        },
        "NodeResourcesFit": {
            ASSIGNED_POD: Interest(
                Action.DELETE | Action.SCALE_DOWN, fit.by_pod, shape=_requests_shape
            ),
            NODE: Interest(Action.ADD | Action.ALLOCATABLE, fit.by_node, shape=_requests_shape),
            DEVICE_CLASS: Interest(
                Action.ADD | Action.UPDATE, _fit_by_class, shape=_requests_shape
            ),
            POD: Interest(Action.SCALE_DOWN),
        },
        "PodTopologySpread": {
            ASSIGNED_POD: Interest(_PODS, spread_by_pod, shape=spread_shape),
            NODE: Interest(
                _TAINTS | Action.DELETE | Action.LABELS, spread_by_node, shape=spread_shape
            ),
            POD: Interest(Action.TOLERATIONS | Action.LABELS, spread_by_self),
        },
        "InterPodAffinity": {
            ASSIGNED_POD: Interest(_PODS, affinity_by_pod, shape=affinity_shape),
            NODE: Interest(Action.ADD | Action.LABELS, affinity_by_node, shape=affinity_shape),
            POD: Interest(Action.LABELS),
        },
        "DynamicResources": {
            # Where devices are may depend on the labels of nodes.
            NODE: Interest(Action.ADD | Action.LABELS | Action.ALLOCATABLE),
            RESOURCE_CLAIM: Interest(
                Action.ADD | Action.UPDATE | Action.DELETE,
                claims.by_claim,
                pod_keys=_claim_keys,
                event_keys=_helped_by_claim,
            ),
            POD: Interest(Action.GENERATED_CLAIM, claims.by_self),
            DEVICE_CLASS: Interest(Action.ADD | Action.UPDATE, _new_class, shape=_one_shape),
            RESOURCE_SLICE: Interest(Action.ADD | Action.UPDATE, _new_slice, shape=_one_shape),
        },
        # Of what keeps pods from being tried, only claims are not parts of the pod itself.
        GATE: {
            RESOURCE_CLAIM: Interest(
                Action.ADD | Action.UPDATE, pod_keys=_claim_keys, event_keys=_claim_key
            )
        },
    }


def _sides(event: ClusterEvent, kind: type[K]) -> tuple[K | None, K | None]:
    """The object before and after, as far as they are what the resource says."""
    old, new = event.old, event.new
    return old if isinstance(old, kind) else None, new if isinstance(new, kind) else None


# Nodes and taints ------------------------------------------------------------------------------


def _one_shape(_: Pod) -> Hashable:
    """Of hints that do not look at the pod."""
    return None


def _unschedulable_by_node(_: Pod, event: ClusterEvent) -> bool:
    old, new = _sides(event, Node)
    if new is None:
        return True
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


def _unschedulable_by_self(_: Pod, event: ClusterEvent) -> bool:
    new = _sides(event, Pod)[1]
    return new is None or tolerated(_UNSCHEDULABLE, new.spec.tolerations)


def _tolerations_shape(pod: Pod) -> Hashable:
    return pod.spec.tolerations


def _taints_by_node(pod: Pod, event: ClusterEvent) -> bool:
    old, new = _sides(event, Node)
    tolerations = pod.spec.tolerations
    if new is not None and untolerated(new.spec.taints, tolerations) is not None:
        return False
    return old is None or untolerated(old.spec.taints, tolerations) is not None


def _nodes_shape(pod: Pod) -> Hashable:
    return tuple(pod.spec.node_selector.items()), _required_nodes(pod)


def _nodes_by_node(pod: Pod, event: ClusterEvent) -> bool:
    old, new = _sides(event, Node)
    if new is not None and not _may_run_on(pod, new):
        return False
    return old is None or not _may_run_on(pod, old)


def _may_run_on(pod: Pod, node: Node) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    required = _required_nodes(pod)
    try:
        return required is None or node_matches(node, None, None, required)
    except AllocationError:
        return True  # the filter will tell


def _required_nodes(pod: Pod) -> NodeSelector | None:
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


# Ports and amounts -----------------------------------------------------------------------------


def _ports_shape(pod: Pod) -> Hashable:
    return PodInfo.of(pod).host_ports


def _ports_by_pod(pod: Pod, event: ClusterEvent) -> bool:
    """Whether the pod that went took a port that this one wants."""
    old = _sides(event, Pod)[0]
    if old is None:
        return True
    alone = NodeInfo(Node())
    alone.add_pod(PodInfo.of(old))
    return not alone.has_free(PodInfo.of(pod).host_ports)


def _requests_shape(pod: Pod) -> Hashable:
    return tuple(sorted(PodInfo.of(pod).requests.items()))


class _Fit:
    def __init__(self, served_by_devices: Callable[[str], bool]) -> None:
        self._served_by_devices = served_by_devices

    def by_pod(self, pod: Pod, event: ClusterEvent) -> bool:
        """A pod that went frees at least its own place; one that shrank, what it gave back."""
        old, new = _sides(event, Pod)
        if old is None or new is None:
            return True
        before, after = PodInfo.of(old).requests, PodInfo.of(new).requests
        return any(before.get(name, 0) > after.get(name, 0) for name in PodInfo.of(pod).requests)

    def by_node(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether the pod fits on the node if it has it for itself, and may not have before."""
        old, new = _sides(event, Node)
        if new is None:
            return True
        wanted = {RESOURCE_PODS: 1, **PodInfo.of(pod).requests}
        offered = whole_units(new.status.allocatable)
        for name, amount in wanted.items():
            if offered.get(name, 0) < amount and not self._delegated(name, offered):
                return False
        if old is None:
            return True
        before = whole_units(old.status.allocatable)
        return any(
            offered.get(name, 0) > before.get(name, 0) or self._delegated(name, offered)
            for name in wanted
        )

    def _delegated(self, name: str, offered: Mapping[str, int]) -> bool:
        """Whether devices stand for the resource on a node that offers nothing of it itself."""
        return "/" in name and not offered.get(name, 0) and self._served_by_devices(name)


def _fit_by_class(pod: Pod, event: ClusterEvent) -> bool:
    """Whether the class now stands for an extended resource that the pod wants."""
    old, new = _sides(event, DeviceClass)
    if new is None:
        return True
    requests = PodInfo.of(pod).requests
    name = new.spec.extended_resource_name
    if old is None:
        return name in requests or f"{DEVICE_CLASS_RESOURCE_PREFIX}{new.metadata.name}" in requests
    return name != old.spec.extended_resource_name and name in requests


# Claims ----------------------------------------------------------------------------------------


class _Claims:
    def __init__(self, claim_names: ClaimNames) -> None:
        self._claim_names = claim_names

    def by_claim(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether devices became free, or one of the pod's own claims changed its status."""
        old, new = _sides(event, ResourceClaim)
        if new is None:
            return old is None or old.status.allocation is not None
        names = self._claim_names(pod)
        if names is None:
            return False
        if _deallocated(old, new):
            return True
        metadata = new.metadata
        if metadata.name not in names or metadata.namespace != pod.metadata.namespace:
            return False
        return old is None or old.status != new.status

    def by_self(self, _: Pod, event: ClusterEvent) -> bool:
        new = _sides(event, Pod)[1]
        return new is None or self._claim_names(new) is not None


def _new_class(_: Pod, event: ClusterEvent) -> bool:
    old, new = _sides(event, DeviceClass)
    return old is None or new is None or old.spec != new.spec


def _new_slice(_: Pod, event: ClusterEvent) -> bool:
    old, new = _sides(event, ResourceSlice)
    return old is None or new is None or old.spec != new.spec


def _deallocated(old: ResourceClaim | None, new: ResourceClaim | None) -> bool:
    """Whether the devices of a claim are free now."""
    return (
        old is not None
        and old.status.allocation is not None
        and (new is None or new.status.allocation is None)
    )


def _claim_keys(pod: Pod) -> tuple[str, ...]:
    """The claims that a pod names so far, whether they exist or not."""
    if not pod.spec.resource_claims:
        return ()
    namespace = pod.metadata.namespace
    return tuple(
        f"{namespace}/{reference.claim_name}"
        for reference in references(pod)
        if reference.name and reference.claim_name
    )


def _claim_key(event: ClusterEvent) -> tuple[str, ...] | None:
    claim = event.new if event.new is not None else event.old
    return None if claim is None else (f"{claim.metadata.namespace}/{claim.metadata.name}",)


def _helped_by_claim(event: ClusterEvent) -> tuple[str, ...] | None:
    """The claim, if only its pods can be helped; None if any pod can."""
    return None if _deallocated(*_sides(event, ResourceClaim)) else _claim_key(event)
