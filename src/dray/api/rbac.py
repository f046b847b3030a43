"""rbac.authorization.k8s.io/v1: who may do what.

Upstream counterpart: k8s.io/api/rbac/v1.
"""

from __future__ import annotations

from typing import Final

from msgspec import field

from dray.api.meta import LabelSelector, ListMeta, Object
from dray.api.wire import Struct, always

__all__ = [
    "ALL",
    "API_GROUP",
    "SUBJECT_GROUP",
    "SUBJECT_SERVICE_ACCOUNT",
    "SUBJECT_USER",
    "AggregationRule",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "ClusterRoleList",
    "PolicyRule",
    "Role",
    "RoleBinding",
    "RoleBindingList",
    "RoleList",
    "RoleRef",
    "Subject",
]

API_GROUP: Final = "rbac.authorization.k8s.io"

# Stands for every verb, API group, resource or path of a rule.
ALL: Final = "*"

SUBJECT_USER: Final = "User"
SUBJECT_GROUP: Final = "Group"
SUBJECT_SERVICE_ACCOUNT: Final = "ServiceAccount"


class PolicyRule(Struct):
    """Verbs on resources, or on paths that are none."""

    verbs: tuple[str, ...] | None = always(None)
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = field(default=(), name="nonResourceURLs")


class Subject(Struct):
    """A user, a group or a service account."""

    kind: str = always("")
    api_group: str = ""
    name: str = always("")
    namespace: str = ""


class RoleRef(Struct):
    """The role a binding grants."""

    api_group: str = always("")
    kind: str = always("")
    name: str = always("")


class AggregationRule(Struct):
    """Which cluster roles this one is the sum of; any selector may match."""

    cluster_role_selectors: tuple[LabelSelector, ...] = ()


class Role(Object):
    """What may be done in one namespace."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("Role")
    rules: tuple[PolicyRule, ...] | None = always(None)


class RoleList(Struct):
    """Several roles."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("RoleList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Role, ...] | None = always(None)


class ClusterRole(Object):
    """What may be done anywhere, or in whichever namespace a role binding grants it."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("ClusterRole")
    rules: tuple[PolicyRule, ...] | None = always(None)
    aggregation_rule: AggregationRule | None = None


class ClusterRoleList(Struct):
    """Several cluster roles."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("ClusterRoleList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ClusterRole, ...] | None = always(None)


class RoleBinding(Object):
    """Grants a role, or a cluster role, in one namespace."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("RoleBinding")
    subjects: tuple[Subject, ...] = ()
    role_ref: RoleRef = always(RoleRef)


class RoleBindingList(Struct):
    """Several role bindings."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("RoleBindingList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[RoleBinding, ...] | None = always(None)


class ClusterRoleBinding(Object):
    """Grants a cluster role everywhere."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("ClusterRoleBinding")
    subjects: tuple[Subject, ...] = ()
    role_ref: RoleRef = always(RoleRef)


class ClusterRoleBindingList(Struct):
    """Several cluster role bindings."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("ClusterRoleBindingList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ClusterRoleBinding, ...] | None = always(None)
