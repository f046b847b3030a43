"""Writes of the kinds that hold no pods, at random: mostly right, each field wrong now and then.

Left out is what dray does not check: the form of pod networks, contents of registry credentials,
data that is no base64 (refused elsewhere), and all of a definition but its names and versions.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterator
from random import Random

from tests.conformance.generate.case import Request
from tests.conformance.generate.pod_specs import (
    KEYS,
    ODD_KEYS,
    ODD_RESOURCES,
    ODD_VALUES,
    RESOURCES,
    VALUES,
    Draw,
    selector,
)

WRITES = 620
WRONG = (0.0, 0.05, 0.15, 0.35)
CREATED = {"resourceVersion": "1", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z"}
RBAC = "rbac.authorization.k8s.io"
COUNTS, ODD_COUNTS = (0, 1, 5), (-1, -5)
SHARES, ODD_SHARES = (0, 1, "25%", "100%"), (-1, "101%", "x", "", "5")
AMOUNTS = ("1", "2", "4", "500m", "-1", "0", "1u", "1Gi")
QUOTAS = (
    "pods", "cpu", "requests.cpu", "limits.memory", "requests.nvidia.com/gpu", "secrets",
    "requests.storage", "persistentvolumeclaims", "count/jobs.batch", "hugepages-2Mi",
    "deviceclass.resource.kubernetes.io/gpu",
)  # fmt: skip
ODD_QUOTAS = ("foo", "A!", "a/b/c", "storage", "requests.hugepages-2Mi", "limits.nvidia.com/gpu")
TIME = "2024-01-01T00:00:00Z"
MICRO_TIME = "2024-01-01T00:00:00.000000Z"


def plain_kinds(random: Random) -> Iterator[Request]:
    kinds = sorted(BODIES)
    for number in range(WRITES):
        draw = Draw(random, random.choice(WRONG))
        kind = kinds[number % len(kinds)]
        operations = ["create", "update", *(["statusUpdate"] if kind in STATUSES else [])]
        operation = random.choice(operations)
        name = f"{operation} {kind} {number}"
        request: Request = {"op": "validate", "name": name, "operation": operation}
        made = _object(draw, kind)
        if operation != "create":
            request["old"] = old = copy.deepcopy(made)
            old["metadata"] |= CREATED
            made = _changed(draw, kind, old, operation)
        yield {**request, "object": made}


def _object(draw: Draw, kind: str) -> Request:
    version, _, name = kind.rpartition(" ")
    meta = _metadata(draw, NAMES.get(name, (("one", "my.one"), ("O!", "", "a/b", "-a"))))
    if name not in CLUSTER_WIDE:
        meta["namespace"] = "default"
    made = {"apiVersion": version, "kind": name, "metadata": meta, **BODIES[kind](draw)}
    if kind in STATUSES and draw.often(0.4):
        made["status"] = STATUSES[kind](draw)
    if name == "CustomResourceDefinition" and not draw.amiss():
        spec = made["spec"]
        meta["name"] = f"{spec['names']['plural']}.{spec['group']}"
    return made


def _changed(draw: Draw, kind: str, old: Request, operation: str) -> Request:
    new = copy.deepcopy(old)
    if operation == "statusUpdate":
        new["status"] = STATUSES[kind](draw)
        return new
    other = _object(draw, kind)
    for name in sorted(set(other) - {"apiVersion", "kind", "metadata"}):
        if draw.often(0.4):
            new[name] = other[name]
    if draw.often(0.2):
        new["metadata"] = {**other["metadata"], **CREATED, "name": old["metadata"]["name"]}
    if draw.amiss():
        new["metadata"]["uid"] = "other"
    return new


def _metadata(draw: Draw, names: tuple[tuple[str, ...], tuple[str, ...]]) -> Request:
    odd = draw.wrong
    generated = draw.one(("a-",), ("A-", "a.", "/"))
    return {
        "name": draw.one(*names),
        **draw.fields(
            labels=(0.1, lambda: {draw.one(KEYS, ODD_KEYS): draw.one(VALUES, ODD_VALUES)}),
            generateName=(odd / 3, lambda: generated),
            finalizers=(odd / 2, lambda: [draw.one(("a/b", "orphan"), ("x", "A!"))]),
        ),
    }


NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Namespace": (("one",), ("my.one", "O", "", "x" * 64)),
    "Role": (("one", "system:one"), ("", "a/b", ".", "a%")),
    "RoleBinding": (("one", "system:one"), ("", "a/b", "..")),
    "ClusterRole": (("one", "system:one"), ("", "a/b")),
    "ClusterRoleBinding": (("one", "system:one"), ("", "a/b")),
    "PriorityClass": (
        ("high", "low"),
        ("system-node-critical", "system-cluster-critical", "system-x", "H!"),
    ),
    "CustomResourceDefinition": (("other.example.com",), ("O!", "")),
}
CLUSTER_WIDE = (
    "Namespace", "Node", "ClusterRole", "ClusterRoleBinding", "PriorityClass",
    "CustomResourceDefinition",
)  # fmt: skip


# core/v1 ---------------------------------------------------------------------------------------


def _namespace(draw: Draw) -> Request:
    finalizers = draw.several(lambda: draw.one(("kubernetes", "a/b"), ("x", "A!", "")))
    return {"spec": draw.fields(finalizers=(0.5, lambda: finalizers))}


def _namespace_status(draw: Draw) -> Request:
    return {"phase": draw.one(("Active",), ("Terminating", "X"))}


def _node(draw: Draw) -> Request:
    def taint() -> Request:
        return {
            "key": draw.one(("a", "b/c"), ("A!", "")),
            "effect": draw.one(("NoSchedule", "NoExecute", "PreferNoSchedule"), ("X", "")),
            **draw.fields(value=(0.3, lambda: draw.one(("v",), ("V!", "x" * 64)))),
        }

    networks = draw.one((["10.0.0.0/24"], []), (["10.0.1.0/24"],))
    return {
        "spec": draw.fields(
            taints=(0.6, lambda: draw.several(taint, (1, 2, 3))),
            unschedulable=(0.2, lambda: True),
            providerID=(0.4, lambda: draw.one(("p", "q"))),
            podCIDRs=(0.3, lambda: networks),
            externalID=(0.1, lambda: draw.one(("e", "f"))),
        )
    }


def _node_status(draw: Draw) -> Request:
    def amounts() -> Request:
        names = draw.several(lambda: draw.one((*RESOURCES, "pods"), ODD_RESOURCES), (1, 2))
        return {name: draw.one(("1", "110"), ("-1", "500m", "1u")) for name in names}

    def address() -> Request:
        return {"type": draw.one(("InternalIP", "Hostname")), "address": draw.one(("a", "b"))}

    features = ["A", "B/c"] if not draw.amiss() else draw.several(
        lambda: draw.one(("A", "B", "B/c", "a", "A/", "A" * 254)), (1, 2, 3)
    )  # fmt: skip
    swap = {"capacity": draw.one((1,), (0, -1))}
    return draw.fields(
        capacity=(0.6, amounts),
        allocatable=(0.4, amounts),
        addresses=(0.4, lambda: draw.several(address, (1, 2))),
        declaredFeatures=(0.3, lambda: features),
        nodeInfo=(0.2, lambda: {"swap": swap}),
    )


def _key(draw: Draw) -> str:
    return draw.one(("a", "b.c", ".d"), ("..", "A!", "a/b", "..x", "k" * 254))


def _config_map(draw: Draw) -> Request:
    encoded = base64.b64encode(b"text").decode()
    found = draw.fields(
        data=(0.7, lambda: {_key(draw): draw.one(("x", "")) for _ in range(2)}),
        binaryData=(0.5, lambda: {_key(draw): encoded for _ in range(2)}),
        immutable=(0.3, lambda: draw.one((True, False))),
    )
    if draw.often(draw.wrong / 15):
        found["data"] = {"big": "x" * (1024 * 1024 + 1)}
    return found


def _secret(draw: Draw) -> Request:
    types = ("Opaque", "example.com/own", "kubernetes.io/tls", "kubernetes.io/basic-auth",
             "kubernetes.io/ssh-auth", "kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson",
             "kubernetes.io/service-account-token")  # fmt: skip
    keys = ("tls.crt", "tls.key", "username", "password", "ssh-privatekey", "a")
    encoded = base64.b64encode(b"text").decode()
    value = draw.one((encoded, ""))
    return draw.fields(
        data=(0.7, lambda: {draw.one(keys, (_key(draw),)): value for _ in range(3)}),
        stringData=(0.2, lambda: {_key(draw): "text"}),
        type=(0.6, lambda: draw.one(types)),
        immutable=(0.2, lambda: draw.one((True, False))),
    )


def _nothing(_draw: Draw) -> Request:
    return {}


def _amounts(draw: Draw, names: tuple[str, ...], odd: tuple[str, ...]) -> Request:
    found = draw.several(lambda: draw.one(names, odd), (1, 2))
    return {name: draw.one(("1", "2", "4"), AMOUNTS) for name in found}


def _quota(draw: Draw) -> Request:
    scopes = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
              "CrossNamespacePodAffinity", "VolumeAttributesClass")  # fmt: skip

    def clause() -> Request:
        name = draw.one(scopes, ("X", ""))
        plain = name not in ("PriorityClass", "VolumeAttributesClass")
        operator = draw.one(("Exists",) if plain else ("In", "NotIn"), ("Exists", "In", "X"))
        values = {"values": ["high"]} if operator in ("In", "NotIn") else {}
        return {"scopeName": name, "operator": operator, **({} if draw.amiss() else values)}

    return {
        "spec": draw.fields(
            hard=(0.9, lambda: _amounts(draw, QUOTAS, ODD_QUOTAS)),
            scopes=(0.3, lambda: draw.several(lambda: draw.one(scopes, ("X",)))),
            scopeSelector=(0.3, lambda: {"matchExpressions": draw.several(clause)}),
        )
    }


def _quota_status(draw: Draw) -> Request:
    return draw.fields(
        hard=(0.6, lambda: _amounts(draw, QUOTAS, ODD_QUOTAS)),
        used=(0.6, lambda: _amounts(draw, QUOTAS, ODD_QUOTAS)),
    )


def _limit_range(draw: Draw) -> Request:
    names, odd = ("cpu", "memory", "nvidia.com/gpu"), ("storage", "foo", "A!", "hugepages-2Mi")

    def bounds() -> Request:
        return _amounts(draw, names, odd)

    def item() -> Request:
        type_ = draw.one(("Container", "Pod", "PersistentVolumeClaim"), ("X", "a/b", "A!", ""))
        return {
            "type": type_,
            **draw.fields(
                max=(0.6, bounds),
                min=(0.5, bounds),
                default=(0.4 if type_ == "Container" else draw.wrong, bounds),
                defaultRequest=(0.4 if type_ == "Container" else draw.wrong, bounds),
                maxLimitRequestRatio=(0.3, bounds),
            ),
        }

    return {"spec": {"limits": draw.several(item)}}


# Events ----------------------------------------------------------------------------------------


def _happening(draw: Draw) -> Request:
    long = "x" * 129
    return draw.fields(
        reason=(0.9, lambda: draw.one(("Happened",), ("", long))),
        action=(0.9, lambda: draw.one(("Doing",), ("", long))),
        reportingInstance=(0.9, lambda: draw.one(("me",), ("", long))),
        type=(0.9, lambda: draw.one(("Normal", "Warning"), ("X", ""))),
        eventTime=(0.7, lambda: MICRO_TIME),
        related=(0.2, lambda: {"kind": "Pod", "name": draw.one(("a", "b"))}),
        series=(
            0.3,
            lambda: {
                "count": draw.one((2, 5), (1, 0)),
                "lastObservedTime": draw.one((MICRO_TIME,), (None,)),
            },
        ),
    )


def _object_reference(draw: Draw) -> Request:
    return {
        "kind": "Pod",
        "name": draw.one(("a", "b")),
        **draw.fields(namespace=(0.9, lambda: draw.one(("default",), ("other",)))),
    }


def _core_event(draw: Draw) -> Request:
    return {
        **_happening(draw),
        "involvedObject": _object_reference(draw),
        **draw.fields(
            message=(0.5, lambda: draw.one(("text",), ("x" * 1025,))),
            reportingComponent=(0.9, lambda: draw.one(("a.io/b",), ("", "A!"))),
            count=(0.3, lambda: 3),
        ),
    }


def _event(draw: Draw) -> Request:
    odd = draw.wrong
    return {
        **_happening(draw),
        "regarding": _object_reference(draw),
        **draw.fields(
            note=(0.5, lambda: draw.one(("text", "other"), ("x" * 1025,))),
            reportingController=(0.9, lambda: draw.one(("a.io/b",), ("", "A!"))),
            deprecatedCount=(odd, lambda: 3),
            deprecatedFirstTimestamp=(odd, lambda: TIME),
            deprecatedLastTimestamp=(odd, lambda: TIME),
            deprecatedSource=(odd, lambda: {"component": "c"}),
        ),
    }


# Other groups ----------------------------------------------------------------------------------


def _lease(draw: Draw) -> Request:
    return {
        "spec": draw.fields(
            holderIdentity=(0.5, lambda: "me"),
            leaseDurationSeconds=(0.7, lambda: draw.one((1, 40), (0, -1))),
            leaseTransitions=(0.4, lambda: draw.one(COUNTS, ODD_COUNTS)),
            renewTime=(0.4, lambda: MICRO_TIME),
            strategy=(0.3, lambda: draw.one(("OldestEmulationVersion", "a/b"), ("X", "", "a/b/c"))),
            preferredHolder=(draw.wrong, lambda: "you"),
        )
    }


def _budget(draw: Draw) -> Request:
    first, second = draw.random.sample(("minAvailable", "maxUnavailable"), 2)
    found: Request = {first: draw.one(SHARES, ODD_SHARES)}
    if draw.amiss():
        found[second] = draw.one(SHARES, ODD_SHARES)
    return {
        "spec": {
            **found,
            **draw.fields(
                selector=(0.8, lambda: selector(draw)),
                unhealthyPodEvictionPolicy=(
                    0.3,
                    lambda: draw.one(("AlwaysAllow", "IfHealthyBudget"), ("X", "")),
                ),
            ),
        }
    }


def _budget_status(draw: Draw) -> Request:
    def condition() -> Request:
        return {
            "type": draw.one(("DisruptionAllowed", "a/b"), ("A!", "")),
            "status": draw.one(("True", "False"), ("X", "")),
            "reason": draw.one(("Enough",), ("", "A!")),
            "message": "",
            **draw.fields(
                lastTransitionTime=(1 - draw.wrong, lambda: TIME),
                observedGeneration=(0.3, lambda: draw.one((1,), (-1,))),
            ),
        }

    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return {
        **{name: draw.one(COUNTS, ODD_COUNTS) for name in names},
        **draw.fields(conditions=(0.5, lambda: draw.several(condition))),
    }


def _rule(draw: Draw) -> Request:
    if draw.often(0.2):
        resources: Request = {"resources": ["pods"]} if draw.amiss() else {}
        return {"verbs": ["get"], "nonResourceURLs": ["/metrics"], **resources}
    share = 1 - draw.wrong
    return {
        **draw.fields(
            verbs=(share, lambda: draw.one((["get"], ["*"]), ([],))),
            apiGroups=(share, lambda: ["", "apps"]),
            resources=(share, lambda: ["pods"]),
            resourceNames=(0.2, lambda: ["one"]),
        )
    }


def _role(draw: Draw) -> Request:
    return {"rules": draw.several(lambda: _rule(draw), (0, 1, 2))}


def _cluster_role(draw: Draw) -> Request:
    def aggregated() -> Request:
        counts = (0,) if draw.amiss() else (1, 2)
        return {"clusterRoleSelectors": draw.several(lambda: selector(draw), counts)}

    return {**_role(draw), **draw.fields(aggregationRule=(0.4, aggregated))}


def _binding(draw: Draw, kinds: tuple[str, ...]) -> Request:
    def subject() -> Request:
        kind = draw.one(("User", "Group", "ServiceAccount"), ("X", ""))
        account = kind == "ServiceAccount"
        return {
            "kind": kind,
            "name": draw.one(("me",), ("", "M!", "a/b")),
            **({"namespace": "default"} if account and not draw.amiss() else {}),
            **draw.fields(apiGroup=(draw.wrong, lambda: draw.one((RBAC,), ("x",)))),
        }

    return {
        "roleRef": {
            "kind": draw.one(kinds, ("X", "Role")),
            "name": draw.one(("one", "two"), ("", "a/b")),
            **draw.fields(apiGroup=(0.5, lambda: draw.one((RBAC,), ("x",)))),
        },
        "subjects": draw.several(subject, (0, 1, 2)),
    }


def _priority_class(draw: Draw) -> Request:
    return {
        "value": draw.one((5, -5, 10**9), (10**9 + 1, 2 * 10**9, 2 * 10**9 + 1000)),
        **draw.fields(
            globalDefault=(0.3, lambda: True),
            preemptionPolicy=(0.3, lambda: draw.one(("Never", "PreemptLowerPriority"), ("X", ""))),
        ),
    }


def _definition(draw: Draw) -> Request:
    schema = {"openAPIV3Schema": {"type": "object"}}

    def version(name: str, storage: bool) -> Request:
        return {
            "name": draw.one((name,), ("V1", "", "v1")),
            "served": draw.one((True, False)),
            "storage": not storage if draw.amiss() else storage,
            **({} if draw.amiss() else {"schema": schema}),
        }

    names = {
        "plural": draw.one(("things", "items"), ("T!", "")),
        "kind": draw.one(("Thing", "Item"), ("T!", "")),
        **draw.fields(
            singular=(0.3, lambda: draw.one(("thing",), ("T!",))),
            listKind=(0.3, lambda: draw.one(("ThingList",), ("Thing", "L!"))),
            shortNames=(0.3, lambda: [draw.one(("th",), ("T!", ""))]),
            categories=(0.2, lambda: [draw.one(("all",), ("A!",))]),
        ),
    }
    versions = [version("v1", True)]
    if draw.often(0.3):
        # Of two kinds, so that upstream does not make one of them.
        other = {"openAPIV3Schema": {"type": "object", "description": "other"}}
        versions.append({**version("v2", False), "schema": other})
    return {
        "spec": {
            "group": draw.one(("example.com",), ("x.k8s.io", "com", "E!", "")),
            "names": names,
            "scope": draw.one(("Namespaced", "Cluster"), ("X", "")),
            "versions": versions,
            **draw.fields(
                conversion=(0.2, lambda: {"strategy": draw.one(("None",), ("X", ""))}),
                preserveUnknownFields=(draw.wrong / 3, lambda: True),
            ),
        }
    }


def _definition_status(draw: Draw) -> Request:
    established = [{"type": "Established", "status": draw.one(("True", "False"))}]
    return {
        "storedVersions": draw.one((["v1"], ["v1", "v2"]), ([], ["v0"])),
        "acceptedNames": {
            "plural": draw.one(("things",), ("T!",)),
            "kind": draw.one(("Thing",), ("T!",)),
        },
        "conditions": established if draw.often(0.6) else [],
    }


BODIES: dict[str, Callable[[Draw], Request]] = {
    "v1 Namespace": _namespace,
    "v1 Node": _node,
    "v1 ConfigMap": _config_map,
    "v1 Secret": _secret,
    "v1 ServiceAccount": _nothing,
    "v1 ResourceQuota": _quota,
    "v1 LimitRange": _limit_range,
    "v1 Event": _core_event,
    "events.k8s.io/v1 Event": _event,
    "coordination.k8s.io/v1 Lease": _lease,
    "policy/v1 PodDisruptionBudget": _budget,
    f"{RBAC}/v1 Role": _role,
    f"{RBAC}/v1 ClusterRole": _cluster_role,
    f"{RBAC}/v1 RoleBinding": lambda draw: _binding(draw, ("Role", "ClusterRole")),
    f"{RBAC}/v1 ClusterRoleBinding": lambda draw: _binding(draw, ("ClusterRole",)),
    "scheduling.k8s.io/v1 PriorityClass": _priority_class,
    "apiextensions.k8s.io/v1 CustomResourceDefinition": _definition,
}
STATUSES: dict[str, Callable[[Draw], Request]] = {
    "v1 Namespace": _namespace_status,
    "v1 Node": _node_status,
    "v1 ResourceQuota": _quota_status,
    "policy/v1 PodDisruptionBudget": _budget_status,
    "apiextensions.k8s.io/v1 CustomResourceDefinition": _definition_status,
}
