"""What a storm creates: claims of every shape, and everything that makes pods."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dray.api.apps import Deployment
from dray.api.batch import Job
from dray.api.codec import decode
from dray.api.core import Pod
from dray.api.meta import Object
from dray.api.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
)
from tests.e2e.node_machine import FOLDER_VARIABLE
from tests.e2e.up_machine import DRIVER

__all__ = [
    "EXTENDED_RESOURCE",
    "NAMESPACE",
    "SHAPES",
    "Need",
    "claim",
    "deployment",
    "device_class",
    "job",
    "pod",
    "taint_rule",
    "template",
]

NAMESPACE = "storm"
EXTENDED_RESOURCE = "storm.test/gpu"
PLAIN_CLASS = "plain.storm.test"
TAINT = "storm.test/struck"

# Commands that end by themselves, that end when told to, and that do not listen.
SHORT = ["sh", "-c", "sleep 0.2"]
LASTING = ["sleep", "100000"]
DEAF = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"]

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Need:
    """What one request asks for: devices of a product, or of a profile, or a part of one."""

    product: str
    profile: str = ""
    count: int = 1
    gibibytes: int = 0
    # Pods that nobody makes anew must outlive taints, or nothing could be said of them.
    tolerant: bool = True

    def request(self, name: str) -> dict[str, Any]:
        return {"name": name, "exactly": self._wish()}

    def _wish(self) -> dict[str, Any]:
        attributes = f'device.attributes["{DRIVER}"]'
        wish: dict[str, Any] = {"count": self.count}
        if self.product == "plain":
            wish["deviceClassName"] = PLAIN_CLASS
        elif self.product == "shared":
            wish["deviceClassName"] = f"shared.{DRIVER}"
            wish["capacity"] = {"requests": {"memory": f"{self.gibibytes}Gi"}}
        elif self.profile:
            wish["deviceClassName"] = f"partition.{DRIVER}"
            expression = f'{attributes}.profile == "{self.profile}"'
            wish["selectors"] = [{"cel": {"expression": expression}}]
        else:
            wish["deviceClassName"] = DRIVER
            expression = f'{attributes}.productName == "{self.product}"'
            wish["selectors"] = [{"cel": {"expression": expression}}]
        if self.tolerant:
            wish["tolerations"] = [{"key": TAINT, "operator": "Exists", "effect": "NoExecute"}]
        return wish


# Every way to ask for devices, by the name of its template.
SHAPES: Mapping[str, tuple[Need, ...]] = {
    "one": (Need("plain"),),
    "two": (Need("plain", count=2),),
    "part": (Need("cut", "1g"),),
    "large-part": (Need("cut", "3g"),),
    "whole": (Need("cut"),),
    "share": (Need("shared", gibibytes=7),),
    "large-share": (Need("shared", gibibytes=15),),
    "mixed": (Need("plain"), Need("cut", "1g")),
    "fragile": (Need("plain", tolerant=False),),
}


def _claim_spec(shape: str) -> dict[str, Any]:
    requests = [need.request(f"r{index}") for index, need in enumerate(SHAPES[shape])]
    return {"devices": {"requests": requests}}


def _read(kind: type[T], name: str, members: dict[str, Any], **metadata: Any) -> T:
    plain = {"metadata": {"name": name, **metadata}, **members}
    return decode(json.dumps(plain).encode(), kind)


def device_class() -> DeviceClass:
    """Plain devices, which are also an extended resource."""
    product = f'device.attributes["{DRIVER}"].productName'
    expression = f'device.driver == "{DRIVER}" && {product} == "plain"'
    spec = {
        "selectors": [{"cel": {"expression": expression}}],
        "extendedResourceName": EXTENDED_RESOURCE,
    }
    return _read(DeviceClass, PLAIN_CLASS, {"spec": spec})


def template(shape: str) -> ResourceClaimTemplate:
    spec = {"spec": _claim_spec(shape)}
    return _read(ResourceClaimTemplate, shape, {"spec": spec}, namespace=NAMESPACE)


def claim(name: str, shape: str) -> ResourceClaim:
    members = {"spec": _claim_spec(shape)}
    return _read(ResourceClaim, name, members, namespace=NAMESPACE, labels={"shape": shape})


def taint_rule(name: str, pool: str, device: str, effect: str) -> DeviceTaintRule:
    spec = {
        "deviceSelector": {"driver": DRIVER, "pool": pool, "device": device},
        "taint": {"key": TAINT, "value": "yes", "effect": effect},
    }
    return _read(DeviceTaintRule, name, {"spec": spec})


def pod(
    name: str,
    folder: str,
    *,
    shapes: Sequence[str] = (),
    shared_claim: str = "",
    extended: int = 0,
    lasting: bool = True,
    deaf: bool = False,
) -> Pod:
    spec = _pod_spec(folder, shapes, shared_claim, extended, lasting=lasting, deaf=deaf)
    annotations = {} if lasting else {"simulation.dray.dev/exit-after": "0.2s"}
    members = {"spec": {**spec, "restartPolicy": "Never" if not lasting else "Always"}}
    return _read(Pod, name, members, namespace=NAMESPACE, annotations=annotations)


def job(name: str, folder: str, *, shape: str, completions: int) -> Job:
    spec = _pod_spec(folder, [shape], "", 0, lasting=False, deaf=False)
    made = {
        "metadata": {"annotations": {"simulation.dray.dev/exit-after": "0.2s"}},
        "spec": {**spec, "restartPolicy": "Never"},
    }
    members = {
        "spec": {
            "completions": completions,
            "parallelism": 2,
            # Kills and faults may make any of its pods fail, and that is not what is asked.
            "backoffLimit": 1000,
            "template": made,
        }
    }
    return _read(Job, name, members, namespace=NAMESPACE)


def deployment(
    name: str, folder: str, *, shapes: Sequence[str], extended: int, replicas: int
) -> Deployment:
    labels = {"deployment": name}
    spec = _pod_spec(folder, shapes, "", extended, lasting=True, deaf=False)
    members = {
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        }
    }
    return _read(Deployment, name, members, namespace=NAMESPACE)


def _pod_spec(
    folder: str,
    shapes: Sequence[str],
    shared_claim: str,
    extended: int,
    *,
    lasting: bool,
    deaf: bool,
) -> dict[str, Any]:
    claims = [
        {"name": f"c{index}", "resourceClaimTemplateName": shape}
        for index, shape in enumerate(shapes)
    ]
    if shared_claim:
        claims.append({"name": "shared", "resourceClaimName": shared_claim})
    resources: dict[str, Any] = {"claims": [{"name": entry["name"]} for entry in claims]}
    if extended:
        amount = {EXTENDED_RESOURCE: str(extended)}
        resources |= {"requests": amount, "limits": amount}
    container = {
        "name": "main",
        "image": "none",
        "command": DEAF if deaf else LASTING if lasting else SHORT,
        "resources": resources,
        "env": [
            {"name": FOLDER_VARIABLE, "value": folder},
            {"name": "STORM_CONTAINER", "value": "main"},
            {"name": "STORM_OWNER", "value": shared_claim},
            _field("STORM_UID", "metadata.uid"),
            _field("STORM_NODE", "spec.nodeName"),
        ],
    }
    return {
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "resourceClaims": claims,
        "containers": [container],
    }


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
