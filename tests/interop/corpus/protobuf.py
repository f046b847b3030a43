"""Requests in protobuf, as Go's typed clients send them.

The bodies are in protobuf.json, encoded by Go itself: `python -m tests.interop.encode` writes it
anew from `bodies`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.interop.corpus.kinds import KINDS, Sample, sample
from tests.interop.script import MERGE, PROTOBUF, Script

__all__ = ["ENCODED", "bodies", "protobuf"]

ENCODED = Path(__file__).parent / "protobuf.json"

ACCEPT = "application/vnd.kubernetes.protobuf,application/json"
OPTIONS = {"kind": "DeleteOptions", "apiVersion": "v1"}


def _script(name: str) -> str:
    return f"protobuf-{name.replace('.', '-')}"


def _name(name: str, kind: Sample) -> str:
    return "a" if kind.namespaced else f"{_script(name)}-a"


def bodies() -> dict[str, dict[str, Any]]:
    """All that is sent in protobuf, as JSON, by what it is for."""
    found: dict[str, dict[str, Any]] = {}
    for name, kind in KINDS.items():
        text = json.dumps([kind.make(_name(name, kind)), kind.changed(_name(name, kind))])
        created, changed = json.loads(text.replace("${namespace}", f"it-{_script(name)}"[:63]))
        found[f"{name}: create"], found[f"{name}: update"] = created, changed
    found["options: none"] = OPTIONS
    found["options: of devices"] = {**OPTIONS, "apiVersion": "resource.k8s.io/v1"}
    found["options: background"] = {
        **OPTIONS,
        "propagationPolicy": "Background",
        "gracePeriodSeconds": 0,
    }
    found["options: rehearsal"] = {**OPTIONS, "dryRun": ["All"]}
    found["options: another uid"] = {
        **OPTIONS,
        "preconditions": {"uid": "00000000-1111-4222-8333-444444444444"},
    }
    found["binding"] = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "n1"},
    }
    found["eviction"] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "a"},
        "deleteOptions": {"gracePeriodSeconds": 0},
    }
    found["token"] = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [], "expirationSeconds": 1200},
    }
    found["scale"] = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a"},
        "spec": {"replicas": 4},
    }
    found["whoami"] = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    found["can i"] = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}},
    }
    found["rules"] = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    }
    found["refused"] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "Bad Name", "labels": {"a b": "c"}},
    }
    found["full pod"] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "full", "annotations": {"a": "b"}, "finalizers": ["example.com/x"]},
        "spec": {
            "initContainers": [{"name": "i", "image": "i:1", "restartPolicy": "Always"}],
            "containers": [
                {
                    "name": "m",
                    "image": "m:1",
                    "ports": [{"containerPort": 80, "name": "web"}],
                    "env": [
                        {"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
                    ],
                    "resources": {
                        "limits": {"cpu": "1500m", "memory": "1Gi"},
                        "claims": [{"name": "gpu", "request": "r"}],
                    },
                    "livenessProbe": {"httpGet": {"port": "web", "path": "/"}},
                    "securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
                }
            ],
            "volumes": [
                {
                    "name": "v",
                    "projected": {
                        "sources": [
                            {
                                "configMap": {
                                    "name": "c",
                                    "items": [{"key": "k", "path": "p", "mode": 256}],
                                }
                            }
                        ]
                    },
                },
                {"name": "e", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
            "tolerations": [
                {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
            ],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}]}
                        ]
                    }
                }
            },
            "securityContext": {"fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
            "terminationGracePeriodSeconds": 0,
        },
    }
    return found


@cache
def _encoded() -> dict[str, bytes]:
    return {key: base64.b64decode(text) for key, text in json.loads(ENCODED.read_text()).items()}


def protobuf() -> Iterator[Script]:
    for name, kind in KINDS.items():
        yield _kind(name, kind)
    yield from (_actions(), _broken())


def _kind(name: str, kind: Sample) -> Script:
    s = Script(_script(name))
    encoded = _encoded()
    wrong = "secrets" if name == "configmaps" else "configmaps"
    at, item = kind.collection(s.namespace), kind.path(s.namespace, _name(name, kind))
    s.post("create", at, binary=encoded[f"{name}: create"], media=PROTOBUF)
    s.get("as JSON", item)
    s.post("create again", at, binary=encoded[f"{name}: create"], media=PROTOBUF)
    s.put("update", item, binary=encoded[f"{name}: update"], media=PROTOBUF)
    s.put("update to the same in JSON", item, kind.changed(_name(name, kind)))
    s.post(
        "where another kind belongs",
        f"/api/v1/namespaces/{s.namespace}/{wrong}",
        binary=encoded[f"{name}: create"],
        media=PROTOBUF,
    )
    s.delete(
        "delete with another uid", item, binary=encoded["options: another uid"], media=PROTOBUF
    )
    s.delete("rehearse", item, binary=encoded["options: rehearsal"], media=PROTOBUF)
    s.delete("delete", item, binary=encoded["options: background"], media=PROTOBUF)
    return s


def _actions() -> Script:
    s = Script("protobuf-actions")
    encoded = _encoded()
    base = f"/api/v1/namespaces/{s.namespace}"
    pods, deployments, claims = sample("pods"), sample("deployments"), sample("resourceclaims")
    s.post("a pod", f"{base}/pods", pods.make("a"))
    s.post("a full pod", f"{base}/pods", binary=encoded["full pod"], media=PROTOBUF)
    s.post("bind", f"{base}/pods/a/binding", binary=encoded["binding"], media=PROTOBUF)
    s.post("evict", f"{base}/pods/a/eviction", binary=encoded["eviction"], media=PROTOBUF)
    s.post(
        "a token", f"{base}/serviceaccounts/default/token", binary=encoded["token"], media=PROTOBUF
    )
    s.post("a deployment", deployments.collection(s.namespace), deployments.make("a"))
    s.put(
        "scale",
        deployments.path(s.namespace, "a", "scale"),
        binary=encoded["scale"],
        media=PROTOBUF,
    )
    s.post(
        "who am I",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        binary=encoded["whoami"],
        media=PROTOBUF,
        user="paul",
    )
    s.post(
        "can I",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        binary=encoded["can i"],
        media=PROTOBUF,
        user="paul",
    )
    s.post(
        "my rules",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        binary=encoded["rules"],
        media=PROTOBUF,
        user="paul",
    )
    s.post("a claim", claims.collection(s.namespace), claims.make("a"))
    s.delete(
        "delete by the group's own options",
        claims.path(s.namespace, "a"),
        binary=encoded["options: of devices"],
        media=PROTOBUF,
    )
    s.post(
        "what validation refuses", f"{base}/configmaps", binary=encoded["refused"], media=PROTOBUF
    )
    return s


def _broken() -> Script:
    s = Script("protobuf-broken")
    at = f"/api/v1/namespaces/{s.namespace}/configmaps"
    good = _encoded()["configmaps: create"]
    s.post("the mark alone", at, binary=b"k8s\x00", media=PROTOBUF)
    s.post("nothing", at, binary=b"", media=PROTOBUF)
    s.post("cut short", at, binary=good[: len(good) // 2], media=PROTOBUF)
    s.post("without the mark", at, binary=good[4:], media=PROTOBUF)
    s.post("JSON called protobuf", at, text='{"kind":"ConfigMap"}', media=PROTOBUF)
    s.post("protobuf called JSON", at, binary=good)
    s.post("something behind it", at, binary=good + b"\x00\x00", media=PROTOBUF)
    s.post("an unknown field", at, binary=good + b"\xa2\x06\x01x", media=PROTOBUF)
    s.post(
        "unknown fields, strictly",
        at,
        binary=good,
        media=PROTOBUF,
        query="fieldValidation=Strict",
    )
    s.patch("as a patch", f"{at}/a", None, media=MERGE, binary=good)
    s.send("called a patch", "PATCH", f"{at}/a", binary=good, media=PROTOBUF)
    return s
