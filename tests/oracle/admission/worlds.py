"""The questions: admission requests, each with the objects that exist when it comes.

Volumes that are let through say what upstream would default: dray carries them as they are.

Written by hand where a rule has a text of its own, drawn from a seed where many amounts meet many
bounds. Free of dray's code, so that both sides read the same plain JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

Object = dict[str, Any]
Case = dict[str, Any]

NODE_USER = {"user": "system:node:n1", "groups": ["system:nodes", "system:authenticated"]}


# Objects ---------------------------------------------------------------------------------------


def meta(name: str, namespace: str = "ns", **more: Any) -> Object:
    return {"name": name} | ({"namespace": namespace} if namespace else {}) | more


def namespace(name: str, phase: str = "Active") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": meta(name, ""),
        "status": {"phase": phase},
    }


def container(name: str = "c", **more: Any) -> Object:
    return {"name": name, "image": "busybox:1"} | more


def amounts(requests: Object | None = None, limits: Object | None = None) -> Object:
    given = {"requests": requests, "limits": limits}
    return {"resources": {key: value for key, value in given.items() if value is not None}}


def pod(name: str = "p", *, metadata: Object | None = None, status: Object | None = None,
        **spec: Any) -> Object:  # fmt: skip
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name) | (metadata or {}),
        "spec": {"containers": [container()]} | spec,
    }
    return made | ({"status": status} if status else {})


def account(name: str = "default", **more: Any) -> Object:
    annotations = more.pop("annotations", None)
    metadata = meta(name) | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata} | more


def limit_range(name: str, *items: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": meta(name),
        "spec": {"limits": list(items)},
    }


def quota(name: str, hard: Object, used: Object | None = None, **spec: Any) -> Object:
    if used is None:
        used = dict.fromkeys(hard, "0")
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": meta(name),
        "spec": {"hard": hard} | spec,
        "status": {"hard": hard, "used": used},
    }


def node(name: str = "n1", uid: str = "node-uid", **more: Any) -> Object:
    labels = more.pop("labels", None)
    owners = more.pop("owners", None)
    metadata = meta(name, "", uid=uid)
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"ownerReferences": owners} if owners else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": more}


def priority_class(name: str, value: int, **more: Any) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": meta(name, ""),
        "value": value,
    } | more


def claim(name: str, *requests: Object, **metadata: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": meta(name) | metadata,
        "spec": {"devices": {"requests": list(requests)}},
    }


def exactly(name: str, device_class: str, **more: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": device_class} | more}


def device_class(name: str, resource: str | None = None) -> Object:
    spec = {"extendedResourceName": resource} if resource else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": meta(name, "", creationTimestamp="2026-01-01T00:00:00Z"),
        "spec": spec,
    }


# Requests --------------------------------------------------------------------------------------

PODS = {"group": "", "version": "v1", "resource": "pods", "kind": "Pod"}
NODES = {"group": "", "version": "v1", "resource": "nodes", "kind": "Node"}
CONFIG_MAPS = {"group": "", "version": "v1", "resource": "configmaps", "kind": "ConfigMap"}
ACCOUNTS = {"group": "", "version": "v1", "resource": "serviceaccounts", "kind": "ServiceAccount"}
NAMESPACES = {"group": "", "version": "v1", "resource": "namespaces", "kind": "Namespace"}
LEASES = {"group": "coordination.k8s.io", "version": "v1", "resource": "leases", "kind": "Lease"}
CLAIMS = {
    "group": "resource.k8s.io",
    "version": "v1",
    "resource": "resourceclaims",
    "kind": "ResourceClaim",
}
SLICES = {
    "group": "resource.k8s.io",
    "version": "v1",
    "resource": "resourceslices",
    "kind": "ResourceSlice",
}
CLASSES = {
    "group": "scheduling.k8s.io",
    "version": "v1",
    "resource": "priorityclasses",
    "kind": "PriorityClass",
}


def case(
    plugin: str,
    title: str,
    operation: str,
    resource: Object,
    obj: Object | None,
    *state: Object,
    old: Object | None = None,
    **more: Any,
) -> Case:
    subject = obj or old or {}
    return {
        "title": title,
        "plugin": plugin,
        "state": list(state),
        "operation": operation,
        "namespace": subject.get("metadata", {}).get("namespace", ""),
        "name": subject.get("metadata", {}).get("name", ""),
        "user": "alice",
        "groups": ["system:authenticated"],
        "object": obj,
        "old": old,
        **resource,
        **more,
    }


def create_pod(plugin: str, title: str, obj: Object, *state: Object, **more: Any) -> Case:
    return case(plugin, title, "CREATE", PODS, obj, *state, **more)


# Namespaces ------------------------------------------------------------------------------------


def namespace_lifecycle(_: Random) -> Iterator[Case]:
    plugin = "namespace_lifecycle"
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("a")}
    going = namespace("ns", "Terminating")
    yield case(plugin, "active", "CREATE", CONFIG_MAPS, config_map, namespace("ns"))
    yield case(plugin, "missing", "CREATE", CONFIG_MAPS, config_map)
    yield case(plugin, "terminating", "CREATE", CONFIG_MAPS, config_map, going)
    unnamed = config_map | {"metadata": {"generateName": "gen-", "namespace": "ns"}}
    yield case(plugin, "terminating, no name yet", "CREATE", CONFIG_MAPS, unnamed, going)
    yield case(plugin, "update", "UPDATE", CONFIG_MAPS, config_map, going, old=config_map)
    yield case(plugin, "delete", "DELETE", CONFIG_MAPS, None, going, old=config_map)
    wanted = claim("c", exactly("r", "gpu"))
    yield case(plugin, "claim", "CREATE", CLAIMS, wanted, going)
    for name in ("default", "kube-system", "kube-public", "kube-node-lease", "ns"):
        found = namespace(name)
        yield case(plugin, f"delete {name}", "DELETE", NAMESPACES, None, found, old=found)
    yield case(plugin, "cluster-scoped", "CREATE", NODES, node())


# Limit ranges ----------------------------------------------------------------------------------


def limit_ranger(random: Random) -> Iterator[Case]:
    plugin = "limit_ranger"
    defaults = limit_range(
        "defaults",
        {
            "type": "Container",
            "default": {"cpu": "1", "memory": "1Gi"},
            "defaultRequest": {"cpu": "100m"},
        },
    )
    yield create_pod(plugin, "no limit ranges", pod())
    yield create_pod(plugin, "defaults", pod(), defaults)
    partly = container(**amounts({"cpu": "200m"}, {"memory": "2Gi"}))
    yield create_pod(plugin, "defaults for what is missing", pod(containers=[partly]), defaults)
    full = container(**amounts({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}))
    yield create_pod(plugin, "nothing is missing", pod(containers=[full]), defaults)
    yield create_pod(
        plugin,
        "defaults for all containers",
        pod(
            containers=[container("a"), container("b", **amounts({"cpu": "1"}))],
            initContainers=[container("i"), container("s", restartPolicy="Always")],
            metadata={"annotations": {"other": "kept"}},
        ),
        defaults,
    )
    later = limit_range(
        "later",
        {"type": "Container", "default": {"cpu": "3"}},
        {"type": "Container", "default": {"cpu": "4"}, "defaultRequest": {"memory": "5Mi"}},
    )
    yield create_pod(plugin, "of two items the later counts", pod(), later)
    resized = pod(containers=[container(**amounts({"cpu": "9"}, {"cpu": "9"}))])
    bounds = limit_range("bounds", {"type": "Container", "max": {"cpu": "2"}})
    yield case(plugin, "resize", "UPDATE", PODS, resized, bounds, old=pod(), subresource="resize")
    gone = pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    yield case(
        plugin, "resize of one that goes", "UPDATE", PODS, resized, bounds, old=gone,
        subresource="resize",
    )  # fmt: skip
    yield case(plugin, "update", "UPDATE", PODS, resized, bounds, old=pod())
    for bound in ("min", "max", "maxLimitRequestRatio"):
        for kind in ("Container", "Pod"):
            for requests, limits in (
                (None, None),
                ({"memory": "2Gi"}, None),
                (None, {"memory": "2Gi"}),
                ({"memory": "1Gi"}, {"memory": "4Gi"}),
                ({"memory": "3Gi"}, {"memory": "3Gi"}),
                ({"memory": "0"}, {"memory": "1Gi"}),
                ({"memory": "1Gi"}, {"memory": "0"}),
            ):
                item = {"type": kind, bound: {"memory": "2" if "R" in bound else "2Gi"}}
                given = container(**amounts(requests, limits))
                yield create_pod(
                    plugin,
                    f"{bound} {kind} {requests} {limits}",
                    pod(containers=[given]),
                    limit_range("bounds", item),
                )
    for _ in range(60):
        yield _drawn_limits(random)


def _drawn_limits(random: Random) -> Case:
    amounts_of = {
        "cpu": ("0", "100m", "250m", "1", "1500m", "2", "9223372036854775807"),
        "memory": ("0", "64Mi", "1Gi", "1500M", "2Gi", "8Ei"),
        "ephemeral-storage": ("1Gi", "3Gi"),
        "example.com/gpu": ("1", "2"),
    }

    def drawn(chance: float) -> Object:
        return {
            name: random.choice(values)
            for name, values in amounts_of.items()
            if random.random() < chance
        }

    def drawn_container(name: str, **more: Any) -> Object:
        return container(name, **amounts(drawn(0.6), drawn(0.5)), **more)

    item: Object = {"type": random.choice(["Container", "Pod"])}
    for bound in ("min", "max"):
        if random.random() < 0.6:
            item[bound] = drawn(0.5)
    if random.random() < 0.4:
        item["maxLimitRequestRatio"] = {"cpu": random.choice(["1", "1500m", "3"])}
    if item["type"] == "Container" and random.random() < 0.4:
        item["default"] = drawn(0.5)
        item["defaultRequest"] = drawn(0.4)
    spec: Object = {"containers": [drawn_container(name) for name in "ab"[: random.randint(1, 2)]]}
    if random.random() < 0.5:
        spec["initContainers"] = [
            drawn_container(f"i{index}", **({"restartPolicy": "Always"} if index % 2 else {}))
            for index in range(random.randint(1, 3))
        ]
    if random.random() < 0.3:
        spec["resources"] = {
            "requests": {"cpu": random.choice(["1", "3"]), "hugepages-2Mi": "4Mi"},
            "limits": {"memory": random.choice(["1Gi", "3Gi"])},
        }
    return create_pod("limit_ranger", "drawn", pod(**spec), limit_range("drawn", item))


# Service accounts ------------------------------------------------------------------------------

MIRROR = {"annotations": {"kubernetes.io/config.mirror": "hash"}}
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def service_account(_: Random) -> Iterator[Case]:
    plugin = "service_account"
    robot = account("robot")
    yield create_pod(plugin, "default", pod(), account())
    yield create_pod(plugin, "named", pod(serviceAccountName="robot"), robot)
    yield create_pod(plugin, "missing", pod(serviceAccountName="robot"))
    yield create_pod(plugin, "no name yet", pod(serviceAccountName="robot", metadata={"name": ""}))
    for of_pod in (None, True, False):
        for of_account in (None, True, False):
            said: Object = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
            told: Object = (
                {} if of_account is None else {"automountServiceAccountToken": of_account}
            )
            yield create_pod(
                plugin, f"automount {of_pod} {of_account}", pod(**said), account(**told)
            )
    volume = {"name": "data", "emptyDir": {}}
    mount = {"name": "data", "mountPath": "/data"}
    yield create_pod(
        plugin,
        "beside other volumes",
        pod(
            volumes=[volume],
            containers=[container("a", volumeMounts=[mount]), container("b")],
            initContainers=[container("i"), container("j", volumeMounts=[mount, mount])],
        ),
        account(),
    )
    taken = {"name": "data", "mountPath": TOKEN_PATH}
    yield create_pod(
        plugin,
        "the path is taken everywhere",
        pod(volumes=[volume], containers=[container(volumeMounts=[taken])]),
        account(),
    )
    yield create_pod(
        plugin,
        "the path is taken in one",
        pod(volumes=[volume], containers=[container("a", volumeMounts=[taken]), container("b")]),
        account(),
    )
    brought = {"name": "kube-api-access-abcde", "emptyDir": {}}
    yield create_pod(plugin, "brought along", pod(volumes=[volume, brought]), account())
    yield create_pod(plugin, "empty volumes", pod(volumes=[]), account())
    pull: Object = {"imagePullSecrets": [{"name": "one"}, {"name": "two"}]}
    yield create_pod(plugin, "pull secrets", pod(), account(**pull))
    yield create_pod(
        plugin, "own pull secrets", pod(imagePullSecrets=[{"name": "mine"}]), account(**pull)
    )
    yield from _mirror_pods(plugin)
    yield from _mountable_secrets(plugin)


def _mirror_pods(plugin: str) -> Iterator[Case]:
    def mirror(title: str, **spec: Any) -> Case:
        return create_pod(plugin, f"mirror: {title}", pod(metadata=MIRROR, **spec))

    yield mirror("plain")
    yield mirror("account", serviceAccountName="robot")
    yield mirror("pull secret", imagePullSecrets=[{"name": "s"}])
    yield mirror("variable", containers=[container(env=[_secret_variable("s")])])
    yield mirror("variables", initContainers=[container(envFrom=[{"secretRef": {"name": "s"}}])])
    yield mirror("config map", containers=[container(envFrom=[{"configMapRef": {"name": "s"}}])])
    for source in (
        {"secret": {"secretName": "s"}},
        {"csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}},
        {"csi": {"driver": "d"}},
        {"azureFile": {"secretName": "s", "shareName": "x"}},
        {"projected": {"sources": [{"secret": {"name": "s"}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"projected": {"sources": [{"configMap": {"name": "s"}}], "defaultMode": 420}},
        {"iscsi": {"targetPortal": "x", "iqn": "y", "lun": 0, "secretRef": {"name": "s"}}},
        {"hostPath": {"path": "/", "type": ""}},
    ):
        yield mirror(f"volume {source}", volumes=[{"name": "v"} | source])


def _mountable_secrets(plugin: str) -> Iterator[Case]:
    def limited(title: str, *, value: str = "true", **spec: Any) -> Case:
        strict = account(
            annotations={"kubernetes.io/enforce-mountable-secrets": value},
            secrets=[{"name": "listed"}],
            imagePullSecrets=[{"name": "pull"}],
        )
        return create_pod(plugin, f"mountable: {title}", pod(**spec), strict)

    unlisted: Object = {
        "volumes": [{"name": "v", "secret": {"secretName": "other", "defaultMode": 420}}]
    }
    yield limited("volume", **unlisted)
    yield limited(
        "listed volume",
        volumes=[{"name": "v", "secret": {"secretName": "listed", "defaultMode": 420}}],
    )
    for value in ("True", "t", "1", "yes", "false", ""):
        yield limited(f"annotation {value!r}", value=value, **unlisted)
    source = {"secretRef": {"name": "other"}}
    variable = _secret_variable("other")
    yield limited("variable", containers=[container(env=[variable])])
    yield limited("listed variable", containers=[container(env=[_secret_variable("listed")])])
    yield limited("source", containers=[container(envFrom=[source])])
    yield limited("init variable", initContainers=[container("i", env=[variable])])
    yield limited("init source", initContainers=[container("i", envFrom=[source])])
    yield limited("pull secret", imagePullSecrets=[{"name": "pull"}, {"name": "other"}])
    strict = account(annotations={"kubernetes.io/enforce-mountable-secrets": "true"})
    for given in ({"env": [variable]}, {"envFrom": [source]}, {}):
        debugged = pod(serviceAccountName="default", ephemeralContainers=[container("e", **given)])
        yield case(
            plugin, f"ephemeral {given}", "UPDATE", PODS, debugged, strict,
            old=pod(), subresource="ephemeralcontainers",
        )  # fmt: skip
    yield case(
        plugin, "ephemeral, no account", "UPDATE", PODS, pod(), strict,
        old=pod(), subresource="ephemeralcontainers",
    )  # fmt: skip


def _secret_variable(secret: str) -> Object:
    return {"name": "V", "valueFrom": {"secretKeyRef": {"name": secret, "key": "k"}}}


# Priorities, tolerations, taints, labels -------------------------------------------------------


def priority(_: Random) -> Iterator[Case]:
    plugin = "priority"
    high = priority_class("high", 1000)
    never = priority_class("never", 5, preemptionPolicy="Never")
    usual = priority_class("usual", 10, globalDefault=True)
    lower = priority_class("lower", 3, globalDefault=True, preemptionPolicy="Never")
    yield create_pod(plugin, "no classes", pod())
    yield create_pod(plugin, "named", pod(priorityClassName="high"), high, usual)
    yield create_pod(plugin, "never preempts", pod(priorityClassName="never"), never)
    yield create_pod(plugin, "missing", pod(priorityClassName="zzz"), high)
    yield create_pod(plugin, "global default", pod(), high, usual)
    yield create_pod(plugin, "two global defaults", pod(), usual, lower)
    yield create_pod(plugin, "same number", pod(priorityClassName="high", priority=1000), high)
    yield create_pod(plugin, "other number", pod(priorityClassName="high", priority=7), high)
    yield create_pod(plugin, "number alone", pod(priority=7))
    yield create_pod(plugin, "zero alone", pod(priority=0))
    yield create_pod(
        plugin, "other policy", pod(priorityClassName="high", preemptionPolicy="Never"), high
    )
    yield create_pod(plugin, "own policy", pod(preemptionPolicy="Never"))
    ranked = pod(priority=1000, priorityClassName="high", preemptionPolicy="Never")
    forgot = pod(priorityClassName="high")
    yield case(plugin, "update", "UPDATE", PODS, forgot, high, old=ranked)
    yield case(plugin, "update of one without", "UPDATE", PODS, ranked, high, old=forgot)
    second = priority_class("second", 1, globalDefault=True)
    yield case(plugin, "second default", "CREATE", CLASSES, second, usual)
    yield case(plugin, "first default", "CREATE", CLASSES, second, high)
    yield case(plugin, "no default", "CREATE", CLASSES, high, usual)
    was = priority_class("second", 1)
    yield case(plugin, "becomes second", "UPDATE", CLASSES, second, usual, was, old=was)
    yield case(plugin, "stays default", "UPDATE", CLASSES, usual, usual, old=usual)


def default_toleration_seconds(_: Random) -> Iterator[Case]:
    plugin = "default_toleration_seconds"
    not_ready, unreachable = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
    for tolerations in (
        [],
        [{"key": "a", "operator": "Exists"}],
        [{"operator": "Exists"}],
        [{"operator": "Exists", "effect": "NoSchedule"}],
        [{"operator": "Exists", "effect": "NoExecute"}],
        [{"key": not_ready, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}],
        [{"key": not_ready, "operator": "Equal", "value": "x"}],
        [{"key": not_ready, "operator": "Exists", "effect": "NoSchedule"}],
        [{"key": unreachable, "operator": "Exists"}, {"key": not_ready, "operator": "Exists"}],
    ):
        yield create_pod(plugin, f"{tolerations}", pod(tolerations=tolerations))
    yield case(plugin, "update", "UPDATE", PODS, pod(), old=pod())
    yield case(plugin, "status", "UPDATE", PODS, pod(), old=pod(), subresource="status")


def taint_nodes_by_condition(_: Random) -> Iterator[Case]:
    plugin = "taint_nodes_by_condition"
    for taints in (
        [],
        [{"key": "a", "effect": "NoSchedule"}],
        [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule", "value": "x"}],
        [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}],
    ):
        yield case(plugin, f"{taints}", "CREATE", NODES, node(taints=taints))
    yield case(plugin, "update", "UPDATE", NODES, node(), old=node())


def pod_topology_labels(_: Random) -> Iterator[Case]:
    plugin = "pod_topology_labels"
    zone = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "a": "b"}
    there = node(labels=zone)
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta("p")}
    on_node = binding | {"target": {"kind": "Node", "name": "n1"}}
    elsewhere = binding | {"target": {"kind": "Other", "name": "n1"}}
    labelled = on_node | {
        "metadata": meta("p", labels={"x": "y", "topology.kubernetes.io/zone": "w"})
    }
    for title, obj, state in (
        ("binding", on_node, [there]),
        ("labelled binding", labelled, [there]),
        ("no node", on_node, []),
        ("no labels", on_node, [node()]),
        ("no target node", elsewhere, [there]),
    ):
        yield case(
            plugin, title, "CREATE", PODS, obj, *state, subresource="binding", kind="Binding"
        )
    yield create_pod(plugin, "pod", pod(), there)
    yield create_pod(plugin, "pod on a node", pod(nodeName="n1"), there)
    yield case(plugin, "update", "UPDATE", PODS, pod(nodeName="n1"), there, old=pod())
