"""Namespaces, nodes, leases, events, workloads and quotas: rules of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.interop.corpus.kinds import TEMPLATE, cases, sample
from tests.interop.script import JSON_PATCH, MERGE, STRATEGIC, TABLE, Script

__all__ = ["cluster"]

MAPS = sample("configmaps")

# Not what a controller puts into every namespace, where one runs.
OWN = "fieldSelector=metadata.name%21%3Dkube-root-ca.crt"


def cluster() -> Iterator[Script]:
    yield from (_namespaces(), _protected(), _nodes(), _node_identity(), _leases(), _events())
    yield from (_both_events(), _scale(), _jobs(), _deployments(), _config_maps(), _secrets())
    yield from (_quotas(), _priority(), _limits(), _revisions())


def _namespaces() -> Script:
    s = Script("namespaces", namespace=False)
    at, item = "/api/v1/namespaces", "/api/v1/namespaces/nn-one"
    s.post("create", at, {"metadata": {"name": "nn-one", "labels": {"script": "namespaces"}}})
    s.post(
        "create with another name label",
        at,
        {
            "metadata": {
                "name": "nn-two",
                "labels": {"kubernetes.io/metadata.name": "other", "script": "namespaces"},
            }
        },
    )
    s.post(
        "create with finalizers",
        at,
        {"metadata": {"name": "nn-three"}, "spec": {"finalizers": ["example.com/f"]}},
    )
    s.post("a name with a dot", at, {"metadata": {"name": "nn.four"}})
    s.post("something in it", f"{item}/configmaps", MAPS.make("inside"))
    s.patch(
        "remove the name label",
        item,
        {"metadata": {"labels": {"kubernetes.io/metadata.name": None}}},
        media=MERGE,
    )
    s.patch("change the finalizers", item, {"spec": {"finalizers": []}}, media=MERGE)
    s.get(
        "by phase",
        at,
        query="fieldSelector=status.phase%3DActive&labelSelector=script%3Dnamespaces",
    )
    s.delete("delete", item, save={"uid": "metadata.uid"})
    s.delete("delete again", item)
    s.post("create in what ends", f"{item}/configmaps", MAPS.make("late"))
    s.patch(
        "apply in what ends",
        f"{item}/configmaps/late",
        MAPS.make("late"),
        media="application/apply-patch+yaml",
        query="fieldManager=m",
    )
    s.patch("change what is in it", f"{item}/configmaps/inside", {"data": {"a": "b"}}, media=MERGE)
    s.delete("delete what is in it", f"{item}/configmaps/inside")
    s.get("as a table", item, accept=TABLE)
    s.post("create it again", at, {"metadata": {"name": "nn-one"}})
    s.get("finalize cannot be read", f"{item}/finalize")
    s.put(
        "finalize",
        f"{item}/finalize",
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "nn-one"},
            "spec": {"finalizers": []},
        },
    )
    s.get("it is gone", item)
    s.put(
        "finalize what does not end",
        "/api/v1/namespaces/nn-two/finalize",
        {"metadata": {"name": "nn-two"}, "spec": {"finalizers": ["example.com/x"]}},
    )
    s.put(
        "finalize nothing", "/api/v1/namespaces/nn-zero/finalize", {"metadata": {"name": "nn-zero"}}
    )
    s.delete("delete all", at)
    return s


def _protected() -> Script:
    s = Script("namespaces-protected", namespace=False)
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        s.get(f"{name} is there", f"/api/v1/namespaces/{name}")
    for name in ("default", "kube-system", "kube-public"):
        s.delete(f"{name} stays", f"/api/v1/namespaces/{name}")
    for name in ("system-cluster-critical", "system-node-critical"):
        s.get(f"class {name} is there", f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")
        s.delete(f"class {name} stays", f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")
    return s


def _nodes() -> Script:
    s = Script("nodes", namespace=False)
    at, item = "/api/v1/nodes", "/api/v1/nodes/nodes-a"
    s.post(
        "create",
        at,
        {
            "metadata": {
                "name": "nodes-a",
                "labels": {"node-role.kubernetes.io/control-plane": "", "script": "nodes"},
            }
        },
    )
    s.post(
        "create ready",
        at,
        {
            "metadata": {"name": "nodes-b", "labels": {"script": "nodes"}},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {
                    "machineID": "m",
                    "systemUUID": "s",
                    "bootID": "b",
                    "kernelVersion": "6.1",
                    "osImage": "Linux",
                    "containerRuntimeVersion": "containerd://2.0",
                    "kubeletVersion": "v1.37.1",
                    "kubeProxyVersion": "",
                    "operatingSystem": "linux",
                    "architecture": "amd64",
                },
                "addresses": [{"type": "InternalIP", "address": "192.168.0.7"}],
            },
        },
    )
    s.patch("cordon", item, {"spec": {"unschedulable": True}}, media=STRATEGIC)
    s.patch("uncordon", item, {"spec": {"unschedulable": None}}, media=STRATEGIC)
    s.patch(
        "taint", item, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, media=STRATEGIC
    )
    s.patch(
        "taint twice",
        item,
        {
            "spec": {
                "taints": [
                    {"key": "a", "effect": "NoSchedule"},
                    {"key": "a", "effect": "NoSchedule", "value": "x"},
                ]
            }
        },
        media=STRATEGIC,
    )
    s.patch("taint with no effect", item, {"spec": {"taints": [{"key": "a"}]}}, media=STRATEGIC)
    s.patch(
        "taint strangely",
        item,
        {"spec": {"taints": [{"key": "a b", "effect": "Hide"}]}},
        media=STRATEGIC,
    )
    s.patch("untaint", item, {"spec": {"taints": None}}, media=STRATEGIC)
    s.patch("a provider", item, {"spec": {"providerID": "cloud://1"}}, media=MERGE)
    s.patch("another provider", item, {"spec": {"providerID": "cloud://2"}}, media=MERGE)
    s.patch(
        "ranges",
        item,
        {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}},
        media=MERGE,
    )
    s.patch("other ranges", item, {"spec": {"podCIDRs": ["10.2.0.0/24"]}}, media=MERGE)
    s.patch(
        "status",
        f"{item}/status",
        {
            "status": {
                "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "allocatable": {"cpu": "3800m"},
                "conditions": [{"type": "Ready", "status": "False", "reason": "NotYet"}],
                "addresses": [{"type": "Hostname", "address": "nodes-a"}],
            }
        },
        media=STRATEGIC,
    )
    s.patch(
        "as a kubelet does",
        f"{item}/status",
        {
            "status": {
                "$setElementOrder/conditions": [{"type": "MemoryPressure"}, {"type": "Ready"}],
                "conditions": [
                    {"type": "MemoryPressure", "status": "False"},
                    {"type": "Ready", "status": "True", "reason": "KubeletReady"},
                ],
            }
        },
        media=STRATEGIC,
    )
    s.patch(
        "labels by status",
        f"{item}/status",
        {"metadata": {"labels": {"by": "status"}}},
        media=MERGE,
    )
    s.patch(
        "a bad capacity", f"{item}/status", {"status": {"capacity": {"cpu": "many"}}}, media=MERGE
    )
    s.patch(
        "a negative capacity",
        f"{item}/status",
        {"status": {"capacity": {"cpu": "-1"}}},
        media=MERGE,
    )
    s.get(
        "by schedulability",
        at,
        query="fieldSelector=spec.unschedulable%3Dtrue&labelSelector=script%3Dnodes",
    )
    s.get("as a table", at, query="labelSelector=script%3Dnodes", accept=TABLE)
    s.delete("delete", item)
    return s


def _node_identity() -> Script:
    s = Script("node-identity")
    who: dict[str, Any] = {
        "user": "system:node:ni-one",
        "groups": ("system:nodes", "system:authenticated"),
    }
    pods = sample("pods").collection(s.namespace)
    s.post(
        "register",
        "/api/v1/nodes",
        {"metadata": {"name": "ni-one", "labels": {"kubernetes.io/hostname": "ni-one"}}},
        **who,
    )
    s.post("register another", "/api/v1/nodes", {"metadata": {"name": "ni-two"}}, **who)
    s.get("itself", "/api/v1/nodes/ni-one", **who)
    s.get("another", "/api/v1/nodes/ni-two", **who)
    s.get("all nodes", "/api/v1/nodes", **who)
    s.patch(
        "its status",
        "/api/v1/nodes/ni-one/status",
        {"status": {"capacity": {"cpu": "1"}}},
        media=STRATEGIC,
        **who,
    )
    s.patch(
        "the status of another",
        "/api/v1/nodes/ni-two/status",
        {"status": {"capacity": {"cpu": "1"}}},
        media=STRATEGIC,
        **who,
    )
    s.patch(
        "a label of its own",
        "/api/v1/nodes/ni-one",
        {"metadata": {"labels": {"example.com/a": "b"}}},
        media=MERGE,
        **who,
    )
    s.patch(
        "a restricted label",
        "/api/v1/nodes/ni-one",
        {"metadata": {"labels": {"node-restriction.kubernetes.io/a": "b"}}},
        media=MERGE,
        **who,
    )
    s.patch(
        "an unknown label of the system",
        "/api/v1/nodes/ni-one",
        {"metadata": {"labels": {"kubernetes.io/unknown": "b"}}},
        media=MERGE,
        **who,
    )
    s.patch("its taints", "/api/v1/nodes/ni-one", {"spec": {"taints": []}}, media=MERGE, **who)
    s.delete("itself away", "/api/v1/nodes/ni-one", **who)
    s.post(
        "a pod",
        pods,
        {
            "metadata": {"name": "plain"},
            "spec": {"nodeName": "ni-one", "containers": [{"name": "a", "image": "x"}]},
        },
        **who,
    )
    s.post(
        "a pod for it, by the administrator",
        pods,
        {
            "metadata": {"name": "mine"},
            "spec": {
                "nodeName": "ni-one",
                "containers": [
                    {"name": "a", "image": "x", "envFrom": [{"configMapRef": {"name": "wanted"}}]}
                ],
                "volumes": [{"name": "s", "secret": {"secretName": "wanted"}}],
                "resourceClaims": [{"name": "c", "resourceClaimName": "wanted"}],
            },
        },
        save={"uid": "metadata.uid"},
    )
    s.post(
        "a pod for another",
        pods,
        {
            "metadata": {"name": "theirs"},
            "spec": {"nodeName": "ni-two", "containers": [{"name": "a", "image": "x"}]},
        },
    )
    s.post("a map", MAPS.collection(s.namespace), MAPS.make("unwanted"))
    s.get("all pods", pods, **who)
    s.get("its pods", pods, query="fieldSelector=spec.nodeName%3Dni-one", **who)
    s.get("pods of another", pods, query="fieldSelector=spec.nodeName%3Dni-two", **who)
    s.get("a pod of another", f"{pods}/theirs", **who)
    s.patch(
        "status of its pod",
        f"{pods}/mine/status",
        {"status": {"phase": "Running"}},
        media=STRATEGIC,
        **who,
    )
    s.patch(
        "status of another pod",
        f"{pods}/theirs/status",
        {"status": {"phase": "Running"}},
        media=STRATEGIC,
        **who,
    )
    s.patch(
        "labels of its pod",
        f"{pods}/mine/status",
        {"metadata": {"labels": {"a": "b"}}},
        media=STRATEGIC,
        **who,
    )
    s.get("a map it needs not", f"{MAPS.collection(s.namespace)}/unwanted", **who)
    s.get("all maps", MAPS.collection(s.namespace), **who)
    s.get("a secret it needs not", f"/api/v1/namespaces/{s.namespace}/secrets/unwanted", **who)
    s.get(
        "a claim it needs not",
        f"/apis/resource.k8s.io/v1/namespaces/{s.namespace}/resourceclaims/unwanted",
        **who,
    )
    lease = {
        "metadata": {"name": "ni-one"},
        "spec": {"holderIdentity": "ni-one", "leaseDurationSeconds": 40},
    }
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    s.post("its lease", leases, lease, **who)
    s.post("the lease of another", leases, {**lease, "metadata": {"name": "ni-two"}}, **who)
    s.get("the lease of another, read", f"{leases}/ni-two", **who)
    slices = sample("resourceslices")
    made = slices.make("node-identity-mine")
    made["spec"]["nodeName"] = "ni-one"
    s.post("a slice of its own", slices.collection(""), made, **who)
    s.post("a slice of another", slices.collection(""), slices.make("node-identity-theirs"), **who)
    everywhere = slices.make("node-identity-all")
    del everywhere["spec"]["nodeName"]
    everywhere["spec"]["allNodes"] = True
    s.post("a slice of all", slices.collection(""), everywhere, **who)
    s.get("its slices", slices.collection(""), query="fieldSelector=spec.nodeName%3Dni-one", **who)
    s.get("all slices", slices.collection(""), **who)
    s.delete(
        "its slices away",
        slices.collection(""),
        query="fieldSelector=spec.nodeName%3Dni-one",
        **who,
    )
    s.post(
        "a token for its pod",
        f"/api/v1/namespaces/{s.namespace}/serviceaccounts/default/token",
        {
            "spec": {
                "boundObjectRef": {
                    "kind": "Pod",
                    "apiVersion": "v1",
                    "name": "mine",
                    "uid": "${uid}",
                }
            }
        },
        **who,
    )
    s.post(
        "a token for no pod",
        f"/api/v1/namespaces/{s.namespace}/serviceaccounts/default/token",
        {"spec": {}},
        **who,
    )
    s.delete("its pod away", f"{pods}/mine", {"gracePeriodSeconds": 0}, **who)
    s.delete("the pod of another", f"{pods}/theirs", {"gracePeriodSeconds": 0}, **who)
    s.get("deployments", f"/apis/apps/v1/namespaces/{s.namespace}/deployments", **who)
    s.get("as a node without its group", "/api/v1/nodes/ni-one", user="system:node:ni-one")
    return s


def _leases() -> Script:
    s = Script("leases")
    kind = sample("leases")
    at, item = kind.collection(s.namespace), kind.path(s.namespace, "l")
    s.put("create by update", item, kind.make("l"), save={"rv": "metadata.resourceVersion"})
    s.put(
        "renew",
        item,
        kind.make("l", resourceVersion="${rv}")
        | {
            "spec": {
                "holderIdentity": "a",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-03-01T10:00:00.000001Z",
                "renewTime": "2026-03-01T10:00:00.123456Z",
                "leaseTransitions": 3,
            }
        },
    )
    for title, spec in cases(
        ("whole seconds", {"renewTime": "2026-03-01T10:00:00Z"}),
        ("milliseconds", {"renewTime": "2026-03-01T10:00:00.123Z"}),
        ("nanoseconds", {"renewTime": "2026-03-01T10:00:00.123456789Z"}),
        ("another zone", {"renewTime": "2026-03-01T12:00:00.000000+02:00"}),
        ("no time", {"renewTime": "yesterday"}),
        ("a null time", {"renewTime": None}),
        ("an empty holder", {"holderIdentity": ""}),
        ("negative transitions", {"leaseTransitions": -1}),
        ("a strategy", {"strategy": "OldestEmulationVersion"}),
        ("a preferred holder", {"preferredHolder": "b"}),
        ("nothing", {}),
    ):
        s.post(title, at, {"metadata": {"name": title.replace(" ", "-")}, "spec": spec})
    s.get("as a table", item, accept=TABLE)
    return s


def _event(s: Script, name: str, **changes: Any) -> dict[str, Any]:
    return {**sample("events").make(name), **changes}


def _events() -> Script:
    s = Script("events")
    kind = sample("events")
    at = kind.collection(s.namespace)
    s.post("create", at, _event(s, "a"))
    s.post(
        "nothing but an object",
        at,
        {"metadata": {"name": "b"}, "involvedObject": {"namespace": s.namespace}},
    )
    s.post(
        "about another namespace",
        at,
        _event(s, "c", involvedObject={"kind": "Pod", "name": "x", "namespace": "elsewhere"}),
    )
    s.post(
        "about the cluster, here", at, _event(s, "d", involvedObject={"kind": "Node", "name": "n1"})
    )
    s.post(
        "about the cluster",
        "/api/v1/namespaces/default/events",
        {
            **_event(s, "events-d"),
            "metadata": {"name": "events-d"},
            "involvedObject": {"kind": "Node", "name": "n1"},
        },
    )
    s.post("a generated name", at, {**_event(s, "x"), "metadata": {"generateName": "g-"}})
    s.post("a strange type", at, _event(s, "e", type="Odd"))
    s.post("half a new event", at, _event(s, "f", eventTime="2026-03-01T10:00:00.000000Z"))
    s.post("a long message", at, _event(s, "g", message="m" * 2000))
    s.patch(
        "count",
        f"{at}/a",
        {"count": 5, "lastTimestamp": "2026-03-01T11:00:00Z", "message": "again"},
        media=STRATEGIC,
    )
    s.put("create by update", f"{at}/h", _event(s, "h"))
    for selector in (
        "involvedObject.name=web",
        "involvedObject.kind=Pod,type=Normal",
        "reason=Pulled",
        "source=kubelet",
        "reportingComponent=kubelet",
        "involvedObject.uid=",
        "type!=Normal",
        "regarding.name=web",
    ):
        s.get(
            f"by {selector}",
            at,
            query="fieldSelector=" + selector.replace("=", "%3D").replace("!", "%21"),
        )
    s.get("as a table", at, accept=TABLE)
    return s


def _both_events() -> Script:
    s = Script("events-of-both-groups")
    old, new = sample("events"), sample("events.events.k8s.io")
    s.post("create the old way", old.collection(s.namespace), old.make("old"))
    s.post("create the new way", new.collection(s.namespace), new.make("new"))
    s.get("old read the new way", new.path(s.namespace, "old"))
    s.get("new read the old way", old.path(s.namespace, "new"))
    s.get("all the new way", new.collection(s.namespace))
    s.get("all the old way", old.collection(s.namespace))
    s.get(
        "selected the new way",
        new.collection(s.namespace),
        query="fieldSelector=regarding.kind%3DPod,reportingController%3Dexample.com/scheduler",
    )
    s.patch(
        "a series",
        new.path(s.namespace, "new"),
        {"series": {"count": 3, "lastObservedTime": "2026-03-01T10:09:00.000000Z"}},
        media=MERGE,
    )
    s.patch(
        "the old one, the new way",
        new.path(s.namespace, "old"),
        {"deprecatedCount": 9},
        media=MERGE,
    )
    for title, change in cases(
        ("no controller", {"reportingController": ""}),
        ("no instance", {"reportingInstance": ""}),
        ("no action", {"action": ""}),
        ("no reason", {"reason": ""}),
        ("a long note", {"note": "n" * 1025}),
        ("an old count", {"deprecatedCount": 1}),
        ("no time", {"eventTime": None}),
        (
            "a series of one",
            {"series": {"count": 1, "lastObservedTime": "2026-03-01T10:00:00.000000Z"}},
        ),
        ("another namespace", {"regarding": {"kind": "Pod", "name": "x", "namespace": "other"}}),
    ):
        s.post(title, new.collection(s.namespace), {**new.make(title.replace(" ", "-")), **change})
    s.delete("delete the new way", new.path(s.namespace, "old"))
    s.get("gone the old way", old.path(s.namespace, "old"))
    return s


def _scale() -> Script:
    s = Script("scale")
    for plural in ("deployments", "replicasets"):
        kind = sample(plural)
        item, scale = kind.path(s.namespace, "w"), kind.path(s.namespace, "w", "scale")
        s.post(f"{plural}: create", kind.collection(s.namespace), kind.make("w"))
        s.get(f"{plural}: read", scale, save={"rv": "metadata.resourceVersion"})
        body = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "w"},
            "spec": {"replicas": 5},
        }
        s.put(f"{plural}: update", scale, body)
        s.put(
            f"{plural}: update an old version",
            scale,
            {**body, "metadata": {"name": "w", "resourceVersion": "${rv}"}},
        )
        s.put(f"{plural}: update to the same", scale, body)
        s.patch(f"{plural}: merge", scale, {"spec": {"replicas": 1}}, media=MERGE)
        s.patch(
            f"{plural}: json",
            scale,
            [{"op": "replace", "path": "/spec/replicas", "value": 4}],
            media=JSON_PATCH,
        )
        s.patch(f"{plural}: strategic", scale, {"spec": {"replicas": 6}}, media=STRATEGIC)
        s.patch(f"{plural}: negative", scale, {"spec": {"replicas": -1}}, media=MERGE)
        s.patch(
            f"{plural}: rehearse", scale, {"spec": {"replicas": 9}}, media=MERGE, query="dryRun=All"
        )
        s.put(f"{plural}: another name", scale, {**body, "metadata": {"name": "v"}})
        s.put(f"{plural}: another kind", scale, kind.make("w"))
        s.patch(
            f"{plural}: apply",
            scale,
            body,
            media="application/apply-patch+yaml",
            query="fieldManager=scaler&force=true",
        )
        s.get(f"{plural}: nothing there", kind.path(s.namespace, "ghost", "scale"))
        s.get(f"{plural}: in the end", item)
    return s


def _jobs() -> Script:
    s = Script("jobs")
    kind = sample("jobs")
    at = kind.collection(s.namespace)
    template: dict[str, Any] = kind.body["spec"]["template"]
    for title, spec in cases(
        ("three at once", {"parallelism": 3, "completions": 6}),
        ("indexed", {"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1}),
        ("indexed without a count", {"completionMode": "Indexed"}),
        ("suspended", {"suspend": True, "ttlSecondsAfterFinished": 5}),
        (
            "always restarting",
            {"template": {"spec": {**template["spec"], "restartPolicy": "Always"}}},
        ),
        ("a selector of its own", {"selector": {"matchLabels": {"a": "b"}}}),
        (
            "a manual selector",
            {
                "manualSelector": True,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, **template},
            },
        ),
        ("negative retries", {"backoffLimit": -1}),
        (
            "a failure policy",
            {
                "podFailurePolicy": {
                    "rules": [
                        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 2]}}
                    ]
                }
            },
        ),
        ("a bad failure policy", {"podFailurePolicy": {"rules": [{"action": "Ignore"}]}}),
        ("no template", {"template": None}),
    ):
        body = {
            "metadata": {"name": title.replace(" ", "-")},
            "spec": {"template": template, **spec},
        }
        if title == "no template":
            del body["spec"]["template"]
        s.post(title, at, body)
    item = kind.path(s.namespace, "three-at-once")
    s.patch("suspend", item, {"spec": {"suspend": True}}, media=MERGE)
    s.patch(
        "change the template",
        item,
        {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}},
        media=MERGE,
    )
    s.patch("change completions", item, {"spec": {"completions": 7}}, media=MERGE)
    s.patch(
        "finish",
        f"{item}/status",
        {
            "status": {
                "startTime": "2026-03-01T10:00:00Z",
                "succeeded": 6,
                "completionTime": "2026-03-01T11:00:00Z",
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "Complete", "status": "True"},
                ],
            }
        },
        media=MERGE,
    )
    s.patch("finish wrongly", f"{item}/status", {"status": {"succeeded": -1}}, media=MERGE)
    s.get("by success", at, query="fieldSelector=status.successful%3D6")
    s.get("as a table", at, accept=TABLE)
    s.delete("delete without a policy", item)
    return s


def _deployments() -> Script:
    s = Script("deployments")
    kind = sample("deployments")
    at = kind.collection(s.namespace)
    for title, change in cases(
        ("defaults", {}),
        ("recreate", {"strategy": {"type": "Recreate"}}),
        (
            "recreate while rolling",
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        ),
        ("percentages", {"strategy": {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}}}),
        ("no movement", {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}),
        ("another selector", {"selector": {"matchLabels": {"app": "other"}}}),
        ("an empty selector", {"selector": {}}),
        ("impatient", {"progressDeadlineSeconds": 5, "minReadySeconds": 10}),
        (
            "never restarting",
            {"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}},
        ),
        ("text for a number", {"replicas": "3"}),
    ):
        made = kind.make(title.replace(" ", "-"))
        made["spec"] = {**made["spec"], **change}
        s.post(title, at, made)
    item = kind.path(s.namespace, "defaults")
    s.patch(
        "set an image",
        item,
        {
            "spec": {
                "template": {
                    "spec": {
                        "$setElementOrder/containers": [{"name": "main"}],
                        "containers": [{"name": "main", "image": "x:2"}],
                    }
                }
            }
        },
        media=STRATEGIC,
    )
    s.patch(
        "to recreate",
        item,
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        media=STRATEGIC,
    )
    s.patch("pause", item, {"spec": {"paused": True}}, media=MERGE)
    s.patch(
        "change the selector",
        item,
        {"spec": {"selector": {"matchLabels": {"app": "other"}}}},
        media=MERGE,
    )
    s.patch(
        "status",
        f"{item}/status",
        {
            "status": {
                "observedGeneration": 1,
                "replicas": 2,
                "readyReplicas": 1,
                "availableReplicas": 1,
                "updatedReplicas": 2,
                "conditions": [{"type": "Available", "status": "True"}],
            }
        },
        media=MERGE,
    )
    s.patch("impossible status", f"{item}/status", {"status": {"readyReplicas": 99}}, media=MERGE)
    s.get("as a table", at, accept=TABLE)
    return s


def _config_maps() -> Script:
    s = Script("configmaps-own")
    at = MAPS.collection(s.namespace)
    for title, body in cases(
        ("nothing", {}),
        ("binary", {"binaryData": {"b": "AAECAw=="}}),
        ("bad base64", {"binaryData": {"b": "***"}}),
        ("a key in both", {"data": {"k": "v"}, "binaryData": {"k": "AA=="}}),
        ("immutable", {"data": {"a": "b"}, "immutable": True}),
        ("a dot for a key", {"data": {".": "x"}}),
        ("two dots for a key", {"data": {"..": "x"}}),
        ("a number", {"data": {"a": 1}}),
        ("null values", {"data": {"a": None}}),
        ("all kinds of text", {"data": {"a": 'line\nline\t"quoted" <&> € 😀 \u2028'}}),
        ("a key of 254 letters", {"data": {"k" * 254: "x"}}),
        ("empty data", {"data": {}}),
    ):
        s.post(title, at, {"metadata": {"name": title.replace(" ", "-")}, **body})
    item = f"{at}/immutable"
    s.patch("change what is immutable", item, {"data": {"a": "c"}}, media=MERGE)
    s.patch("make it mutable", item, {"immutable": False}, media=MERGE)
    s.patch("label what is immutable", item, {"metadata": {"labels": {"a": "b"}}}, media=MERGE)
    s.get("as a table", at, query=OWN, accept=TABLE)
    return s


def _secrets() -> Script:
    s = Script("secrets-own")
    at = sample("secrets").collection(s.namespace)
    for title, body in cases(
        ("nothing", {}),
        ("only text", {"stringData": {"a": "b"}}),
        ("text over data", {"stringData": {"a": "new"}, "data": {"a": "b2xk"}}),
        ("bad base64", {"data": {"a": "%%%"}}),
        ("tls", {"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ==", "tls.key": "Yg=="}}),
        ("half a tls", {"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ=="}}),
        ("basic auth", {"type": "kubernetes.io/basic-auth", "stringData": {"username": "u"}}),
        ("empty basic auth", {"type": "kubernetes.io/basic-auth"}),
        ("ssh", {"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": "k"}}),
        (
            "docker",
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}},
        ),
        (
            "bad docker",
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{"}},
        ),
        ("a token without an account", {"type": "kubernetes.io/service-account-token"}),
        ("a type of its own", {"type": "example.com/own"}),
        ("immutable", {"immutable": True, "stringData": {"a": "b"}}),
    ):
        s.post(title, at, {"metadata": {"name": title.replace(" ", "-")}, **body})
    s.patch("change the type", f"{at}/nothing", {"type": "example.com/x"}, media=MERGE)
    s.patch("change what is immutable", f"{at}/immutable", {"stringData": {"a": "c"}}, media=MERGE)
    s.get("by type", at, query="fieldSelector=type%3Dkubernetes.io/tls")
    s.get("as a table", at, accept=TABLE)
    return s


def _quotas() -> Script:
    s = Script("quotas")
    quotas = sample("resourcequotas")
    at = quotas.collection(s.namespace)
    for title, spec in cases(
        ("counts", {"hard": {"configmaps": "2", "count/resourceclaims.resource.k8s.io": "1"}}),
        ("an unknown resource", {"hard": {"dreams": "1"}}),
        ("a fraction of a thing", {"hard": {"pods": "1.5"}}),
        ("a scope", {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}),
        ("a strange scope", {"hard": {"pods": "1"}, "scopes": ["Odd"]}),
        ("classes", {"hard": {"gold.deviceclass.resource.k8s.io/devices": "3"}}),
        ("nothing", {}),
    ):
        s.post(title, at, {"metadata": {"name": title.replace(" ", "-")}, "spec": spec})
    status = quotas.path(s.namespace, "counts", "status")
    s.patch(
        "what is used",
        status,
        {
            "status": {
                "hard": {"configmaps": "2", "count/resourceclaims.resource.k8s.io": "1"},
                "used": {"configmaps": "1", "count/resourceclaims.resource.k8s.io": "1"},
            }
        },
        media=MERGE,
    )
    s.get("as a table", at, accept=TABLE)
    return s


def _priority() -> Script:
    s = Script("priority", namespace=False)
    at = "/apis/scheduling.k8s.io/v1/priorityclasses"
    for title, body in cases(
        ("too high", {"value": 2000000000}),
        ("like the system", {"metadata": {"name": "system-own"}, "value": 5}),
        ("never", {"value": 7, "preemptionPolicy": "Never"}),
        ("odd", {"value": 7, "preemptionPolicy": "Odd"}),
        ("no value", {}),
        ("negative", {"value": -10}),
    ):
        s.post(title, at, {"metadata": {"name": f"priority-{title.replace(' ', '-')}"}, **body})
    s.patch(
        "change the policy",
        f"{at}/priority-never",
        {"preemptionPolicy": "PreemptLowerPriority"},
        media=MERGE,
    )
    s.get("as a table", f"{at}/priority-never", accept=TABLE)
    return s


def _limits() -> Script:
    s = Script("limits")
    at = sample("limitranges").collection(s.namespace)
    for title, limits in cases(
        ("pod", [{"type": "Pod", "max": {"cpu": "4"}}]),
        ("pod defaults", [{"type": "Pod", "default": {"cpu": "4"}}]),
        ("claims", [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]),
        ("claims without bounds", [{"type": "PersistentVolumeClaim"}]),
        ("twice", [{"type": "Pod"}, {"type": "Pod"}]),
        ("a ratio", [{"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}]),
        ("a small ratio", [{"type": "Container", "maxLimitRequestRatio": {"cpu": "0.5"}}]),
        ("an own type", [{"type": "example.com/thing"}]),
        ("no type", [{}]),
        ("nothing", []),
    ):
        s.post(
            title, at, {"metadata": {"name": title.replace(" ", "-")}, "spec": {"limits": limits}}
        )
    return s


def _revisions() -> Script:
    s = Script("revisions")
    kind = sample("controllerrevisions")
    at, item = kind.collection(s.namespace), kind.path(s.namespace, "r")
    s.post("create", at, kind.make("r"))
    for title, change in cases(
        ("no data", {"data": None}),
        ("data that is a list", {"data": ["a"]}),
        ("data that is text", {"data": "a"}),
        ("data that is a number", {"data": 1}),
        ("data that is empty", {"data": {}}),
        ("no number", {"revision": 0}),
        ("a negative number", {"revision": -3}),
        ("text for a number", {"revision": "1"}),
    ):
        name = title.replace(" ", "-")
        s.post(title, at, {**kind.make(name), **change})
    bare = kind.make("bare")
    del bare["data"]
    s.post("without data", at, bare)
    s.put("as it was", item, kind.make("r"))
    s.put("another number", item, {**kind.make("r"), "revision": 7})
    s.put("a lower number", item, {**kind.make("r"), "revision": 3})
    s.put("other data", item, {**kind.make("r"), "data": {"spec": {"replicas": 2}}})
    s.put("data and number", item, {**kind.make("r"), "data": {"a": "b"}, "revision": -1})
    (template,) = kind.body["data"]["spec"].values()
    turned = {"spec": {"template": dict(reversed(template.items()))}}
    s.put("its data in another order", item, {**kind.make("r"), "data": turned, "revision": 3})
    s.put("without its data", item, {**bare, "metadata": {"name": "r"}})
    s.patch("merge into the data", item, {"data": {"more": 1}}, media=MERGE)
    s.patch("merge strategically", item, {"data": {"more": 1}}, media=STRATEGIC)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
    adopt = {"metadata": {"ownerReferences": [{**owner, "controller": True}]}}
    s.patch("adopt", item, adopt, media=STRATEGIC)
    s.patch(
        "replace its number",
        item,
        [{"op": "replace", "path": "/revision", "value": 9}],
        media=JSON_PATCH,
    )
    s.get("as a table", item, accept=TABLE)
    s.get("list as a table", at, accept=TABLE)
    s.get("by name", at, query="fieldSelector=metadata.name%3Dr")
    s.get("by number", at, query="fieldSelector=revision%3D9")
    s.put("create by writing", kind.path(s.namespace, "new"), kind.make("new"))
    s.delete("delete", item)
    return s
