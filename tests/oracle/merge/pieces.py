"""Parts of objects, drawn at random from few names and values so that writes meet each other.

A piece is a partial object, good to be applied, or to be laid over others for a whole one. Free of
dray's code: what upstream says of these is the measure.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Piece = dict[str, Any]

NAMES = ["a", "b", "c", "side-car"]
TIMES = ["2019-05-01T10:00:00Z", "2019-05-01T11:30:00Z"]


def some(rng: Random, **parts: Callable[[], Any]) -> Piece:
    """Some of the parts, at least one."""
    chosen = [name for name in parts if rng.random() < 0.35] or [rng.choice(list(parts))]
    return {name: parts[name]() for name in chosen}


def names(rng: Random, most: int = 3) -> list[str]:
    return rng.sample(NAMES, rng.randint(1, min(most, len(NAMES))))


def text_map(rng: Random) -> dict[str, str]:
    keys = ["a", "b", "app", "example.com/x", "k<&>"]
    return {key: rng.choice(["1", "2", ""]) for key in rng.sample(keys, rng.randint(0, 3))}


def quantities(rng: Random) -> dict[str, str]:
    values = {"cpu": ["1000m", "1", "500m"], "memory": ["1Gi", "1024Mi"], "example.com/gpu": ["2"]}
    return {key: rng.choice(values[key]) for key in rng.sample(list(values), rng.randint(1, 3))}


def metadata(rng: Random) -> Piece:
    return some(
        rng,
        labels=lambda: text_map(rng),
        annotations=lambda: text_map(rng),
        finalizers=lambda: [f"example.com/{name}" for name in names(rng)],
        ownerReferences=lambda: [
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}"}
            | ({"controller": True} if rng.random() < 0.3 else {})
            for name in names(rng, 2)
        ],
    )


def selector(rng: Random) -> Piece:
    return some(
        rng,
        matchLabels=lambda: text_map(rng),
        matchExpressions=lambda: [{"key": "a", "operator": "In", "values": ["1", "2"]}],
    )


def condition(rng: Random, kind: str) -> Piece:
    return {"type": kind, "status": rng.choice(["True", "False"])} | some(
        rng,
        reason=lambda: rng.choice(["Good", "Bad"]),
        message=lambda: "it is so",
        lastTransitionTime=lambda: rng.choice(TIMES),
    )


def conditions(rng: Random) -> list[Piece]:
    kinds = ["Ready", "Known", "Done"]
    return [condition(rng, kind) for kind in rng.sample(kinds, rng.randint(1, 3))]


def ports(rng: Random) -> list[Piece]:
    found = []
    for number in rng.sample([80, 443, 8080, 9], rng.randint(1, 3)):
        port: Piece = {"containerPort": number}
        if rng.random() < 0.5:
            port["protocol"] = rng.choice(["TCP", "UDP"])
        if rng.random() < 0.4:
            port["name"] = rng.choice(["web", "admin"])
        found.append(port)
    return found


def environment(rng: Random) -> list[Piece]:
    found: list[Piece] = []
    for name in names(rng):
        if rng.random() < 0.7:
            found.append({"name": name.upper(), "value": rng.choice(["1", "2"])})
        else:
            reference = {"name": "config", "key": name}
            found.append({"name": name.upper(), "valueFrom": {"configMapKeyRef": reference}})
    return found


def container(rng: Random, name: str) -> Piece:
    return {"name": name} | some(
        rng,
        image=lambda: rng.choice(["i:1", "i:2"]),
        command=lambda: rng.choice([["sh"], ["sh", "-c"]]),
        env=lambda: environment(rng),
        ports=lambda: ports(rng),
        resources=lambda: some(
            rng,
            limits=lambda: quantities(rng),
            requests=lambda: quantities(rng),
            claims=lambda: [{"name": other} for other in names(rng, 2)],
        ),
        volumeMounts=lambda: [
            {"name": "v", "mountPath": f"/{other}"}
            | ({"readOnly": True} if rng.random() < 0.3 else {})
            for other in names(rng, 2)
        ],
        envFrom=lambda: [{"configMapRef": {"name": "config"}}],
        securityContext=lambda: rng.choice(
            [{}, {"privileged": True}, {"capabilities": {"add": ["A"]}}]
        ),
        livenessProbe=lambda: {"httpGet": {"port": rng.choice([80, "web"]), "path": "/"}},
    )


def volume(rng: Random, name: str) -> Piece:
    sources: list[Piece] = [
        {"emptyDir": {}},
        {"configMap": {"name": "config", "items": [{"key": "a", "path": "b"}]}},
        {"hostPath": {"path": "/x"}},
    ]
    return {"name": name, **rng.choice(sources)}


def pod_spec(rng: Random) -> Piece:
    return some(
        rng,
        containers=lambda: [container(rng, name) for name in names(rng)],
        initContainers=lambda: [container(rng, name) for name in names(rng, 1)],
        volumes=lambda: [volume(rng, name) for name in names(rng)],
        nodeSelector=lambda: text_map(rng),
        tolerations=lambda: [{"key": name, "operator": "Exists"} for name in names(rng, 2)],
        imagePullSecrets=lambda: [{"name": name} for name in names(rng)],
        hostAliases=lambda: [{"ip": f"10.0.0.{n}", "hostnames": ["x"]} for n in (1, 2)],
        topologySpreadConstraints=lambda: [
            {
                "maxSkew": rng.randint(1, 2),
                "topologyKey": name,
                "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"]),
                "labelSelector": selector(rng),
            }
            for name in names(rng, 2)
        ],
        resourceClaims=lambda: [
            {"name": name, rng.choice(["resourceClaimName", "resourceClaimTemplateName"]): "x"}
            for name in names(rng)
        ],
        schedulingGates=lambda: [{"name": f"example.com/{name}"} for name in names(rng)],
        securityContext=lambda: rng.choice([{}, {"runAsUser": 1}, {"fsGroup": 2, "sysctls": []}]),
        terminationGracePeriodSeconds=lambda: rng.choice([0, 30, 60]),
        priorityClassName=lambda: "p",
        affinity=lambda: {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
                    ]
                }
            }
        },
        hostNetwork=lambda: rng.choice([True, False]),
    )


def pod_status(rng: Random) -> Piece:
    return some(
        rng,
        phase=lambda: rng.choice(["Pending", "Running"]),
        conditions=lambda: conditions(rng),
        podIPs=lambda: [{"ip": f"10.1.0.{n}"} for n in rng.sample([1, 2, 3], 2)],
        hostIPs=lambda: [{"ip": "10.2.0.1"}],
        podIP=lambda: "10.1.0.1",
        startTime=lambda: rng.choice(TIMES),
        containerStatuses=lambda: [
            {
                "name": name,
                "ready": rng.choice([True, False]),
                "restartCount": 1,
                "image": "i:1",
                "imageID": "",
            }
            for name in names(rng, 2)
        ],
        resourceClaimStatuses=lambda: [
            {"name": name, "resourceClaimName": f"claim-{name}"} for name in names(rng)
        ],
    )


def deployment_spec(rng: Random) -> Piece:
    return some(
        rng,
        replicas=lambda: rng.randint(0, 3),
        selector=lambda: selector(rng),
        strategy=lambda: rng.choice(
            [
                {"type": "Recreate"},
                {"type": "RollingUpdate"},
                {"rollingUpdate": {"maxSurge": rng.choice([1, "25%"])}},
            ]
        ),
        template=lambda: some(rng, metadata=lambda: metadata(rng), spec=lambda: pod_spec(rng)),
        paused=lambda: True,
    )


def deployment_status(rng: Random) -> Piece:
    return some(
        rng,
        replicas=lambda: rng.randint(0, 3),
        observedGeneration=lambda: rng.randint(1, 2),
        conditions=lambda: conditions(rng),
    )


def claim_request(rng: Random, name: str, version: str) -> Piece:
    exactly = {"deviceClassName": rng.choice(["gpu", "nic"])} | some(
        rng,
        count=lambda: rng.randint(1, 2),
        allocationMode=lambda: "ExactCount",
        selectors=lambda: [{"cel": {"expression": "true"}}],
        adminAccess=lambda: False,
        tolerations=lambda: [{"operator": "Exists"}],
    )
    if version == "v1beta1":
        return {"name": name, **exactly}
    return {"name": name, "exactly": exactly}


def claim_spec(rng: Random, version: str) -> Piece:
    return {
        "devices": some(
            rng,
            requests=lambda: [claim_request(rng, name, version) for name in names(rng, 2)],
            constraints=lambda: [{"requests": ["a"], "matchAttribute": "example.com/numa"}],
            config=lambda: [
                {
                    "requests": ["a"],
                    "opaque": {
                        "driver": "gpu.example.com",
                        "parameters": rng.choice([{"a": 1}, {"a": True}, {"b": [1, None]}]),
                    },
                }
            ],
        )
    }


def claim_status(rng: Random, version: str) -> Piece:
    del version
    return some(
        rng,
        reservedFor=lambda: [
            {"resource": "pods", "name": name, "uid": f"uid-{name}"} for name in names(rng)
        ],
        allocation=lambda: some(
            rng,
            devices=lambda: {
                "results": [
                    {"request": "a", "driver": "gpu.example.com", "pool": "p", "device": "d"}
                ]
            },
            nodeSelector=lambda: {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
                ]
            },
        ),
        devices=lambda: [
            {"driver": "gpu.example.com", "pool": "p", "device": name}
            | ({"shareID": "5d6c1f36-6d6c-4d1c-9d1c-0d6c1f366d6c"} if rng.random() < 0.3 else {})
            | some(
                rng,
                conditions=lambda: [
                    one | {"lastTransitionTime": TIMES[0], "reason": "R", "message": ""}
                    for one in conditions(rng)
                ],
                data=lambda: {"x": rng.choice([1, True, [1, 2]])},
                networkData=lambda: {"interfaceName": "eth0", "ips": ["10.0.0.1/24"]},
            )
            for name in names(rng, 2)
        ],
    )


def slice_spec(rng: Random, version: str) -> Piece:
    device = {"name": "d0", "attributes": {"model": {"string": rng.choice(["x", "y"])}}}
    if version == "v1beta1":
        device = {"name": "d0", "basic": {"attributes": {"model": {"string": "x"}}}}
    return some(
        rng,
        driver=lambda: "gpu.example.com",
        pool=lambda: {"name": "p", "generation": rng.randint(0, 1), "resourceSliceCount": 1},
        nodeName=lambda: rng.choice(["n1", "n2"]),
        allNodes=lambda: True,
        devices=lambda: [device] * rng.randint(0, 1),
        sharedCounters=lambda: [{"name": "s", "counters": {"memory": {"value": "40Gi"}}}],
    )


def node_spec(rng: Random) -> Piece:
    return some(
        rng,
        podCIDR=lambda: "10.0.0.0/24",
        podCIDRs=lambda: rng.sample(["10.0.0.0/24", "10.0.1.0/24", "fd00::/64"], 2),
        taints=lambda: [{"key": name, "effect": "NoSchedule"} for name in names(rng, 2)],
        unschedulable=lambda: rng.choice([True, False]),
        providerID=lambda: "x://y",
    )


def node_status(rng: Random) -> Piece:
    return some(
        rng,
        capacity=lambda: quantities(rng),
        allocatable=lambda: quantities(rng),
        conditions=lambda: conditions(rng),
        addresses=lambda: [
            {"type": kind, "address": rng.choice(["10.0.0.1", "10.0.0.2"])}
            for kind in rng.sample(["InternalIP", "Hostname", "ExternalIP"], 2)
        ],
        nodeInfo=lambda: {"kubeletVersion": rng.choice(["v1.37.0", "v1.37.1"])},
        images=lambda: [{"names": ["i:1"], "sizeBytes": rng.randint(1, 2)}],
        volumesInUse=lambda: ["v"],
        phase=lambda: "Running",
    )


def pdb_spec(rng: Random) -> Piece:
    return some(
        rng,
        minAvailable=lambda: rng.choice([1, "50%"]),
        maxUnavailable=lambda: rng.choice([1, "10%"]),
        selector=lambda: selector(rng),
        unhealthyPodEvictionPolicy=lambda: "AlwaysAllow",
    )


def pdb_status(rng: Random) -> Piece:
    return some(
        rng,
        currentHealthy=lambda: rng.randint(0, 2),
        disruptionsAllowed=lambda: rng.randint(0, 2),
        conditions=lambda: [
            one | {"lastTransitionTime": TIMES[0], "reason": "R", "message": ""}
            for one in conditions(rng)
        ],
        disruptedPods=lambda: dict.fromkeys(names(rng), TIMES[0]),
    )


def config_map(rng: Random) -> Piece:
    return some(
        rng,
        data=lambda: text_map(rng),
        binaryData=lambda: dict.fromkeys(names(rng, 2), "eA=="),
        immutable=lambda: rng.choice([True, False]),
    )


SPECS: dict[str, Callable[[Random, str], Piece]] = {
    "Pod": lambda rng, _: {"spec": pod_spec(rng)},
    "Deployment": lambda rng, _: {"spec": deployment_spec(rng)},
    "ResourceClaim": lambda rng, version: {"spec": claim_spec(rng, version)},
    "ResourceSlice": lambda rng, version: {"spec": slice_spec(rng, version)},
    "Node": lambda rng, _: {"spec": node_spec(rng)},
    "Namespace": lambda rng, _: {"spec": {"finalizers": ["kubernetes", *names(rng, 2)]}},
    "PodDisruptionBudget": lambda rng, _: {"spec": pdb_spec(rng)},
    "ConfigMap": lambda rng, _: config_map(rng),
}

STATUSES: dict[str, Callable[[Random, str], Piece]] = {
    "Pod": lambda rng, _: pod_status(rng),
    "Deployment": lambda rng, _: deployment_status(rng),
    "ResourceClaim": claim_status,
    "Node": lambda rng, _: node_status(rng),
    "Namespace": lambda rng, _: some(
        rng, phase=lambda: "Active", conditions=lambda: conditions(rng)
    ),
    "PodDisruptionBudget": lambda rng, _: pdb_status(rng),
}

API_VERSIONS = {
    "Pod": "v1",
    "ConfigMap": "v1",
    "Node": "v1",
    "Namespace": "v1",
    "Deployment": "apps/v1",
    "PodDisruptionBudget": "policy/v1",
    "ResourceClaim": "resource.k8s.io/v1",
    "ResourceSlice": "resource.k8s.io/v1",
}


def piece(rng: Random, kind: str, api_version: str, *, status: bool = False) -> Piece:
    """A partial object of a kind, with its names."""
    found: Piece = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    version = api_version.rpartition("/")[2]
    if rng.random() < 0.4:
        found["metadata"] |= metadata(rng)
    if status:
        found["status"] = STATUSES[kind](rng, version)
    else:
        found |= SPECS[kind](rng, version)
    return found


def laid_over(below: Any, above: Any) -> Any:
    """Two pieces as one: objects by key, everything else from above."""
    if isinstance(below, dict) and isinstance(above, dict):
        return below | {name: laid_over(below.get(name), part) for name, part in above.items()}
    return above


def whole(rng: Random, kind: str, api_version: str) -> Piece:
    made = piece(rng, kind, api_version)
    for _ in range(2):
        made = laid_over(made, piece(rng, kind, api_version))
    if kind in STATUSES and rng.random() < 0.2:
        made = laid_over(made, piece(rng, kind, api_version, status=True))
    return made
