"""Kinds that hold no pods, case by case: what chance rarely brings together.

A case is a kind, what is in it, and for an update what was in it before.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterator
from random import Random

from tests.conformance.generate.case import Request
from tests.conformance.generate.plain_kinds import CLUSTER_WIDE, CREATED, MICRO_TIME

CONFIG_MAP, SECRET, NODE = "v1 ConfigMap", "v1 Secret", "v1 Node"
QUOTA, LIMITS = "v1 ResourceQuota", "v1 LimitRange"
EVENT, CORE_EVENT = "events.k8s.io/v1 Event", "v1 Event"
PRIORITY = "scheduling.k8s.io/v1 PriorityClass"
BINDING = "rbac.authorization.k8s.io/v1 ClusterRoleBinding"
DEFINITION = "apiextensions.k8s.io/v1 CustomResourceDefinition"
REVISION = "apps/v1 ControllerRevision"

TEXT, OTHER = base64.b64encode(b"text").decode(), base64.b64encode(b"other").decode()
BIG = "x" * (1024 * 1024 + 1)
FROZEN: Request = {"immutable": True, "data": {"a": TEXT}}
SCHEMA: Request = {"openAPIV3Schema": {"type": "object"}}
APPROVED = "api-approved.kubernetes.io"


def _secret(type_: str, *keys: str) -> tuple[str, Request]:
    return SECRET, {"type": f"kubernetes.io/{type_}", "data": dict.fromkeys(keys, TEXT)}


def _limits(**item: Request | str) -> tuple[str, Request]:
    return LIMITS, {"spec": {"limits": [{"type": "Container", **item}]}}


def _scoped(*clauses: tuple[str, str, list[str]], **hard: str) -> tuple[str, Request]:
    matching = [
        {"scopeName": name, "operator": operator, "values": values}
        for name, operator, values in clauses
    ]
    return QUOTA, {"spec": {"hard": hard, "scopeSelector": {"matchExpressions": matching}}}


def _defined(group: str = "example.com", **changes: object) -> Request:
    versions = [{"name": "v1", "served": True, "storage": True, "schema": SCHEMA}]
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": group, "names": names, "scope": "Cluster", "versions": versions}
    return {"spec": {**spec, **changes}}


CHANGED: tuple[Request, ...] = (
    {"preserveUnknownFields": True, "conversion": {"strategy": "X"}},
    {"versions": []},
    {"names": {"plural": "things", "kind": "Thing", "listKind": "Thing"}},
)
DATA: tuple[object, ...] = (None, {}, {"a": 1}, [], "text", 1, False)
HOMELESS = {"kind": "ServiceAccount", "name": "a"}
PROTECTED = _defined("x.k8s.io")
CREATES: tuple[tuple[str, Request], ...] = (
    (CONFIG_MAP, {"data": {"a": BIG}}),
    (CONFIG_MAP, {"data": {"a": "x"}, "binaryData": {"a": TEXT}}),
    (SECRET, {"stringData": {"a": BIG}}),
    _secret("tls"),
    _secret("tls", "tls.crt"),
    _secret("tls", "tls.crt", "tls.key"),
    _secret("basic-auth"),
    _secret("basic-auth", "username"),
    _secret("ssh-auth"),
    _secret("ssh-auth", "ssh-privatekey"),
    _secret("dockercfg"),
    _secret("dockerconfigjson"),
    _secret("service-account-token"),
    (NODE, {"status": {"nodeInfo": {"swap": {"capacity": 0}}}}),
    (NODE, {"status": {"declaredFeatures": ["B", "A", "A", "a", "A" * 254]}}),
    (NODE, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}}),
    *((PRIORITY, {"name": name, "value": value, "globalDefault": default})
      for name, value, default in (
          ("system-node-critical", 2_000_001_000, False),
          ("system-node-critical", 2_000_001_000, True),
          ("system-cluster-critical", 5, False),
          ("system-other", 5, False),
          ("mine", 1_000_000_001, False),
      )),
    (PRIORITY, {"value": 1, "preemptionPolicy": ""}),
    (PRIORITY, {"value": 1, "preemptionPolicy": "Sometimes"}),
    (QUOTA, {"spec": {"hard": {"secrets": "1"}, "scopes": ["BestEffort", "NotBestEffort", "X"]}}),
    (QUOTA, {"spec": {"hard": {"foo": "1", "pods": "500m", "a/b/c": "1"}}}),
    _scoped(("PriorityClass", "In", [])),
    _scoped(("PriorityClass", "Exists", ["high"])),
    _scoped(("Terminating", "In", ["x"]), ("NotTerminating", "Exists", []), pods="1"),
    _scoped(("BestEffort", "X", []), cpu="1"),
    _scoped(("X", "Exists", [])),
    _scoped(("VolumeAttributesClass", "In", ["x"]), pods="1"),
    _limits(max={"cpu": "1"}, min={"cpu": "2"}),
    _limits(max={"cpu": "1"}, default={"cpu": "2"}, defaultRequest={"cpu": "3"}),
    _limits(min={"cpu": "4"}, default={"cpu": "2"}, defaultRequest={"cpu": "3"}),
    _limits(default={"nvidia.com/gpu": "2"}, defaultRequest={"nvidia.com/gpu": "1"}),
    _limits(maxLimitRequestRatio={"cpu": "500m"}),
    _limits(max={"cpu": "4"}, min={"cpu": "1"}, maxLimitRequestRatio={"cpu": "5"}),
    _limits(max={"cpu": "4"}, min={"cpu": "0"}, maxLimitRequestRatio={"cpu": "5"}),
    _limits(max={"cpu": "0"}, min={"cpu": "0"}, maxLimitRequestRatio={"cpu": "5"}),
    _limits(max={"cpu": "-1"}, min={"cpu": "0"}, maxLimitRequestRatio={"cpu": "5"}),
    _limits(max={"memory": "8E"}, min={"memory": "1"}, maxLimitRequestRatio={"memory": "8E"}),
    _limits(type="PersistentVolumeClaim", max={"storage": "1"}),
    _limits(type="PersistentVolumeClaim"),
    _limits(type="Pod", max={"foo": "1"}, default={"cpu": "1"}, defaultRequest={"cpu": "1"}),
    (LIMITS, {"spec": {"limits": [{"type": "Pod"}, {"type": "Pod"}]}}),
    (CORE_EVENT, {"namespace": "other", "involvedObject": {}}),
    (CORE_EVENT, {"namespace": "kube-system", "involvedObject": {}, "eventTime": MICRO_TIME}),
    (EVENT, {"namespace": "other", "regarding": {}, "eventTime": MICRO_TIME}),
    (BINDING, {"roleRef": {"kind": "ClusterRole", "name": "x"}, "subjects": [HOMELESS]}),
    *((DEFINITION, {"name": f"things.{group}", **_defined(group)})
      for group in ("com", "x.k8s.io", "k8s.io", "E!", "")),
    *((DEFINITION, {"name": "things.x.k8s.io", "annotations": {APPROVED: text}, **PROTECTED})
      for text in ("https://example.com/1", "unapproved, for now", "no")),
    *((DEFINITION, {"name": "things.example.com", **_defined(**changes)})
      for changes in CHANGED),
    *((REVISION, {"data": data}) for data in DATA),
    (REVISION, {}),
    (REVISION, {"data": {}, "revision": -1}),
    (REVISION, {"name": "A!", "revision": -1}),
)  # fmt: skip

UNSCHEMED = [{"name": "v1", "served": True, "storage": True}]
UNSERVED = [{"name": "v1", "served": False, "storage": True}]
ESTABLISHED: Request = {
    "storedVersions": ["v1"],
    "acceptedNames": {"plural": "things", "kind": "Thing"},
    "conditions": [{"type": "Established", "status": "True"}],
}
RENAMED = {"plural": "items", "kind": "Item"}
UPDATES: tuple[tuple[str, Request, Request], ...] = (
    (CONFIG_MAP, {"data": {"a": OTHER}}, FROZEN),
    (CONFIG_MAP, {**FROZEN, "binaryData": {"b": TEXT}}, FROZEN),
    (SECRET, {"data": {"a": OTHER}, "type": "other/type"}, FROZEN),
    (SECRET, FROZEN, FROZEN),
    (NODE, {"spec": {"podCIDRs": ["10.0.1.0/24"]}}, {"spec": {"podCIDRs": ["10.0.0.0/24"]}}),
    (NODE, {"spec": {}}, {"spec": {"podCIDRs": ["10.0.0.0/24"], "providerID": "p"}}),
    (NODE, {"spec": {"providerID": "q", "externalID": "e"}}, {"spec": {"providerID": "p"}}),
    (NODE, {"status": {"addresses": [{"type": "Hostname", "address": "a"}] * 2}}, {}),
    (QUOTA, {"spec": {"scopes": ["Terminating"]}}, {"spec": {"scopes": ["NotTerminating"]}}),
    (PRIORITY, {"value": 2, "preemptionPolicy": "Never"}, {"value": 1}),
    (DEFINITION, {**_defined(versions=UNSCHEMED), "status": ESTABLISHED},
     {**_defined(versions=UNSCHEMED), "status": ESTABLISHED}),
    (DEFINITION, {**_defined(versions=UNSERVED), "status": ESTABLISHED},
     {**_defined(versions=UNSCHEMED), "status": ESTABLISHED}),
    (DEFINITION, {**_defined(names=RENAMED, scope="Namespaced"), "status": ESTABLISHED},
     {**_defined(), "status": ESTABLISHED}),
    (DEFINITION, {**_defined(), "status": {**ESTABLISHED, "storedVersions": ["v0", "v1"]}},
     _defined()),
    (DEFINITION, {**PROTECTED, "annotations": {APPROVED: "no"}}, PROTECTED),
    (REVISION, {"data": {"a": 1}, "revision": 2}, {"data": {"a": 1}, "revision": 3}),
    (REVISION, {"data": {"a": 1}, "revision": -1}, {"data": {"a": 1}, "revision": 3}),
    (REVISION, {"data": {"a": [2, "<b>"]}}, {"data": {"a": [1, "<b>"]}}),
    (REVISION, {}, {"data": {"a": 1}}),
    (REVISION, {"data": [2], "revision": -1}, {"data": {"a": 1}}),
)  # fmt: skip


def plain_cases(_random: Random) -> Iterator[Request]:
    for number, (kind, body) in enumerate(CREATES):
        yield {
            "op": "validate",
            "name": f"create a {kind} like {number}",
            "operation": "create",
            "object": _object(kind, body),
        }
    for number, (kind, new, old) in enumerate(UPDATES):
        yield {
            "op": "validate",
            "name": f"update a {kind} like {number}",
            "operation": "update",
            "object": _object(kind, new, **CREATED),
            "old": _object(kind, old, **CREATED),
        }


def _object(kind: str, body: Request, **stored: str) -> Request:
    """The object; what belongs to its metadata is written beside the rest in the tables above."""
    version, _, name = kind.rpartition(" ")
    found = copy.deepcopy(body)
    meta = {"name": found.pop("name", "one"), **stored}
    if name not in CLUSTER_WIDE:
        meta["namespace"] = found.pop("namespace", "default")
    if "annotations" in found:
        meta["annotations"] = found.pop("annotations")
    return {"apiVersion": version, "kind": name, "metadata": meta, **found}
