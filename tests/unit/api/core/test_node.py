"""Nodes, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.core import Node, NodeList
from tests.unit.api.core.golden import METADATA, Document, KindSuite

NO_SYSTEM = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "",
    "osImage": "",
    "containerRuntimeVersion": "",
    "kubeletVersion": "",
    "kubeProxyVersion": "",
    "operatingSystem": "",
    "architecture": "",
}


class TestNode(KindSuite):
    kind = Node
    list_kind = NodeList
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": METADATA,
        "spec": {
            "podCIDR": "10.1.0.0/24",
            "podCIDRs": ["10.1.0.0/24", "fd00::/64"],
            "providerID": "rack://4/node-1",
            "unschedulable": True,
            "taints": [
                {
                    "key": "gpu",
                    "value": "yes",
                    "effect": "NoSchedule",
                    "timeAdded": "2026-01-31T12:00:00Z",
                }
            ],
            "configSource": {
                "configMap": {"namespace": "x", "name": "y", "kubeletConfigKey": "kubelet"}
            },
            "externalID": "node-1",
            "podPreemptionPolicy": {"disableResizePreemption": ["example.com/autoscaler"]},
        },
        "status": {
            "capacity": {"cpu": "64", "memory": "512Gi", "pods": "110"},
            "allocatable": {"cpu": "63500m", "memory": "500Gi", "pods": "110"},
            "phase": "Running",
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "lastHeartbeatTime": "2026-01-31T12:00:10Z",
                    "lastTransitionTime": "2026-01-31T12:00:00Z",
                    "reason": "KubeletReady",
                    "message": "ready",
                }
            ],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": NO_SYSTEM
            | {
                "machineID": "m",
                "bootID": "b",
                "swap": {"capacity": 1024},
                "runningInUserNamespace": True,
            },
            "images": [{"names": ["registry.example/train:1"], "sizeBytes": 123456}],
            "volumesInUse": ["kubernetes.io/csi/disk"],
            "volumesAttached": [{"name": "kubernetes.io/csi/disk", "devicePath": "/dev/sdb"}],
            "config": {"error": "none"},
            "runtimeHandlers": [{"name": "", "features": {"userNamespaces": True}}],
            "features": {"supplementalGroupsPolicy": True},
            "declaredFeatures": ["DRANodeAllocatableResources", "DRAOptionalNodeOperations"],
        },
    }
    empty: ClassVar[Document] = {
        "spec": {},
        "status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": NO_SYSTEM},
    }
