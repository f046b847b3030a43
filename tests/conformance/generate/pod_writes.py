"""Whole writes of pods at random: creations, updates near the stored pod, reports of status.

`pods` asks field by field about devices; this asks about everything dray checks of a pod, many
fields at once, so that the order of rules and what stands in whose way shows too.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random

from tests.conformance.generate.case import Request
from tests.conformance.generate.pod_specs import (
    KEYS,
    NAMES,
    ODD_KEYS,
    Draw,
    container,
    spec,
    toleration,
)

WRITES = 900

# How often a value is wrong: never, so that all else shows, up to one in four.
WRONG = (0.0, 0.03, 0.1, 0.25)
GATES: tuple[dict[str, bool], ...] = (
    {},
    {},
    {},
    {"ResourceHealthStatus": False, "ResourceHealthStatusMessage": False},
    {"ResourceHealthStatusMessage": False},
    {"DRANodeAllocatableResources": True},
    {"DRANodeAllocatableResources": True},
    {"GenericWorkload": True},
)
CREATED = {"resourceVersion": "1", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z"}
MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def pod_writes(random: Random) -> Iterator[Request]:
    for number in range(WRITES):
        draw = Draw(random, random.choice(WRONG))
        operation = random.choice(("create", "update", "statusUpdate"))
        make = {"create": _create, "update": _update, "statusUpdate": _status_update}[operation]
        yield {
            "op": "validate",
            "name": f"{operation} {number}",
            "operation": operation,
            "gates": random.choice(GATES),
            "prepare": True,
            **make(draw),
        }


def _create(draw: Draw) -> Request:
    return {"object": _pod(metadata(draw), spec(draw))}


def _update(draw: Draw) -> Request:
    old = _stored(draw)
    new = copy.deepcopy(old)
    new["spec"] = _near(draw, old["spec"])
    if draw.often(0.3):
        new["metadata"] |= {**metadata(draw), "name": old["metadata"]["name"]}
    if draw.amiss():
        new["metadata"].pop("annotations", None)
    if draw.amiss():
        new["metadata"]["uid"] = draw.one(("", "other"))
    return {"object": new, "old": old}


def _status_update(draw: Draw) -> Request:
    old = _stored(draw)
    new = copy.deepcopy(old)
    new["status"] = {**(old["status"] if draw.often(0.3) else {}), **status(draw, old["spec"])}
    if draw.often(0.1):
        new["spec"] = spec(draw)
    return {"object": new, "old": old}


def _stored(draw: Draw) -> Request:
    made = spec(draw)
    deleted = draw.fields(deletionTimestamp=(0.1, lambda: "2024-01-02T00:00:00Z"))
    found = _pod({**metadata(draw), **CREATED, **deleted}, made)
    found["status"] = status(draw, made) if draw.often(0.6) else {}
    return found


def _pod(meta: Request, made: Request) -> Request:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": made}


def metadata(draw: Draw) -> Request:
    odd = draw.wrong
    annotations = draw.fields(
        **{
            "Example/Note": (0.3, lambda: "text"),
            "not a key": (odd / 3, lambda: ""),
            MIRROR: (odd / 2, lambda: "m"),
            DELETION_COST: (odd / 2, lambda: draw.one(("1", "x", "+1", "9" * 11, "-5", "01"))),
        }
    )
    finalizers = ("a/b", "x", "orphan", "foregroundDeletion", "A!")
    return {
        "name": draw.one(("pod", "my.pod"), ("P", "", "a_b", ".")),
        "namespace": "default",
        **({"annotations": annotations} if annotations else {}),
        **draw.fields(
            labels=(0.3, lambda: {draw.one(KEYS, ODD_KEYS): draw.one(("x",), ("!", "x" * 64))}),
            generateName=(odd / 3, lambda: draw.one(("p-", "P-", "p."))),
            finalizers=(odd / 2, lambda: draw.several(lambda: draw.one(finalizers), (1, 2, 3))),
            ownerReferences=(odd / 2, lambda: draw.several(lambda: _owner(draw))),
            managedFields=(odd / 3, lambda: [_manager(draw)]),
        ),
    }


def _owner(draw: Draw) -> Request:
    return {
        "apiVersion": draw.one(("v1", "a/v1", "a/b/c", "", "/", "/v1")),
        "kind": draw.one(("Event", "Job", "")),
        "name": draw.one(("n", "")),
        "uid": draw.one(("u", "")),
        **draw.fields(controller=(0.5, lambda: draw.one((True, False)))),
    }


def _manager(draw: Draw) -> Request:
    return {
        "manager": draw.one(("m", "m\u2028", "x" * 129)),
        "operation": draw.one(("Apply", "Update", "X", "")),
        "fieldsType": draw.one(("FieldsV1", "X", "")),
        "apiVersion": "v1",
    }


def _near(draw: Draw, old: Request) -> Request:
    """A spec with one or two things different."""
    new = copy.deepcopy(old)
    other = spec(draw)
    for _ in range(draw.random.choice((1, 1, 2))):
        match draw.random.choice(("container", "toleration", "gate", "deadline", "nodes", "any")):
            case "container":
                every = new["containers"] + new.get("initContainers", [])
                if every:
                    fresh = container(draw, "c0")
                    name = draw.one(("image", "resources", "restartPolicy", "name"))
                    draw.random.choice(every).update({k: v for k, v in fresh.items() if k == name})
            case "toleration":
                new["tolerations"] = [*new.get("tolerations", []), toleration(draw)]
            case "gate":
                new["schedulingGates"] = new.get("schedulingGates", [])[1:]
            case "deadline":
                new["activeDeadlineSeconds"] = draw.one((1, 5, 10, 20))
            case "nodes":
                new.setdefault("nodeSelector", {})["extra"] = "1"
            case _:
                name = draw.random.choice(sorted(other))
                new[name] = other[name]
    return new


# Status ----------------------------------------------------------------------------------------


def status(draw: Draw, made: Request) -> Request:
    names = [each["name"] for each in made["containers"]] or ["c0"]
    inits = [each["name"] for each in made.get("initContainers", [])] or ["i1"]
    claims = [each["name"] for each in made.get("resourceClaims", [])] or ["a"]
    generation = draw.one((1,), (-1,))
    return draw.fields(
        phase=(0.5, lambda: draw.one(("Running", "Pending"))),
        qosClass=(0.2, lambda: draw.one(("BestEffort", "Burstable"))),
        nominatedNodeName=(0.2, lambda: draw.one(("node-1",), ("N!",))),
        observedGeneration=(0.1, lambda: generation),
        conditions=(0.3, lambda: draw.several(lambda: _condition(draw))),
        resourceClaimStatuses=(0.6, lambda: draw.several(lambda: _claim(draw, claims))),
        extendedResourceClaimStatus=(0.4, lambda: _extended(draw, names + inits)),
        nodeAllocatableResourceClaimStatuses=(0.3, lambda: draw.several(lambda: _taken(draw))),
        containerStatuses=(0.5, lambda: draw.several(lambda: _report(draw, names))),
        initContainerStatuses=(0.3, lambda: [_report(draw, inits)]),
        ephemeralContainerStatuses=(0.1, lambda: [_report(draw, ["debug"])]),
    )


def _condition(draw: Draw) -> Request:
    return {
        "type": draw.one(("Ready", "PodScheduled", "x/y"), ("A!", "")),
        "status": "True",
        **draw.fields(observedGeneration=(0.3, lambda: draw.one((1,), (-1,)))),
    }


def _claim(draw: Draw, names: list[str]) -> Request:
    made = draw.one(("pod-a-x", "pod-b-y"), ("", "X!"))
    return {
        "name": draw.one(names, NAMES),
        **draw.fields(resourceClaimName=(0.8, lambda: made)),
    }


def _extended(draw: Draw, names: list[str]) -> Request:
    def mapping() -> Request:
        return {
            "containerName": draw.one(names, ("nobody", "")),
            "resourceName": draw.one(("nvidia.com/gpu", "example.com/foo"), ("x",)),
            "requestName": draw.one(("req-0", "req-1"), ("R", "", "a/b")),
        }

    return {
        "requestMappings": draw.several(mapping, (0,) if draw.amiss() else (1, 2)),
        "resourceClaimName": draw.one(("ext",), ("", "X!")),
    }


def _taken(draw: Draw) -> Request:
    def mapped() -> Request:
        amount = draw.one(("1", "0"), ("-1", "-500m"))
        share = 1 - draw.wrong
        return {"name": node_resource(), **draw.fields(quantity=(share, lambda: amount))}

    def overhead() -> Request:
        amount = draw.one(("1",), ("-1",))
        return {
            "name": node_resource(),
            **draw.fields(perPod=(0.7, lambda: amount), perContainer=(0.4, lambda: amount)),
        }

    def node_resource() -> str:
        return draw.one(("cpu", "memory", "hugepages-2Mi"), ("foo", ""))

    return {
        "resourceClaimName": draw.one(("my-claim", "pod-a-x", "a.b"), ("x", "")),
        **draw.fields(
            containers=(0.4, lambda: draw.several(lambda: draw.one(("c0", "c1")))),
            mapping=(0.6, lambda: draw.several(mapped)),
            overhead=(0.4, lambda: draw.several(overhead)),
        ),
    }


def _report(draw: Draw, names: list[str]) -> Request:
    states: tuple[Request, ...] = (
        {"running": {"startedAt": "2024-01-01T00:00:00Z"}},
        {"terminated": {"exitCode": 0}},
        {"terminated": {"exitCode": 3}},
    )
    return {
        "name": draw.one(names, ("nobody", "")),
        "image": "i",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        **draw.fields(
            state=(0.5, lambda: draw.one(states)),
            allocatedResourcesStatus=(0.6, lambda: draw.several(lambda: _health(draw))),
        ),
    }


def _health(draw: Draw) -> Request:
    def device() -> Request:
        message = draw.one(("ok",), ("", "x" * 1025, "é" * 513))
        return {
            "resourceID": draw.one(("d/p/1", "d/p/2", "")),
            "health": draw.one(("Healthy", "Unhealthy", "Unknown"), ("X", "")),
            **draw.fields(message=(0.3, lambda: message)),
        }

    used = ("claim:a", "claim:b/r1", "claim:c", "cpu", "nvidia.com/gpu", "claim:ext/req-0")
    return {
        "name": draw.one(used, ("claim:", "claim:a/", "foo", "")),
        "resources": draw.several(device),
    }
