"""Pods: defaults, what may change, binding, eviction, grace, and the other subresources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.interop.corpus.kinds import cases, sample
from tests.interop.script import APPLY, JSON_PATCH, MERGE, STRATEGIC, TABLE, Script

__all__ = ["pods"]

OTHER_UID = "00000000-1111-4222-8333-444444444444"
# Longer than the real server's admission takes to hear of a new limit range.
PAUSE = 1.0
IMAGE = "registry.example/app:1.0"


def pods() -> Iterator[Script]:
    yield from (_defaults(), _updates(), _strategic(), _binding(), _eviction(), _budgets())
    yield from (_grace(), _subresources(), _selectors(), _tables(), _claims(), _admission())
    yield from (_budget_rules(), _applied())


def pod(name: str, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    containers = {"containers": [{"name": "main", "image": IMAGE}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {**containers, **(spec or {})},
    }


def _at(s: Script, name: str = "", sub: str = "") -> str:
    return (
        sample("pods").collection(s.namespace)
        + (f"/{name}" if name else "")
        + (f"/{sub}" if sub else "")
    )


def _defaults() -> Script:
    s = Script("pod-defaults")
    at = _at(s)
    for title, spec in cases(
        ("latest", {"containers": [{"name": "a", "image": "x:latest"}]}),
        ("no tag", {"containers": [{"name": "a", "image": "x"}]}),
        ("a digest", {"containers": [{"name": "a", "image": "x@sha256:" + "0" * 64}]}),
        (
            "limits only",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}},
                    }
                ]
            },
        ),
        (
            "requests and limits alike",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "resources": {
                            "limits": {"cpu": "1", "memory": "1Gi"},
                            "requests": {"cpu": "1000m", "memory": "1024Mi"},
                        },
                    }
                ]
            },
        ),
        (
            "requests below limits",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}},
                    }
                ]
            },
        ),
        (
            "ports",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "ports": [
                            {"containerPort": 80},
                            {"containerPort": 53, "protocol": "UDP", "name": "dns"},
                        ],
                    }
                ]
            },
        ),
        (
            "host network",
            {
                "hostNetwork": True,
                "containers": [{"name": "a", "image": "x:1", "ports": [{"containerPort": 80}]}],
            },
        ),
        (
            "probes",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "livenessProbe": {"httpGet": {"port": 80}},
                        "readinessProbe": {"tcpSocket": {"port": "web"}, "periodSeconds": 3},
                        "startupProbe": {"exec": {"command": ["true"]}},
                    }
                ]
            },
        ),
        (
            "lifecycle",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "lifecycle": {
                            "preStop": {"exec": {"command": ["sleep", "1"]}},
                            "postStart": {"httpGet": {"port": 8080, "path": "/go"}},
                        },
                    }
                ]
            },
        ),
        (
            "volumes",
            {
                "volumes": [
                    {"name": "e", "emptyDir": {}},
                    {"name": "c", "configMap": {"name": "cm"}},
                    {"name": "s", "secret": {"secretName": "s"}},
                    {"name": "h", "hostPath": {"path": "/x"}},
                    {
                        "name": "d",
                        "downwardAPI": {
                            "items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]
                        },
                    },
                    {"name": "none"},
                ]
            },
        ),
        (
            "projected",
            {
                "volumes": [
                    {
                        "name": "p",
                        "projected": {
                            "sources": [
                                {"serviceAccountToken": {"path": "t"}},
                                {"configMap": {"name": "cm", "items": [{"key": "a", "path": "b"}]}},
                            ]
                        },
                    }
                ]
            },
        ),
        (
            "env",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "env": [
                            {"name": "A", "value": "1"},
                            {
                                "name": "B",
                                "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
                            },
                            {
                                "name": "C",
                                "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}},
                            },
                            {
                                "name": "D",
                                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}},
                            },
                        ],
                        "envFrom": [{"secretRef": {"name": "s"}}],
                    }
                ]
            },
        ),
        (
            "init containers",
            {
                "initContainers": [
                    {"name": "i", "image": "x:1"},
                    {"name": "side", "image": "x:1", "restartPolicy": "Always"},
                ]
            },
        ),
        (
            "tolerations",
            {
                "tolerations": [
                    {
                        "key": "node.kubernetes.io/not-ready",
                        "operator": "Exists",
                        "effect": "NoExecute",
                    },
                    {"key": "a", "operator": "Equal", "value": "b"},
                ]
            },
        ),
        ("all tolerations", {"tolerations": [{"operator": "Exists"}]}),
        (
            "spread",
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"a": "b"}},
                    }
                ]
            },
        ),
        (
            "affinity",
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "k", "operator": "In", "values": ["v"]}
                                    ]
                                }
                            ]
                        }
                    },
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "weight": 5,
                                "podAffinityTerm": {
                                    "topologyKey": "zone",
                                    "labelSelector": {"matchLabels": {"a": "b"}},
                                },
                            }
                        ]
                    },
                }
            },
        ),
        ("gates", {"schedulingGates": [{"name": "example.com/wait"}]}),
        (
            "security",
            {
                "securityContext": {
                    "runAsUser": 1000,
                    "fsGroup": 2000,
                    "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}],
                },
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "securityContext": {
                            "privileged": True,
                            "capabilities": {"add": ["NET_ADMIN"]},
                        },
                    }
                ],
            },
        ),
        (
            "dns",
            {
                "dnsPolicy": "None",
                "dnsConfig": {
                    "nameservers": ["1.1.1.1"],
                    "options": [{"name": "ndots", "value": "2"}],
                },
                "hostAliases": [{"ip": "10.0.0.9", "hostnames": ["a.example"]}],
            },
        ),
        (
            "restart never",
            {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "activeDeadlineSeconds": 10,
            },
        ),
        ("a node", {"nodeName": "n1"}),
        (
            "no mounted token",
            {
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "shareProcessNamespace": True,
            },
        ),
        (
            "quantities in other words",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x:1",
                        "resources": {
                            "requests": {"cpu": "1.5", "memory": "1e3", "example.com/gpu": "2"},
                            "limits": {"example.com/gpu": "2"},
                        },
                    }
                ]
            },
        ),
    ):
        s.post(f"with {title}", at, pod(title.replace(" ", "-"), spec))
    for title, spec in cases(
        ("no containers", {"containers": []}),
        ("no image", {"containers": [{"name": "a"}]}),
        ("a bad container name", {"containers": [{"name": "A b", "image": "x"}]}),
        (
            "two of one name",
            {"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "y"}]},
        ),
        ("a strange policy", {"restartPolicy": "Sometimes"}),
        (
            "a bad port",
            {"containers": [{"name": "a", "image": "x", "ports": [{"containerPort": 70000}]}]},
        ),
        (
            "requests over limits",
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x",
                        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
                    }
                ]
            },
        ),
        (
            "a bad quantity",
            {"containers": [{"name": "a", "image": "x", "resources": {"limits": {"cpu": "lots"}}}]},
        ),
        (
            "a mount of nothing",
            {
                "containers": [
                    {"name": "a", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
                ]
            },
        ),
        (
            "two kinds of volume",
            {"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]},
        ),
        ("gates and a node", {"schedulingGates": [{"name": "a"}], "nodeName": "n1"}),
        ("a wrong type inside", {"containers": [{"name": "a", "image": ["x"]}]}),
        ("a number as text", {"terminationGracePeriodSeconds": "30"}),
        ("a huge number", {"terminationGracePeriodSeconds": 1e30}),
        ("a number too large", {"terminationGracePeriodSeconds": 9223372036854775808}),
        ("a fraction", {"activeDeadlineSeconds": 1.5}),
        ("an unknown field inside", {"containers": [{"name": "a", "image": "x", "colour": "red"}]}),
        ("a missing service account", {"serviceAccountName": "ghost"}),
        ("a missing priority class", {"priorityClassName": "ghost"}),
        ("a bad toleration", {"tolerations": [{"key": "a", "operator": "Maybe"}]}),
        ("a bad selector", {"nodeSelector": {"a b": "c"}}),
        ("a deadline of zero", {"activeDeadlineSeconds": 0}),
        ("a negative grace", {"terminationGracePeriodSeconds": -1}),
    ):
        s.post(f"with {title}", at, pod(title.replace(" ", "-"), spec))
    s.post(
        "many mistakes",
        at,
        pod(
            "bad",
            {
                "restartPolicy": "X",
                "dnsPolicy": "Y",
                "containers": [
                    {"name": "", "image": " "},
                    {"name": "b", "imagePullPolicy": "Z", "terminationMessagePolicy": "Q"},
                ],
            },
        ),
    )
    s.post(
        "ephemeral containers at once",
        at,
        pod("bad", {"ephemeralContainers": [{"name": "e", "image": "x"}]}),
    )
    s.post("no spec", at, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "empty"}})
    return s


def _updates() -> Script:
    s = Script("pod-updates")
    s.post("create", _at(s), pod("p", {"tolerations": [{"key": "a", "operator": "Exists"}]}))
    item = _at(s, "p")
    for title, patch in cases(
        ("image", {"spec": {"containers": [{"name": "main", "image": "other:2"}]}}),
        ("node name", {"spec": {"nodeName": "n1"}}),
        ("a deadline", {"spec": {"activeDeadlineSeconds": 100}}),
        ("a longer deadline", {"spec": {"activeDeadlineSeconds": 200}}),
        ("no deadline", {"spec": {"activeDeadlineSeconds": None}}),
        ("restart policy", {"spec": {"restartPolicy": "Never"}}),
        (
            "another container",
            {
                "spec": {
                    "containers": [{"name": "main", "image": "x"}, {"name": "more", "image": "y"}]
                }
            },
        ),
        ("service account", {"spec": {"serviceAccountName": "other"}}),
        ("priority", {"spec": {"priority": 5}}),
        ("a gate", {"spec": {"schedulingGates": [{"name": "example.com/late"}]}}),
        ("grace", {"spec": {"terminationGracePeriodSeconds": 5}}),
        ("node selector", {"spec": {"nodeSelector": {"a": "b"}}}),
        (
            "resources",
            {
                "spec": {
                    "containers": [
                        {"name": "main", "image": "x", "resources": {"limits": {"cpu": "1"}}}
                    ]
                }
            },
        ),
        ("labels", {"metadata": {"labels": {"a": "b"}}}),
        (
            "an owner",
            {
                "metadata": {
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": OTHER_UID}
                    ]
                }
            },
        ),
    ):
        s.patch(f"change {title}", item, patch, media=STRATEGIC)
    s.patch(
        "add a toleration",
        item,
        [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b", "operator": "Exists"}}],
        media=JSON_PATCH,
    )
    s.patch(
        "remove a toleration",
        item,
        [{"op": "remove", "path": "/spec/tolerations/0"}],
        media=JSON_PATCH,
    )
    s.post(
        "create with gates",
        _at(s),
        pod("gated", {"schedulingGates": [{"name": "a"}, {"name": "b"}]}),
    )
    gated = _at(s, "gated")
    s.patch("narrow where it may go", gated, {"spec": {"nodeSelector": {"zone": "a"}}}, media=MERGE)
    s.patch("remove a gate", gated, {"spec": {"schedulingGates": [{"name": "a"}]}}, media=MERGE)
    s.patch("rename a gate", gated, {"spec": {"schedulingGates": [{"name": "z"}]}}, media=MERGE)
    s.patch("remove the last gate", gated, {"spec": {"schedulingGates": None}}, media=MERGE)
    return s


def _strategic() -> Script:
    s = Script("pod-strategic")
    s.post(
        "create",
        _at(s),
        pod(
            "p",
            {
                "containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}],
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
            labels={"l": "1"},
        ),
        save={"uid": "metadata.uid"},
    )
    item, status = _at(s, "p"), _at(s, "p", "status")
    for title, patch in cases(
        ("one image of two", {"spec": {"containers": [{"name": "b", "image": "y:2"}]}}),
        ("no merge key", {"spec": {"containers": [{"image": "q"}]}}),
        ("delete one of two", {"spec": {"containers": [{"name": "b", "$patch": "delete"}]}}),
        (
            "replace the list",
            {"spec": {"containers": [{"$patch": "replace"}, {"name": "z", "image": "z"}]}},
        ),
        (
            "order",
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                    "containers": [{"name": "a", "image": "x:3"}],
                }
            },
        ),
        (
            "keys to keep",
            {
                "spec": {
                    "volumes": [
                        {
                            "name": "v",
                            "$retainKeys": ["name", "hostPath"],
                            "hostPath": {"path": "/x"},
                        }
                    ]
                }
            },
        ),
        ("a list where a map is", {"metadata": {"labels": ["a"]}}),
        ("a map where a list is", {"spec": {"containers": {"name": "a"}}}),
        ("null", {"spec": {"containers": None}}),
        ("delete all metadata", {"metadata": {"labels": {"$patch": "delete"}}}),
        ("an unknown field", {"spec": {"colour": "red"}}),
        (
            "a primitive that is not there",
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/none"]}},
        ),
    ):
        s.patch(title, item, patch, media=STRATEGIC)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-01T10:00:00Z"}
    for title, patch in cases(
        ("a condition", {"status": {"conditions": [ready]}}),
        (
            "another condition",
            {"status": {"conditions": [{"type": "Initialized", "status": "True"}]}},
        ),
        (
            "as a kubelet does",
            {
                "metadata": {"uid": "${uid}"},
                "status": {
                    "$setElementOrder/conditions": [{"type": "Initialized"}, {"type": "Ready"}],
                    "conditions": [
                        {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
                    ],
                    "phase": "Running",
                },
            },
        ),
        (
            "as the kubelet of an earlier pod",
            {"metadata": {"uid": OTHER_UID}, "status": {"phase": "Failed"}},
        ),
        (
            "container statuses",
            {
                "status": {
                    "containerStatuses": [
                        {
                            "name": "a",
                            "image": "x:1",
                            "imageID": "",
                            "ready": True,
                            "restartCount": 1,
                            "state": {"running": {"startedAt": "2026-03-01T10:00:00Z"}},
                        }
                    ]
                }
            },
        ),
        (
            "addresses",
            {
                "status": {
                    "podIPs": [{"ip": "10.0.0.1"}],
                    "podIP": "10.0.0.1",
                    "hostIP": "192.168.0.1",
                    "hostIPs": [{"ip": "192.168.0.1"}],
                }
            },
        ),
        ("another address", {"status": {"podIPs": [{"ip": "10.0.0.2"}, {"$patch": "replace"}]}}),
        ("a bad phase", {"status": {"phase": "Dancing"}}),
        ("a nominated node", {"status": {"nominatedNodeName": "n7"}}),
        (
            "claim statuses",
            {"status": {"resourceClaimStatuses": [{"name": "none", "resourceClaimName": "c"}]}},
        ),
        ("remove a condition", {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}),
    ):
        s.patch(f"status: {title}", status, patch, media=STRATEGIC)
    s.get("in the end", item)
    return s


def _binding() -> Script:
    s = Script("pod-binding")
    for name in ("a", "b", "c"):
        s.post(f"create {name}", _at(s), pod(name), save={f"uid_{name}": "metadata.uid"})
    s.post("create gated", _at(s), pod("gated", {"schedulingGates": [{"name": "wait"}]}))

    def binding(name: str, **changes: Any) -> dict[str, Any]:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": "n1"},
        }
        return {**body, **changes}

    s.post("rehearse", _at(s, "a", "binding"), binding("a"), query="dryRun=All")
    s.post(
        "bind",
        _at(s, "a", "binding"),
        binding("a", metadata={"name": "a", "annotations": {"by": "test"}, "labels": {"l": "m"}}),
    )
    s.get("what was bound", _at(s, "a"))
    s.post("bind again", _at(s, "a", "binding"), binding("a"))
    s.post(
        "bind elsewhere",
        _at(s, "a", "binding"),
        binding("a", target={"kind": "Node", "name": "n2"}),
    )
    s.post("bind by the collection", f"/api/v1/namespaces/{s.namespace}/bindings", binding("b"))
    s.post(
        "bind another uid",
        _at(s, "c", "binding"),
        binding("c", metadata={"name": "c", "uid": OTHER_UID}),
    )
    s.post(
        "bind its uid",
        _at(s, "c", "binding"),
        binding("c", metadata={"name": "c", "uid": "${uid_c}"}),
    )
    s.post("bind what is gated", _at(s, "gated", "binding"), binding("gated"))
    s.post("bind nothing", _at(s, "ghost", "binding"), binding("ghost"))
    s.post("bind under another name", _at(s, "c", "binding"), binding("x"))
    s.post(
        "bind to a pod", _at(s, "c", "binding"), binding("c", target={"kind": "Pod", "name": "n1"})
    )
    s.post("bind to no name", _at(s, "c", "binding"), binding("c", target={"kind": "Node"}))
    s.post("bind with another kind", _at(s, "c", "binding"), pod("c"))
    s.get("read a binding", _at(s, "a", "binding"))
    s.delete("delete a", _at(s, "a"), {"gracePeriodSeconds": 30})
    s.post("bind what is being deleted", _at(s, "a", "binding"), binding("a"))
    return s


def _eviction() -> Script:
    s = Script("pod-eviction")
    s.post("create", _at(s), pod("a", {"nodeName": "n1"}))
    s.post("create unscheduled", _at(s), pod("b"))

    def eviction(name: str, **options: Any) -> dict[str, Any]:
        body: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name},
        }
        return {**body, "deleteOptions": options} if options else body

    s.post("rehearse", _at(s, "a", "eviction"), eviction("a", dryRun=["All"]))
    s.post(
        "evict another uid",
        _at(s, "a", "eviction"),
        eviction("a", preconditions={"uid": OTHER_UID}),
    )
    s.post("evict", _at(s, "a", "eviction"), eviction("a"))
    s.get("what is evicted", _at(s, "a"))
    s.post("evict again", _at(s, "a", "eviction"), eviction("a", gracePeriodSeconds=0))
    s.get("what was evicted", _at(s, "a"))
    s.post("evict unscheduled", _at(s, "b", "eviction"), eviction("b"))
    s.post("evict nothing", _at(s, "ghost", "eviction"), eviction("ghost"))
    s.post("evict under another name", _at(s, "b", "eviction"), eviction("x"))
    s.post(
        "evict in the old version",
        _at(s, "b", "eviction"),
        {**eviction("b"), "apiVersion": "policy/v1beta1"},
    )
    s.post("evict with nothing", _at(s, "b", "eviction"), {})
    s.get("read an eviction", _at(s, "a", "eviction"))
    return s


def _budgets() -> Script:
    s = Script("pod-budgets")
    budgets = sample("poddisruptionbudgets")
    for name in ("a", "b", "c"):
        s.post(f"create {name}", _at(s), pod(name, {"nodeName": "n1"}, labels={"app": "web"}))
        s.patch(
            f"run {name}",
            _at(s, name, "status"),
            {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
            media=MERGE,
        )
    s.post("create a budget", budgets.collection(s.namespace), budgets.make("one"))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    s.post("evict before it is counted", _at(s, "a", "eviction"), body)
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": 1,
        "currentHealthy": 3,
        "desiredHealthy": 2,
        "expectedPods": 3,
    }
    s.patch("count it", budgets.path(s.namespace, "one", "status"), {"status": status}, media=MERGE)
    s.post("evict within the budget", _at(s, "a", "eviction"), body)
    s.get("the budget after it", budgets.path(s.namespace, "one"))
    s.post("evict beyond the budget", _at(s, "b", "eviction"), {**body, "metadata": {"name": "b"}})
    s.post("create a second budget", budgets.collection(s.namespace), budgets.make("two"))
    s.post("evict under two budgets", _at(s, "b", "eviction"), {**body, "metadata": {"name": "b"}})
    s.delete("delete the second", budgets.path(s.namespace, "two"))
    s.patch(
        "make b unready",
        _at(s, "b", "status"),
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        media=MERGE,
    )
    s.post("evict what is not ready", _at(s, "b", "eviction"), {**body, "metadata": {"name": "b"}})
    s.patch("finish c", _at(s, "c", "status"), {"status": {"phase": "Succeeded"}}, media=MERGE)
    s.post("evict what is finished", _at(s, "c", "eviction"), {**body, "metadata": {"name": "c"}})
    return s


def _budget_rules() -> Script:
    s = Script("pod-budget-rules")
    budgets = sample("poddisruptionbudgets")
    at = budgets.collection(s.namespace)
    for title, spec in cases(
        ("nothing", {}),
        ("a percentage", {"maxUnavailable": "30%", "selector": {"matchLabels": {"a": "b"}}}),
        ("more than all", {"maxUnavailable": "130%", "selector": {}}),
        ("a text", {"minAvailable": "some"}),
        ("a negative", {"minAvailable": -1}),
        (
            "a policy",
            {"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": {}},
        ),
        (
            "a strange policy",
            {"minAvailable": 1, "unhealthyPodEvictionPolicy": "Never", "selector": {}},
        ),
        (
            "a strange selector",
            {
                "minAvailable": 1,
                "selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]},
            },
        ),
    ):
        s.post(
            title,
            at,
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": title.replace(" ", "-")},
                "spec": spec,
            },
        )
    return s


def _grace() -> Script:
    s = Script("pod-grace")
    for name in ("a", "b", "c", "d"):
        s.post(
            f"create {name}",
            _at(s),
            pod(name, {"nodeName": "n1"} if name != "c" else {}),
            save={f"uid_{name}": "metadata.uid"},
        )
    s.delete("with its own grace", _at(s, "a"))
    s.delete("longer is ignored", _at(s, "a"), {"gracePeriodSeconds": 60})
    s.delete("shorter counts", _at(s, "a"), {"gracePeriodSeconds": 5})
    s.get("while it ends", _at(s, "a"))
    s.patch(
        "label it while it ends", _at(s, "a"), {"metadata": {"labels": {"x": "y"}}}, media=MERGE
    )
    s.delete("now", _at(s, "a"), {"gracePeriodSeconds": 0, "preconditions": {"uid": "${uid_a}"}})
    s.get("it is gone", _at(s, "a"))
    s.delete("by query", _at(s, "b"), query="gracePeriodSeconds=7")
    s.delete("a negative grace", _at(s, "b"), {"gracePeriodSeconds": -1})
    s.delete("unscheduled goes at once", _at(s, "c"))
    s.patch("finish d", _at(s, "d", "status"), {"status": {"phase": "Failed"}}, media=MERGE)
    s.delete("finished goes at once", _at(s, "d"))
    s.delete("a grace that is a text", _at(s, "b"), {"gracePeriodSeconds": "soon"})
    s.delete("a grace that is no number, by query", _at(s, "b"), query="gracePeriodSeconds=soon")
    s.delete("a body that is not JSON", _at(s, "b"), text="{")
    s.delete("all of them", _at(s), {"gracePeriodSeconds": 0})
    return s


def _subresources() -> Script:
    s = Script("pod-subresources")
    s.post(
        "create",
        _at(s),
        pod("a", {"containers": [{"name": "x", "image": "x:1"}, {"name": "y", "image": "y:1"}]}),
    )
    s.get("log of what has no node", _at(s, "a", "log"), query="container=x")
    s.get("log without a container", _at(s, "a", "log"))
    s.get("log of an unknown container", _at(s, "a", "log"), query="container=z")
    s.get("log of nothing", _at(s, "ghost", "log"))
    s.get(
        "log with both times",
        _at(s, "a", "log"),
        query="container=x&sinceSeconds=5&sinceTime=2026-03-01T10:00:00Z",
    )
    s.get("log with a negative tail", _at(s, "a", "log"), query="container=x&tailLines=-1")
    s.get("log of no bytes", _at(s, "a", "log"), query="container=x&limitBytes=0")
    s.get("ephemeral containers", _at(s, "a", "ephemeralcontainers"))
    s.patch(
        "debug it",
        _at(s, "a", "ephemeralcontainers"),
        {
            "spec": {
                "ephemeralContainers": [
                    {"name": "debug", "image": "d:1", "targetContainerName": "x"}
                ]
            }
        },
        media=STRATEGIC,
    )
    s.patch(
        "debug it under a name in use",
        _at(s, "a", "ephemeralcontainers"),
        {"spec": {"ephemeralContainers": [{"name": "x", "image": "d:1"}]}},
        media=STRATEGIC,
    )
    s.patch(
        "change the debugger",
        _at(s, "a", "ephemeralcontainers"),
        {"spec": {"ephemeralContainers": [{"name": "debug", "image": "d:2"}]}},
        media=STRATEGIC,
    )
    s.patch(
        "stop debugging",
        _at(s, "a", "ephemeralcontainers"),
        {"spec": {"ephemeralContainers": None}},
        media=MERGE,
    )
    s.patch(
        "debug with ports",
        _at(s, "a", "ephemeralcontainers"),
        {
            "spec": {
                "ephemeralContainers": [
                    {"name": "p", "image": "d:1", "ports": [{"containerPort": 1}]}
                ]
            }
        },
        media=STRATEGIC,
    )
    s.put("an object of a pod that is not", _at(s, "ghost", "ephemeralcontainers"), pod("ghost"))
    s.get("exec without upgrading", _at(s, "a", "exec"), query="container=x&command=ls&stdout=true")
    s.get("exec into nothing", _at(s, "ghost", "exec"), query="command=ls&stdout=true")
    return s


def _selectors() -> Script:
    s = Script("pod-selectors")
    for name, spec in cases(
        ("a", {"nodeName": "n1"}),
        ("b", {"nodeName": "n2", "restartPolicy": "Never"}),
        ("c", {"schedulerName": "other"}),
        ("d", {"hostNetwork": True}),
    ):
        s.post(f"create {name}", _at(s), pod(name, spec, labels={"name": name}))
    s.patch(
        "run a",
        _at(s, "a", "status"),
        {"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}},
        media=MERGE,
    )
    s.patch(
        "nominate a node for c",
        _at(s, "c", "status"),
        {"status": {"nominatedNodeName": "n9"}},
        media=MERGE,
    )
    for selector in (
        "spec.nodeName=n1",
        "spec.nodeName=",
        "spec.nodeName!=",
        "spec.restartPolicy=Never",
        "spec.schedulerName=other",
        "spec.serviceAccountName=default",
        "spec.hostNetwork=true",
        "status.phase=Running",
        "status.phase!=Running,status.phase!=Succeeded",
        "status.podIP=10.0.0.1",
        "status.podIPs=10.0.0.1",
        "status.nominatedNodeName=n9",
        "metadata.namespace=elsewhere",
        "metadata.name=a,metadata.name=a",
        "metadata.name=a,metadata.name=b",
        "spec.nodeName==n1",
        "spec.nodeName=n1,",
        "spec.containers=x",
        "metadata.labels=x",
        "=x",
    ):
        s.get(
            f"by {selector}",
            _at(s),
            query="fieldSelector=" + selector.replace("=", "%3D").replace("!", "%21"),
        )
    for selector in (
        "name in (a,b)",
        "name notin (a)",
        "name",
        "!name",
        "name=a,name!=b",
        "name in ()",
        "name>1",
        "name>x",
        "a=b=c",
        "in in (in)",
        "-a=b",
        "name=a b",
        "name in (a",
        "x y",
        ",",
    ):
        s.get(
            f"by label {selector}",
            _at(s),
            query="labelSelector=" + selector.replace(" ", "%20").replace("=", "%3D"),
        )
    return s


def _tables() -> Script:
    s = Script("pod-tables")

    def state(name: str, **state: Any) -> dict[str, Any]:
        return {
            "name": name,
            "image": "x",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            **state,
        }

    cases: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        ("pending", {}, {}),
        (
            "running",
            {"nodeName": "n1"},
            {
                "phase": "Running",
                "podIP": "10.0.0.1",
                "podIPs": [{"ip": "10.0.0.1"}],
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [
                    state(
                        "main", ready=True, state={"running": {"startedAt": "2026-03-01T10:00:00Z"}}
                    )
                ],
            },
        ),
        (
            "waiting",
            {"nodeName": "n1"},
            {
                "phase": "Pending",
                "containerStatuses": [
                    state("main", state={"waiting": {"reason": "ImagePullBackOff"}})
                ],
            },
        ),
        (
            "crashed",
            {"nodeName": "n1"},
            {
                "phase": "Running",
                "containerStatuses": [
                    state("main", restartCount=3, state={"terminated": {"exitCode": 2}})
                ],
            },
        ),
        (
            "killed",
            {"nodeName": "n1"},
            {
                "phase": "Running",
                "containerStatuses": [
                    state("main", state={"terminated": {"exitCode": 137, "signal": 9}})
                ],
            },
        ),
        (
            "evicted",
            {"nodeName": "n1"},
            {"phase": "Failed", "reason": "Evicted", "message": "too big"},
        ),
        (
            "done",
            {"nodeName": "n1"},
            {
                "phase": "Succeeded",
                "containerStatuses": [
                    state("main", state={"terminated": {"exitCode": 0, "reason": "Completed"}})
                ],
            },
        ),
        (
            "init",
            {
                "nodeName": "n1",
                "initContainers": [{"name": "i", "image": "x"}, {"name": "j", "image": "x"}],
            },
            {
                "phase": "Pending",
                "initContainerStatuses": [
                    state("i", state={"terminated": {"exitCode": 0}}),
                    state("j", state={"running": {"startedAt": "2026-03-01T10:00:00Z"}}),
                ],
            },
        ),
        (
            "init-failed",
            {"nodeName": "n1", "initContainers": [{"name": "i", "image": "x"}]},
            {
                "phase": "Pending",
                "initContainerStatuses": [state("i", state={"terminated": {"exitCode": 7}})],
            },
        ),
        ("gated", {"schedulingGates": [{"name": "wait"}]}, {}),
        (
            "readiness",
            {"readinessGates": [{"conditionType": "example.com/up"}]},
            {"nominatedNodeName": "n3"},
        ),
    )
    for name, spec, status in cases:
        s.post(f"create {name}", _at(s), pod(name, spec))
        if status:
            s.patch(f"status of {name}", _at(s, name, "status"), {"status": status}, media=MERGE)
    s.delete("end running", _at(s, "running"))
    s.get("all as a table", _at(s), accept=TABLE)
    return s


def _claims() -> Script:
    s = Script("pod-claims")

    def with_claims(*claims: dict[str, Any], uses: tuple[str, ...] = ("gpu",)) -> dict[str, Any]:
        return {
            "resourceClaims": list(claims),
            "containers": [
                {
                    "name": "main",
                    "image": IMAGE,
                    "resources": {"claims": [{"name": name} for name in uses]},
                }
            ],
        }

    s.post("a claim", _at(s), pod("a", with_claims({"name": "gpu", "resourceClaimName": "c"})))
    s.post(
        "a template",
        _at(s),
        pod("b", with_claims({"name": "gpu", "resourceClaimTemplateName": "t"})),
    )
    s.post(
        "both",
        _at(s),
        pod(
            "x",
            with_claims(
                {"name": "gpu", "resourceClaimName": "c", "resourceClaimTemplateName": "t"}
            ),
        ),
    )
    s.post("neither", _at(s), pod("x", with_claims({"name": "gpu"})))
    s.post(
        "two of one name",
        _at(s),
        pod(
            "x",
            with_claims(
                {"name": "gpu", "resourceClaimName": "c"}, {"name": "gpu", "resourceClaimName": "d"}
            ),
        ),
    )
    s.post(
        "a use of none",
        _at(s),
        pod("x", with_claims({"name": "gpu", "resourceClaimName": "c"}, uses=("other",))),
    )
    s.post(
        "a bad name",
        _at(s),
        pod("x", with_claims({"name": "G P U", "resourceClaimName": "c"}, uses=())),
    )
    s.patch(
        "apply what was generated",
        _at(s, "b", "status"),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "b"},
            "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "b-gpu-1"}]},
        },
        media=APPLY,
        query="fieldManager=ResourceClaimController&force=true",
    )
    s.patch(
        "apply for a claim it has not",
        _at(s, "b", "status"),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "b"},
            "status": {"resourceClaimStatuses": [{"name": "none"}]},
        },
        media=APPLY,
        query="fieldManager=ResourceClaimController&force=true",
    )
    s.patch(
        "change the claims",
        _at(s, "a"),
        {"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "d"}]}},
        media=STRATEGIC,
    )
    s.get("in the end", _at(s, "b"))
    return s


def _admission() -> Script:
    s = Script("pod-admission")
    accounts = sample("serviceaccounts")
    s.post("an account", accounts.collection(s.namespace), accounts.make("worker", typed=False))
    s.post(
        "a class",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": "pod-admission-high"}, "value": 5000, "preemptionPolicy": "Never"},
    )
    s.post("with the account", _at(s), pod("a", {"serviceAccountName": "worker"}))
    s.post("with the class", _at(s), pod("b", {"priorityClassName": "pod-admission-high"}))
    s.post(
        "with another priority than its class",
        _at(s),
        pod("c", {"priorityClassName": "pod-admission-high", "priority": 1}),
    )
    s.post("with a system class", _at(s), pod("d", {"priorityClassName": "system-node-critical"}))
    s.post(
        "with another policy than its class",
        _at(s),
        pod(
            "e",
            {"priorityClassName": "pod-admission-high", "preemptionPolicy": "PreemptLowerPriority"},
        ),
    )
    ranges = sample("limitranges")
    s.post("a limit range", ranges.collection(s.namespace), ranges.make("r"), pause=PAUSE)
    s.post("defaults from the range", _at(s), pod("f"))
    s.post(
        "over the range",
        _at(s),
        pod(
            "g",
            {"containers": [{"name": "m", "image": "x:1", "resources": {"limits": {"cpu": "3"}}}]},
        ),
    )
    s.post("a mirror pod", _at(s), pod("h", annotations={"kubernetes.io/config.mirror": "x"}))
    return s


def _applied() -> Script:
    s = Script("pod-applied")
    item = _at(s, "p")

    def applied(manager: str, title: str, spec: dict[str, Any], force: str = "false") -> None:
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        s.patch(title, item, body, media=APPLY, query=f"fieldManager={manager}&force={force}")

    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    applied(
        "one",
        "create",
        {
            "containers": [
                {"name": "a", "image": "x:1", "ports": ports, "env": [{"name": "E", "value": "1"}]}
            ],
            "tolerations": [{"key": "k", "operator": "Exists"}],
        },
    )
    applied("two", "another image", {"containers": [{"name": "a", "image": "x:2"}]})
    applied(
        "two", "another image by force", {"containers": [{"name": "a", "image": "x:2"}]}, "true"
    )
    applied(
        "one",
        "without the image",
        {
            "containers": [{"name": "a", "ports": ports, "env": [{"name": "E", "value": "1"}]}],
            "tolerations": [{"key": "k", "operator": "Exists"}],
        },
    )
    applied("two", "a list without its key", {"containers": [{"image": "x:2"}]})
    applied("two", "a key twice", {"containers": [{"name": "a"}, {"name": "a"}]})
    applied(
        "two",
        "a port twice",
        {
            "containers": [
                {
                    "name": "a",
                    "image": "x:2",
                    "ports": [{"containerPort": 80}, {"containerPort": 80}],
                }
            ]
        },
    )
    applied(
        "three",
        "several conflicts",
        {
            "containers": [{"name": "a", "image": "x:9", "env": [{"name": "E", "value": "2"}]}],
            "tolerations": [],
        },
    )
    s.get("in the end", item)
    return s
