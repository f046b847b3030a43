"""What became of a pod: phase, conditions, containers, and the claims it was given.

Upstream counterpart: PodStatus in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.core._container_status import ContainerStatus
from dray.api.core._resources import ResourceRequirements
from dray.api.quantity import Quantity
from dray.api.wire import Int64, Struct, Time, always

__all__ = [
    "POD_CONDITION_CONTAINERS_READY",
    "POD_CONDITION_DISRUPTION_TARGET",
    "POD_CONDITION_INITIALIZED",
    "POD_CONDITION_READY",
    "POD_CONDITION_READY_TO_START_CONTAINERS",
    "POD_CONDITION_SCHEDULED",
    "POD_PHASE_FAILED",
    "POD_PHASE_PENDING",
    "POD_PHASE_RUNNING",
    "POD_PHASE_SUCCEEDED",
    "POD_PHASE_UNKNOWN",
    "POD_REASON_PREEMPTION_BY_SCHEDULER",
    "POD_REASON_SCHEDULER_ERROR",
    "POD_REASON_SCHEDULING_GATED",
    "POD_REASON_TERMINATION_BY_KUBELET",
    "POD_REASON_UNSCHEDULABLE",
    "QOS_BEST_EFFORT",
    "QOS_BURSTABLE",
    "QOS_GUARANTEED",
    "ContainerExtendedResourceRequest",
    "HostIP",
    "NodeAllocatableMappedResources",
    "NodeAllocatableOverheadResources",
    "NodeAllocatableResourceClaimStatus",
    "PodCondition",
    "PodExtendedResourceClaimStatus",
    "PodIP",
    "PodResourceClaimStatus",
    "PodStatus",
    "PodVolumeHealth",
    "VolumeHealthCondition",
]

POD_PHASE_PENDING: Final = "Pending"
POD_PHASE_RUNNING: Final = "Running"
POD_PHASE_SUCCEEDED: Final = "Succeeded"
POD_PHASE_FAILED: Final = "Failed"
POD_PHASE_UNKNOWN: Final = "Unknown"

POD_CONDITION_SCHEDULED: Final = "PodScheduled"
POD_CONDITION_INITIALIZED: Final = "Initialized"
POD_CONDITION_READY_TO_START_CONTAINERS: Final = "PodReadyToStartContainers"
POD_CONDITION_CONTAINERS_READY: Final = "ContainersReady"
POD_CONDITION_READY: Final = "Ready"
POD_CONDITION_DISRUPTION_TARGET: Final = "DisruptionTarget"

POD_REASON_UNSCHEDULABLE: Final = "Unschedulable"
POD_REASON_SCHEDULING_GATED: Final = "SchedulingGated"
POD_REASON_SCHEDULER_ERROR: Final = "SchedulerError"
POD_REASON_TERMINATION_BY_KUBELET: Final = "TerminationByKubelet"
POD_REASON_PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"

QOS_GUARANTEED: Final = "Guaranteed"
QOS_BURSTABLE: Final = "Burstable"
QOS_BEST_EFFORT: Final = "BestEffort"


class PodCondition(Struct):
    """One aspect of a pod's state."""

    type: str = always("")
    observed_generation: Int64 = 0
    status: str = always("")
    last_probe_time: Time | None = always(None)
    last_transition_time: Time | None = always(None)
    reason: str = ""
    message: str = ""


class HostIP(Struct):
    """An address of the pod's node."""

    ip: str = always("")


class PodIP(Struct):
    """An address of the pod."""

    ip: str = always("")


class PodResourceClaimStatus(Struct):
    """The claim made from a template for one of the pod's entries; no name if none was needed."""

    name: str = always("")
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Struct):
    """Which request of the claim serves an extended resource of a container."""

    container_name: str = always("")
    resource_name: str = always("")
    request_name: str = always("")


class PodExtendedResourceClaimStatus(Struct):
    """The claim that stands behind the pod's extended resources."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] | None = always(None)
    resource_claim_name: str = always("")


class NodeAllocatableMappedResources(Struct):
    """How much of a node resource a claim's devices stand for."""

    name: str = always("")
    quantity: Quantity | None = always(None)


class NodeAllocatableOverheadResources(Struct):
    """How much of a node resource using a claim costs on top."""

    name: str = always("")
    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResourceClaimStatus(Struct):
    """What a claim takes of the node's cpu, memory and huge pages, and for which containers."""

    resource_claim_name: str = always("")
    containers: tuple[str, ...] = ()
    mapping: tuple[NodeAllocatableMappedResources, ...] = ()
    overhead: tuple[NodeAllocatableOverheadResources, ...] = ()


class VolumeHealthCondition(Struct):
    """What is wrong with a volume."""

    status: str = always("")
    reason: str = always("")
    message: str = ""


class PodVolumeHealth(Struct):
    """What the storage plugin says of one of the pod's volumes."""

    name: str = always("")
    health_conditions: tuple[VolumeHealthCondition, ...] = ()
    last_transition_time: Time | None = always(None)


class PodStatus(Struct):
    """What the scheduler, the node and the controllers say of the pod."""

    observed_generation: Int64 = 0
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    host_ip: str = field(default="", name="hostIP")
    host_ips: tuple[HostIP, ...] = field(default=(), name="hostIPs")
    pod_ip: str = field(default="", name="podIP")
    pod_ips: tuple[PodIP, ...] = field(default=(), name="podIPs")
    start_time: Time | None = None
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    allocated_resources: Mapping[str, Quantity] = field(default_factory=dict)
    resources: ResourceRequirements | None = None
    node_allocatable_resource_claim_statuses: (
        tuple[NodeAllocatableResourceClaimStatus, ...] | None
    ) = None
    volume_health: tuple[PodVolumeHealth, ...] = ()
