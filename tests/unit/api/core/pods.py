"""A pod with every member, and the template that workloads make pods from."""

from __future__ import annotations

from tests.unit.api.core.golden import METADATA, SELECTOR, Document

CONTAINER: Document = {
    "name": "main",
    "image": "registry.example/train:1",
    "command": ["train"],
    "args": ["--epochs", "3"],
    "workingDir": "/work",
    "ports": [
        {
            "name": "http",
            "hostPort": 8080,
            "containerPort": 80,
            "protocol": "TCP",
            "hostIP": "10.0.0.1",
        }
    ],
    "envFrom": [
        {"prefix": "CONFIG_", "configMapRef": {"name": "settings", "optional": True}},
        {"secretRef": {"name": "credentials", "optional": False}},
    ],
    "env": [
        {"name": "MODE", "value": "fast"},
        {
            "name": "NODE",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
        },
        {
            "name": "CPUS",
            "valueFrom": {
                "resourceFieldRef": {
                    "containerName": "main",
                    "resource": "limits.cpu",
                    "divisor": "1m",
                }
            },
        },
        {
            "name": "LEVEL",
            "valueFrom": {
                "configMapKeyRef": {"name": "settings", "key": "level", "optional": True}
            },
        },
        {
            "name": "TOKEN",
            "valueFrom": {
                "secretKeyRef": {"name": "credentials", "key": "token", "optional": False}
            },
        },
        {
            "name": "RUN",
            "valueFrom": {
                "fileKeyRef": {
                    "volumeName": "handover",
                    "path": "run.env",
                    "key": "RUN",
                    "optional": True,
                }
            },
        },
    ],
    "resources": {
        "limits": {"cpu": "2", "memory": "4Gi", "example.com/gpu": "1"},
        "requests": {"cpu": "500m", "memory": "4Gi", "example.com/gpu": "1"},
        "claims": [{"name": "gpus", "request": "big"}],
    },
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    "restartPolicy": "OnFailure",
    "restartPolicyRules": [
        {"action": "Restart", "exitCodes": {"operator": "In", "values": [42, 43]}}
    ],
    "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
    "volumeDevices": [{"name": "disk", "devicePath": "/dev/xvda"}],
    "livenessProbe": {"exec": {"command": ["alive"]}, "periodSeconds": 5},
    "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
    "startupProbe": {"tcpSocket": {"port": 80}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 3}}, "stopSignal": "SIGUSR1"},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
    "securityContext": {"privileged": False, "runAsUser": 1000},
    "stdin": True,
    "stdinOnce": True,
    "tty": True,
}

NODE_TERM: Document = {
    "matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
}

POD_TERM: Document = {
    "labelSelector": SELECTOR,
    "namespaces": ["research"],
    "topologyKey": "kubernetes.io/hostname",
    "namespaceSelector": SELECTOR,
    "matchLabelKeys": ["pod-template-hash"],
    "mismatchLabelKeys": ["tenant"],
}

PODS: Document = {
    "requiredDuringSchedulingIgnoredDuringExecution": [POD_TERM],
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 10, "podAffinityTerm": POD_TERM}
    ],
}

AFFINITY: Document = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODE_TERM]},
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": NODE_TERM}
        ],
    },
    "podAffinity": PODS,
    "podAntiAffinity": PODS,
}

POD_SPEC: Document = {
    "volumes": [
        {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
    ],
    "initContainers": [CONTAINER],
    "containers": [CONTAINER],
    "ephemeralContainers": [CONTAINER | {"name": "look", "targetContainerName": "main"}],
    "restartPolicy": "OnFailure",
    "terminationGracePeriodSeconds": 30,
    "activeDeadlineSeconds": 3600,
    "dnsPolicy": "ClusterFirst",
    "nodeSelector": {"gpu": "yes"},
    "serviceAccountName": "trainer",
    "serviceAccount": "trainer",
    "automountServiceAccountToken": False,
    "nodeName": "node-1",
    "hostNetwork": True,
    "hostPID": True,
    "hostIPC": True,
    "shareProcessNamespace": True,
    "securityContext": {"fsGroup": 2000, "supplementalGroups": [3000]},
    "imagePullSecrets": [{"name": "registry"}],
    "hostname": "train",
    "subdomain": "jobs",
    "affinity": AFFINITY,
    "schedulerName": "default-scheduler",
    "tolerations": [
        {
            "key": "gpu",
            "operator": "Equal",
            "value": "yes",
            "effect": "NoExecute",
            "tolerationSeconds": 60,
        }
    ],
    "hostAliases": [{"ip": "10.0.0.9", "hostnames": ["cache"]}],
    "priorityClassName": "high",
    "priority": 1000,
    "dnsConfig": {"nameservers": ["10.0.0.10"], "options": [{"name": "ndots", "value": "2"}]},
    "readinessGates": [{"conditionType": "example.com/warm"}],
    "runtimeClassName": "gvisor",
    "enableServiceLinks": False,
    "preemptionPolicy": "Never",
    "overhead": {"cpu": "250m"},
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": SELECTOR,
            "minDomains": 2,
            "nodeAffinityPolicy": "Honor",
            "nodeTaintsPolicy": "Ignore",
            "matchLabelKeys": ["pod-template-hash"],
        }
    ],
    "setHostnameAsFQDN": True,
    "os": {"name": "linux"},
    "hostUsers": False,
    "schedulingGates": [{"name": "example.com/quota"}],
    "resourceClaims": [
        {"name": "gpus", "resourceClaimTemplateName": "two-gpus"},
        {"name": "shared", "resourceClaimName": "fabric"},
    ],
    "resources": {"limits": {"memory": "8Gi"}, "requests": {"memory": "8Gi"}},
    "hostnameOverride": "trainer-0",
    "schedulingGroup": {"podGroupName": "gang"},
    "evictionResponders": [{"name": "example.com/mover", "priority": 10000}],
}

POD_TEMPLATE: Document = {"metadata": METADATA, "spec": POD_SPEC}

CONTAINER_STATUS: Document = {
    "name": "main",
    "state": {"running": {"startedAt": "2026-01-31T12:00:05Z"}},
    "lastState": {
        "terminated": {
            "exitCode": 137,
            "signal": 9,
            "reason": "OOMKilled",
            "message": "out of memory",
            "startedAt": "2026-01-31T12:00:01Z",
            "finishedAt": "2026-01-31T12:00:04Z",
            "containerID": "process://17",
        }
    },
    "ready": True,
    "restartCount": 1,
    "image": "registry.example/train:1",
    "imageID": "registry.example/train@sha256:0a",
    "containerID": "process://18",
    "started": True,
    "allocatedResources": {"cpu": "500m"},
    "resources": {"limits": {"cpu": "2"}},
    "volumeMounts": [
        {
            "name": "data",
            "mountPath": "/data",
            "readOnly": True,
            "recursiveReadOnly": "Enabled",
            "volumeStatus": {"image": {"imageRef": "registry.example/data@sha256:0b"}},
        }
    ],
    "user": {"linux": {"uid": 1000, "gid": 1000, "supplementalGroups": [2000]}},
    "allocatedResourcesStatus": [
        {
            "name": "claim:gpus/big",
            "resources": [
                {
                    "resourceID": "gpu.example.com/node-1/gpu-0",
                    "health": "Unhealthy",
                    "message": "fell off the bus",
                }
            ],
        }
    ],
    "stopSignal": "SIGTERM",
}

POD_STATUS: Document = {
    "observedGeneration": 3,
    "phase": "Running",
    "conditions": [
        {
            "type": "PodScheduled",
            "observedGeneration": 3,
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-31T12:00:00Z",
            "reason": "Bound",
            "message": "on node-1",
        }
    ],
    "message": "running",
    "reason": "Started",
    "nominatedNodeName": "node-1",
    "hostIP": "10.0.0.1",
    "hostIPs": [{"ip": "10.0.0.1"}],
    "podIP": "10.1.0.7",
    "podIPs": [{"ip": "10.1.0.7"}],
    "startTime": "2026-01-31T12:00:00Z",
    "initContainerStatuses": [
        CONTAINER_STATUS
        | {"state": {"waiting": {"reason": "PodInitializing", "message": "not yet"}}}
    ],
    "containerStatuses": [CONTAINER_STATUS],
    "qosClass": "Burstable",
    "ephemeralContainerStatuses": [CONTAINER_STATUS],
    "resize": "InProgress",
    "resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "training-gpus-x7k2p"}],
    "extendedResourceClaimStatus": {
        "requestMappings": [
            {
                "containerName": "main",
                "resourceName": "example.com/gpu",
                "requestName": "container-0-request-0",
            }
        ],
        "resourceClaimName": "training-extended-resources-9q4zd",
    },
    "allocatedResources": {"cpu": "500m"},
    "resources": {"requests": {"memory": "8Gi"}},
    "nodeAllocatableResourceClaimStatuses": [
        {
            "resourceClaimName": "training-gpus-x7k2p",
            "containers": ["main"],
            "mapping": [{"name": "cpu", "quantity": "4"}],
            "overhead": [{"name": "memory", "perPod": "64Mi", "perContainer": "8Mi"}],
        }
    ],
    "volumeHealth": [
        {
            "name": "disk",
            "healthConditions": [
                {"status": "Degraded", "reason": "SlowIO", "message": "reads take seconds"}
            ],
            "lastTransitionTime": "2026-01-31T12:00:00Z",
        }
    ],
}

POD: Document = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": METADATA,
    "spec": POD_SPEC,
    "status": POD_STATUS,
}
