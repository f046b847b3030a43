"""The questions: seeded, random, and hostile where that is interesting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from tests.oracle.merge.pieces import API_VERSIONS, STATUSES, Piece, laid_over, piece, whole

KINDS = [*API_VERSIONS, "Pod", "ResourceClaim"]
CLAIM_VERSIONS = ["resource.k8s.io/v1", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"]
MANAGERS = ["m1", "m2", "kubectl", "kube-controller", "m3"]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "conditions": "type",
    "addresses": "type",
    "hostAliases": "ip",
    "ownerReferences": "uid",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "podIPs": "ip",
    "resourceClaims": "name",
    "resourceClaimStatuses": "name",
    "reservedFor": "uid",
}
PRIMITIVES = ["finalizers", "podCIDRs"]


def sequences(rng: Random, count: int) -> Iterator[Piece]:
    makers = [ordinary] * 12 + [crowded, forgetful, given_owners, migrated, refused, mixed_versions]
    makers.append(resized)
    for index in range(count):
        yield makers[index % len(makers)](rng)


def ordinary(rng: Random) -> Piece:
    kind = rng.choice(KINDS)
    version = API_VERSIONS[kind]
    steps = [first(rng, kind, version)]
    steps += [later(rng, kind, version) for _ in range(rng.randint(2, 5))]
    return asked(kind, version, steps)


def crowded(rng: Random) -> Piece:
    """More updaters than an object keeps apart."""
    kind = rng.choice(["ConfigMap", "Node", "ResourceClaim"])
    version = API_VERSIONS[kind]
    steps = [first(rng, kind, version)]
    for number in range(rng.randint(10, 14)):
        step = later(rng, kind, version)
        if step["verb"] == "update":
            step["manager"] = f"u{number}"
            labels = {"metadata": {"labels": {f"l{number}": "x"}}}
            step["object"] = laid_over(step["object"], labels)
        steps.append(step)
    return asked(kind, version, steps)


def forgetful(rng: Random) -> Piece:
    """Clients that clear managedFields, and what is tracked afterwards."""
    kind = rng.choice(KINDS)
    version = API_VERSIONS[kind]
    cleared: list[Any] = rng.choice([[], [{}]])
    clear = {"verb": "update", "manager": "m1", "object": {"metadata": {"managedFields": cleared}}}
    if rng.random() < 0.5:
        clear["object"] = laid_over(nulled(rng, piece(rng, kind, version)), clear["object"])
    if rng.random() < 0.2 and kind in STATUSES:
        clear["subresource"] = "status"
    steps = [first(rng, kind, version), later(rng, kind, version), clear]
    steps += [later(rng, kind, version) for _ in range(3)]
    return asked(kind, version, steps)


def given_owners(rng: Random) -> Piece:
    """Clients that write managedFields themselves, well or badly."""
    kind = rng.choice(["ConfigMap", "Pod", "Namespace"])
    version = API_VERSIONS[kind]
    fields = rng.choice(
        [
            {"f:metadata": {"f:labels": {"f:a": {}}}},
            {"f:data": {"f:b": {}, ".": {}, "f:a": {}}},
            {"f:spec": {"f:containers": {'k:{"name": "a"}': {"f:image": {}, ".": {}}}}},
            {"f:spec": {"f:nodeSelector": {"f:a": {}}, "x:unknown": {}}},
            {"f:metadata": {"f:finalizers": {'v:"example.com/a"': {}}}, "f:spec": {"i:0": {}}},
            {"bad": {}},
            {"k:nonsense": {}},
        ]
    )
    entry = {
        "manager": "given",
        "operation": rng.choice(["Update", "Apply", "Update", "Other"]),
        "apiVersion": rng.choice([version, version, "example.com/v9"]),
        "fieldsType": "FieldsV1",
        "time": "2018-01-01T00:00:00Z",
        "fieldsV1": fields,
    }
    given = {"verb": "update", "manager": "m1", "object": {"metadata": {"managedFields": [entry]}}}
    steps = [first(rng, kind, version), given]
    steps += [later(rng, kind, version) for _ in range(3)]
    return asked(kind, version, steps)


def migrated(rng: Random) -> Piece:
    """From client-side to server-side apply."""
    kind = rng.choice(["ConfigMap", "Deployment", "Pod", "ResourceClaim"])
    version = API_VERSIONS[kind]
    applied = whole(rng, kind, version)
    live = deepcopy(applied)
    live["metadata"].setdefault("annotations", {})[LAST_APPLIED] = json.dumps(applied)
    if rng.random() < 0.2:
        live["metadata"]["annotations"][LAST_APPLIED] = rng.choice(["", "{", '{"apiVersion":"v0"}'])
    steps: list[Piece] = [
        {"verb": "create", "manager": "kubectl-client-side-apply", "object": live}
    ]
    if rng.random() < 0.5:
        steps.append(later(rng, kind, version))
    again = laid_over(applied, piece(rng, kind, version)) if rng.random() < 0.7 else applied
    steps.append({"verb": "apply", "manager": "kubectl", "object": again})
    steps.append(later(rng, kind, version))
    return asked(kind, version, steps)


def refused(rng: Random) -> Piece:
    """Applied objects that do not fit."""
    kind = rng.choice(["ConfigMap", "Pod", "Node", "Deployment"])
    version = API_VERSIONS[kind]
    wrong: list[Piece] = [
        {"foo": 1},
        {"metadata": {"name": "x", "foo": 1}},
        {"metadata": {"name": 7}},
        {"metadata": {"labels": {"a": 1}}},
        {"metadata": {"labels": ["a"]}},
        {"metadata": {"finalizers": "a"}},
        {"metadata": {"finalizers": ["a", "a"]}},
        {"metadata": {"finalizers": [{}]}},
        {"metadata": {"finalizers": [None]}},
        {"metadata": {"generation": "1"}},
        {"metadata": {"managedFields": []}},
        {"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "a"}]}},
        {"metadata": {"ownerReferences": [None]}},
        {"metadata": {"ownerReferences": [{"uid": "a", "controller": "yes"}]}},
        {"kind": "Other"},
        {"apiVersion": "v9"},
        {"spec": 1},
    ]
    if kind == "Pod":
        wrong += [
            {"spec": {"containers": [{"image": "i"}]}},
            {"spec": {"containers": ["a"]}},
            {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": "80"}]}]}},
            {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": {}}}}]}},
            {"spec": {"hostNetwork": "yes"}},
            {"spec": {"tolerations": [{"foo": 1}]}},
            {"spec": {"nodeSelector": {"a": 1}}},
            {"status": None, "spec": {"containers": None, "nodeName": None}},
        ]
    steps = [first(rng, kind, version), later(rng, kind, version)]
    for one in rng.sample(wrong, 3):
        body = laid_over({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}, one)
        steps.append({"verb": "apply", "manager": "m1", "object": body})
    return asked(kind, version, steps)


def mixed_versions(rng: Random) -> Piece:
    kind = "ResourceClaim"
    steps = []
    for index in range(rng.randint(3, 6)):
        version = rng.choice(CLAIM_VERSIONS)
        step = later(rng, kind, version) if index else first(rng, kind, version)
        steps.append(step | {"apiVersion": version})
    return asked(kind, "resource.k8s.io/v1", steps)


def resized(rng: Random) -> Piece:
    """Endpoints through which only some fields of a pod change hands."""
    steps = [first(rng, "Pod", "v1")]
    for _ in range(rng.randint(2, 4)):
        step = later(rng, "Pod", "v1")
        step["subresource"] = rng.choice(["resize", "ephemeralcontainers", "status", "resize"])
        if step["subresource"] == "ephemeralcontainers":
            debuggers = [{"name": f"debug-{n}", "image": "i:1"} for n in range(rng.randint(1, 2))]
            step["object"] = laid_over(step["object"], {"spec": {"ephemeralContainers": debuggers}})
        steps.append(step)
    return asked("Pod", "v1", steps)


def asked(kind: str, version: str, steps: list[Piece]) -> Piece:
    return {"op": "sequence", "apiVersion": version, "kind": kind, "steps": steps}


def first(rng: Random, kind: str, version: str) -> Piece:
    body = whole(rng, kind, version)
    if rng.random() < 0.25:
        return {"verb": "apply", "manager": rng.choice(MANAGERS), "object": body}
    return {"verb": "create", "manager": rng.choice([*MANAGERS, ""]), "object": body}


def later(rng: Random, kind: str, version: str) -> Piece:
    status = kind in STATUSES and rng.random() < 0.4
    body = piece(rng, kind, version, status=status)
    step: Piece = {"manager": rng.choice(MANAGERS)}
    if rng.random() < 0.5:
        step |= {"verb": "apply", "object": body}
        if rng.random() < 0.5:
            step["force"] = True
        if rng.random() < 0.15:
            step["object"] = laid_over({}, {k: body[k] for k in ("apiVersion", "kind", "metadata")})
        if rng.random() < 0.1:
            step["object"] = nulled(rng, body, often=0.1)
    else:
        patch = nulled(rng, body)
        del patch["apiVersion"], patch["kind"]
        if rng.random() < 0.1:
            repeat_items(rng, patch)
        step |= {"verb": "update", "object": patch}
    if status and rng.random() < 0.85:
        step["subresource"] = "status"
    return step


def nulled(rng: Random, value: Any, often: float = 0.08) -> Any:
    """The same with some members turned to null, but for those that name it."""
    if isinstance(value, dict):
        return {
            name: None
            if rng.random() < often and name not in ("apiVersion", "kind", "metadata", "name")
            else nulled(rng, part, often)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [nulled(rng, item, 0) for item in value]
    return value


def repeat_items(rng: Random, value: Any) -> None:
    """Names an item twice in lists that should not have it."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name in ("env", "ports", "finalizers") and part and rng.random() < 0.6:
                part.append(deepcopy(rng.choice(part)))
            repeat_items(rng, part)
    elif isinstance(value, list):
        for item in value:
            repeat_items(rng, item)


# Patches --------------------------------------------------------------------------------------


def merge_patches(rng: Random, count: int) -> Iterator[Piece]:
    for _ in range(count):
        kind = rng.choice(KINDS)
        document = whole(rng, kind, API_VERSIONS[kind])
        patch = nulled(rng, piece(rng, kind, API_VERSIONS[kind]), often=0.15)
        if rng.random() < 0.3:
            patch["metadata"] = rng.choice(
                [{"labels": {"a": None, "b": {"c": None}}}, 1, [{"a": None}]]
            )
        yield {"op": "merge", "document": document, "patch": patch}


def json_patches(rng: Random, count: int) -> Iterator[Piece]:
    for _ in range(count):
        kind = rng.choice(KINDS)
        document = whole(rng, kind, API_VERSIONS[kind])
        operations = [operation(rng, document) for _ in range(rng.randint(1, 4))]
        yield {"op": "json", "document": document, "patch": operations}


def operation(rng: Random, document: Any) -> Piece:
    place, value = rng.choice(list(places(document)))
    other, _ = rng.choice(list(places(document)))
    kind = rng.choice(["add", "remove", "replace", "test", "copy", "move", "add", "replace"])
    path = rng.choice(
        [place, place, other, place + "/new", place + "/-", place + "/0", place + "/-1"]
    )
    if rng.random() < 0.05:
        path = rng.choice(["", "/", "x", "/metadata/missing/deep", "/metadata/a~1b~0c", "/spec/01"])
    made: Piece = {"op": kind, "path": path}
    if kind in ("copy", "move"):
        made["from"] = rng.choice([place, other])
    elif kind == "test":
        made["value"] = value if rng.random() < 0.85 else rng.choice([None, 1, "x", {}])
        made["path"] = place if rng.random() < 0.8 else path
    elif kind != "remove" and rng.random() < 0.95:
        made["value"] = rng.choice([1, "x", None, {"a": 1}, ["b"], True])
    if rng.random() < 0.03:
        made["op"] = "patch"
    return made


def places(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, part in value.items():
            step = name.replace("~", "~0").replace("/", "~1")
            yield from places(part, f"{path}/{step}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, f"{path}/{index}")


def strategic_merges(rng: Random, count: int) -> Iterator[Piece]:
    for _ in range(count):
        kind = rng.choice([*KINDS, "Pod", "Pod", "Node"])
        version = API_VERSIONS[kind]
        status = kind in STATUSES and rng.random() < 0.4
        document = whole(rng, kind, version)
        if status:
            document = laid_over(document, piece(rng, kind, version, status=True))
        patch = nulled(rng, piece(rng, kind, version, status=status), often=0.05)
        if rng.random() < 0.7:
            direct(rng, patch, document)
        yield {
            "op": "strategic",
            "apiVersion": version,
            "kind": kind,
            "document": document,
            "patch": patch,
        }


def direct(rng: Random, patch: Any, document: Any) -> None:
    """Strews directives over a patch, in view of the document it is for."""
    if not isinstance(patch, dict) or not isinstance(document, dict):
        return
    for name in list(patch):
        part, there = patch[name], document.get(name)
        if isinstance(part, dict):
            direct(rng, part, there)
        elif isinstance(part, list):
            direct_list(rng, patch, name, part, there if isinstance(there, list) else [])
    chance = rng.random()
    if chance < 0.03:
        patch["$patch"] = rng.choice(["replace", "delete", "merge", "nonsense"])
    elif chance < 0.08:
        kept = [*patch, *document]
        patch["$retainKeys"] = [name for name in dict.fromkeys(kept) if rng.random() < 0.9]
    for name in PRIMITIVES:
        if name in document and name not in patch and rng.random() < 0.4:
            gone = [item for item in [*document[name], "other"] if rng.random() < 0.5]
            patch[f"$deleteFromPrimitiveList/{name}"] = gone
    for name, key in MERGE_KEYS.items():
        if isinstance(document.get(name), list) and name not in patch and rng.random() < 0.1:
            order = [{key: item[key]} for item in document[name]]
            rng.shuffle(order)
            patch[f"$setElementOrder/{name}"] = order


def direct_list(rng: Random, patch: Piece, name: str, part: list[Any], there: list[Any]) -> None:
    key = MERGE_KEYS.get(name)
    if key is None:
        if name in PRIMITIVES and rng.random() < 0.4:
            order = list(dict.fromkeys([*part, *there]))
            if rng.random() < 0.5:
                rng.shuffle(order)
            patch[f"$setElementOrder/{name}"] = order
        return
    for item in part:
        match: Piece = next((other for other in there if other.get(key) == item.get(key)), {})
        direct(rng, item, match)
    if rng.random() < 0.35:
        order = [{key: item[key]} for item in part if key in item]
        for item in there:
            if {key: item[key]} not in order and rng.random() < 0.6:
                order.insert(rng.randint(0, len(order)), {key: item[key]})
        if rng.random() < 0.15:
            rng.shuffle(order)
        patch[f"$setElementOrder/{name}"] = order
    if there and rng.random() < 0.3:
        part.append({"$patch": "delete", key: rng.choice(there)[key]})
    if rng.random() < 0.08:
        part.insert(0, {"$patch": rng.choice(["replace", "merge", "delete"])})
    if part and rng.random() < 0.04:
        part[0].pop(key, None)
