"""The roles and bindings every cluster starts with.

Names, rules and subjects are upstream's, so that what people know about them stays true: `view`
does not show secrets, `edit` does not touch quotas, `admin` may hand out what it has. Roles of
parts this server has nothing to do with (certificates, volume provisioning, service routing) are
left out. Rules that name kinds it lacks are kept: nobody gains by them, and roles compare equal.

How they are brought into a cluster that has its own version of them is in `reconciliation`.
Upstream counterpart: plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from dray.api.meta import LabelSelector, Object, ObjectMeta
from dray.api.rbac import (
    API_GROUP,
    SUBJECT_GROUP,
    SUBJECT_SERVICE_ACCOUNT,
    SUBJECT_USER,
    AggregationRule,
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from dray.server.auth.controller_roles import CONTROLLER_ROLES
from dray.server.auth.role_notation import parse_rules

__all__ = ["AUTO_UPDATE", "default_objects", "node_rules"]

# "false" on an object keeps the server from bringing it up to date.
AUTO_UPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"

_SYSTEM_NAMESPACE: Final = "kube-system"
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS: Final = {AUTO_UPDATE: "true"}
_AGGREGATE_TO: Final = "rbac.authorization.k8s.io/aggregate-to-"

_CLUSTER_ROLES: Final[Mapping[str, str]] = {
    "cluster-admin": """
* | * | *
* | *
""",
    "system:aggregate-to-admin": """
create | authorization.k8s.io | localsubjectaccessreviews
read write | rbac.authorization.k8s.io | roles rolebindings
""",
    "system:aggregate-to-edit": """
read write | core | pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy
write | core | pods configmaps persistentvolumeclaims replicationcontrollers
  replicationcontrollers/scale serviceaccounts services
create | core | pods/eviction serviceaccounts/token
impersonate | core | serviceaccounts
write | core events.k8s.io | events
write | apps | daemonsets deployments deployments/rollback deployments/scale replicasets
  replicasets/scale statefulsets statefulsets/scale
write | autoscaling | horizontalpodautoscalers
write | batch | cronjobs jobs
write | extensions | daemonsets deployments deployments/rollback deployments/scale ingresses
  networkpolicies replicasets replicasets/scale replicationcontrollers/scale
write | policy | poddisruptionbudgets
write | networking.k8s.io | ingresses networkpolicies
read write | coordination.k8s.io | leases
write | resource.k8s.io | resourceclaims resourceclaimtemplates
""",
    "system:aggregate-to-view": """
read | core | pods pods/log pods/status configmaps endpoints serviceaccounts services
  services/status persistentvolumeclaims persistentvolumeclaims/status replicationcontrollers
  replicationcontrollers/scale replicationcontrollers/status bindings limitranges namespaces
  namespaces/status resourcequotas resourcequotas/status
read | core events.k8s.io | events
read | discovery.k8s.io | endpointslices
read | apps | controllerrevisions daemonsets daemonsets/status deployments deployments/scale
  deployments/status replicasets replicasets/scale replicasets/status statefulsets
  statefulsets/scale statefulsets/status
read | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status
read | batch | cronjobs cronjobs/status jobs jobs/status
read | extensions | daemonsets daemonsets/status deployments deployments/scale
  deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale
  replicasets/status replicationcontrollers/scale
read | policy | poddisruptionbudgets poddisruptionbudgets/status
read | networking.k8s.io | ingresses ingresses/status networkpolicies
read | resource.k8s.io | resourceclaims resourceclaims/status resourceclaimtemplates
""",
    "system:auth-delegator": """
create | authentication.k8s.io | tokenreviews
create | authorization.k8s.io | subjectaccessreviews
""",
    "system:basic-user": """
create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews
create | authentication.k8s.io | selfsubjectreviews
""",
    "system:discovery": """
get | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/
""",
    "system:kube-controller-manager": """
events
create | coordination.k8s.io | leases
get update | coordination.k8s.io | leases | kube-controller-manager
get create update | core | secrets serviceaccounts
delete | core | secrets
get | core | namespaces configmaps
create | core | serviceaccounts/token
create | authentication.k8s.io | tokenreviews
create | authorization.k8s.io | subjectaccessreviews
list watch | * | *
""",
    "system:kube-scheduler": """
events
create | coordination.k8s.io | leases
read update | coordination.k8s.io | leases | kube-scheduler
read write | coordination.k8s.io | leasecandidates
read | core | nodes namespaces services replicationcontrollers persistentvolumeclaims
  persistentvolumes
read delete | core | pods
create | core | pods/binding bindings
patch update | core | pods/status
update | core | pods/finalizers
read | apps extensions | replicasets
read | apps | statefulsets
read | policy | poddisruptionbudgets
read | storage.k8s.io | csidrivers csinodes csistoragecapacities volumeattachments
read | resource.k8s.io | deviceclasses resourceslices devicetaintrules
read create delete patch update | resource.k8s.io | resourceclaims
read patch update | resource.k8s.io | resourceclaims/status
patch update | resource.k8s.io | resourceclaims/binding
create | authentication.k8s.io | tokenreviews
create | authorization.k8s.io | subjectaccessreviews
""",
    "system:kubelet-api-admin": """
read proxy | core | nodes
* | core | nodes/configz nodes/healthz nodes/log nodes/metrics nodes/pods nodes/proxy nodes/stats
""",
    "system:monitoring": """
get | /flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz
get | core | nodes/metrics
""",
    "system:node": """
create | authentication.k8s.io | tokenreviews
create | authorization.k8s.io | localsubjectaccessreviews subjectaccessreviews
events
read | core | services configmaps secrets
read create patch update | core | nodes
patch update | core | nodes/status pods/status
read create delete | core | pods
create | core | pods/eviction serviceaccounts/token
get | core | endpoints persistentvolumeclaims persistentvolumes serviceaccounts
get patch update | core | persistentvolumeclaims/status
read create | certificates.k8s.io | certificatesigningrequests podcertificaterequests
read | certificates.k8s.io | clustertrustbundles
get create delete patch update | coordination.k8s.io | leases
get | storage.k8s.io | volumeattachments
read | storage.k8s.io | csidrivers
get create delete patch update | storage.k8s.io | csinodes
read | node.k8s.io | runtimeclasses
get | resource.k8s.io | resourceclaims
deletecollection | resource.k8s.io | resourceslices
""",
    "system:public-info-viewer": """
get | /healthz /livez /readyz /version /version/
""",
    "system:service-account-issuer-discovery": """
get | /.well-known/openid-configuration /.well-known/openid-configuration/
  /openid/v1/jwks /openid/v1/jwks/
""",
    "system:volume-scheduler": """
read patch update | core | persistentvolumes persistentvolumeclaims
read | storage.k8s.io | storageclasses
""",
}

# Which roles each role is part of.
_PART_OF: Final[Mapping[str, str]] = {
    "system:aggregate-to-admin": "admin",
    "system:aggregate-to-edit": "edit",
    "system:aggregate-to-view": "view",
    "edit": "admin",
    "view": "edit",
}
_AGGREGATED: Final = ("admin", "edit", "view")

# Cluster roles by the subjects they are bound to. The node authorizer does what binding
# system:node would do too generously, so that binding is empty.
_BOUND: Final[Mapping[str, Sequence[str]]] = {
    "cluster-admin": ("group system:masters",),
    "system:basic-user": ("group system:authenticated",),
    "system:discovery": ("group system:authenticated",),
    "system:kube-controller-manager": ("user system:kube-controller-manager",),
    "system:kube-scheduler": ("user system:kube-scheduler",),
    "system:monitoring": ("group system:monitoring",),
    "system:node": (),
    "system:public-info-viewer": ("group system:authenticated", "group system:unauthenticated"),
    "system:service-account-issuer-discovery": ("group system:serviceaccounts",),
    "system:volume-scheduler": ("user system:kube-scheduler",),
}

_LEADER_LOCKING: Final = """
read create update | coordination.k8s.io | leases leasecandidates
"""

# Roles in kube-system.
_SYSTEM_ROLES: Final[Mapping[str, str]] = {
    "extension-apiserver-authentication-reader": """
read | core | configmaps | extension-apiserver-authentication
""",
    "system::leader-locking-kube-controller-manager": _LEADER_LOCKING,
    "system::leader-locking-kube-scheduler": _LEADER_LOCKING,
}

# Bindings in kube-system: their role and subjects.
_SYSTEM_BOUND: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "system::extension-apiserver-authentication-reader": (
        "extension-apiserver-authentication-reader",
        ("user system:kube-controller-manager", "user system:kube-scheduler"),
    ),
    "system::leader-locking-kube-controller-manager": (
        "system::leader-locking-kube-controller-manager",
        (
            "user system:kube-controller-manager",
            "account kube-controller-manager",
            "account leader-election-controller",
        ),
    ),
    "system::leader-locking-kube-scheduler": (
        "system::leader-locking-kube-scheduler",
        ("user system:kube-scheduler", "account kube-scheduler"),
    ),
}


@cache
def node_rules() -> tuple[PolicyRule, ...]:
    """What all nodes may do, where it does not depend on which node."""
    return parse_rules(_CLUSTER_ROLES["system:node"])


def default_objects() -> list[Object]:
    """All roles and bindings to start with; roles come before the bindings that name them."""
    return [
        *_cluster_roles(),
        *_cluster_role_bindings(),
        *(
            Role(metadata=_metadata(name, _SYSTEM_NAMESPACE), rules=parse_rules(text))
            for name, text in _SYSTEM_ROLES.items()
        ),
        *(
            RoleBinding(
                metadata=_metadata(name, _SYSTEM_NAMESPACE),
                subjects=tuple(map(_subject, subjects)),
                role_ref=RoleRef(api_group=API_GROUP, kind="Role", name=role),
            )
            for name, (role, subjects) in _SYSTEM_BOUND.items()
        ),
    ]


def _cluster_roles() -> Iterator[ClusterRole]:
    for name, text in _CLUSTER_ROLES.items():
        yield ClusterRole(metadata=_metadata(name), rules=parse_rules(text))
    for name in _AGGREGATED:
        gathered = LabelSelector(match_labels={f"{_AGGREGATE_TO}{name}": "true"})
        yield ClusterRole(
            metadata=_metadata(name),
            rules=(),
            aggregation_rule=AggregationRule(cluster_role_selectors=(gathered,)),
        )
    for account, text in CONTROLLER_ROLES.items():
        yield ClusterRole(metadata=_metadata(_controller_role(account)), rules=parse_rules(text))


def _cluster_role_bindings() -> Iterator[ClusterRoleBinding]:
    for name, subjects in _BOUND.items():
        yield _cluster_role_binding(name, subjects)
    for account in CONTROLLER_ROLES:
        yield _cluster_role_binding(_controller_role(account), (f"account {account}",))


def _cluster_role_binding(name: str, subjects: Sequence[str]) -> ClusterRoleBinding:
    return ClusterRoleBinding(
        metadata=_metadata(name),
        subjects=tuple(map(_subject, subjects)),
        role_ref=RoleRef(api_group=API_GROUP, kind="ClusterRole", name=name),
    )


def _controller_role(account: str) -> str:
    return f"system:controller:{account}"


def _metadata(name: str, namespace: str = "") -> ObjectMeta:
    whole = _PART_OF.get(name)
    part_of = {f"{_AGGREGATE_TO}{whole}": "true"} if whole else {}
    return ObjectMeta(
        name=name, namespace=namespace, labels=_LABELS | part_of, annotations=_ANNOTATIONS
    )


def _subject(text: str) -> Subject:
    kind, _, name = text.partition(" ")
    if kind == "account":
        return Subject(kind=SUBJECT_SERVICE_ACCOUNT, name=name, namespace=_SYSTEM_NAMESPACE)
    named = SUBJECT_GROUP if kind == "group" else SUBJECT_USER
    return Subject(kind=named, api_group=API_GROUP, name=name)
