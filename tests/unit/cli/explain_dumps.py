"""Small clusters for the tests of `dray explain`, as dumps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dray.api.features import FeatureGates
from dray.api.wire import Time
from dray.cli.explain_answer import Answer
from dray.cli.explain_inquiry import Inquiry
from dray.cli.snapshot import Snapshot

EXAMPLE = Path(__file__).parents[3] / "examples" / "07-why-pending"
NOW = Time.parse("2026-08-01T12:00:00Z")
RESOURCE = "resource.k8s.io/v1"

Dump = list[dict[str, Any]]


def node(name: str, *, allocatable: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    status = {"allocatable": dict(allocatable or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": spec,
        "status": status,
    }


def gpus(where: str, count: int, model: str = "H100", **spec: Any) -> dict[str, Any]:
    """A slice with devices gpu-0, gpu-1, …"""
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {"model": {"string": model}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(count)
    ]
    pool = {"name": where, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": RESOURCE,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{where}-gpus"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": where,
            "pool": pool,
            "devices": devices,
            **spec,
        },
    }


def device_class(**spec: Any) -> dict[str, Any]:
    selector = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    return {
        "apiVersion": RESOURCE,
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [selector], **spec},
    }


def request(name: str = "gpu", selector: str = "", **exactly: Any) -> dict[str, Any]:
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    return {"name": name, "exactly": {"deviceClassName": "gpu", **exactly}}


def claim(name: str, *requests: dict[str, Any], **devices: Any) -> dict[str, Any]:
    return {
        "apiVersion": RESOURCE,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"devices": {"requests": list(requests or [request()]), **devices}},
    }


def held(name: str, where: str, devices: Sequence[str], *pods: str) -> dict[str, Any]:
    """A claim that has devices."""
    results = [
        {"request": "gpu", "driver": "gpu.example.com", "pool": where, "device": device}
        for device in devices
    ]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [where]}]}]
    return {
        **claim(name),
        "status": {
            "allocation": {
                "devices": {"results": results},
                "nodeSelector": {"nodeSelectorTerms": terms},
            },
            "reservedFor": [{"resource": "pods", "name": pod, "uid": pod} for pod in pods],
        },
    }


def template(name: str, *requests: dict[str, Any]) -> dict[str, Any]:
    return {
        **claim(name),
        "kind": "ResourceClaimTemplate",
        "spec": {"spec": {"devices": {"requests": list(requests)}}},
    }


def pod(name: str, *templates: str, limits: Mapping[str, str] | None = None, **spec: Any) -> Any:
    entries = [
        {"name": f"c{number}", "resourceClaimTemplateName": one}
        for number, one in enumerate(templates)
    ]
    resources = {
        "claims": [{"name": entry["name"]} for entry in entries],
        "limits": dict(limits or {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "uid": name},
        "spec": {
            "resourceClaims": entries,
            "containers": [{"name": "main", "image": "image", "resources": resources}],
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def text_of(objects: Dump) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def load(tmp_path: Path, objects: Dump, gates: str = "") -> Snapshot:
    path = tmp_path / "dump.json"
    path.write_text(text_of(objects))
    return Snapshot.load([str(path)], FeatureGates.parse(gates), now=NOW)


def explain(tmp_path: Path, subject: str, *objects: dict[str, Any], **options: Any) -> Answer:
    snapshot = load(tmp_path, list(objects))
    return Inquiry(snapshot, snapshot.subject(subject, "ml"), **options).answer()
