"""Random sequences of writes by several managers: who owns what after each, from one seed.

Fields are few and values fewer, so that managers meet often: conflicts, shared ownership, fields
given up and pruned, lists with keys, sets and atomic lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.interop.corpus.kinds import Sample, sample
from tests.interop.script import APPLY, JSON_PATCH, MERGE, STRATEGIC, Script

__all__ = ["sequences"]

SEED = 37
SEQUENCES = 6
STEPS = 14

MANAGERS = ("one", "two", "three")

Object = dict[str, Any]
Maker = Callable[[Random], Object]


def sequences(seed: int = SEED) -> Iterator[Script]:
    """The recorded sequences; another seed makes others, for comparisons with a live server."""
    for plural, make in MAKERS.items():
        for index in range(SEQUENCES):
            yield _sequence(plural, index, make, Random(f"{seed}-{plural}-{index}"))


def _sequence(plural: str, index: int, make: Maker, random: Random) -> Script:
    s = Script(f"sequence-{plural}-{index}")
    kind = sample(plural)
    name = "a" if kind.namespaced else f"{s.name}-a"
    item = kind.path(s.namespace, name)
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    if random.random() < 0.7:
        s.post(
            "create",
            kind.collection(s.namespace),
            _named(head, name, make(random)),
            query="fieldManager=creator",
        )
    for step in range(STEPS):
        _write(s, f"{step}", kind, item, _named(head, name, make(random)), random)
    s.get("in the end", item)
    return s


def _write(s: Script, title: str, kind: Sample, item: str, body: Object, random: Random) -> None:
    manager = random.choice(MANAGERS)
    way = random.choice(
        ("apply", "apply", "apply", "force", "force", "merge", "strategic", "json", "put")
    )
    if way in ("apply", "force"):
        force = "true" if way == "force" else "false"
        s.patch(
            f"{title}: {manager} applies" + (" by force" if way == "force" else ""),
            item,
            body,
            media=APPLY,
            query=f"fieldManager={manager}&force={force}",
        )
    elif way == "put":
        s.put(f"{title}: {manager} updates", item, body, query=f"fieldManager={manager}")
    elif way == "json":
        value = random.choice(("x", "y"))
        s.patch(
            f"{title}: {manager} patches one path",
            item,
            [{"op": "add", "path": "/metadata/annotations", "value": {"j": value}}],
            media=JSON_PATCH,
            query=f"fieldManager={manager}",
        )
    else:
        patch = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
        media = MERGE if way == "merge" else STRATEGIC
        s.patch(
            f"{title}: {manager} patches by {way}",
            item,
            patch,
            media=media,
            query=f"fieldManager={manager}",
        )


def _named(head: Object, name: str, body: Object) -> Object:
    return {**head, **body, "metadata": {"name": name, **body.get("metadata", {})}}


def _some(random: Random, *values: Any) -> Any:
    return random.choice(values)


def _metadata(random: Random) -> Object:
    metadata: Object = {}
    if random.random() < 0.6:
        metadata["labels"] = {
            key: _some(random, "x", "y") for key in ("l", "m") if random.random() < 0.6
        }
    if random.random() < 0.4:
        metadata["annotations"] = {
            key: _some(random, "x", "y") for key in ("a", "b") if random.random() < 0.6
        }
    if random.random() < 0.2:
        metadata["finalizers"] = random.sample(
            ["example.com/f", "example.com/g", "example.com/h"], random.randint(1, 2)
        )
    if random.random() < 0.2:
        uid = _some(
            random, "00000000-1111-4222-8333-444444444444", "00000000-1111-4222-8333-555555555555"
        )
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid}
        ]
    return metadata


def _config_map(random: Random) -> Object:
    body: Object = {"metadata": _metadata(random)}
    if random.random() < 0.8:
        body["data"] = {
            key: _some(random, "1", "2") for key in ("p", "q", "r") if random.random() < 0.6
        }
    if random.random() < 0.3:
        body["binaryData"] = {"z": _some(random, "AQ==", "Ag==")}
    return body


def _container(random: Random, name: str) -> Object:
    made: Object = {"name": name, "image": _some(random, "x:1", "x:2")}
    if random.random() < 0.5:
        made["env"] = [
            {"name": key, "value": _some(random, "1", "2")}
            for key in random.sample(["E", "F", "G"], random.randint(1, 2))
        ]
    if random.random() < 0.4:
        # Of one container only: the real server warns of ports that several have, now and then.
        port: Object = {"containerPort": 80 if name == "main" else 81}
        made["ports"] = [{**port, "protocol": "UDP"} if random.random() < 0.3 else port]
    if random.random() < 0.4:
        made["args"] = random.sample(["a", "b", "c"], random.randint(1, 2))
    if random.random() < 0.4:
        made["resources"] = {"limits": {"cpu": _some(random, "1", "1000m", "2")}}
    return made


def _deployment(random: Random) -> Object:
    labels = {"app": "web"}
    names = random.sample(["main", "side"], random.randint(1, 2))
    spec: Object = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [_container(random, name) for name in names]},
        },
    }
    if random.random() < 0.6:
        spec["replicas"] = _some(random, 1, 2)
    if random.random() < 0.3:
        spec["strategy"] = _some(
            random,
            {"type": "Recreate"},
            {"type": "RollingUpdate"},
            {"rollingUpdate": {"maxSurge": "50%"}},
        )
    if random.random() < 0.4:
        spec["template"]["spec"]["tolerations"] = [
            {"key": _some(random, "t", "u"), "operator": "Exists"}
        ]
    if random.random() < 0.4:
        spec["template"]["spec"]["volumes"] = [
            {"name": "v", **_some(random, {"emptyDir": {}}, {"configMap": {"name": "c"}})}
        ]
    if random.random() < 0.3:
        spec["template"]["spec"]["nodeSelector"] = {_some(random, "n", "o"): "x"}
    return {"metadata": _metadata(random), "spec": spec}


def _node(random: Random) -> Object:
    spec: Object = {}
    if random.random() < 0.6:
        spec["taints"] = [
            {"key": key, "effect": _some(random, "NoSchedule", "NoExecute")}
            for key in random.sample(["t", "u"], random.randint(1, 2))
        ]
    if random.random() < 0.4:
        spec["unschedulable"] = _some(random, True, False)
    return {"metadata": _metadata(random), "spec": spec}


def _slice(random: Random) -> Object:
    devices = [
        {"name": name, "attributes": {"i": {"int": _some(random, 1, 2)}}}
        for name in random.sample(["d", "e"], random.randint(1, 2))
    ]
    return {
        "metadata": _metadata(random),
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": _some(random, 1, 2), "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def _role(random: Random) -> Object:
    rules = [
        {"apiGroups": [""], "resources": [resource], "verbs": [_some(random, "get", "list")]}
        for resource in random.sample(["pods", "nodes"], random.randint(1, 2))
    ]
    return {"metadata": _metadata(random), "rules": rules}


def _account(random: Random) -> Object:
    body: Object = {"metadata": _metadata(random)}
    if random.random() < 0.7:
        body["secrets"] = [
            {"name": name} for name in random.sample(["s", "t", "u"], random.randint(1, 2))
        ]
    if random.random() < 0.5:
        body["imagePullSecrets"] = [
            {"name": name} for name in random.sample(["p", "q"], random.randint(1, 2))
        ]
    return body


def _budget(random: Random) -> Object:
    spec: Object = {"selector": {"matchLabels": {"app": _some(random, "a", "b")}}}
    spec[_some(random, "minAvailable", "maxUnavailable")] = _some(random, 1, "50%")
    return {"metadata": _metadata(random), "spec": spec}


MAKERS: dict[str, Maker] = {
    "configmaps": _config_map,
    "deployments": _deployment,
    "nodes": _node,
    "resourceslices": _slice,
    "roles": _role,
    "serviceaccounts": _account,
    "poddisruptionbudgets": _budget,
}
