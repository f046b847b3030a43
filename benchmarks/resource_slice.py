"""A full ResourceSlice through the door: decode, validate, encode.

128 devices with eight attributes and two capacities each, as a node with partitioned GPUs
publishes them. References: msgspec moving the same JSON through plain dicts, unchecked (the least
anyone could pay), and the official client's models (what Python users have today).
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
from kubernetes import client

from benchmarks.contest import Floor, run_contest
from dray.api.codec import decode, encode
from dray.api.resource import ResourceSlice
from dray.validation import validate_create

DEVICES: Final = 128


def slice_document(devices: int = DEVICES) -> dict[str, Any]:
    """A valid slice, as plain JSON values."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1-gpu.example.com-x7k2p", "generateName": "node-1-gpu-"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [_device(index) for index in range(devices)],
        },
    }


def _device(index: int) -> dict[str, Any]:
    return {
        "name": f"gpu-{index}",
        "attributes": {
            "model": {"string": "H100"},
            "uuid": {"string": f"GPU-{index:032x}"},
            "index": {"int": index},
            "driverVersion": {"version": "550.54.15"},
            "computeCapability": {"version": "9.0.0"},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index % 8:02x}"},
            "numa": {"int": index % 2},
            "ecc": {"bool": True},
        },
        "capacity": {"memory": {"value": "80Gi"}, "multiprocessors": {"value": "132"}},
    }


def main() -> bool:
    """Run the contest."""
    data = json.dumps(slice_document(), separators=(",", ":")).encode()
    official = client.ApiClient()

    def dray() -> bytes:
        slice_ = decode(data, ResourceSlice)
        if validate_create(slice_):
            raise AssertionError("the workload is valid")
        return encode(slice_)

    def plain() -> bytes:
        return msgspec.json.encode(msgspec.json.decode(data))

    def models() -> str:
        slice_ = official.deserialize(data.decode(), "V1ResourceSlice", "application/json")
        return json.dumps(official.sanitize_for_serialization(slice_))

    if json.loads(dray()) != json.loads(data) or json.loads(models()) != json.loads(data):
        raise AssertionError("contestants must do the same work")
    return run_contest(
        f"ResourceSlice with {DEVICES} devices, {len(data)} bytes: decode, validate, encode",
        {
            "dray": dray,
            "msgspec, plain dicts, unchecked": plain,
            "kubernetes client models, unchecked": models,
        },
        [
            Floor("dray", "msgspec, plain dicts, unchecked", 1 / 3),
            Floor("dray", "kubernetes client models, unchecked", 20),
        ],
    )
