"""What a Node object says: pure functions from the machine and the agent's state to API objects.

Texts and reasons are upstream's, also where they say kubelet: tools look for them. Upstream
counterpart: pkg/kubelet/nodestatus and the first half of pkg/kubelet/kubelet_node_status.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from typing import Final

import dray
from dray.agent.node.machine import Machine
from dray.agent.runtimes.runtime import RuntimeInfo
from dray.api.core import (
    NODE_ADDRESS_HOSTNAME,
    NODE_ADDRESS_INTERNAL_IP,
    NODE_CONDITION_DISK_PRESSURE,
    NODE_CONDITION_MEMORY_PRESSURE,
    NODE_CONDITION_PID_PRESSURE,
    NODE_CONDITION_READY,
    RESOURCE_CPU,
    RESOURCE_EPHEMERAL_STORAGE,
    RESOURCE_MEMORY,
    RESOURCE_PODS,
    DaemonEndpoint,
    Node,
    NodeAddress,
    NodeCondition,
    NodeDaemonEndpoints,
    NodeSpec,
    NodeStatus,
    NodeSystemInfo,
    Taint,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Format, Quantity
from dray.api.wire import Time
from dray.errors import ConfigurationError, quote

__all__ = ["KUBELET_VERSION", "NodeDescription", "capacity_of", "initial_node", "node_status"]

# Whose behaviour a node has, and who gives it.
KUBELET_VERSION: Final = f"v1.37.1+dray.{dray.__version__}"

# A kubelet's defaults.
KUBELET_PORT: Final = 10250
PODS_MAX: Final = 110

_ZERO: Final = Quantity.from_int(0)

# Pods are not evicted here for lack of anything, so pressure is never reported.
_WITHOUT_PRESSURE: Final = (
    (
        NODE_CONDITION_MEMORY_PRESSURE,
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    (NODE_CONDITION_DISK_PRESSURE, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    (
        NODE_CONDITION_PID_PRESSURE,
        "KubeletHasSufficientPID",
        "kubelet has sufficient PID available",
    ),
)


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """A node, as far as it does not change while the agent runs."""

    name: str
    machine: Machine
    runtime: RuntimeInfo
    # Only for a node that does not exist yet, as with a kubelet: later they are the cluster's.
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    port: int = KUBELET_PORT
    pods_max: int = PODS_MAX
    # Instead of, or beside, what the machine has.
    capacity: Mapping[str, Quantity] = field(default_factory=dict)
    # Of the capacity, what pods do not get.
    reserved: Mapping[str, Quantity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for address in self.machine.addresses:
            try:
                ip_address(address)
            except ValueError:
                text = f"node {self.name}: address {quote(address)} must be an IP address"
                raise ConfigurationError(text) from None

    @property
    def own_labels(self) -> Mapping[str, str]:
        """Labels that are the node's business at all times."""
        machine = self.machine
        return {
            "kubernetes.io/hostname": machine.hostname or self.name,
            "kubernetes.io/os": machine.operating_system,
            "kubernetes.io/arch": machine.architecture,
            "beta.kubernetes.io/os": machine.operating_system,
            "beta.kubernetes.io/arch": machine.architecture,
        }


def capacity_of(
    machine: Machine, *, pods_max: int, instead: Mapping[str, Quantity]
) -> dict[str, Quantity]:
    """What a node has: what its machine has, or what is said instead."""
    return {
        RESOURCE_CPU: Quantity.from_int(machine.cpu_count),
        RESOURCE_MEMORY: Quantity.from_int(machine.memory_bytes, Format.BINARY_SI),
        RESOURCE_EPHEMERAL_STORAGE: Quantity.from_int(machine.storage_bytes, Format.BINARY_SI),
        RESOURCE_PODS: Quantity.from_int(pods_max),
        **instead,
    }


def initial_node(
    description: NodeDescription, *, problems: Sequence[str] = (), now: datetime
) -> Node:
    """The object to create."""
    return Node(
        metadata=ObjectMeta(
            name=description.name, labels={**description.labels, **description.own_labels}
        ),
        spec=NodeSpec(taints=description.taints),
        status=node_status(description, NodeStatus(), problems=problems, now=now),
    )


def node_status(
    description: NodeDescription, old: NodeStatus, *, problems: Sequence[str] = (), now: datetime
) -> NodeStatus:
    """What the status shall say, with nothing in it that others wrote.

    `problems` keep the node from being ready. Conditions that stay what they are keep the time
    since when.
    """
    capacity = capacity_of(
        description.machine, pods_max=description.pods_max, instead=description.capacity
    )
    allocatable = {
        name: max(amount - description.reserved.get(name, _ZERO), _ZERO)
        for name, amount in capacity.items()
    }
    return NodeStatus(
        capacity=capacity,
        allocatable=allocatable,
        conditions=_conditions(old, problems, now),
        addresses=_addresses(description),
        daemon_endpoints=NodeDaemonEndpoints(
            kubelet_endpoint=DaemonEndpoint(port=description.port)
        ),
        node_info=_info(description),
    )


def _conditions(
    old: NodeStatus, problems: Sequence[str], now: datetime
) -> tuple[NodeCondition, ...]:
    before = {condition.type: condition for condition in old.conditions}
    time = Time(now)

    def condition(kind: str, status: str, reason: str, message: str) -> NodeCondition:
        known = before.get(kind)
        same = known is not None and known.status == status
        return NodeCondition(
            type=kind,
            status=status,
            last_heartbeat_time=time,
            last_transition_time=known.last_transition_time if known and same else time,
            reason=reason,
            message=message,
        )

    pressures = [condition(kind, "False", *texts) for kind, *texts in _WITHOUT_PRESSURE]
    if problems:
        # As Go shows several errors at once.
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        ready = condition(NODE_CONDITION_READY, "False", "KubeletNotReady", text)
    else:
        message = "kubelet is posting ready status"
        ready = condition(NODE_CONDITION_READY, "True", "KubeletReady", message)
    return (*pressures, ready)


def _addresses(description: NodeDescription) -> tuple[NodeAddress, ...]:
    machine = description.machine
    internal = (
        NodeAddress(type=NODE_ADDRESS_INTERNAL_IP, address=str(ip_address(address)))
        for address in machine.addresses
    )
    hostname = machine.hostname or description.name
    return (*internal, NodeAddress(type=NODE_ADDRESS_HOSTNAME, address=hostname))


def _info(description: NodeDescription) -> NodeSystemInfo:
    machine, runtime = description.machine, description.runtime
    return NodeSystemInfo(
        machine_id=machine.machine_id,
        system_uuid=machine.system_uuid,
        boot_id=machine.boot_id,
        kernel_version=machine.kernel_version,
        os_image=machine.os_image,
        container_runtime_version=f"{runtime.name}://{runtime.version}",
        kubelet_version=KUBELET_VERSION,
        operating_system=machine.operating_system,
        architecture=machine.architecture,
    )
