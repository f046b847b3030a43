"""Objects to be printed, made from a seed; free of dray's code.

Times are relative to the instant at which the oracle answers, the first second of 2000. Pods above
all: every state of containers and init containers, alone and with others.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

NOW = datetime(2000, 1, 1, tzinfo=UTC)

Question = dict[str, Any]

_AGES = (
    *(0, 1, 59, 119, 120, 125, 599, 600, 3600, 10799, 10800, 28799, 28800, 172799, 172800),
    *(200_000, 691_199, 691_200, 31_536_000, 63_071_999, 63_072_000, 70_000_000, 252_288_000),
)


def questions(random: Random) -> Iterator[Question]:
    yield from durations(random)
    for _ in range(500):
        yield {"object": pod(random)}
    for make in (node, namespace, event, new_event, config_map, secret, account, quota):
        for _ in range(25):
            yield {"object": make(random)}
    for make in (deployment, replica_set, daemon_set, job, budget, lease, binding, priority_class):
        for _ in range(25):
            yield {"object": make(random)}
    for make in (claim, template, device_class, published, taint_rule, pool_status):
        for _ in range(25):
            yield {"object": make(random)}
    for kind in ("Role", "ClusterRole"):
        yield {"plain": True, "object": plain(random, "rbac.authorization.k8s.io/v1", kind)}
    yield {"plain": True, "object": plain(random, "v1", "LimitRange")}
    yield from custom(random)
    for _ in range(25):
        yield {"object": revision(random)}


def durations(random: Random) -> Iterator[Question]:
    for seconds in _AGES:
        for near in (-0.5, 0, 0.5):
            yield {"seconds": seconds + near}
    for future in (0.9, 1, 1.5, 2, 2.5, 1000):
        yield {"seconds": -future}
    for exponent in range(1, 10):
        for _ in range(12):
            yield {"seconds": random.randrange(10**exponent)}


# Parts -----------------------------------------------------------------------------------------


def time(random: Random, *, micro: bool = False) -> str:
    seconds = random.choice([random.choice(_AGES), random.randrange(10 ** random.randint(1, 8))])
    instant = NOW - timedelta(seconds=seconds)
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def maybe(random: Random, value: Any, chance: float = 0.5) -> Any:
    return value if random.random() < chance else None


def present(**members: Any) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in members.items() if value is not None}


def named(random: Random, api_version: str, kind: str, **members: Any) -> dict[str, Any]:
    metadata = present(
        name=f"{kind.lower()}-{random.randrange(100)}",
        namespace="shop",
        creationTimestamp=maybe(random, time(random), 0.95),
        deletionTimestamp=maybe(random, time(random), 0.15),
    )
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}


def plain(random: Random, api_version: str, kind: str) -> dict[str, Any]:
    return named(random, api_version, kind)


def conditions(random: Random, types: tuple[str, ...]) -> list[dict[str, Any]]:
    picked = random.sample(types, random.randint(0, len(types)))
    return [
        present(
            type=name,
            status=random.choice(["True", "True", "False", "Unknown"]),
            lastTransitionTime=time(random),
        )
        for name in picked
    ]


# Pods ------------------------------------------------------------------------------------------


def state(random: Random) -> dict[str, Any]:
    match random.randrange(6):
        case 0:
            return {}
        case 1 | 2:
            return {"running": {"startedAt": time(random)}}
        case 3:
            reasons = ["", "PodInitializing", "ContainerCreating", "CrashLoopBackOff"]
            return {"waiting": {"reason": random.choice([*reasons, "ImagePullBackOff"])}}
        case _:
            return {"terminated": terminated(random)}


def terminated(random: Random) -> dict[str, Any]:
    return present(
        exitCode=random.choice([0, 0, 0, 1, 137]),
        signal=random.choice([None, None, 9]),
        reason=random.choice([None, "Completed", "Completed", "Error", "OOMKilled"]),
        finishedAt=maybe(random, time(random), 0.9),
    )


def container_status(random: Random, name: str) -> dict[str, Any]:
    return present(
        name=name,
        state=state(random),
        lastState={"terminated": terminated(random)} if random.random() < 0.3 else {},
        ready=random.random() < 0.6,
        restartCount=random.choice([0, 0, 1, 7]),
        started=random.choice([None, True, True, False]),
        image="x",
        imageID="",
    )


def pod(random: Random) -> dict[str, Any]:
    containers = [f"c{index}" for index in range(random.randint(1, 3))]
    inits = [f"i{index}" for index in range(random.choice([0, 0, 1, 2, 3]))]
    gates = random.sample(["a.example.com/x", "b.example.com/y"], random.choice([0, 0, 0, 1, 2]))
    types = ("PodScheduled", "Initialized", "Ready", "ContainersReady", "a.example.com/x")
    told = conditions(random, types)
    for condition in told:
        if condition["type"] == "PodScheduled" and random.random() < 0.3:
            condition["reason"] = "SchedulingGated"
    address = maybe(random, f"10.0.0.{random.randrange(255)}")
    spec = present(
        containers=[{"name": name, "image": f"{name}:1"} for name in containers],
        initContainers=[
            present(name=name, image="i", restartPolicy=maybe(random, "Always", 0.4))
            for name in inits
        ],
        nodeName=maybe(random, "node-1"),
        readinessGates=[{"conditionType": gate} for gate in gates] or None,
    )
    status = present(
        phase=random.choice(["Pending", "Running", "Running", "Succeeded", "Failed", "Unknown"]),
        reason=random.choice([None, None, None, "Evicted", "NodeLost", "Completed"]),
        nominatedNodeName=maybe(random, "node-2", 0.1),
        conditions=told,
        podIP=address,
        podIPs=[{"ip": address}] if address else None,
        initContainerStatuses=[
            container_status(random, name) for name in inits[: random.randint(0, len(inits))]
        ],
        containerStatuses=[container_status(random, name) for name in containers]
        if random.random() < 0.85
        else [],
    )
    return named(random, "v1", "Pod", spec=spec, status=status)


# Core ------------------------------------------------------------------------------------------


def node(random: Random) -> dict[str, Any]:
    made = named(random, "v1", "Node")
    labels = {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io/control-plane": "",
        "node-role.kubernetes.io/": "",
        "kubernetes.io/role": random.choice(["", "etcd"]),
        "zone": "a",
    }
    picked = random.sample(sorted(labels), random.randint(0, 4))
    made["metadata"]["labels"] = {key: labels[key] for key in picked}
    made["spec"] = present(unschedulable=maybe(random, True, 0.3))
    addresses = [
        {"type": kind, "address": f"10.0.{index}.1"}
        for index, kind in enumerate(["Hostname", "InternalIP", "InternalIP", "ExternalIP"])
    ]
    made["status"] = present(
        conditions=conditions(random, ("Ready", "DiskPressure", "MemoryPressure")),
        addresses=random.sample(addresses, random.randint(0, 4)),
        nodeInfo=dict.fromkeys(("machineID", "systemUUID", "bootID", "kubeProxyVersion"), "")
        | {
            "kernelVersion": random.choice(["", "6.1.0"]),
            "osImage": random.choice(["", "Debian"]),
            "containerRuntimeVersion": random.choice(["", "containerd://2.0"]),
            "kubeletVersion": random.choice(["", "v1.37.1"]),
            "operatingSystem": "linux",
            "architecture": random.choice(["", "amd64"]),
        },
    )
    return made


def namespace(random: Random) -> dict[str, Any]:
    phase = random.choice(["Active", "Terminating"])
    return named(random, "v1", "Namespace", status={"phase": phase})


def reference(random: Random) -> dict[str, Any]:
    return present(
        kind=random.choice(["Pod", "ResourceClaim"]),
        name=maybe(random, "web", 0.8),
        namespace="shop",
        fieldPath=maybe(random, "spec.containers{app}", 0.3),
    )


def event(random: Random) -> dict[str, Any]:
    series = {"count": 3, "lastObservedTime": time(random, micro=True)}
    return named(random, "v1", "Event") | present(
        involvedObject=reference(random),
        reason=random.choice(["Started", "FailedScheduling"]),
        message=random.choice(["all good", " spaces around \n", ""]),
        type=random.choice(["Normal", "Warning"]),
        source=present(component=maybe(random, "kubelet"), host=maybe(random, "node-1")),
        firstTimestamp=maybe(random, time(random)),
        lastTimestamp=maybe(random, time(random)),
        eventTime=maybe(random, time(random, micro=True)),
        count=random.choice([None, 0, 1, 5]),
        series=maybe(random, series, 0.3),
        reportingComponent=random.choice(["", "default-scheduler"]),
        reportingInstance=random.choice(["", "scheduler-1"]),
    )


def new_event(random: Random) -> dict[str, Any]:
    series = {"count": 3, "lastObservedTime": time(random, micro=True)}
    return named(random, "events.k8s.io/v1", "Event") | present(
        regarding=reference(random),
        reason="Scheduled",
        note=random.choice(["assigned", " spaces "]),
        type="Normal",
        eventTime=time(random, micro=True),
        reportingController="default-scheduler",
        reportingInstance=random.choice([None, "scheduler-1"]),
        series=maybe(random, series, 0.3),
        deprecatedCount=random.choice([None, 4]),
    )


def data(random: Random) -> dict[str, str]:
    return {f"key-{index}": "eA==" for index in range(random.randrange(4))}


def config_map(random: Random) -> dict[str, Any]:
    return named(random, "v1", "ConfigMap", data=data(random), binaryData=data(random))


def secret(random: Random) -> dict[str, Any]:
    return named(random, "v1", "Secret", data=data(random), type=random.choice(["Opaque", ""]))


def account(random: Random) -> dict[str, Any]:
    return named(random, "v1", "ServiceAccount")


def quota(random: Random) -> dict[str, Any]:
    amounts = {"pods": "10", "limits.cpu": "4", "limits.memory": "8Gi", "requests.cpu": "1500m"}
    picked = random.sample(sorted(amounts), random.randint(0, 4))
    used = random.sample(picked, random.randint(0, len(picked)))
    status = {
        "hard": {name: amounts[name] for name in picked},
        "used": {name: random.choice(["1", "500m", "2Gi"]) for name in used},
    }
    return named(random, "v1", "ResourceQuota", status=status)


# Workloads -------------------------------------------------------------------------------------


def selector(random: Random) -> dict[str, Any] | None:
    return random.choice(
        [
            None,
            {},
            {"matchLabels": {"app": "web", "a": "b"}},
            {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}]},
            {
                "matchLabels": {"app": "web"},
                "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}],
            },
            {"matchExpressions": [{"key": "x", "operator": "Bad"}]},
            {"matchExpressions": [{"key": "x", "operator": "Exists"}]},
        ]
    )


def template_of(random: Random) -> dict[str, Any]:
    containers = [
        {"name": f"c{index}", "image": f"registry/{index}:v1"}
        for index in range(random.randint(0, 3))
    ]
    spec = present(
        containers=containers, nodeSelector=maybe(random, {"zone": "a", "disk": "ssd"}, 0.4)
    )
    return {"spec": spec}


def count(random: Random) -> int:
    return random.choice([0, 0, 1, 3])


def deployment(random: Random) -> dict[str, Any]:
    spec = present(
        replicas=random.choice([None, 0, 1, 3]),
        selector=selector(random),
        template=template_of(random),
    )
    status = {
        name: count(random) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    }
    return named(random, "apps/v1", "Deployment", spec=spec, status=status)


def replica_set(random: Random) -> dict[str, Any]:
    made = deployment(random) | {"kind": "ReplicaSet"}
    made["status"] = {"replicas": count(random), "readyReplicas": count(random)}
    return made


def daemon_set(random: Random) -> dict[str, Any]:
    spec = present(selector=selector(random), template=template_of(random))
    names = (
        *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled"),
        *("numberReady", "updatedNumberScheduled", "numberAvailable"),
    )
    status = {name: count(random) for name in names}
    return named(random, "apps/v1", "DaemonSet", spec=spec, status=status)


def revision(random: Random) -> dict[str, Any]:
    owners = [
        present(
            apiVersion=random.choice(["apps/v1", "v1", "example.com/v1alpha1"]),
            kind=random.choice(["DaemonSet", "StatefulSet", "Thing"]),
            name=f"owner-{index}",
            uid="u",
            controller=random.choice([None, False, True]),
        )
        for index in range(random.randrange(4))
    ]
    made = named(random, "apps/v1", "ControllerRevision", data={}, revision=count(random))
    made["metadata"]["ownerReferences"] = owners
    return made


def job(random: Random) -> dict[str, Any]:
    types = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")
    spec = present(
        completions=random.choice([None, 1, 5]),
        parallelism=random.choice([None, 0, 1, 4]),
        selector=selector(random),
        template=template_of(random),
    )
    start = maybe(random, time(random), 0.8)
    status = present(
        conditions=random.choice([[], conditions(random, types)]),
        succeeded=random.choice([None, 1, 3]),
        startTime=start,
        completionTime=maybe(random, time(random), 0.5),
    )
    return named(random, "batch/v1", "Job", spec=spec, status=status)


def budget(random: Random) -> dict[str, Any]:
    bounds = [None, 0, 2, "50%"]
    spec = present(minAvailable=random.choice(bounds), maxUnavailable=random.choice(bounds))
    status = {"disruptionsAllowed": count(random)} | dict.fromkeys(
        ("currentHealthy", "desiredHealthy", "expectedPods"), 0
    )
    return named(random, "policy/v1", "PodDisruptionBudget", spec=spec, status=status)


# The rest --------------------------------------------------------------------------------------


def lease(random: Random) -> dict[str, Any]:
    spec = present(holderIdentity=random.choice([None, "", "node-1"]))
    return named(random, "coordination.k8s.io/v1", "Lease", spec=spec)


def binding(random: Random) -> dict[str, Any]:
    kinds = ("User", "Group", "ServiceAccount", "Robot")
    subjects = [
        present(kind=kind, name=f"{kind}-{index}", namespace="n" if "A" in kind else None)
        for index, kind in enumerate(random.choices(kinds, k=random.randrange(5)))
    ]
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": random.choice(["Role", "ClusterRole"]), "name": "admin"}
    kind = random.choice(["RoleBinding", "ClusterRoleBinding"])
    return named(random, f"{group}/v1", kind, subjects=subjects, roleRef=role)


def priority_class(random: Random) -> dict[str, Any]:
    return named(random, "scheduling.k8s.io/v1", "PriorityClass") | present(
        value=random.choice([0, -5, 1_000_000]),
        globalDefault=maybe(random, True),
        preemptionPolicy=random.choice([None, "Never", "PreemptLowerPriority"]),
    )


# Devices ---------------------------------------------------------------------------------------

DRA = "resource.k8s.io/v1"


def claim(random: Random) -> dict[str, Any]:
    reserved = [{"resource": "pods", "name": "p", "uid": "u"}]
    status = present(
        allocation=maybe(random, random.choice([{}, {"devices": {}}])),
        reservedFor=maybe(random, reserved),
    )
    return named(random, DRA, "ResourceClaim", spec={}, status=status)


def template(random: Random) -> dict[str, Any]:
    return named(random, DRA, "ResourceClaimTemplate", spec={"spec": {}})


def device_class(random: Random) -> dict[str, Any]:
    return named(random, DRA, "DeviceClass", spec={})


def published(random: Random) -> dict[str, Any]:
    spec = present(
        driver="gpu.example.com",
        pool={"name": "pool", "generation": 1, "resourceSliceCount": 1},
        nodeName=maybe(random, "node-1"),
        devices=[{"name": "gpu-0"}],
    )
    return named(random, DRA, "ResourceSlice", spec=spec)


def taint_rule(random: Random) -> dict[str, Any]:
    taint = present(
        key="example.com/broken",
        value=maybe(random, "yes"),
        effect=random.choice(["NoSchedule", "NoExecute"]),
        timeAdded=maybe(random, time(random)),
    )
    return named(random, DRA, "DeviceTaintRule", spec={"taint": taint})


def pool_status(random: Random) -> dict[str, Any]:
    pools = [
        present(
            driver="d",
            poolName=f"p{index}",
            generation=1,
            totalDevices=maybe(random, 8, 0.9),
            allocatedDevices=maybe(random, 3, 0.9),
            availableDevices=maybe(random, 4, 0.9),
            unavailableDevices=maybe(random, 1, 0.9),
            validationError=maybe(random, "bad", 0.2),
        )
        for index in range(random.randrange(4))
    ]
    status = present(
        poolCount=random.choice([None, len(pools), len(pools) + 2]),
        pools=pools,
        conditions=conditions(random, ("Complete", "Failed", "Other")),
    )
    made = named(random, "resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest")
    made["spec"] = {"driver": "gpu.example.com"}
    return made | present(status=maybe(random, status, 0.85))


# Custom resources ------------------------------------------------------------------------------

WIDGET: dict[str, Any] = {
    "spec": {
        "size": 3,
        "weight": 1.5,
        "huge": 1e300,
        "tiny": 2.5e-9,
        "shiny": True,
        "name": "w",
        "empty": "",
        "html": {"a": "<b>&", "c": [1, "x"]},
        "list": [10, 20, 30],
        "nested": [[1], [2]],
        "parts": [
            {"type": "Ready", "status": "True", "n": 1, "f": 0.5, "on": True},
            {"type": "Done", "status": "False", "n": 2, "f": 1.5, "on": False},
            {"type": "Odd", "n": 3},
        ],
        "a.b": {"c": "dotted"},
        "when": "1999-12-31T23:00:00Z",
        "zone": "1999-12-31T23:00:00+02:00",
        "never": "soon",
    },
    "status": {"parts": []},
}
PATHS = (
    ".spec.size",
    ".spec.weight",
    ".spec.tiny",
    ".spec.shiny",
    ".spec.name",
    ".spec.empty",
    ".spec.html",
    ".spec.list",
    ".spec.list[0]",
    ".spec.list[-1]",
    ".spec.list[3]",
    ".spec.list[-4]",
    ".spec.list[0:2]",
    ".spec.list[1:]",
    ".spec.list[:1]",
    ".spec.list[::2]",
    ".spec.list[2:1]",
    ".spec.list[1:1]",
    ".spec.list[*]",
    ".spec.list[0,2]",
    ".spec.nested[0][0]",
    ".spec.nested[*][0]",
    ".spec.missing",
    ".spec.size.deeper",
    ".spec.missing[0]",
    ".spec['name']",
    ".spec['name','size']",
    ".spec.a\\.b.c",
    ".spec['a.b'].c",
    '.spec.parts[?(@.type=="Ready")].status',
    '.spec.parts[?(@.type=="Done")].status',
    ".spec.parts[?(@.type=='Odd')].n",
    ".spec.parts[?(@.n>1)].type",
    ".spec.parts[?(@.n>=3)].type",
    ".spec.parts[?(@.n<2)].type",
    ".spec.parts[?(@.n!=1)].type",
    ".spec.parts[?(@.status)].type",
    ".spec.parts[?(@.on==true)].type",
    ".spec.parts[?(@.f>1.0)].type",
    ".spec.parts[?(@.type==1)].type",
    '.spec.parts[?(@.none=="x")].type',
    '.spec.name[?(@.x=="y")]',
    ".spec.parts[*].type",
    ".spec.parts",
    ".status.parts[0].x",
    ".status.parts",
    ".status.parts[*]",
    ".spec.when",
    ".spec.zone",
    ".spec.never",
    ".metadata.creationTimestamp",
    ".metadata.name",
    ".spec..status",
    ".spec.size[0]",
    '.spec.parts[?( @.type == "Ready" )].status',
    '.spec.parts[?(@.type != "Ready")].type',
    " .spec.name",
    ".spec.list[ 1 ]",
    "$.spec.name",
    ".spec.parts[?(@.nested.deep)].type",
    ".",
    ".spec.parts[?(@.f>1)].type",
)
BAD_PATHS = (".spec[", ".spec[]", ".spec['a'", ".spec.list[a]", ".spec[?(@.x==)]", ".spec[?(@.x]")


def custom(random: Random) -> Iterator[Question]:
    made = named(random, "example.com/v1", "Widget") | WIDGET
    made["metadata"]["creationTimestamp"] = "1999-12-01T00:00:00Z"
    for path in PATHS:
        columns = [
            {"name": kind, "type": kind, "jsonPath": path, "priority": index}
            for index, kind in enumerate(("string", "integer", "number", "boolean", "date"))
        ]
        yield {"custom": True, "columns": columns, "object": made}
    # What becomes of it as an integer, Go leaves open.
    columns = [
        {"name": kind, "type": kind, "jsonPath": ".spec.huge"} for kind in ("string", "number")
    ]
    yield {"custom": True, "columns": columns, "object": made}
    for path in BAD_PATHS:
        columns = [{"name": "x", "type": "string", "jsonPath": path}]
        yield {"custom": True, "columns": columns, "object": made}
