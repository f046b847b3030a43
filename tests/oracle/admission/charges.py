"""The questions about quotas, and about what nodes may write: see `worlds` for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.oracle.admission.worlds import (
    ACCOUNTS,
    CLAIMS,
    CONFIG_MAPS,
    LEASES,
    MIRROR,
    NODE_USER,
    NODES,
    PODS,
    SLICES,
    Case,
    Object,
    amounts,
    case,
    claim,
    container,
    create_pod,
    device_class,
    exactly,
    meta,
    node,
    pod,
    quota,
)

# Asks something as a node: title, operation, resource, object, and what exists.
Asking = Callable[..., Case]

# Usage -----------------------------------------------------------------------------------------


def usage(random: Random) -> Iterator[Case]:
    for title, made in _pods():
        yield create_pod("usage", title, made)
    for _ in range(25):
        yield create_pod("usage", "drawn", _drawn_pod(random))
    yield from _claims()
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("a")}
    yield case("usage", "config map", "CREATE", CONFIG_MAPS, config_map)


def _pods() -> Iterator[tuple[str, Object]]:
    both = amounts({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"})
    running = pod(containers=[container(**both)])
    yield "best effort", pod()
    yield "burstable", running
    yield "limits only", pod(containers=[container(**amounts(None, {"cpu": "2"}))])
    yield (
        "extended",
        pod(
            containers=[
                container(
                    **amounts(
                        {"example.com/gpu": "2", "deviceclass.resource.kubernetes.io/gpu": "1"},
                        {"example.com/gpu": "2", "deviceclass.resource.kubernetes.io/gpu": "1"},
                    )
                )
            ]
        ),
    )
    pages = {"hugepages-2Mi": "4Mi", "memory": "1Gi", "ephemeral-storage": "1Gi"}
    yield "huge pages", pod(containers=[container(**amounts(pages, pages))])
    for phase in ("Running", "Failed", "Succeeded"):
        yield phase, running | {"status": {"phase": phase}}
    yield (
        "long gone",
        pod(
            metadata={
                "deletionTimestamp": "2020-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": 30,
            }
        ),
    )
    yield (
        "to go in a while",
        pod(
            metadata={
                "deletionTimestamp": "2090-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": 30,
            }
        ),
    )
    yield (
        "overhead",
        pod(containers=[container(**both)], overhead={"cpu": "100m", "memory": "64Mi"}),
    )
    yield (
        "pod level",
        pod(
            containers=[container(**both)],
            resources={
                "requests": {"cpu": "5"},
                "limits": {"memory": "7Gi", "hugepages-2Mi": "2Mi"},
            },
        ),
    )
    for status in (
        {"allocatedResources": {"cpu": "3", "memory": "1Gi"}},
        {"resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "4"}}},
        {
            "allocatedResources": {"cpu": "3"},
            "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}},
        },
    ):
        for conditions in (
            [],
            [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
            [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
        ):
            told = {"name": "c", "image": "", "imageID": "", "ready": True, "restartCount": 0}
            yield (
                f"resizing {status} {[one['reason'] for one in conditions]}",
                running
                | {"status": {"containerStatuses": [told | status], "conditions": conditions}},
            )


def _drawn_pod(random: Random) -> Object:
    choices = {"cpu": ("100m", "1", "2500m"), "memory": ("64Mi", "1Gi"), "example.com/a": ("1",)}

    def drawn() -> Object:
        return {name: random.choice(of) for name, of in choices.items() if random.random() < 0.6}

    def drawn_container(name: str, **more: Any) -> Object:
        return container(name, **amounts(drawn(), drawn()), **more)

    spec: Object = {"containers": [drawn_container(f"c{n}") for n in range(random.randint(1, 3))]}
    spec["initContainers"] = [
        drawn_container(f"i{n}", **({"restartPolicy": "Always"} if random.random() < 0.5 else {}))
        for n in range(random.randint(0, 4))
    ]
    if random.random() < 0.3:
        spec["overhead"] = drawn()
    return pod(**spec)


def _claims() -> Iterator[Case]:
    all_of_them = {"allocationMode": "All"}
    classes = [device_class("gpu", "example.com/gpu"), device_class("nic")]

    def first(name: str, *alternatives: Object) -> Object:
        return {"name": name, "firstAvailable": list(alternatives)}

    def sub(name: str, wanted: str, **more: Any) -> Object:
        return {"name": name, "deviceClassName": wanted} | more

    made = {
        "one": [exactly("r", "gpu")],
        "several": [exactly("r", "gpu", count=2), exactly("s", "nic", count=3)],
        "twice": [exactly("r", "gpu", count=2), exactly("s", "gpu")],
        "all": [exactly("r", "gpu", **all_of_them)],
        "first": [first("r", sub("a", "gpu", count=2), sub("b", "gpu"), sub("c", "nic"))],
        "first all": [first("r", sub("a", "gpu", **all_of_them)), exactly("s", "gpu", count=4)],
        "admin": [exactly("r", "gpu", adminAccess=True)],
        "no class": [exactly("r", "other", count=7)],
        "nothing": [],
    }
    for title, requests in made.items():
        for state in ([], classes):
            yield case("usage", f"claim {title}", "CREATE", CLAIMS, claim("c", *requests), *state)
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "uid": "pod-uid",
        "controller": True,
    }
    extended = {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
        "creationTimestamp": "2026-01-01T00:00:10Z",
    }
    needs = {"example.com/gpu": "2", "deviceclass.resource.kubernetes.io/nic": "1"}
    paying = pod(metadata={"uid": "pod-uid"}, containers=[container(**amounts(needs, needs))])
    knowing = paying | {
        "status": {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": []}}
    }
    other = paying | {
        "status": {"extendedResourceClaimStatus": {"resourceClaimName": "d", "requestMappings": []}}
    }
    wants = [exactly("r", "gpu", count=3), exactly("s", "nic")]
    mine = claim("c", *wants, **extended)
    early = claim("b", *wants, **(extended | {"creationTimestamp": "2026-01-01T00:00:00Z"}))
    late = claim("b", *wants, **(extended | {"creationTimestamp": "2026-01-01T00:01:00Z"}))
    same = claim("b", *wants, **extended)
    stranger = claim("c", *wants, **(extended | {"ownerReferences": [owner | {"uid": "x"}]}))
    not_controlled = claim(
        "c", *wants, **(extended | {"ownerReferences": [owner | {"controller": False}]})
    )
    for title, asked, state in (
        ("paid by its pod", mine, [paying]),
        ("paid by a pod that knows it", mine, [knowing]),
        ("of a pod that knows another", mine, [other]),
        ("another came first", mine, [paying, early]),
        ("another came later", mine, [paying, late]),
        ("another came at once", mine, [paying, same]),
        ("no pod", mine, []),
        ("another pod", stranger, [paying]),
        ("not controlled", not_controlled, [paying]),
        ("not annotated", claim("c", *wants, ownerReferences=[owner]), [paying]),
    ):
        yield case("usage", f"claim {title}", "CREATE", CLAIMS, asked, *classes, *state)


# Charges ---------------------------------------------------------------------------------------


def quotas(random: Random) -> Iterator[Case]:
    plugin = "quota"
    small = container(**amounts({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"}))
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("a")}
    yield create_pod(plugin, "none", pod())
    yield create_pod(plugin, "room", pod(), quota("q", {"pods": "2"}, {"pods": "1"}))
    yield create_pod(plugin, "full", pod(), quota("q", {"pods": "2"}, {"pods": "2"}))
    yield create_pod(plugin, "overfull", pod(), quota("q", {"pods": "2"}, {"pods": "3"}))
    yield create_pod(
        plugin,
        "several exceeded",
        pod(containers=[small]),
        quota(
            "q",
            {"pods": "1", "requests.cpu": "1500m", "limits.memory": "3Gi", "memory": "9Gi"},
            {"pods": "1", "requests.cpu": "1", "limits.memory": "1536Mi", "memory": "1Gi"},
        ),
    )
    yield create_pod(
        plugin,
        "two quotas",
        pod(containers=[small]),
        quota("a", {"pods": "2"}),
        quota("b", {"limits.cpu": "10", "configmaps": "1"}, {"limits.cpu": "3", "configmaps": "1"}),
    )
    yield create_pod(plugin, "unknown usage", pod(), quota("q", {"pods": "2"}, {}))
    yield create_pod(
        plugin,
        "partly unknown usage",
        pod(containers=[small]),
        quota("q", {"pods": "2", "cpu": "2", "secrets": "1"}, {"pods": "1"}),
    )
    for name in ("cpu", "requests.memory", "limits.cpu", "limits.memory", "ephemeral-storage"):
        yield create_pod(plugin, f"must specify {name}", pod(), quota("q", {name: "2"}))
    yield create_pod(
        plugin,
        "must specify several",
        pod(
            containers=[small, container("b", **amounts({"cpu": "1"}))],
            initContainers=[container("a")],
        ),
        quota("q", {"limits.cpu": "9", "limits.memory": "9Gi", "cpu": "9", "pods": "1"}),
    )
    yield create_pod(
        plugin,
        "a pod may specify as a whole",
        pod(resources={"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}),
        quota("q", {"limits.cpu": "9", "requests.cpu": "9", "limits.memory": "1Gi"}),
    )
    yield from _scoped(plugin, small)
    for name in ("configmaps", "count/configmaps", "count/secrets", "secrets"):
        for used in ("0", "1"):
            yield case(
                plugin, f"{name} {used}", "CREATE", CONFIG_MAPS, config_map,
                quota("q", {name: "1"}, {name: used}),
            )  # fmt: skip
    scoped = quota("q", {"configmaps": "1"}, {"configmaps": "1"}, scopes=["BestEffort"])
    yield case(plugin, "scoped count", "CREATE", CONFIG_MAPS, config_map, scoped)
    full = quota("q", {"configmaps": "1"}, {"configmaps": "1"})
    yield case(plugin, "update", "UPDATE", CONFIG_MAPS, config_map, full, old=config_map)
    yield from _pod_updates(plugin, small)
    yield from _claim_charges(plugin)
    for _ in range(25):
        hard = {
            name: random.choice(["1", "3", "2Gi", "500m"])
            for name in ("pods", "cpu", "limits.cpu", "memory", "requests.example.com/a")
            if random.random() < 0.6
        }
        so_far = {name: random.choice(["0", "1", "250m"]) for name in hard}
        yield create_pod(plugin, "drawn", _drawn_pod(random), quota("q", hard, so_far))


def _scoped(plugin: str, small: Object) -> Iterator[Case]:
    def selecting(operator: str, *values: str) -> Object:
        clause: Object = {"scopeName": "PriorityClass", "operator": operator}
        clause |= {"values": list(values)} if values else {}
        return {"scopeSelector": {"matchExpressions": [clause]}}

    affinity = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "k", "namespaces": ["other"]}}
            ]
        }
    }
    pods = {
        "best effort": pod(),
        "burstable": pod(containers=[small]),
        "terminating": pod(activeDeadlineSeconds=5),
        "high": pod(priorityClassName="high"),
        "affine": pod(affinity=affinity),
    }
    scopes: list[Object] = [
        {"scopes": ["BestEffort"]},
        {"scopes": ["NotBestEffort"]},
        {"scopes": ["Terminating"]},
        {"scopes": ["NotTerminating"]},
        {"scopes": ["BestEffort", "NotTerminating"]},
        {"scopes": ["PriorityClass"]},
        {"scopes": ["CrossNamespacePodAffinity"]},
        selecting("In", "high", "higher"),
        selecting("NotIn", "high"),
        selecting("Exists"),
        selecting("DoesNotExist"),
    ]
    for title, made in pods.items():
        for scope in scopes:
            yield create_pod(
                plugin, f"{title} {scope}", made, quota("q", {"pods": "5"}, {"pods": "5"}, **scope)
            )


def _pod_updates(plugin: str, small: Object) -> Iterator[Case]:
    stored = {"resourceVersion": "5"}
    before = pod(containers=[small], metadata=stored)
    large = container(**amounts({"cpu": "3", "memory": "512Mi"}, {"cpu": "3", "memory": "2Gi"}))
    after = pod(containers=[large], metadata=stored)
    ending = pod(containers=[small], metadata=stored, activeDeadlineSeconds=5)
    bound = {"cpu": "3", "memory": "9Gi", "pods": "1"}
    for cpu in ("1", "2"):
        charged = quota("q", bound, {"cpu": cpu, "memory": "1Gi", "pods": "1"})
        yield case(
            plugin, f"resize {cpu}", "UPDATE", PODS, after, charged, old=before,
            subresource="resize",
        )  # fmt: skip
        yield case(plugin, f"update {cpu}", "UPDATE", PODS, after, charged, old=before)
    for used in ("0", "1"):
        for scope in ("Terminating", "NotTerminating"):
            counted = quota("q", {"pods": "1"}, {"pods": used}, scopes=[scope])
            yield case(
                plugin, f"ends now {scope} {used}", "UPDATE", PODS, ending, counted, old=before
            )


def _claim_charges(plugin: str) -> Iterator[Case]:
    classes = [device_class("gpu", "example.com/gpu"), device_class("nic")]
    wanted = claim("c", exactly("r", "gpu", count=2), exactly("s", "nic"))
    count = "count/resourceclaims.resource.k8s.io"
    for name in (
        count,
        "gpu.deviceclass.resource.k8s.io/devices",
        "nic.deviceclass.resource.k8s.io/devices",
        "requests.deviceclass.resource.kubernetes.io/gpu",
        "requests.deviceclass.resource.kubernetes.io/nic",
        "requests.deviceclass.resource.kubernetes.io/none",
        "requests.example.com/gpu",
        "requests.example.com/none",
    ):
        for used in ("0", "1"):
            yield case(
                plugin, f"claim {name} {used}", "CREATE", CLAIMS, wanted, *classes,
                quota("q", {name: "2"}, {name: used}),
            )  # fmt: skip
    without = quota("q", {"requests.example.com/gpu": "1"}, {"requests.example.com/gpu": "1"})
    yield case(plugin, "claim without classes", "CREATE", CLAIMS, wanted, without)
    stored = claim("c", exactly("r", "gpu", count=2), exactly("s", "nic"), resourceVersion="3")
    full = quota("q", {count: "1"}, {count: "1"})
    yield case(plugin, "claim update", "UPDATE", CLAIMS, stored, full, old=stored)
    yield case(
        plugin, "claim status", "UPDATE", CLAIMS, stored, full, old=stored, subresource="status"
    )


# Nodes -----------------------------------------------------------------------------------------


def node_restriction(_: Random) -> Iterator[Case]:
    plugin = "node_restriction"

    def mine(title: str, operation: str, resource: Object, obj: Object | None, *state: Object,
             **more: Any) -> Case:  # fmt: skip
        return case(plugin, title, operation, resource, obj, *state, **(NODE_USER | more))

    yield create_pod(plugin, "somebody else", pod())
    yield mine("no name", "CREATE", PODS, pod(), user="system:node:")
    yield mine("not of the group", "CREATE", PODS, pod(), groups=["others"])
    yield mine("something else", "CREATE", CONFIG_MAPS,
               {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("a")})  # fmt: skip
    yield from _mirror_pods(mine)
    yield from _pod_writes(mine)
    yield from _node_writes(mine)
    yield from _tokens(mine)
    lease: Object = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    for operation in ("CREATE", "UPDATE", "DELETE"):
        for name, where in (("n1", "kube-node-lease"), ("n2", "kube-node-lease"), ("n1", "ns")):
            made = lease | {"metadata": meta(name, where)}
            yield mine(
                f"lease {where}/{name}", operation, LEASES,
                None if operation == "DELETE" else made,
                old=None if operation == "CREATE" else made,
            )  # fmt: skip
    slice_: Object = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": meta("s", ""),
    }
    pool: Object = {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
    selector = {"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}  # fmt: skip
    for place in (
        {"nodeName": "n1"}, {"nodeName": "n2"}, {"allNodes": True}, {"nodeSelector": selector}, {}
    ):  # fmt: skip
        made = slice_ | {"spec": pool | place}
        yield mine(f"create slice {place}", "CREATE", SLICES, made)
        yield mine(f"update slice {place}", "UPDATE", SLICES, made, old=made)
        yield mine(f"delete slice {place}", "DELETE", SLICES, None, old=made)


def node_declared_features(_: Random) -> Iterator[Case]:
    plugin = "node_declared_features"
    knowing = node("n1", labels={"rack": "a"}) | {
        "status": {"declaredFeatures": ["DRANodeAllocatableResources"]}
    }
    unknowing = node("n2", labels={"rack": "b"}) | {"status": {"declaredFeatures": ["Other"]}}
    standing: Object = {
        "name": "d",
        "nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "1"}}},
    }

    def racks(*values: str) -> Object:
        requirement = {"key": "rack", "operator": "In", "values": list(values)}
        return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}

    places: tuple[Object, ...] = (
        {"nodeName": "n1"},
        {"nodeName": "n2"},
        {"nodeName": "n3"},
        racks("a"),
        racks("a", "b"),
        racks("c"),
        {"allNodes": True},
        {},
    )
    for place in places:
        for spec in (
            {"devices": [standing]} | place,
            {"devices": [{"name": "e"}]} | place,
            {"perDeviceNodeSelection": True, "devices": [{"name": "e"}, standing | place]},
        ):
            made = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": meta("s", ""),
                "spec": {
                    "driver": "d",
                    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                    **spec,
                },
            }
            yield case(plugin, f"{spec}", "CREATE", SLICES, made, knowing, unknowing)
            yield case(plugin, f"{spec}", "UPDATE", SLICES, made, knowing, unknowing, old=made)


def _mirror_pods(mine: Asking) -> Iterator[Case]:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "node-uid"}
    controller = owner | {"controller": True}

    def mirror(title: str, *, owners: list[Object] | None = None, metadata: Object | None = None,
               state: list[Object] | None = None, **spec: Any) -> Case:  # fmt: skip
        known = MIRROR | {"ownerReferences": [controller] if owners is None else owners}
        made = pod(metadata=known if metadata is None else metadata, **({"nodeName": "n1"} | spec))
        return mine(f"mirror pod: {title}", "CREATE", PODS, made,
                    *([node()] if state is None else state))  # fmt: skip

    yield mirror("plain")
    yield mirror("no annotation", metadata={})
    yield mirror("elsewhere", nodeName="n2")
    yield mirror("nowhere", nodeName="")
    yield mirror("no owner", owners=[])
    yield mirror("two owners", owners=[controller, owner])
    yield mirror("not controlled", owners=[owner])
    yield mirror("another node", owners=[controller | {"name": "n2"}])
    yield mirror("another kind", owners=[controller | {"kind": "Pod"}])
    yield mirror("blocks", owners=[controller | {"blockOwnerDeletion": True}])
    yield mirror("other uid", owners=[controller | {"uid": "x"}])
    yield mirror("no node", state=[])
    yield mirror("account", serviceAccountName="robot")
    yield mirror("pull secret", imagePullSecrets=[{"name": "s"}])
    yield mirror("config map", containers=[container(envFrom=[{"configMapRef": {"name": "s"}}])])
    by_key = {"name": "V", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}}
    yield mirror("config map key", containers=[container(env=[by_key])])
    yield mirror("claim", resourceClaims=[{"name": "c", "resourceClaimName": "x"}])
    sources: tuple[Object, ...] = (
        {"hostPath": {"path": "/", "type": ""}},
        {"emptyDir": {}},
        {"image": {"reference": "x:1", "pullPolicy": "IfNotPresent"}},
        {"configMap": {"name": "s"}},
        {"configMap": {}},
        {"secret": {"secretName": "s"}},
        {"secret": {}},
        {"csi": {"driver": "d"}},
        {"glusterfs": {"endpoints": "e", "path": "p"}},
        {"persistentVolumeClaim": {"claimName": "c"}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {}}}}},
        {"azureFile": {"secretName": "", "shareName": "x"}},
        {"projected": {"sources": [{"downwardAPI": {}}], "defaultMode": 420}},
        {"projected": {"sources": [{"downwardAPI": {}}, {"configMap": {}}]}},
        {"projected": {"sources": [{"secret": {}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"projected": {"sources": [{"clusterTrustBundle": {"path": "t"}}]}},
        {"projected": {"sources": [{}]}},
    )
    for source in sources:
        yield mirror(f"volume {source}", volumes=[{"name": "v"} | source])


def _pod_writes(mine: Asking) -> Iterator[Case]:
    here, there = pod(nodeName="n1"), pod(nodeName="n2")
    for title, found in (("here", here), ("there", there)):
        yield mine(f"delete {title}", "DELETE", PODS, None, found, old=found)
        yield mine(f"update {title}", "UPDATE", PODS, found, found, old=found)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta("p")}
        yield mine(
            f"evict {title}", "CREATE", PODS, eviction, found, subresource="eviction",
            kind="Eviction",
        )  # fmt: skip
        yield mine(f"status {title}", "UPDATE", PODS, found, found, old=found, subresource="status")
        yield mine(f"resize {title}", "UPDATE", PODS, found, found, old=found, subresource="resize")
    yield mine("delete nothing", "DELETE", PODS, None, old=here)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta("zzz")}
    yield mine("evict nothing", "CREATE", PODS, eviction, subresource="eviction", kind="Eviction")
    labelled = pod(nodeName="n1", metadata={"labels": {"a": "b"}})
    told = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "x"}]}
    other = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "y"}]}
    extended = {"extendedResourceClaimStatus": {"resourceClaimName": "x", "requestMappings": []}}
    node_resources = {
        "nodeAllocatableResourceClaimStatuses": [
            {"resourceClaimName": "x", "mapping": [{"name": "cpu", "quantity": "1"}]}
        ]
    }
    for title, new, old in (
        ("labels", labelled, here),
        ("phase", here | {"status": {"phase": "Running"}}, here),
        ("claims", here | {"status": told}, here),
        ("other claims", here | {"status": other}, here | {"status": told}),
        ("same claims", here | {"status": told}, here | {"status": told}),
        ("extended", here | {"status": extended}, here),
        ("node resources", here | {"status": node_resources}, here),
    ):
        yield mine(f"status: {title}", "UPDATE", PODS, new, old, old=old, subresource="status")


def _node_writes(mine: Asking) -> Iterator[Case]:
    yield mine("create other node", "CREATE", NODES, node("n2"))
    yield mine("delete own node", "DELETE", NODES, None, node(), old=node())
    yield mine("delete other node", "DELETE", NODES, None, node("n2"), old=node("n2"))
    taint: Object = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    source: Object = {
        "configSource": {"configMap": {"namespace": "n", "name": "m", "kubeletConfigKey": "k"}}
    }
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]
    yield mine("create", "CREATE", NODES, node())
    yield mine("create tainted", "CREATE", NODES, node(**taint))
    yield mine("create configured", "CREATE", NODES, node(**source))
    for title, new, old in (
        ("taint", node(**taint), node()),
        ("untaint", node(), node(**taint)),
        ("unschedulable", node(unschedulable=True), node()),
        ("configure", node(**source), node()),
        ("stay configured", node(**source), node(**source)),
        ("deconfigure", node(), node(**source)),
        ("own", node(owners=owners), node()),
    ):
        yield mine(f"update: {title}", "UPDATE", NODES, new, old, old=old)
        yield mine(f"status: {title}", "UPDATE", NODES, new, old, old=old, subresource="status")
    for label in (
        "a",
        "example.com/a",
        "kubernetes.io/hostname",
        "kubernetes.io/other",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/rack",
        "kubelet.kubernetes.io/a",
        "x.kubelet.kubernetes.io/a",
        "node.kubernetes.io/a",
        "node-restriction.kubernetes.io/a",
        "x.node-restriction.kubernetes.io/a",
        "beta.kubernetes.io/instance-type",
        "feature.node.kubernetes.io/a",
        "k8s.io/a",
        "x.k8s.io/a",
        "notkubernetes.io/a",
        "node-role.kubernetes.io/control-plane",
    ):
        labelled = node(labels={label: "x", "kept": "y"})
        yield mine(f"create {label}", "CREATE", NODES, labelled)
        changed = node(labels={label: "z", "kept": "y"})
        yield mine(f"change {label}", "UPDATE", NODES, changed, labelled, old=labelled)
    two = node(labels={"x.k8s.io/b": "", "x.k8s.io/a": ""})
    yield mine("create two labels", "CREATE", NODES, two)
    yield mine("remove two labels", "UPDATE", NODES, node(), two, old=two)


def _tokens(mine: Asking) -> Iterator[Case]:
    mounting = pod(
        nodeName="n1",
        metadata={"uid": "pod-uid"},
        volumes=[
            {
                "name": "v",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "t"}},
                        {"serviceAccountToken": {"path": "u", "audience": "vault"}},
                    ]
                },
            }
        ],
    )
    elsewhere = mounting | {"spec": mounting["spec"] | {"nodeName": "n2"}}
    bare = pod(nodeName="n1", metadata={"uid": "pod-uid"})
    sources: tuple[Object, ...] = (
        {"csi": {"driver": "d"}},
        {"persistentVolumeClaim": {"claimName": "c"}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {}}}}},
    )
    stored = [
        pod(nodeName="n1", metadata={"uid": "pod-uid"}, volumes=[{"name": "v"} | source])
        for source in sources
    ]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pod-uid"}

    def token(title: str, reference: Object | None, *state: Object, **spec: Any) -> Case:
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": meta("robot"),
            "spec": {"boundObjectRef": reference, "expirationSeconds": 3600} | spec,
        }
        return mine(
            f"token: {title}", "CREATE", ACCOUNTS, asked, *state, subresource="token",
            kind="TokenRequest",
        )  # fmt: skip

    yield token("mounted", bound, mounting)
    yield token("mounted audience", bound, mounting, audiences=["vault"])
    yield token("other audience", bound, mounting, audiences=["bank"])
    yield token("two audiences", bound, mounting, audiences=["vault", "bank"])
    yield token("not mounted", bound, bare)
    yield token("not bound", None, mounting)
    yield token("bound to a node", bound | {"kind": "Node"}, mounting)
    yield token("no uid", {"apiVersion": "v1", "kind": "Pod", "name": "p"}, mounting)
    yield token("other uid", bound | {"uid": "x"}, mounting)
    yield token("elsewhere", bound, elsewhere)
    yield token("no pod", bound)
    for found in stored:
        yield token(f"{found['spec']['volumes']}", bound, found, audiences=["vault"])
