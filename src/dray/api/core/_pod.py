"""Pods: containers that run together on one node. What became of them is in `_pod_status`.

Upstream counterpart: k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import field

from dray.api.core._affinity import Affinity, TopologySpreadConstraint
from dray.api.core._container import Container, EphemeralContainer
from dray.api.core._host_names import HostAlias, PodDNSConfig
from dray.api.core._pod_status import PodStatus
from dray.api.core._reference import LocalObjectReference
from dray.api.core._resources import ResourceRequirements
from dray.api.core._security import PodSecurityContext
from dray.api.core._taint import Toleration
from dray.api.core._volume import Volume
from dray.api.meta import ListMeta, Object, ObjectMeta
from dray.api.quantity import Quantity
from dray.api.wire import Carried, Holds, Int32, Int64, Struct, always

__all__ = [
    "PREEMPT_LOWER_PRIORITY",
    "PREEMPT_NEVER",
    "RESTART_POLICY_ALWAYS",
    "RESTART_POLICY_NEVER",
    "RESTART_POLICY_ON_FAILURE",
    "EvictionResponder",
    "Pod",
    "PodList",
    "PodOS",
    "PodReadinessGate",
    "PodResourceClaim",
    "PodSchedulingGate",
    "PodSchedulingGroup",
    "PodSpec",
    "PodTemplateSpec",
]

RESTART_POLICY_ALWAYS: Final = "Always"
RESTART_POLICY_ON_FAILURE: Final = "OnFailure"
RESTART_POLICY_NEVER: Final = "Never"

PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"
PREEMPT_NEVER: Final = "Never"


class PodResourceClaim(Struct):
    """A claim the pod's containers may use: one that exists, or one made from a template."""

    name: str = always("")
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGate(Struct):
    """A name; while a pod has any, it is not scheduled."""

    name: str = always("")


class PodSchedulingGroup(Struct):
    """The pod group that is scheduled as one."""

    pod_group_name: str | None = None


class PodReadinessGate(Struct):
    """A condition that must be true, beside the containers, for the pod to be ready."""

    condition_type: str = always("")


class PodOS(Struct):
    """The operating system the pod is made for."""

    name: str = always("")


class EvictionResponder(Struct):
    """Who answers a request to evict the pod, and before whom."""

    name: str = always("")
    priority: Int32 | None = always(None)


class PodSpec(Struct):
    """What to run, where it may run, and how."""

    volumes: Annotated[Carried, Holds(tuple[Volume, ...])] = None
    init_containers: tuple[Container, ...] = ()
    containers: tuple[Container, ...] | None = always(None)
    ephemeral_containers: tuple[EphemeralContainer, ...] = ()
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    dns_policy: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    service_account_name: str = ""
    service_account: str = ""
    automount_service_account_token: bool | None = None
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = field(default=False, name="hostPID")
    host_ipc: bool = field(default=False, name="hostIPC")
    share_process_namespace: bool | None = None
    security_context: Annotated[Carried, Holds(PodSecurityContext)] = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    hostname: str = ""
    subdomain: str = ""
    affinity: Affinity | None = None
    scheduler_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    host_aliases: Annotated[Carried, Holds(tuple[HostAlias, ...])] = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    dns_config: Annotated[Carried, Holds(PodDNSConfig)] = None
    readiness_gates: tuple[PodReadinessGate, ...] = ()
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    preemption_policy: str | None = None
    overhead: Mapping[str, Quantity] = field(default_factory=dict)
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    set_hostname_as_fqdn: bool | None = field(default=None, name="setHostnameAsFQDN")
    os: PodOS | None = None
    host_users: bool | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resources: ResourceRequirements | None = None
    hostname_override: str | None = None
    scheduling_group: PodSchedulingGroup | None = None
    eviction_responders: tuple[EvictionResponder, ...] = ()


class Pod(Object):
    """Containers that run together on one node."""

    api_version: str = always("v1")
    kind: str = always("Pod")
    spec: PodSpec = always(PodSpec)
    status: PodStatus = always(PodStatus)


class PodList(Struct):
    """Several pods."""

    api_version: str = always("v1")
    kind: str = always("PodList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Pod, ...] | None = always(None)


class PodTemplateSpec(Struct):
    """What a controller makes its pods from."""

    metadata: ObjectMeta = always(ObjectMeta)
    spec: PodSpec = always(PodSpec)
