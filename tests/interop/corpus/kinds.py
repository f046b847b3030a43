"""One example of every kind that both servers serve, and what may change in it.

The examples are small but complete: they pass validation, touch the fields that matter most for a
kind, and differ from one another, so that an answer meant for one kind is not right for the next.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["KINDS", "Sample", "cases", "merged", "sample"]

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """A kind with an example. `change` is a merge patch that validation accepts."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    body: Object
    change: Object
    # A merge patch that validation refuses.
    refused: Object
    # A merge patch of the status, where the kind has one of its own.
    status: Object | None = None
    names: Callable[[str], str] = field(default=lambda name: name)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str) -> str:
        if self.namespaced:
            return f"{self.root}/namespaces/{namespace}/{self.plural}"
        return f"{self.root}/{self.plural}"

    def path(self, namespace: str, name: str, subresource: str = "") -> str:
        path = f"{self.collection(namespace)}/{name}"
        return f"{path}/{subresource}" if subresource else path

    def make(self, name: str, *, typed: bool = True, **metadata: Any) -> Object:
        """The example under a name, with this metadata; untyped it has no apiVersion and kind."""
        made = copy.deepcopy(self.body)
        head = {"apiVersion": self.api_version, "kind": self.kind} if typed else {}
        given = {key: value for key, value in metadata.items() if value is not None}
        made["metadata"] = {"name": name, **made.get("metadata", {}), **given}
        return {**head, **made}

    def changed(self, name: str, **metadata: Any) -> Object:
        """The example with its change made."""
        changed: Object = merged(self.make(name, **metadata), self.change)
        return changed


def cases(*rows: tuple[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Titles with what they stand for, of any type."""
    return rows


def merged(value: Any, patch: Any) -> Any:
    """A merge patch applied to a plain value."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(value) if isinstance(value, dict) else {}
    for key, item in patch.items():
        if item is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), item)
    return result


CONTAINER: Object = {"name": "main", "image": "registry.example/app:1.0"}
POD_SPEC: Object = {"containers": [CONTAINER]}
TEMPLATE: Object = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
SELECTOR: Object = {"matchLabels": {"app": "web"}}
REQUEST: Object = {
    "name": "gpu",
    "exactly": {
        "deviceClassName": "gpu.example.com",
        "selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}],
    },
}
CLAIM_SPEC: Object = {"devices": {"requests": [REQUEST]}}
CRD_SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
        }
    },
}

RESOURCE = "resource.k8s.io"
RBAC = "rbac.authorization.k8s.io"

_TABLE = (
    Sample(
        "",
        "v1",
        "configmaps",
        "ConfigMap",
        True,
        {"data": {"color": "green", "size": "3"}},
        {"data": {"color": "blue", "shape": "round"}},
        {"data": {"a key with spaces": "x"}},
    ),
    Sample(
        "",
        "v1",
        "secrets",
        "Secret",
        True,
        {"data": {"password": "c2VjcmV0", "user": "c29tZW9uZQ=="}, "type": "Opaque"},
        {"data": {"password": "b3RoZXI="}},
        {"type": "kubernetes.io/tls"},
    ),
    Sample(
        "",
        "v1",
        "pods",
        "Pod",
        True,
        {"spec": POD_SPEC},
        {
            "spec": {
                "containers": [{"name": "main", "image": "registry.example/app:2.0"}],
                "activeDeadlineSeconds": 90,
            }
        },
        {"spec": {"hostname": "Not_A_Host"}},
        {"status": {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}},
    ),
    Sample(
        "",
        "v1",
        "nodes",
        "Node",
        False,
        {
            "spec": {
                "podCIDR": "10.8.0.0/24",
                "podCIDRs": ["10.8.0.0/24"],
                "taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
            }
        },
        {"spec": {"unschedulable": True}},
        {"spec": {"podCIDR": "10.9.0.0/24", "podCIDRs": ["10.9.0.0/24"]}},
        {
            "status": {
                "capacity": {"cpu": "4", "memory": "8Gi"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            }
        },
    ),
    Sample(
        "",
        "v1",
        "namespaces",
        "Namespace",
        False,
        {},
        {"metadata": {"annotations": {"note": "changed"}}},
        {"metadata": {"labels": {"bad label": "x"}}},
        {
            "status": {
                "phase": "Active",
                "conditions": [
                    {
                        "type": "NamespaceContentRemaining",
                        "status": "False",
                        "reason": "ContentRemoved",
                    }
                ],
            }
        },
    ),
    Sample(
        "",
        "v1",
        "events",
        "Event",
        True,
        {
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "web",
                "namespace": "${namespace}",
            },
            "reason": "Pulled",
            "message": "image is there",
            "type": "Normal",
            "source": {"component": "kubelet", "host": "n1"},
            "firstTimestamp": "2026-03-01T10:00:00Z",
            "lastTimestamp": "2026-03-01T10:00:00Z",
            "count": 1,
        },
        {"count": 2, "lastTimestamp": "2026-03-01T10:05:00Z"},
        {"involvedObject": {"namespace": "elsewhere"}},
    ),
    Sample(
        "",
        "v1",
        "serviceaccounts",
        "ServiceAccount",
        True,
        {"automountServiceAccountToken": False, "imagePullSecrets": [{"name": "registry"}]},
        {"automountServiceAccountToken": True},
        {"metadata": {"annotations": {"/bad": "x"}}},
    ),
    Sample(
        "",
        "v1",
        "resourcequotas",
        "ResourceQuota",
        True,
        {"spec": {"hard": {"configmaps": "10", "requests.cpu": "4", "pods": "20"}}},
        {"spec": {"hard": {"pods": "30"}}},
        {"spec": {"hard": {"pods": "-1"}}},
        {"status": {"hard": {"pods": "20"}, "used": {"pods": "0"}}},
    ),
    Sample(
        "",
        "v1",
        "limitranges",
        "LimitRange",
        True,
        {
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "max": {"cpu": "2"},
                        "default": {"cpu": "500m"},
                        "defaultRequest": {"cpu": "250m"},
                    }
                ]
            }
        },
        {
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "max": {"cpu": "4"},
                        "default": {"cpu": "1"},
                        "defaultRequest": {"cpu": "1"},
                    }
                ]
            }
        },
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}},
    ),
    Sample(
        "events.k8s.io",
        "v1",
        "events",
        "Event",
        True,
        {
            "eventTime": "2026-03-01T10:00:00.000000Z",
            "reportingController": "example.com/scheduler",
            "reportingInstance": "scheduler-1",
            "action": "Binding",
            "reason": "Scheduled",
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "web",
                "namespace": "${namespace}",
            },
            "note": "assigned",
            "type": "Normal",
        },
        {"series": {"count": 2, "lastObservedTime": "2026-03-01T10:05:00.000000Z"}},
        {"type": "Strange"},
    ),
    Sample(
        "coordination.k8s.io",
        "v1",
        "leases",
        "Lease",
        True,
        {
            "spec": {
                "holderIdentity": "n1",
                "leaseDurationSeconds": 40,
                "renewTime": "2026-03-01T10:00:00.000000Z",
            }
        },
        {"spec": {"holderIdentity": "n2", "leaseTransitions": 1}},
        {"spec": {"leaseDurationSeconds": 0}},
    ),
    Sample(
        "batch",
        "v1",
        "jobs",
        "Job",
        True,
        {"spec": {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}},
        {"spec": {"parallelism": 3}},
        {"spec": {"completions": -1}},
        {"status": {"active": 1, "startTime": "2026-03-01T10:00:00Z"}},
    ),
    Sample(
        "apps",
        "v1",
        "deployments",
        "Deployment",
        True,
        {"spec": {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}},
        {"spec": {"replicas": 3}},
        {"spec": {"replicas": -1}},
        {"status": {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2}},
    ),
    Sample(
        "apps",
        "v1",
        "replicasets",
        "ReplicaSet",
        True,
        {"spec": {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}},
        {"spec": {"replicas": 3}},
        {"spec": {"selector": {"matchLabels": {"app": "other"}}}},
        {"status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 1}},
    ),
    Sample(
        "apps",
        "v1",
        "daemonsets",
        "DaemonSet",
        True,
        {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
        {"spec": {"minReadySeconds": 5}},
        {"spec": {"minReadySeconds": -5}},
        {
            "status": {
                "observedGeneration": 1,
                "desiredNumberScheduled": 3,
                "currentNumberScheduled": 3,
                "numberMisscheduled": 0,
                "numberReady": 2,
            }
        },
    ),
    Sample(
        "apps",
        "v1",
        "controllerrevisions",
        "ControllerRevision",
        True,
        {
            "metadata": {
                "labels": {"app": "web", "controller-revision-hash": "abc"},
                "annotations": {"kubernetes.io/change-cause": "first"},
            },
            # The real server takes members in another order, as patches leave them, for other data.
            "data": {"spec": {"template": {"$patch": "replace", "spec": {"hostNetwork": True}}}},
            "revision": 1,
        },
        {"revision": 2},
        {"revision": -1},
    ),
    Sample(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        True,
        {"spec": {"minAvailable": 1, "selector": SELECTOR}},
        {"spec": {"minAvailable": "50%"}},
        {"spec": {"minAvailable": 1, "maxUnavailable": 1}},
        {
            "status": {
                "observedGeneration": 1,
                "disruptionsAllowed": 1,
                "currentHealthy": 2,
                "desiredHealthy": 1,
                "expectedPods": 2,
            }
        },
    ),
    Sample(
        RBAC,
        "v1",
        "roles",
        "Role",
        True,
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]},
        {"rules": [{"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get"]}]},
        {"rules": [{"apiGroups": [""], "resources": ["pods"]}]},
    ),
    Sample(
        RBAC,
        "v1",
        "rolebindings",
        "RoleBinding",
        True,
        {
            "subjects": [{"kind": "User", "name": "carol", "apiGroup": RBAC}],
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "reader"},
        },
        {"subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "${namespace}"}]},
        {"roleRef": {"name": "writer"}},
    ),
    Sample(
        RBAC,
        "v1",
        "clusterroles",
        "ClusterRole",
        False,
        {"rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]},
        {"rules": [{"apiGroups": ["resource.k8s.io"], "resources": ["*"], "verbs": ["*"]}]},
        {
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["pods"],
                    "nonResourceURLs": ["/x"],
                    "verbs": ["get"],
                }
            ]
        },
    ),
    Sample(
        RBAC,
        "v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        False,
        {
            "subjects": [{"kind": "Group", "name": "operators", "apiGroup": RBAC}],
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
        },
        {"subjects": [{"kind": "User", "name": "dave", "apiGroup": RBAC}]},
        {"roleRef": {"name": "edit"}},
    ),
    Sample(
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "PriorityClass",
        False,
        {"value": 1000, "description": "for tests"},
        {"description": "for other tests"},
        {"value": 2000},
    ),
    Sample(
        RESOURCE,
        "v1",
        "deviceclasses",
        "DeviceClass",
        False,
        {"spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}},
        {
            "spec": {
                "config": [
                    {"opaque": {"driver": "gpu.example.com", "parameters": {"mode": "shared"}}}
                ]
            }
        },
        {"spec": {"selectors": [{"cel": {"expression": "device.driver =="}}]}},
    ),
    Sample(
        RESOURCE,
        "v1",
        "resourceclaims",
        "ResourceClaim",
        True,
        {"spec": CLAIM_SPEC},
        {"metadata": {"annotations": {"note": "changed"}}},
        {"spec": {"devices": {"requests": []}}},
        {
            "status": {
                "allocation": {
                    "devices": {
                        "results": [
                            {
                                "request": "gpu",
                                "driver": "gpu.example.com",
                                "pool": "n1",
                                "device": "gpu-0",
                            }
                        ]
                    }
                }
            }
        },
    ),
    Sample(
        RESOURCE,
        "v1",
        "resourceclaimtemplates",
        "ResourceClaimTemplate",
        True,
        {"spec": {"spec": CLAIM_SPEC}},
        {"metadata": {"annotations": {"note": "changed"}}},
        {"spec": {"spec": {"devices": {"requests": []}}}},
    ),
    Sample(
        RESOURCE,
        "v1",
        "resourceslices",
        "ResourceSlice",
        False,
        {
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                "devices": [
                    {
                        "name": "gpu-0",
                        "attributes": {"model": {"string": "A"}, "index": {"int": 0}},
                        "capacity": {"memory": {"value": "40Gi"}},
                    }
                ],
            }
        },
        {"spec": {"pool": {"generation": 2}}},
        {"spec": {"driver": "other.example.com"}},
    ),
    Sample(
        RESOURCE,
        "v1",
        "devicetaintrules",
        "DeviceTaintRule",
        False,
        {
            "spec": {
                "deviceSelector": {"driver": "gpu.example.com", "pool": "n1"},
                "taint": {
                    "key": "example.com/broken",
                    "effect": "NoExecute",
                    "timeAdded": "2026-03-01T10:00:00Z",
                },
            }
        },
        {"spec": {"deviceSelector": {"device": "gpu-0"}}},
        {"spec": {"taint": {"effect": "Whenever"}}},
        {
            "status": {
                "conditions": [
                    {
                        "type": "EvictionInProgress",
                        "status": "True",
                        "reason": "Evicting",
                        "message": "",
                        "lastTransitionTime": "2026-03-01T10:00:00Z",
                    }
                ]
            }
        },
    ),
    Sample(
        RESOURCE,
        "v1alpha3",
        "resourcepoolstatusrequests",
        "ResourcePoolStatusRequest",
        False,
        {"spec": {"driver": "gpu.example.com"}},
        {"metadata": {"annotations": {"note": "changed"}}},
        {"spec": {"driver": "other.example.com"}},
        {
            "status": {
                "poolCount": 0,
                "conditions": [
                    {
                        "type": "Complete",
                        "status": "True",
                        "reason": "Done",
                        "message": "",
                        "lastTransitionTime": "2026-03-01T10:00:00Z",
                    }
                ],
            }
        },
    ),
)

CRD = Sample(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    False,
    {},
    {"spec": {"names": {"shortNames": ["wd"]}}},
    {"spec": {"scope": "Cluster"}},
)

KINDS = {(f"{one.plural}.{one.group}" if one.group else one.plural): one for one in _TABLE}


def sample(name: str) -> Sample:
    """The kind of this plural; with its group where core has the same one."""
    if name in KINDS:
        return KINDS[name]
    return next(one for one in _TABLE if one.plural == name)
