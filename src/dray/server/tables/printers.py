"""Which printer a kind has.

Every version of a kind prints alike, from the version it is stored in; events of both groups are
one. What is not listed shows its name and when it was made.
"""

from __future__ import annotations

from typing import Final

from dray.server.tables import devices, plain_kinds, pods, workloads
from dray.server.tables.printer import Printer

__all__ = ["printer_of"]

_DRA: Final = "resource.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"

_PRINTERS: Final = {
    ("", "Pod"): pods.PODS,
    ("", "Node"): plain_kinds.NODES,
    ("", "Namespace"): plain_kinds.NAMESPACES,
    ("", "Event"): plain_kinds.EVENTS,
    ("events.k8s.io", "Event"): plain_kinds.EVENTS,
    ("", "ConfigMap"): plain_kinds.CONFIG_MAPS,
    ("", "Secret"): plain_kinds.SECRETS,
    ("", "ServiceAccount"): plain_kinds.SERVICE_ACCOUNTS,
    ("", "ResourceQuota"): plain_kinds.QUOTAS,
    ("apps", "Deployment"): workloads.DEPLOYMENTS,
    ("apps", "ReplicaSet"): workloads.REPLICA_SETS,
    ("apps", "DaemonSet"): workloads.DAEMON_SETS,
    ("apps", "ControllerRevision"): workloads.REVISIONS,
    ("batch", "Job"): workloads.JOBS,
    ("policy", "PodDisruptionBudget"): workloads.DISRUPTION_BUDGETS,
    ("coordination.k8s.io", "Lease"): plain_kinds.LEASES,
    (_RBAC, "RoleBinding"): plain_kinds.BINDINGS,
    (_RBAC, "ClusterRoleBinding"): plain_kinds.BINDINGS,
    ("scheduling.k8s.io", "PriorityClass"): plain_kinds.PRIORITY_CLASSES,
    (_DRA, "DeviceClass"): devices.DEVICE_CLASSES,
    (_DRA, "ResourceClaim"): devices.CLAIMS,
    (_DRA, "ResourceClaimTemplate"): devices.TEMPLATES,
    (_DRA, "ResourceSlice"): devices.SLICES,
    (_DRA, "DeviceTaintRule"): devices.TAINT_RULES,
    (_DRA, "ResourcePoolStatusRequest"): devices.POOL_STATUS_REQUESTS,
}


def printer_of(group: str, kind: str) -> Printer:
    """How objects of a built-in kind become rows."""
    return _PRINTERS.get((group, kind), plain_kinds.PLAIN)
