"""How a server treats each kind, beyond what the objects say: a table of switches.

Upstream counterpart: the small methods of the strategies in pkg/registry (AllowCreateOnUpdate,
AllowUnconditionalUpdate, GetResetFields, DefaultGarbageCollectionPolicy) and
ReturnDeletedObject of the stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api.pod_strategy import RESET_FIELDS, STATUS_RESET_FIELDS
from dray.api.strategy import STRATEGIES, Strategy

__all__ = ["ORPHANING_KINDS", "traits_of"]

_V1: Final = frozenset({"v1"})

# By default a deletion is answered with a Status here; upstream's table of exceptions is the
# kinds whose object comes back instead.
_STATUS: Final = Strategy(deletion_status_versions=_V1)


def _workload(*status_resets: str) -> Strategy:
    return Strategy(
        deletion_status_versions=_V1,
        counts_generations=True,
        reset_fields=("status",),
        status_reset_fields=("spec", *status_resets),
    )


_CREATED_BY_UPDATE: Final = Strategy(allow_create_on_update=True, deletion_status_versions=_V1)

_TRAITS: Final[Mapping[tuple[str, str], Strategy]] = {
    ("", "Pod"): Strategy(
        counts_generations=True,
        reset_fields=RESET_FIELDS,
        status_reset_fields=STATUS_RESET_FIELDS,
    ),
    ("", "Node"): Strategy(
        deletion_status_versions=_V1, reset_fields=("status",), status_reset_fields=("spec",)
    ),
    ("", "Namespace"): Strategy(reset_fields=("status",), status_reset_fields=("spec",)),
    ("", "ServiceAccount"): Strategy(),
    ("", "Event"): _CREATED_BY_UPDATE,
    ("", "LimitRange"): _CREATED_BY_UPDATE,
    ("", "ResourceQuota"): Strategy(reset_fields=("status",), status_reset_fields=("spec",)),
    ("events.k8s.io", "Event"): _CREATED_BY_UPDATE,
    ("coordination.k8s.io", "Lease"): Strategy(
        allow_create_on_update=True,
        conditional_update_versions=_V1,
        deletion_status_versions=_V1,
    ),
    ("apps", "Deployment"): _workload("metadata.labels"),
    ("apps", "ReplicaSet"): _workload(),
    ("apps", "DaemonSet"): _workload(),
    ("batch", "Job"): _workload(),
    ("policy", "PodDisruptionBudget"): Strategy(
        conditional_update_versions=_V1,
        deletion_status_versions=_V1,
        counts_generations=True,
        reset_fields=("status",),
        status_reset_fields=("spec",),
    ),
    ("rbac.authorization.k8s.io", "Role"): _CREATED_BY_UPDATE,
    ("rbac.authorization.k8s.io", "RoleBinding"): _CREATED_BY_UPDATE,
    ("rbac.authorization.k8s.io", "ClusterRole"): _CREATED_BY_UPDATE,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _CREATED_BY_UPDATE,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Strategy(
        counts_generations=True,
        conditional_update_versions=_V1,
        deletion_status_versions=_V1,
        reset_fields=("status",),
        status_reset_fields=("metadata", "spec"),
    ),
}

# Whose dependents stay when a deletion does not say otherwise.
ORPHANING_KINDS: Final = frozenset({("batch", "Job")})


def traits_of(group: str, kind: str) -> Strategy:
    """How the server treats this kind."""
    if group == "resource.k8s.io":
        return STRATEGIES[kind]
    return _TRAITS.get((group, kind), _STATUS)
