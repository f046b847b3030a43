"""The DRA kinds: versions, status rules, and what drivers, scheduler and controllers do."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.interop.corpus.kinds import Sample, cases, sample
from tests.interop.script import APPLY, MERGE, STRATEGIC, TABLE, Script

__all__ = ["devices"]

CLAIMS = sample("resourceclaims")
SLICES = sample("resourceslices")
CLASSES = sample("deviceclasses")
RESULT = {"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
ALLOCATION = {
    "devices": {"results": [RESULT]},
    "nodeSelector": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
        ]
    },
}
# Longer than the real server's authorizer takes to hear of a new rule.
PAUSE = 0.5
UID = "11111111-2222-4333-8444-555555555555"


def devices() -> Iterator[Script]:
    yield from (_claim_life(), _claim_status(), _claim_rules(), _claim_driver(), _admin())
    yield from (_class_rules(), _slice_rules(), _slice_life(), _taint_rules(), _pool_requests())
    yield from (_templates(), _tables())
    for plural in ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"):
        for version in ("v1beta1", "v1beta2"):
            yield _versions(sample(plural), version)
    yield _versions(sample("devicetaintrules"), "v1beta2")
    yield _versions(sample("devicetaintrules"), "v1alpha3")


def _request(**changes: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu.example.com", **changes}
    return {
        "name": "gpu",
        "exactly": {key: value for key, value in exactly.items() if value is not None},
    }


def _claim_life() -> Script:
    s = Script("claim-life")
    item = CLAIMS.path(s.namespace, "c")
    status = f"{item}/status"
    protect = "resource.kubernetes.io/delete-protection"
    s.post(
        "create",
        CLAIMS.collection(s.namespace),
        CLAIMS.make("c"),
        save={"uid": "metadata.uid", "rv": "metadata.resourceVersion"},
    )
    s.put(
        "protect it",
        item,
        CLAIMS.make("c", resourceVersion="${rv}", finalizers=[protect]),
        save={"rv2": "metadata.resourceVersion"},
    )
    reserved = [{"resource": "pods", "name": "p", "uid": UID}]
    s.put(
        "allocate and reserve",
        status,
        {
            **CLAIMS.make("c", resourceVersion="${rv2}", finalizers=[protect]),
            "status": {"allocation": ALLOCATION, "reservedFor": reserved},
        },
        save={"rv3": "metadata.resourceVersion"},
    )
    s.put(
        "allocate again from an old version",
        status,
        {
            **CLAIMS.make("c", resourceVersion="${rv2}", finalizers=[protect]),
            "status": {"allocation": ALLOCATION},
        },
    )
    s.patch(
        "reserve for one more",
        status,
        {"status": {"reservedFor": [{"resource": "pods", "name": "q", "uid": UID[:-1] + "6"}]}},
        media=STRATEGIC,
    )
    s.patch(
        "change the allocation",
        status,
        {"status": {"allocation": {"devices": {"results": [{**RESULT, "device": "gpu-1"}]}}}},
        media=MERGE,
    )
    s.patch("deallocate while reserved", status, {"status": {"allocation": None}}, media=MERGE)
    s.patch(
        "a driver reports",
        status,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "status": {
                "devices": [
                    {
                        "driver": "gpu.example.com",
                        "pool": "n1",
                        "device": "gpu-0",
                        "data": {"a": 1},
                        "networkData": {
                            "interfaceName": "eth1",
                            "ips": ["10.9.8.7/24"],
                            "hardwareAddress": "ea:9f:cb:40:b1:7b",
                        },
                        "conditions": [
                            {
                                "type": "Ready",
                                "status": "True",
                                "reason": "Up",
                                "message": "",
                                "lastTransitionTime": "2026-03-01T10:00:00Z",
                            }
                        ],
                    }
                ]
            },
        },
        media=APPLY,
        query="fieldManager=driver&force=true",
    )
    s.patch(
        "a driver reports of another device",
        status,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-9"}]},
        },
        media=APPLY,
        query="fieldManager=driver&force=true",
    )
    s.patch(
        "a driver reports badly",
        status,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "status": {
                "devices": [
                    {
                        "driver": "gpu.example.com",
                        "pool": "n1",
                        "device": "gpu-0",
                        "networkData": {"ips": ["10.9.8.7"]},
                    }
                ]
            },
        },
        media=APPLY,
        query="fieldManager=driver&force=true",
    )
    s.delete("delete", item)
    s.patch(
        "reserve while it ends",
        status,
        {"status": {"reservedFor": [{"resource": "pods", "name": "r", "uid": UID[:-1] + "7"}]}},
        media=STRATEGIC,
    )
    s.patch("release all", status, {"status": {"reservedFor": None}}, media=MERGE)
    s.patch("deallocate", status, {"status": {"allocation": None, "devices": None}}, media=MERGE)
    s.patch("let it go", item, {"metadata": {"finalizers": None}}, media=MERGE)
    s.get("it is gone", item)
    return s


def _claim_status() -> Script:
    s = Script("claim-status")
    item = CLAIMS.path(s.namespace, "c")
    s.post("create", CLAIMS.collection(s.namespace), CLAIMS.make("c"))
    for title, status in cases(
        (
            "reserved without an allocation",
            {"reservedFor": [{"resource": "pods", "name": "p", "uid": UID}]},
        ),
        (
            "a result of no request",
            {"allocation": {"devices": {"results": [{**RESULT, "request": "other"}]}}},
        ),
        (
            "a bad driver",
            {"allocation": {"devices": {"results": [{**RESULT, "driver": "Bad Driver"}]}}},
        ),
        ("a bad device", {"allocation": {"devices": {"results": [{**RESULT, "device": "GPU 0"}]}}}),
        ("a bad pool", {"allocation": {"devices": {"results": [{**RESULT, "pool": "/x"}]}}}),
        (
            "two terms",
            {"allocation": {**ALLOCATION, "nodeSelector": {"nodeSelectorTerms": [{}, {}]}}},
        ),
        ("a result twice", {"allocation": {"devices": {"results": [RESULT, RESULT]}}}),
        (
            "devices of nothing",
            {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]},
        ),
        ("allocated", {"allocation": ALLOCATION}),
        (
            "reserved twice",
            {
                "reservedFor": [
                    {"resource": "pods", "name": "p", "uid": UID},
                    {"resource": "pods", "name": "p", "uid": UID},
                ]
            },
        ),
        ("reserved by nothing", {"reservedFor": [{"resource": "", "name": "", "uid": ""}]}),
        ("reserved", {"reservedFor": [{"resource": "pods", "name": "p", "uid": UID}]}),
        (
            "too many",
            {
                "reservedFor": [
                    {"resource": "pods", "name": f"p{index}", "uid": f"uid-{index}"}
                    for index in range(257)
                ]
            },
        ),
        (
            "device data that is too long",
            {
                "devices": [
                    {
                        "driver": "gpu.example.com",
                        "pool": "n1",
                        "device": "gpu-0",
                        "data": {"x": "y" * 11000},
                    }
                ]
            },
        ),
        (
            "a device twice",
            {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}] * 2},
        ),
        ("nothing", {"allocation": None, "reservedFor": None, "devices": None}),
    ):
        s.patch(title, f"{item}/status", {"status": status}, media=MERGE)
    return s


def _claim_rules() -> Script:
    s = Script("claim-rules")
    at = CLAIMS.collection(s.namespace)
    two = [_request(), {**_request(), "name": "net"}]
    for title, claimed in cases(
        ("no requests", {}),
        ("all devices", {"requests": [_request(allocationMode="All")]}),
        ("a count of none", {"requests": [_request(count=0)]}),
        ("all with a count", {"requests": [_request(allocationMode="All", count=2)]}),
        ("a strange mode", {"requests": [_request(allocationMode="Some")]}),
        ("no class", {"requests": [_request(deviceClassName=None)]}),
        ("a bad class", {"requests": [_request(deviceClassName="Bad Class")]}),
        (
            "first available",
            {
                "requests": [
                    {
                        "name": "any",
                        "firstAvailable": [
                            {"name": "big", "deviceClassName": "big"},
                            {"name": "small", "deviceClassName": "small", "count": 2},
                        ],
                    }
                ]
            },
        ),
        (
            "both kinds of request",
            {
                "requests": [
                    {**_request(), "firstAvailable": [{"name": "a", "deviceClassName": "b"}]}
                ]
            },
        ),
        ("neither kind of request", {"requests": [{"name": "gpu"}]}),
        ("a name twice", {"requests": [_request(), _request()]}),
        ("a bad name", {"requests": [{**_request(), "name": "G P U"}]}),
        (
            "a selector that does not compile",
            {"requests": [_request(selectors=[{"cel": {"expression": "device.nothing"}}])]},
        ),
        (
            "a selector of another type",
            {"requests": [_request(selectors=[{"cel": {"expression": "1 + 1"}}])]},
        ),
        ("an empty selector", {"requests": [_request(selectors=[{}])]}),
        (
            "a long selector",
            {
                "requests": [
                    _request(selectors=[{"cel": {"expression": "true" + " || true" * 1300}}])
                ]
            },
        ),
        (
            "tolerations",
            {
                "requests": [
                    _request(
                        tolerations=[
                            {
                                "key": "a",
                                "operator": "Exists",
                                "effect": "NoExecute",
                                "tolerationSeconds": 5,
                            }
                        ]
                    )
                ]
            },
        ),
        (
            "a bad toleration",
            {"requests": [_request(tolerations=[{"operator": "Equal", "value": "x"}])]},
        ),
        ("capacity", {"requests": [_request(capacity={"requests": {"memory": "10Gi"}})]}),
        (
            "match an attribute",
            {
                "requests": two,
                "constraints": [{"requests": ["gpu", "net"], "matchAttribute": "example.com/numa"}],
            },
        ),
        ("match a bad attribute", {"requests": two, "constraints": [{"matchAttribute": "numa"}]}),
        (
            "a distinct attribute",
            {"requests": two, "constraints": [{"distinctAttribute": "example.com/numa"}]},
        ),
        ("a constraint of nothing", {"requests": two, "constraints": [{"requests": ["gpu"]}]}),
        (
            "a constraint of another request",
            {
                "requests": two,
                "constraints": [{"requests": ["other"], "matchAttribute": "example.com/a"}],
            },
        ),
        (
            "config",
            {
                "requests": [_request()],
                "config": [
                    {
                        "requests": ["gpu"],
                        "opaque": {
                            "driver": "gpu.example.com",
                            "parameters": {"apiVersion": "x/v1", "kind": "C"},
                        },
                    }
                ],
            },
        ),
        (
            "config without parameters",
            {"requests": [_request()], "config": [{"opaque": {"driver": "gpu.example.com"}}]},
        ),
        ("config of nothing", {"requests": [_request()], "config": [{}]}),
        (
            "config that is no object",
            {
                "requests": [_request()],
                "config": [{"opaque": {"driver": "gpu.example.com", "parameters": "text"}}],
            },
        ),
        (
            "too many requests",
            {"requests": [{**_request(), "name": f"r{index}"} for index in range(33)]},
        ),
        ("derived attributes", {"requests": [_request()], "derivedAttributes": [{"name": "a"}]}),
    ):
        s.post(
            title, at, {"metadata": {"name": title.replace(" ", "-")}, "spec": {"devices": claimed}}
        )
    s.post(
        "v1beta1 style in v1",
        at,
        {
            "metadata": {"name": "flat"},
            "spec": {
                "devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu.example.com"}]}
            },
        },
    )
    s.patch("change the spec", f"{at}/config", {"spec": {"devices": {"config": None}}}, media=MERGE)
    s.patch(
        "apply over what was created",
        f"{at}/config",
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "spec": {"devices": {"requests": [_request(count=2)]}},
        },
        media=APPLY,
        query="fieldManager=m",
    )
    return s


def _claim_driver() -> Script:
    s = Script("claim-driver")
    item = CLAIMS.path(s.namespace, "c")
    account = f"system:serviceaccount:{s.namespace}:driver"
    groups = (
        "system:serviceaccounts",
        f"system:serviceaccounts:{s.namespace}",
        "system:authenticated",
    )
    s.post("create", CLAIMS.collection(s.namespace), CLAIMS.make("c"))
    s.patch("allocate", f"{item}/status", {"status": {"allocation": ALLOCATION}}, media=MERGE)
    report = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "status": {
            "devices": [
                {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "data": {"ok": True}}
            ]
        },
    }
    s.patch(
        "report without a right",
        f"{item}/status",
        report,
        media=APPLY,
        query="fieldManager=d&force=true",
        user=account,
        groups=groups,
    )
    rules = [
        {
            "apiGroups": ["resource.k8s.io"],
            "resources": ["resourceclaims", "resourceclaims/status"],
            "verbs": ["get", "list", "watch", "patch", "update"],
        }
    ]
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{s.namespace}"
    s.post("a role", f"{rbac}/roles", {"metadata": {"name": "driver"}, "rules": rules})
    s.post(
        "a binding",
        f"{rbac}/rolebindings",
        {
            "metadata": {"name": "driver"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "driver"},
            "subjects": [{"kind": "ServiceAccount", "name": "driver", "namespace": s.namespace}],
        },
        pause=PAUSE,
    )
    s.patch(
        "report with the old right",
        f"{item}/status",
        report,
        media=APPLY,
        query="fieldManager=d&force=true",
        user=account,
        groups=groups,
    )
    s.patch(
        "reserve with the old right",
        f"{item}/status",
        {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": UID}]}},
        media=MERGE,
        user=account,
        groups=groups,
    )
    s.patch(
        "deallocate with the old right",
        f"{item}/status",
        {"status": {"allocation": None}},
        media=MERGE,
        user=account,
        groups=groups,
    )
    more = [
        *rules,
        {
            "apiGroups": ["resource.k8s.io"],
            "resources": ["resourceclaims/driver"],
            "verbs": ["arbitrary-node:patch", "arbitrary-node:update"],
            "resourceNames": ["gpu.example.com"],
        },
        {
            "apiGroups": ["resource.k8s.io"],
            "resources": ["resourceclaims/binding"],
            "verbs": ["patch", "update"],
        },
    ]
    s.patch("widen the role", f"{rbac}/roles/driver", {"rules": more}, media=MERGE)
    s.post(
        "widen it everywhere",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {"metadata": {"name": "claim-driver"}, "rules": more},
    )
    s.post(
        "bind it everywhere",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {
            "metadata": {"name": "claim-driver"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "claim-driver",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "driver", "namespace": s.namespace}],
        },
        pause=PAUSE,
    )
    s.patch(
        "report with the new right",
        f"{item}/status",
        report,
        media=APPLY,
        query="fieldManager=d&force=true",
        user=account,
        groups=groups,
    )
    s.patch(
        "reserve with the new right",
        f"{item}/status",
        {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": UID}]}},
        media=MERGE,
        user=account,
        groups=groups,
    )
    return s


def _admin() -> Script:
    s = Script("claim-admin-access")
    at = CLAIMS.collection(s.namespace)
    spec = {"devices": {"requests": [_request(adminAccess=True)]}}
    s.post("without the label", at, {"metadata": {"name": "a"}, "spec": spec})
    s.post(
        "a template without the label",
        sample("resourceclaimtemplates").collection(s.namespace),
        {"metadata": {"name": "a"}, "spec": {"spec": spec}},
    )
    s.patch(
        "label the namespace",
        f"/api/v1/namespaces/{s.namespace}",
        {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}},
        media=MERGE,
    )
    s.post("with the label", at, {"metadata": {"name": "a"}, "spec": spec})
    s.post(
        "explicitly without access",
        at,
        {
            "metadata": {"name": "b"},
            "spec": {"devices": {"requests": [_request(adminAccess=False)]}},
        },
    )
    return s


def _class_rules() -> Script:
    s = Script("class-rules", namespace=False)
    at = CLASSES.collection("")
    for title, spec in cases(
        ("nothing", {}),
        ("an extended resource", {"extendedResourceName": "example.com/gpu"}),
        ("a bad extended resource", {"extendedResourceName": "gpu"}),
        (
            "an expensive selector",
            {
                "selectors": [
                    {"cel": {"expression": 'device.attributes["a"].x.matches(".*a.*b.*c.*")'}}
                ]
                * 20
            },
        ),
        ("too many selectors", {"selectors": [{"cel": {"expression": "true"}}] * 33}),
        ("a bad selector", {"selectors": [{"cel": {"expression": "device.driver + 1"}}]}),
        ("text for selectors", {"selectors": "none"}),
        ("config", {"config": [{"opaque": {"driver": "x.example.com", "parameters": {}}}]}),
        ("config of a bad driver", {"config": [{"opaque": {"driver": "X", "parameters": {}}}]}),
    ):
        s.post(
            title,
            at,
            {"metadata": {"name": f"class-rules-{title.replace(' ', '-')}"}, "spec": spec},
        )
    item = f"{at}/class-rules-nothing"
    s.patch(
        "change the spec",
        item,
        {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
        media=MERGE,
    )
    s.patch("change it back", item, {"spec": {"selectors": None}}, media=MERGE)
    s.post("no spec", at, {"metadata": {"name": "class-rules-none"}})
    return s


def _slice(name: str, **changes: Any) -> dict[str, Any]:
    made = SLICES.make(f"slice-rules-{name.replace(' ', '-')}")
    made["spec"] = {
        key: value for key, value in {**made["spec"], **changes}.items() if value is not None
    }
    return made


def _slice_rules() -> Script:
    s = Script("slice-rules", namespace=False)
    at = SLICES.collection("")
    device: dict[str, Any] = {"name": "d"}
    term = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
        ]
    }
    for title, changes in cases(
        ("all nodes", {"nodeName": None, "allNodes": True}),
        ("selected nodes", {"nodeName": None, "nodeSelector": term}),
        ("no nodes", {"nodeName": None}),
        ("two kinds of nodes", {"allNodes": True}),
        (
            "nodes of devices",
            {
                "nodeName": None,
                "perDeviceNodeSelection": True,
                "devices": [{"name": "d", "nodeName": "n1"}],
            },
        ),
        (
            "nodes of devices, missing",
            {"nodeName": None, "perDeviceNodeSelection": True, "devices": [device]},
        ),
        ("no devices", {"devices": None}),
        ("a device twice", {"devices": [device, device]}),
        ("a bad device", {"devices": [{"name": "D 1"}]}),
        ("too many devices", {"devices": [{"name": f"d{index}"} for index in range(129)]}),
        (
            "all attribute types",
            {
                "devices": [
                    {
                        "name": "d",
                        "attributes": {
                            "s": {"string": "x"},
                            "i": {"int": -5},
                            "b": {"bool": False},
                            "v": {"version": "1.2.3"},
                            "example.com/q": {"string": ""},
                        },
                    }
                ]
            },
        ),
        (
            "two values",
            {"devices": [{"name": "d", "attributes": {"s": {"string": "x", "int": 1}}}]},
        ),
        ("no value", {"devices": [{"name": "d", "attributes": {"s": {}}}]}),
        ("a bad version", {"devices": [{"name": "d", "attributes": {"v": {"version": "one"}}}]}),
        ("a long text", {"devices": [{"name": "d", "attributes": {"s": {"string": "x" * 65}}}]}),
        ("a bad attribute name", {"devices": [{"name": "d", "attributes": {"a b": {"int": 1}}}]}),
        (
            "too many attributes",
            {
                "devices": [
                    {
                        "name": "d",
                        "attributes": {f"a{index}": {"int": index} for index in range(33)},
                    }
                ]
            },
        ),
        ("a bad capacity", {"devices": [{"name": "d", "capacity": {"m": {"value": "lots"}}}]}),
        (
            "shared capacity",
            {
                "devices": [
                    {
                        "name": "d",
                        "allowMultipleAllocations": True,
                        "capacity": {
                            "m": {
                                "value": "10Gi",
                                "requestPolicy": {
                                    "default": "1Gi",
                                    "validRange": {"min": "1Gi", "step": "1Gi"},
                                },
                            }
                        },
                    }
                ]
            },
        ),
        (
            "a wrong policy",
            {
                "devices": [
                    {
                        "name": "d",
                        "allowMultipleAllocations": True,
                        "capacity": {
                            "m": {
                                "value": "10Gi",
                                "requestPolicy": {"default": "3Gi", "validValues": ["1Gi", "2Gi"]},
                            }
                        },
                    }
                ]
            },
        ),
        (
            "counters",
            {"sharedCounters": [{"name": "c", "counters": {"m": {"value": "4"}}}], "devices": None},
        ),
        (
            "consumed counters",
            {
                "devices": [
                    {
                        "name": "d",
                        "consumesCounters": [
                            {"counterSet": "c", "counters": {"m": {"value": "1"}}}
                        ],
                    }
                ]
            },
        ),
        (
            "counters and devices",
            {"sharedCounters": [{"name": "c", "counters": {"m": {"value": "4"}}}]},
        ),
        (
            "taints",
            {"devices": [{"name": "d", "taints": [{"key": "broken", "effect": "NoExecute"}]}]},
        ),
        (
            "a bad taint",
            {"devices": [{"name": "d", "taints": [{"key": "broken", "effect": "Hide"}]}]},
        ),
        (
            "binding conditions",
            {
                "devices": [
                    {
                        "name": "d",
                        "bindsToNode": True,
                        "bindingConditions": ["example.com/ready"],
                        "bindingFailureConditions": ["example.com/failed"],
                    }
                ]
            },
        ),
        (
            "binding conditions alone",
            {"devices": [{"name": "d", "bindingConditions": ["example.com/ready"]}]},
        ),
        ("a bad pool", {"pool": {"name": "a//b", "generation": -1, "resourceSliceCount": 0}}),
        ("no pool", {"pool": None}),
        ("a bad driver", {"driver": "Gpu Driver"}),
        ("a bad node", {"nodeName": "N 1"}),
    ):
        s.post(title, at, _slice(title, **changes))
    return s


def _slice_life() -> Script:
    s = Script("slice-life", namespace=False)
    at = SLICES.collection("")
    for name, node in (("a", "sl-1"), ("b", "sl-2")):
        made = SLICES.make(f"slice-life-{name}", labels={"script": "slice-life"})
        made["spec"].update(
            nodeName=node, pool={"name": node, "generation": 1, "resourceSliceCount": 1}
        )
        s.post(f"create {name}", at, made)
    item = f"{at}/slice-life-a"
    s.patch("a newer generation", item, {"spec": {"pool": {"generation": 2}}}, media=MERGE)
    s.patch(
        "more devices",
        item,
        {"spec": {"devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}},
        media=MERGE,
    )
    s.patch(
        "the same again",
        item,
        {"spec": {"devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}},
        media=MERGE,
    )
    s.patch("another node", item, {"spec": {"nodeName": "sl-9"}}, media=MERGE)
    s.patch("another pool", item, {"spec": {"pool": {"name": "other"}}}, media=MERGE)
    s.get("by node", at, query="fieldSelector=spec.nodeName%3Dsl-1")
    s.get(
        "by driver and node",
        at,
        query="fieldSelector=spec.driver%3Dgpu.example.com,spec.nodeName%3Dsl-2",
    )
    s.get("by pool", at, query="fieldSelector=spec.pool.name%3Dsl-1")
    s.delete("all of a node", at, query="fieldSelector=spec.nodeName%3Dsl-1")
    s.get("what is left", at, query="labelSelector=script%3Dslice-life")
    return s


def _taint_rules() -> Script:
    s = Script("taint-rules", namespace=False)
    kind = sample("devicetaintrules")
    at = kind.collection("")
    for title, spec in cases(
        ("everything", {"taint": {"key": "a", "effect": "NoSchedule"}}),
        (
            "an empty selector",
            {"deviceSelector": {}, "taint": {"key": "a", "effect": "NoSchedule"}},
        ),
        (
            "none",
            {
                "deviceSelector": {"driver": "x.example.com"},
                "taint": {"key": "a", "effect": "None"},
            },
        ),
        ("no key", {"taint": {"effect": "NoExecute"}}),
        ("a bad value", {"taint": {"key": "a", "value": "b c", "effect": "NoExecute"}}),
        (
            "a bad pool",
            {"deviceSelector": {"pool": "//"}, "taint": {"key": "a", "effect": "NoExecute"}},
        ),
        ("no taint", {}),
    ):
        s.post(
            title,
            at,
            {"metadata": {"name": f"taint-rules-{title.replace(' ', '-')}"}, "spec": spec},
        )
    item = f"{at}/taint-rules-none"
    s.patch("change the effect", item, {"spec": {"taint": {"effect": "NoExecute"}}}, media=MERGE)
    s.patch(
        "change the time",
        item,
        {"spec": {"taint": {"timeAdded": "2026-04-01T00:00:00Z"}}},
        media=MERGE,
    )
    return s


def _pool_requests() -> Script:
    s = Script("pool-requests", namespace=False)
    kind = sample("resourcepoolstatusrequests")
    at = kind.collection("")
    for title, spec in cases(
        ("a pool", {"driver": "x.example.com", "poolName": "n1"}),
        ("a limit", {"driver": "x.example.com", "limit": 5}),
        ("no limit", {"driver": "x.example.com", "limit": 0}),
        ("no driver", {}),
        ("a bad driver", {"driver": "X Y"}),
        ("a bad pool", {"driver": "x.example.com", "poolName": "//"}),
    ):
        s.post(
            title,
            at,
            {"metadata": {"name": f"pool-requests-{title.replace(' ', '-')}"}, "spec": spec},
        )
    return s


def _templates() -> Script:
    s = Script("templates")
    kind = sample("resourceclaimtemplates")
    at = kind.collection(s.namespace)
    spec = CLAIMS.body["spec"]
    for title, template in cases(
        ("metadata", {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": spec}),
        ("a bad label", {"metadata": {"labels": {"a b": "c"}}, "spec": spec}),
        (
            "metadata that cannot be",
            {"metadata": {"name": "x", "finalizers": ["example.com/x"]}, "spec": spec},
        ),
        ("nothing", {}),
    ):
        s.post(title, at, {"metadata": {"name": title.replace(" ", "-")}, "spec": template})
    s.patch(
        "change it", f"{at}/metadata", {"spec": {"metadata": {"labels": {"a": "c"}}}}, media=MERGE
    )
    return s


def _tables() -> Script:
    s = Script("device-tables")
    mine = "labelSelector=script%3Ddevice-tables"
    for plural in (
        "deviceclasses",
        "resourceclaims",
        "resourceclaimtemplates",
        "resourceslices",
        "devicetaintrules",
        "resourcepoolstatusrequests",
    ):
        kind = sample(plural)
        s.post(
            f"{plural}: create",
            kind.collection(s.namespace),
            kind.make(f"device-tables-{plural}", labels={"script": "device-tables"}),
        )
    item = CLAIMS.path(s.namespace, "device-tables-resourceclaims")
    s.patch(
        "allocate",
        f"{item}/status",
        {
            "status": {
                "allocation": ALLOCATION,
                "reservedFor": [{"resource": "pods", "name": "p", "uid": UID}],
            }
        },
        media=MERGE,
    )
    s.post(
        "create one that is held",
        CLAIMS.collection(s.namespace),
        CLAIMS.make("held", labels={"script": "device-tables"}, finalizers=["example.com/x"]),
    )
    s.delete("delete it", CLAIMS.path(s.namespace, "held"))
    for plural in (
        "deviceclasses",
        "resourceclaims",
        "resourceclaimtemplates",
        "resourceslices",
        "devicetaintrules",
        "resourcepoolstatusrequests",
    ):
        s.get(f"{plural}: table", sample(plural).collection(s.namespace), query=mine, accept=TABLE)
    return s


def _versions(kind: Sample, version: str) -> Script:
    """The same objects written and read in an older version of the API."""
    s = Script(f"version-{version}-{kind.plural}")
    old = Sample(
        kind.group,
        version,
        kind.plural,
        kind.kind,
        kind.namespaced,
        _older(kind, version),
        kind.change,
        kind.refused,
    )
    prefix = "" if kind.namespaced else f"{s.name}-"
    a, b = f"{prefix}a", f"{prefix}b"
    s.post(
        "create in the old version",
        old.collection(s.namespace),
        old.make(a),
        save={"rv": "metadata.resourceVersion"},
    )
    s.post("create in the new version", kind.collection(s.namespace), kind.make(b))
    s.get("old read as new", kind.path(s.namespace, a))
    s.get("new read as old", old.path(s.namespace, b))
    s.get("both as old", old.collection(s.namespace), query=f"fieldSelector=metadata.name%3D{a}")
    s.post("old in the place of new", kind.collection(s.namespace), old.make(f"{prefix}c"))
    s.post("new in the place of old", old.collection(s.namespace), kind.make(f"{prefix}d"))
    s.put(
        "update in the old version",
        old.path(s.namespace, a),
        old.make(a, resourceVersion="${rv}", labels={"by": "old"}),
    )
    s.put(
        "update to the same in the new version",
        kind.path(s.namespace, a),
        kind.make(a, labels={"by": "old"}),
    )
    s.patch(
        "patch in the old version",
        old.path(s.namespace, b),
        {"metadata": {"labels": {"by": "patch"}}},
        media=MERGE,
    )
    s.patch(
        "apply in the old version",
        old.path(s.namespace, b),
        {"apiVersion": old.api_version, "kind": old.kind, "metadata": {"labels": {"by": "apply"}}},
        media=APPLY,
        query="fieldManager=m&force=true",
    )
    s.patch(
        "apply the same in the new version",
        kind.path(s.namespace, b),
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"labels": {"by": "apply"}},
        },
        media=APPLY,
        query="fieldManager=m",
    )
    s.patch("what validation refuses", old.path(s.namespace, b), kind.refused, media=MERGE)
    s.get("as a table", old.path(s.namespace, b), accept=TABLE)
    s.watch(
        "watched as old",
        old.collection(s.namespace),
        f"resourceVersion=${{rv}}&fieldSelector=metadata.name%3D{b}&timeoutSeconds=1",
    )
    s.delete("delete in the old version", old.path(s.namespace, b))
    return s


def _older(kind: Sample, version: str) -> dict[str, Any]:
    body = copy.deepcopy(kind.body)
    if version != "v1beta1":
        return body
    if kind.plural == "resourceslices":
        body["spec"]["devices"] = [
            {
                "name": device["name"],
                "basic": {key: value for key, value in device.items() if key != "name"},
            }
            for device in body["spec"]["devices"]
        ]
        return body
    if kind.plural in ("resourceclaims", "resourceclaimtemplates"):
        spec = body["spec"] if kind.plural == "resourceclaims" else body["spec"]["spec"]
        spec["devices"]["requests"] = [
            {"name": request["name"], **request["exactly"]}
            for request in spec["devices"]["requests"]
        ]
    return body
