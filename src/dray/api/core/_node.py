"""Nodes: the machines pods run on.

Upstream counterpart: Node in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.core._taint import Taint
from dray.api.meta import ListMeta, Object
from dray.api.quantity import Quantity
from dray.api.wire import Carried, Int32, Int64, Struct, Time, always

__all__ = [
    "NODE_ADDRESS_EXTERNAL_IP",
    "NODE_ADDRESS_HOSTNAME",
    "NODE_ADDRESS_INTERNAL_IP",
    "NODE_CONDITION_DISK_PRESSURE",
    "NODE_CONDITION_MEMORY_PRESSURE",
    "NODE_CONDITION_NETWORK_UNAVAILABLE",
    "NODE_CONDITION_PID_PRESSURE",
    "NODE_CONDITION_READY",
    "DaemonEndpoint",
    "Node",
    "NodeAddress",
    "NodeCondition",
    "NodeDaemonEndpoints",
    "NodeList",
    "NodePodPreemptionPolicy",
    "NodeSpec",
    "NodeStatus",
    "NodeSwapStatus",
    "NodeSystemInfo",
]

NODE_CONDITION_READY: Final = "Ready"
NODE_CONDITION_MEMORY_PRESSURE: Final = "MemoryPressure"
NODE_CONDITION_DISK_PRESSURE: Final = "DiskPressure"
NODE_CONDITION_PID_PRESSURE: Final = "PIDPressure"
NODE_CONDITION_NETWORK_UNAVAILABLE: Final = "NetworkUnavailable"

NODE_ADDRESS_HOSTNAME: Final = "Hostname"
NODE_ADDRESS_INTERNAL_IP: Final = "InternalIP"
NODE_ADDRESS_EXTERNAL_IP: Final = "ExternalIP"


class NodePodPreemptionPolicy(Struct):
    """Who asked that growing a pod in place preempt nobody on this node."""

    disable_resize_preemption: tuple[str, ...] = ()


class NodeSpec(Struct):
    """What is wanted of a node."""

    pod_cidr: str = field(default="", name="podCIDR")
    pod_cidrs: tuple[str, ...] = field(default=(), name="podCIDRs")
    provider_id: str = field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    config_source: Carried = None
    external_id: str = field(default="", name="externalID")
    pod_preemption_policy: NodePodPreemptionPolicy | None = None


class NodeCondition(Struct):
    """One aspect of a node's state, and when the node last confirmed it."""

    type: str = always("")
    status: str = always("")
    last_heartbeat_time: Time | None = always(None)
    last_transition_time: Time | None = always(None)
    reason: str = ""
    message: str = ""


class NodeAddress(Struct):
    """A name or an address the node can be reached at."""

    type: str = always("")
    address: str = always("")


class DaemonEndpoint(Struct):
    """A port on the node; the one member of the API that upstream writes with a capital."""

    # A factory other than dict writes the member even when zero, as always() does.
    port: Int32 = always(0, name="Port")


class NodeDaemonEndpoints(Struct):
    """Where the node's own services listen."""

    kubelet_endpoint: DaemonEndpoint = always(DaemonEndpoint)


class NodeSwapStatus(Struct):
    """How much swap the node has."""

    capacity: Int64 | None = None


class NodeSystemInfo(Struct):
    """Which machine and which software a node is; the boot changes with every restart."""

    machine_id: str = always("", name="machineID")
    system_uuid: str = always("", name="systemUUID")
    boot_id: str = always("", name="bootID")
    kernel_version: str = always("")
    os_image: str = always("")
    container_runtime_version: str = always("")
    kubelet_version: str = always("")
    kube_proxy_version: str = always("")
    operating_system: str = always("")
    architecture: str = always("")
    swap: NodeSwapStatus | None = None
    running_in_user_namespace: bool | None = None


class NodeStatus(Struct):
    """What a node has, and how it is."""

    capacity: Mapping[str, Quantity] = field(default_factory=dict)
    allocatable: Mapping[str, Quantity] = field(default_factory=dict)
    phase: str = ""
    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    daemon_endpoints: NodeDaemonEndpoints = always(NodeDaemonEndpoints)
    node_info: NodeSystemInfo = always(NodeSystemInfo)
    images: Carried = None
    volumes_in_use: tuple[str, ...] = ()
    volumes_attached: Carried = None
    config: Carried = None
    runtime_handlers: Carried = None
    features: Carried = None
    declared_features: tuple[str, ...] = ()


class Node(Object):
    """A machine pods run on."""

    api_version: str = always("v1")
    kind: str = always("Node")
    spec: NodeSpec = always(NodeSpec)
    status: NodeStatus = always(NodeStatus)


class NodeList(Struct):
    """Several nodes."""

    api_version: str = always("v1")
    kind: str = always("NodeList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Node, ...] | None = always(None)
