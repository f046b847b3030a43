"""Valid parts of pods, with all their fields: volumes, probes, security contexts and the like."""

from __future__ import annotations

from typing import Any

from tests.conformance.generate import objects
from tests.conformance.generate.case import Request
from tests.conformance.generate.mutations import Path

Part = dict[str, Any]

# Volumes ---------------------------------------------------------------------------------------

FILES: list[Part] = [
    {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
    {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels['a']"}, "mode": 256},
    {
        "path": "limit",
        "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"},
        "user": 5,
    },
]
KEYS: list[Part] = [
    {"key": "a", "path": "dir/a", "mode": 420, "user": 5},
    {"key": "b", "path": "b"},
]
CLAIM: Part = {
    "volumeClaimTemplate": {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "selector": {"matchLabels": {"a": "b"}},
            "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
            "storageClassName": "fast",
            "volumeMode": "Filesystem",
            "dataSource": {"apiGroup": "g.example.com", "kind": "Snapshot", "name": "s"},
            "dataSourceRef": {"apiGroup": "g.example.com", "kind": "Snapshot", "name": "s"},
            "volumeAttributesClassName": "gold",
        },
    }
}
PROJECTIONS: list[Part] = [
    {"secret": {"name": "s", "items": KEYS, "optional": True}},
    {"configMap": {"name": "c", "items": [{"key": "a", "path": "c/a"}]}},
    {"downwardAPI": {"items": FILES}},
    {"serviceAccountToken": {"audience": "a", "expirationSeconds": 600, "path": "token"}},
    {"clusterTrustBundle": {"name": "bundle", "path": "bundle.pem"}},
    {
        "clusterTrustBundle": {
            "signerName": "example.com/signer",
            "labelSelector": {"matchLabels": {"a": "b"}},
            "path": "signed.pem",
            "user": 3,
        }
    },
    {
        "podCertificate": {
            "signerName": "example.com/signer",
            "keyType": "ED25519",
            "maxExpirationSeconds": 86400,
            "credentialBundlePath": "bundle",
            "keyPath": "key",
            "certificateChainPath": "chain",
            "userAnnotations": {"example.com/a": "b"},
        }
    },
]
SOURCES: dict[str, Part] = {
    "awsElasticBlockStore": {"volumeID": "v", "fsType": "ext4", "partition": 1},
    "azureDisk": {
        "diskName": "d",
        "diskURI": "https://a.blob.core.windows.net/c/d.vhd",
        "cachingMode": "None",
        "kind": "Dedicated",
    },
    "azureFile": {"secretName": "s", "shareName": "f"},
    "cephfs": {"monitors": ["m"], "path": "/", "secretRef": {"name": "s"}},
    "cinder": {"volumeID": "v", "secretRef": {"name": "s"}},
    "configMap": {"name": "c", "items": KEYS, "defaultMode": 256, "defaultUser": 7},
    "csi": {
        "driver": "csi.example.com",
        "volumeAttributes": {"a": "b"},
        "nodePublishSecretRef": {"name": "s"},
    },
    "downwardAPI": {"items": FILES, "defaultMode": 256, "defaultUser": 7},
    "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi", "mode": 1023},
    "ephemeral": CLAIM,
    "fc": {"targetWWNs": ["w"], "lun": 2},
    "flexVolume": {"driver": "d/e", "options": {"a": "b"}, "secretRef": {"name": "s"}},
    "flocker": {"datasetName": "d"},
    "gcePersistentDisk": {"pdName": "p", "partition": 2},
    "gitRepo": {"repository": "r", "directory": "d"},
    "glusterfs": {"endpoints": "e", "path": "p"},
    "hostPath": {"path": "/data", "type": "Directory"},
    "image": {"reference": "img:1", "pullPolicy": "Always"},
    "iscsi": {
        "targetPortal": "1.2.3.4:3260",
        "iqn": "iqn.2001-04.com.example:storage",
        "lun": 0,
        "chapAuthSession": True,
        "secretRef": {"name": "s"},
        "initiatorName": "eui.0123456789abcdef",
    },
    "nfs": {"server": "s", "path": "/p"},
    "persistentVolumeClaim": {"claimName": "c"},
    "photonPersistentDisk": {"pdID": "p"},
    "portworxVolume": {"volumeID": "v"},
    "projected": {"sources": PROJECTIONS, "defaultMode": 256, "defaultUser": 7},
    "quobyte": {"registry": "h:1,i:2", "volume": "v", "tenant": "t"},
    "rbd": {"monitors": ["m"], "image": "i"},
    "scaleIO": {
        "gateway": "g",
        "system": "s",
        "secretRef": {"name": "s"},
        "volumeName": "v",
    },
    "secret": {"secretName": "s", "items": KEYS, "defaultMode": 256, "defaultUser": 7},
    "storageos": {"volumeName": "v", "volumeNamespace": "n", "secretRef": {"name": "s"}},
    "vsphereVolume": {"volumePath": "p"},
}

# Containers ------------------------------------------------------------------------------------

PORTS: list[Part] = [
    {"name": "web", "containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"},
    {"name": "dns", "containerPort": 53, "protocol": "UDP"},
]
ENVIRONMENT: list[Part] = [
    {"name": "PLAIN", "value": "v"},
    {"name": "FIELD", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    {
        "name": "RESOURCE",
        "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}},
    },
    {"name": "CONFIG", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    {
        "name": "FILE",
        "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "f/env", "key": "K"}},
    },
]
ENVIRONMENT_SOURCES: list[Part] = [
    {"prefix": "P_", "configMapRef": {"name": "c"}},
    {"secretRef": {"name": "s", "optional": True}},
]
MOUNTS: list[Part] = [
    {"name": "v", "mountPath": "/v", "subPath": "a/b", "bindMountOptions": ["noexec"]},
    {
        "name": "v",
        "mountPath": "/w",
        "readOnly": True,
        "recursiveReadOnly": "Enabled",
        "mountPropagation": "None",
        "subPathExpr": "$(PLAIN)",
    },
]
DEVICES: list[Part] = [{"name": "disk", "devicePath": "/dev/xvda"}]
HTTP: Part = {
    "path": "/healthy",
    "port": 8080,
    "host": "h",
    "scheme": "HTTPS",
    "httpHeaders": [{"name": "X-A", "value": "b"}],
}
HANDLERS: dict[str, Part] = {
    "exec": {"command": ["true"]},
    "httpGet": HTTP,
    "tcpSocket": {"port": "web", "host": "h"},
    "grpc": {"port": 9000, "service": "s"},
}
PROBE: Part = {
    "initialDelaySeconds": 1,
    "timeoutSeconds": 2,
    "periodSeconds": 3,
    "successThreshold": 1,
    "failureThreshold": 4,
}
LIFECYCLE: Part = {
    "postStart": {"exec": {"command": ["true"]}},
    "preStop": {"httpGet": HTTP},
}
SECURITY: Part = {
    "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
    "privileged": True,
    "seLinuxOptions": {"level": "s0"},
    "runAsUser": 1,
    "runAsGroup": 2,
    "runAsNonRoot": True,
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": True,
    "procMount": "Default",
    "seccompProfile": {"type": "Localhost", "localhostProfile": "p/q"},
    "appArmorProfile": {"type": "Localhost", "localhostProfile": "profile"},
}
WINDOWS: Part = {
    "gmsaCredentialSpecName": "spec",
    "gmsaCredentialSpec": "x",
    "runAsUserName": "domain\\user",
}
POD_SECURITY: Part = {
    "seLinuxOptions": {"level": "s0"},
    "runAsUser": 1,
    "runAsGroup": 2,
    "runAsNonRoot": True,
    "supplementalGroups": [3, 4],
    "supplementalGroupsPolicy": "Merge",
    "fsGroup": 5,
    "fsGroupChangePolicy": "OnRootMismatch",
    "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
    "seccompProfile": {"type": "RuntimeDefault"},
    "appArmorProfile": {"type": "RuntimeDefault"},
    "seLinuxChangePolicy": "Recursive",
}
DNS: Part = {
    "nameservers": ["10.0.0.1", "2001:db8::1"],
    "searches": ["a.example.com", "_svc.b."],
    "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
}
ALIASES: list[Part] = [{"ip": "10.0.0.9", "hostnames": ["a", "b.example.com"]}]

IN_CONTAINERS: dict[str, Any] = {
    "ports": PORTS,
    "env": ENVIRONMENT,
    "envFrom": ENVIRONMENT_SOURCES,
    "volumeMounts": MOUNTS,
    "volumeDevices": DEVICES,
    "lifecycle": LIFECYCLE,
    "securityContext": SECURITY,
    **{
        f"{when}Probe": PROBE | {name: handler}
        for when, (name, handler) in zip(
            ("liveness", "readiness", "startup"), HANDLERS.items(), strict=False
        )
    },
}
IN_SPECS: dict[str, Any] = {
    "securityContext": POD_SECURITY,
    "dnsConfig": DNS,
    "hostAliases": ALIASES,
}
VOLUMES: list[Part] = [
    {"name": "v", "emptyDir": {}},
    {"name": "disk", "persistentVolumeClaim": {"claimName": "c"}},
]

MAIN: Path = ("spec", "containers", 0)


def pod(container: Part | None = None, **spec: Any) -> Request:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": objects.metadata("pod", namespace="default"),
        "spec": {
            "containers": [{"name": "main", "image": "i", **(container or {})}],
            "serviceAccountName": "account",
            "volumes": VOLUMES,
            **spec,
        },
    }
