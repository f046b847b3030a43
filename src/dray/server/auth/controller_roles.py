"""What controllers may do, each through a service account of its own in kube-system.

Names and rules are upstream's, so that either side's controllers run with either side's roles;
controllers of kinds this server does not have are left out. Upstream counterpart:
bootstrappolicy/controller_policy.go, with the feature gates that are on by default and those of
pool status requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["CONTROLLER_ROLES"]

# By the name of the service account; the role is system:controller:NAME.
CONTROLLER_ROLES: Final[Mapping[str, str]] = {
    # Whatever it gathers into a role, it must be able to write there.
    "clusterrole-aggregation-controller": """
read patch update escalate | rbac.authorization.k8s.io | clusterroles
""",
    "daemon-set-controller": """
read | apps extensions | daemonsets
update | apps extensions | daemonsets/status daemonsets/finalizers
list watch | core | nodes
list watch create delete patch | core | pods
create | core | pods/binding
read create delete patch update | apps | controllerrevisions
events
""",
    "deployment-controller": """
read update | apps extensions | deployments
update | apps extensions | deployments/status deployments/finalizers
read create delete patch update | apps extensions | replicasets
read update | core | pods
events
""",
    "device-taint-eviction-controller": """
read delete | core | pods
patch update | core | pods/status
read | resource.k8s.io | resourceclaims resourceslices deviceclasses devicetaintrules
patch update | resource.k8s.io | devicetaintrules/status
events
""",
    "disruption-controller": """
read | apps extensions | deployments replicasets
read | apps | statefulsets
read | core | replicationcontrollers
read | policy | poddisruptionbudgets
update | policy | poddisruptionbudgets/status
patch update | core | pods/status
get | * | */scale
events
""",
    "generic-garbage-collector": """
read delete patch update | * | *
events
""",
    "job-controller": """
read patch update | batch | jobs
update | batch | jobs/status jobs/finalizers
list watch create delete patch | core | pods
events
""",
    "namespace-controller": """
read delete | core | namespaces
update | core | namespaces/finalize namespaces/status
read delete deletecollection | * | *
""",
    "node-controller": """
read delete patch update | core | nodes
patch update | core | nodes/status pods/status
read delete | core | pods
read | coordination.k8s.io | leases
events
""",
    "pod-garbage-collector": """
list watch delete | core | pods
read | core | nodes
patch | core | pods/status
""",
    "replicaset-controller": """
read update | apps extensions | replicasets
update | apps extensions | replicasets/status replicasets/finalizers
list watch create delete patch | core | pods
events
""",
    "resource-claim-controller": """
read | core | pods
update | core | pods/finalizers
patch update | core | pods/status
read create delete patch update | resource.k8s.io | resourceclaims
patch update | resource.k8s.io | resourceclaims/status resourceclaims/binding
events
""",
    "resourcepoolstatusrequest-controller": """
read delete | resource.k8s.io | resourcepoolstatusrequests
patch update | resource.k8s.io | resourcepoolstatusrequests/status
read | resource.k8s.io | resourceslices resourceclaims devicetaintrules
events
""",
    # A quota may count anything.
    "resourcequota-controller": """
list watch | * | *
update | core | resourcequotas/status
events
""",
    "root-ca-cert-publisher": """
create update | core | configmaps
events
""",
    "service-account-controller": """
create | core | serviceaccounts
events
""",
    "ttl-after-finished-controller": """
read delete | batch | jobs
events
""",
}
