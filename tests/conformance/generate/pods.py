"""Pods, as far as devices go: claims of the pod and its containers, and the status about them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.generate import objects
from tests.conformance.generate.case import Request, chance
from tests.conformance.generate.mutations import Path, at, damaged, replaced
from tests.conformance.generate.writes import create, status_update, update

NODE_RESOURCES = {"DRANodeAllocatableResources": True}
NAMES = ("", "a", "A", "a.b", "a_b", "a-", "a" * 63, "a" * 64, "a" * 253, "a" * 254)
CLAIMS: Path = ("spec", "resourceClaims")
USES: Path = ("spec", "containers", 0, "resources", "claims")


def pod() -> Request:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": objects.metadata("pod", namespace="default"),
        "spec": {
            "resourceClaims": [
                {"name": "gpu", "resourceClaimName": "my-claim"},
                {"name": "nic", "resourceClaimTemplateName": "my-template"},
            ],
            "initContainers": [
                {"name": "init", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}
            ],
            "containers": [
                {
                    "name": "main",
                    "image": "i",
                    "resources": {
                        "claims": [{"name": "gpu"}, {"name": "nic", "request": "port"}],
                        "requests": {"example.com/gpu": "1", "cpu": "1"},
                        "limits": {"example.com/gpu": "1"},
                    },
                },
                {"name": "side", "image": "i"},
            ],
        },
    }


def status() -> Request:
    return {
        "phase": "Running",
        "resourceClaimStatuses": [{"name": "nic", "resourceClaimName": "pod-nic-abc"}],
        "extendedResourceClaimStatus": {
            "resourceClaimName": "pod-extended-xyz",
            "requestMappings": [
                {
                    "containerName": "main",
                    "resourceName": "example.com/gpu",
                    "requestName": "container-0-request-0",
                }
            ],
        },
        "containerStatuses": [
            {
                "name": "main",
                "image": "i",
                "imageID": "x",
                "ready": True,
                "restartCount": 0,
                "allocatedResourcesStatus": [
                    {
                        "name": "claim:gpu",
                        "resources": [
                            {
                                "resourceID": "gpu.example.com/pool-1/gpu-0",
                                "health": "Healthy",
                                "message": "fine",
                            }
                        ],
                    },
                    {
                        "name": "claim:nic/port",
                        "resources": [{"resourceID": "nic/p/d", "health": "Unhealthy"}],
                    },
                    {
                        "name": "example.com/gpu",
                        "resources": [{"resourceID": "g", "health": "Unknown"}],
                    },
                ],
            }
        ],
    }


def node_resource_status() -> Request:
    return {
        "nodeAllocatableResourceClaimStatuses": [
            {
                "resourceClaimName": "my-claim",
                "containers": ["main"],
                "mapping": [{"name": "memory", "quantity": "1Gi"}],
                "overhead": [{"name": "cpu", "perPod": "100m", "perContainer": "10m"}],
            }
        ]
    }


def pods(random: Random) -> Iterator[Request]:
    yield create("pod", pod())
    for path in (
        CLAIMS,
        ("spec", "containers", 0, "resources"),
        ("spec", "initContainers", 0, "resources"),
    ):
        for damage, other in damaged(random, pod(), below=path):
            yield create(damage, other)
    for name, root in _variants():
        yield create(name, root)
    yield from _updates(random)
    yield from _status_updates(random)


def _with(root: Request, path: Path, value: Any) -> Request:
    return replaced(root, path, value)


def _variants() -> Iterator[tuple[str, Request]]:
    base = pod()
    bare = copy.deepcopy(base)
    del bare["spec"]["resourceClaims"]
    yield "uses without claims", bare
    for field in ("resourceClaimName", "resourceClaimTemplateName"):
        for name in NAMES:
            yield f"{field} {name[:12]!r}", _with(base, (*CLAIMS, 0), {"name": "gpu", field: name})
    for name in NAMES:
        claims = [{"name": name, "resourceClaimName": "c"}]
        yield f"claim {name[:12]!r}", _with(_with(base, USES, [{"name": name}]), CLAIMS, claims)
        asked = [{"name": "gpu", "request": name}]
        yield f"request {name[:12]!r}", _with(base, USES, asked)
    both = {"name": "gpu", "resourceClaimName": "c", "resourceClaimTemplateName": "t"}
    yield "both sources", _with(base, (*CLAIMS, 0), both)
    yield "no source", _with(base, (*CLAIMS, 0), {"name": "gpu"})
    yield (
        "same claim name twice",
        _with(base, (*CLAIMS, 1), {"name": "gpu", "resourceClaimName": "c"}),
    )
    two = [{"name": "gpu", "resourceClaimName": "c"}, {"name": "nic", "resourceClaimName": "c"}]
    yield "same claim under two names", _with(base, CLAIMS, two)
    used: tuple[list[Request], ...] = (
        [], [{}], [{"name": "none"}], [{"name": "gpu"}, {"name": "gpu"}],
        [{"name": "gpu"}, {"name": "gpu", "request": "a"}],
        [{"name": "gpu", "request": "a"}, {"name": "gpu"}],
        [{"name": "gpu", "request": "a"}, {"name": "gpu", "request": "b"}],
        [{"name": "gpu", "request": "a"}, {"name": "gpu", "request": "a"}],
        [{"name": "gpu", "request": "a/b"}], [{"request": "a"}], [{"name": "gpu"}, {"name": "nic"}],
        [{"name": "gpu"}, {"name": "none"}, {"name": "gpu"}, {"name": ""}],
    )  # fmt: skip
    for uses in used:
        yield f"uses {uses}", _with(base, USES, uses)
        yield (
            f"init uses {uses}",
            _with(base, ("spec", "initContainers", 0, "resources", "claims"), uses),
        )
    mirror = base["metadata"] | {"annotations": {"kubernetes.io/config.mirror": "x"}}
    yield "mirror pod with claims", base | {"metadata": mirror}
    yield "mirror pod, no claims", bare | {"metadata": mirror}
    yield "pod-level claims", _with(base, ("spec", "resources"), {"claims": [{"name": "gpu"}]})
    debug = [{"name": "debug", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}]
    yield "ephemeral container", _with(base, ("spec", "ephemeralContainers"), debug)
    for name, requests, limits in (
        ("example.com/gpu", "1", "1"), ("example.com/gpu", "1", "2"), ("example.com/gpu", "1500m",
        "1500m"),
        ("example.com/gpu", "1", None), ("example.com/gpu", None, "1"),
        ("deviceclass.resource.kubernetes.io/gpu", "1", "1"),
        ("deviceclass.resource.kubernetes.io/gpu", "1", "2"),
        ("deviceclass.resource.kubernetes.io/gpu", "500m", None),
        ("requests.example.com/gpu", "1", "1"), ("gpu", "1", "1"), ("a/b/c", "1", "1"),
    ):  # fmt: skip
        resources = {}
        if requests:
            resources["requests"] = {name: requests}
        if limits:
            resources["limits"] = {name: limits}
        yield (
            f"{name} {requests}/{limits}",
            _with(base, ("spec", "containers", 1, "resources"), resources),
        )


def _updates(random: Random) -> Iterator[Request]:
    old = objects.stored(pod())
    yield update("no change", old, old)
    for path in (CLAIMS, USES):
        for damage, other in damaged(random, old, below=path):
            if chance(random, 0.6):
                yield update(damage, other, old)
    gated = _with(old, ("spec", "schedulingGates"), [{"name": "example.com/wait"}])
    yield update("gated: claims removed", _with(gated, CLAIMS, []), gated)
    yield update("gated: ungated", old, gated)
    yield update("image", _with(old, ("spec", "containers", 0, "image"), "j"), old)
    yield update("labels", objects.stored(pod(), labels={"a": "b"}), old)
    reported = old | {"status": status()}
    for prepare in (False, True):
        yield update("status through the main resource", reported, old, prepare=prepare)


def _status_updates(random: Random) -> Iterator[Request]:
    old = objects.stored(pod())
    full = old | {"status": status()}
    yield status_update("status", full, old)
    yield status_update("status unchanged", full, full)
    for field in ("resourceClaimStatuses", "extendedResourceClaimStatus"):
        for damage, other in damaged(random, full, below=("status", field)):
            yield status_update(damage, other, old)
            if chance(random, 0.2):
                yield status_update(f"stored: {damage}", other, other)
    health: Path = ("status", "containerStatuses", 0, "allocatedResourcesStatus")
    for damage, other in damaged(random, full, below=health):
        yield status_update(damage, other, old)
        if chance(random, 0.2):
            yield status_update(f"stored: {damage}", other, other)
    for name, path, value in _status_variants():
        yield status_update(name, _with(full, path, value), old)
    wide = old | {"status": status() | node_resource_status()}
    path = ("status", "nodeAllocatableResourceClaimStatuses")
    yield status_update("node resources", wide, old, gates=NODE_RESOURCES)
    yield status_update("node resources, gate off", wide, old)
    yield status_update("node resources, gate off, prepared", wide, old, prepare=True)
    for damage, other in damaged(random, wide, below=path):
        yield status_update(damage, other, old, gates=NODE_RESOURCES)
    entry = at(wide, path)[0]
    for name, entries in (
        ("twice", [entry, entry]),
        ("of the template", [entry | {"resourceClaimName": "pod-nic-abc"}]),
        ("of a stranger", [entry | {"resourceClaimName": "other"}]),
        ("same container twice", [entry | {"containers": ["main", "main"]}]),
        ("unknown container", [entry | {"containers": ["none"]}]),
        ("mapping twice", [entry | {"mapping": entry["mapping"] * 2}]),
        ("overhead twice", [entry | {"overhead": entry["overhead"] * 2}]),
        ("negative", [entry | {"mapping": [{"name": "cpu", "quantity": "-1"}]}]),
        ("negative overhead", [entry | {"overhead": [{"name": "cpu", "perPod": "-1"}]}]),
        ("empty overhead", [entry | {"overhead": [{"name": "cpu"}]}]),
        ("hugepages", [entry | {"mapping": [{"name": "hugepages-2Mi", "quantity": "1"}]}]),
        ("other resource", [entry | {"mapping": [{"name": "example.com/gpu", "quantity": "1"}]}]),
        ("nothing", [{"resourceClaimName": "my-claim"}]),
    ):
        yield status_update(
            f"node resources {name}", _with(wide, path, entries), old, gates=NODE_RESOURCES
        )


def _status_variants() -> Iterator[tuple[str, Path, Any]]:
    claims: Path = ("status", "resourceClaimStatuses")
    yield "claim statuses of both", claims, [{"name": "gpu"}, {"name": "nic"}]
    yield "claim status twice", claims, [{"name": "nic"}, {"name": "nic"}]
    yield "claim status of none", claims, [{"name": "none"}]
    for name in NAMES:
        yield f"claim status {name[:12]!r}", claims, [{"name": "nic", "resourceClaimName": name}]
    extended: Path = ("status", "extendedResourceClaimStatus")
    mapping = status()["extendedResourceClaimStatus"]["requestMappings"][0]
    for name in NAMES:
        yield f"extended claim {name[:12]!r}", (*extended, "resourceClaimName"), name
        renamed = [mapping | {"requestName": name}]
        yield f"extended request {name[:12]!r}", (*extended, "requestMappings"), renamed
    for label, mappings in (
        ("none", []),
        ("twice", [mapping, mapping]),
        ("two requests", [mapping, mapping | {"requestName": "other"}]),
        ("unknown container", [mapping | {"containerName": "none"}]),
        ("init container", [mapping | {"containerName": "init"}]),
        ("other container", [mapping | {"containerName": "side"}]),
        ("unknown resource", [mapping | {"resourceName": "example.com/other"}]),
        ("cpu", [mapping | {"resourceName": "cpu"}]),
    ):
        yield f"extended mappings {label}", (*extended, "requestMappings"), mappings
    health: Path = ("status", "containerStatuses", 0, "allocatedResourcesStatus")
    one = {"resourceID": "a", "health": "Healthy"}
    for name in ("claim:gpu", "claim:nic", "claim:nic/port", "claim:nic/other", "claim:gpu/x",
                     "claim:",
                 "claim:none", "gpu", "example.com/gpu", "example.com/other", "cpu", "",
                 "Claim:gpu"):  # fmt: skip
        yield f"health of {name!r}", health, [{"name": name, "resources": [one]}]
    for word in ("", "Healthy", "Unhealthy", "Unknown", "healthy", "Broken"):
        yield (
            f"health {word!r}",
            health,
            [{"name": "claim:gpu", "resources": [one | {"health": word}]}],
        )
    for text in ("", "m", "m" * 1024, "m" * 1025, "é" * 513):
        entry = {"name": "claim:gpu", "resources": [one | {"message": text}]}
        yield f"health message of {len(text)}", health, [entry]
    yield "health of one device twice", health, [{"name": "claim:gpu", "resources": [one, one]}]
    yield "health of one claim twice", health, [{"name": "claim:gpu"}, {"name": "claim:gpu"}]
    for name in ("pod-extended-xyz/container-0-request-0", "pod-extended-xyz/other",
                     "pod-extended-xyz",
                 "other/container-0-request-0", "pod-extended-xyz/"):  # fmt: skip
        entry = {"name": f"claim:{name}", "resources": [one]}
        yield f"health of the extended claim {name!r}", health, [entry]
    stranger = [{"name": "none", "allocatedResourcesStatus": [{"name": "claim:none"}]}]
    yield "health in an unknown container", ("status", "containerStatuses"), stranger
    reported = [
        {"name": "init", "allocatedResourcesStatus": [{"name": "claim:gpu", "resources": [one]}]}
    ]
    yield "health in an init container", ("status", "initContainerStatuses"), reported
    yield "health in an ephemeral container", ("status", "ephemeralContainerStatuses"), reported


def preparations(random: Random) -> Iterator[Request]:
    """What pod writes strip and reset."""
    old = objects.stored(pod(), generation=4)
    full = objects.stored(pod(), generation=9) | {"status": status() | node_resource_status()}
    bare = copy.deepcopy(old)
    del bare["spec"]["resourceClaims"]
    bare["spec"]["containers"][0]["resources"].pop("claims")
    bare["spec"]["initContainers"][0].pop("resources")
    for gates in (
        {},
        NODE_RESOURCES,
        objects.without("ResourceHealthStatus"),
        objects.without("ResourceHealthStatusMessage"),
    ):
        for name, operation, new, before in (
            ("create", "create", full, None),
            ("update", "update", full, old),
            ("update over status", "update", old, full),
            ("status", "statusUpdate", full, old),
            ("status over status", "statusUpdate", full, full),
            ("status withdrawn", "statusUpdate", old, full),
            ("claims added", "update", full, bare),
        ):
            request: Request = {
                "op": "prepare",
                "name": f"pod: {name}",
                "operation": operation,
                "gates": gates,
                "object": new,
            }
            yield request if before is None else request | {"old": before}
    for damage, other in damaged(random, full, below=("status",), thoroughness=1):
        if chance(random, 0.5):
            yield {
                "op": "prepare",
                "name": f"pod status: {damage}",
                "operation": "statusUpdate",
                "object": other,
                "old": old,
            }
