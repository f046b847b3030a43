"""Nodes, namespaces, events, configuration, access and the rest, as tables show them.

Upstream counterpart: the printers of these kinds in pkg/printers/internalversion.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dray.api import coordination, core, rbac, scheduling
from dray.api.quantity import Quantity
from dray.server.tables.durations import UNKNOWN, age
from dray.server.tables.printer import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    Cells,
    Column,
    Printer,
    created_at,
    name_and_age,
)

__all__ = [
    "BINDINGS",
    "CONFIG_MAPS",
    "EVENTS",
    "LEASES",
    "NAMESPACES",
    "NODES",
    "PLAIN",
    "PRIORITY_CLASSES",
    "QUOTAS",
    "SECRETS",
    "SERVICE_ACCOUNTS",
    "binding_cells",
    "config_map_cells",
    "event_cells",
    "lease_cells",
    "namespace_cells",
    "node_cells",
    "priority_class_cells",
    "quota_cells",
    "secret_cells",
]

# Kinds without columns of their own: roles, limit ranges, definitions.
PLAIN: Final = Printer((NAME, CREATED_AT), created_at)
SERVICE_ACCOUNTS: Final = Printer((NAME, AGE), name_and_age)


# Nodes -----------------------------------------------------------------------------------------

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE_LABEL: Final = "kubernetes.io/role"


def node_cells(node: core.Node, now: datetime) -> Cells:
    """The cells of a node."""
    info = node.status.node_info
    kernel = info.kernel_version or UNKNOWN
    return [
        node.metadata.name,
        _node_status(node),
        ",".join(sorted(_roles(node))) or NONE,
        age(node.metadata.creation_timestamp, now),
        info.kubelet_version,
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        info.os_image or UNKNOWN,
        f"{kernel} ({info.architecture})" if info.architecture else kernel,
        info.container_runtime_version or UNKNOWN,
    ]


def _node_status(node: core.Node) -> str:
    ready = {one.type: one.status for one in node.status.conditions}.get("Ready")
    status = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if node.spec.unschedulable else status


def _roles(node: core.Node) -> set[str]:
    roles = set()
    for key, value in node.metadata.labels.items():
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE_LABEL:
            roles.add(value)
    return roles - {""}


def _address(node: core.Node, kind: str) -> str:
    for address in node.status.addresses:
        if address.type == kind:
            return address.address
    return NONE


NODES: Final = Printer(
    (
        NAME,
        Column("Status", "Whether the node is ready, and takes pods."),
        Column("Roles", "What the node is for, by its labels."),
        AGE,
        Column("Version", "The version of the node's agent."),
        Column("Internal-IP", "The node's first address inside the cluster.", priority=1),
        Column("External-IP", "The node's first address outside the cluster.", priority=1),
        Column("OS-Image", "The operating system.", priority=1),
        Column("Kernel-Version", "The kernel, and the processor's architecture.", priority=1),
        Column("Container-Runtime", "What runs the containers.", priority=1),
    ),
    node_cells,
    core.Node,
)


# Namespaces ------------------------------------------------------------------------------------


def namespace_cells(namespace: core.Namespace, now: datetime) -> Cells:
    """The cells of a namespace."""
    metadata = namespace.metadata
    return [metadata.name, namespace.status.phase, age(metadata.creation_timestamp, now)]


NAMESPACES: Final = Printer(
    (NAME, Column("Status", "Whether the namespace is in use or on its way out."), AGE),
    namespace_cells,
    core.Namespace,
)


# Events ----------------------------------------------------------------------------------------


def event_cells(event: core.Event, now: datetime) -> Cells:
    """The cells of an event, in core's form, which is how events are stored."""
    first = age(event.first_timestamp or event.event_time, now)
    last = age(event.last_timestamp, now) if event.last_timestamp else first
    count = event.count or 1
    if event.series is not None:
        last, count = age(event.series.last_observed_time, now), event.series.count
    target = event.involved_object
    kind = target.kind.lower()
    component = event.source.component or event.reporting_component
    instance = event.source.host or event.reporting_instance
    return [
        last,
        event.type,
        event.reason,
        f"{kind}/{target.name}" if target.name else kind,
        target.field_path,
        f"{component}, {instance}" if instance else component,
        event.message.strip(),
        first,
        count,
        event.metadata.name,
    ]


EVENTS: Final = Printer(
    (
        Column("Last Seen", "How long ago it happened last."),
        Column("Type", "Whether it is normal or a warning."),
        Column("Reason", "What happened, in one word."),
        Column("Object", "What it happened to."),
        Column("Subobject", "The part of the object that is meant.", priority=1),
        Column("Source", "Who reports it, and from where.", priority=1),
        Column("Message", "What happened."),
        Column("First Seen", "How long ago it happened first.", priority=1),
        Column("Count", "How often it happened.", priority=1),
        Column("Name", "What the event is called.", priority=1, format="name"),
    ),
    event_cells,
    core.Event,
)


# Configuration ---------------------------------------------------------------------------------


def config_map_cells(config_map: core.ConfigMap, now: datetime) -> Cells:
    """The cells of a config map."""
    count = len(config_map.data) + len(config_map.binary_data)
    metadata = config_map.metadata
    return [metadata.name, count, age(metadata.creation_timestamp, now)]


CONFIG_MAPS: Final = Printer(
    (NAME, Column("Data", "How many entries there are."), AGE), config_map_cells, core.ConfigMap
)


def secret_cells(secret: core.Secret, now: datetime) -> Cells:
    """The cells of a secret."""
    metadata = secret.metadata
    return [metadata.name, secret.type, len(secret.data), age(metadata.creation_timestamp, now)]


SECRETS: Final = Printer(
    (
        NAME,
        Column("Type", "What the entries are for."),
        Column("Data", "How many entries there are."),
        AGE,
    ),
    secret_cells,
    core.Secret,
)


def quota_cells(quota: core.ResourceQuota, now: datetime) -> Cells:
    """The cells of a quota: what is used of what is there."""
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted(quota.status.hard.items()):
        used = quota.status.used.get(name, _ZERO)
        told = f"{name}: {used}/{hard}"
        (limits if name.startswith("limits.") else requests).append(told)
    metadata = quota.metadata
    return [
        metadata.name,
        ", ".join(requests),
        ", ".join(limits),
        age(metadata.creation_timestamp, now),
    ]


_ZERO: Final = Quantity.parse("0")

QUOTAS: Final = Printer(
    (
        NAME,
        Column("Request", "What is used, of what may be asked for."),
        Column("Limit", "What is used, of what may be the limit."),
        AGE,
    ),
    quota_cells,
    core.ResourceQuota,
)


# Access and the rest ---------------------------------------------------------------------------


def binding_cells(binding: rbac.RoleBinding | rbac.ClusterRoleBinding, now: datetime) -> Cells:
    """The cells of a binding: who has which role."""
    users, groups, accounts = [], [], []
    for subject in binding.subjects:
        if subject.kind == "ServiceAccount":
            accounts.append(f"{subject.namespace}/{subject.name}")
        elif subject.kind == "User":
            users.append(subject.name)
        elif subject.kind == "Group":
            groups.append(subject.name)
    return [
        binding.metadata.name,
        f"{binding.role_ref.kind}/{binding.role_ref.name}",
        age(binding.metadata.creation_timestamp, now),
        *(", ".join(names) for names in (users, groups, accounts)),
    ]


BINDINGS: Final = Printer(
    (
        NAME,
        Column("Role", "What the subjects may do."),
        AGE,
        Column("Users", "The users among the subjects.", priority=1),
        Column("Groups", "The groups among the subjects.", priority=1),
        Column("ServiceAccounts", "The service accounts among the subjects.", priority=1),
    ),
    binding_cells,
    rbac.RoleBinding,
)


def lease_cells(lease: coordination.Lease, now: datetime) -> Cells:
    """The cells of a lease."""
    metadata = lease.metadata
    return [metadata.name, lease.spec.holder_identity or "", age(metadata.creation_timestamp, now)]


LEASES: Final = Printer(
    (NAME, Column("Holder", "Who holds the lease."), AGE), lease_cells, coordination.Lease
)


def priority_class_cells(priority_class: scheduling.PriorityClass, now: datetime) -> Cells:
    """The cells of a priority class."""
    metadata = priority_class.metadata
    return [
        metadata.name,
        priority_class.value,
        priority_class.global_default,
        age(metadata.creation_timestamp, now),
        priority_class.preemption_policy or "",
    ]


PRIORITY_CLASSES: Final = Printer(
    (
        NAME,
        Column("Value", "The priority; higher ones come first.", type="integer"),
        Column("Global-Default", "Whether pods that name no class get it.", type="boolean"),
        AGE,
        Column("PreemptionPolicy", "Whether pods of the class may displace others."),
    ),
    priority_class_cells,
    scheduling.PriorityClass,
)
