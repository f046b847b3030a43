"""A full ResourceSlice through the door: decode, validate, encode.

128 plain devices with eight attributes and two capacities each; and 64 partitions, which have
taints and draw from counters as well. References: msgspec moving the same JSON through plain
dicts, unchecked (the least anyone could pay), and the official client's models (what Python users
have today).
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Final

import msgspec

from benchmarks.contest import Floor, run_contest
from dray.api.codec import decode, encode
from dray.api.resource import ResourceSlice
from dray.validation import validate_create

DEVICES: Final = 128
PARTITIONS: Final = 64


def slice_document(devices: list[dict[str, Any]]) -> dict[str, Any]:
    """A valid slice, as plain JSON values."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1-gpu.example.com-x7k2p", "generateName": "node-1-gpu-"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def device(index: int) -> dict[str, Any]:
    """A whole GPU."""
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


def partition(index: int) -> dict[str, Any]:
    """A device that shares hardware with others and is not well."""
    return device(index) | {
        "consumesCounters": [
            {
                "counterSet": f"gpu-{index // 8}",
                "counters": {"memory": {"value": "10Gi"}, "slices": {"value": "1"}},
            }
        ],
        "taints": [
            {
                "key": "gpu.example.com/unhealthy",
                "value": "ecc",
                "effect": "NoSchedule",
                "timeAdded": "2026-01-31T12:00:00Z",
            }
        ],
    }


def _plain_slice() -> bytes:
    return _document([device(index) for index in range(DEVICES)])


def _partitioned_slice() -> bytes:
    return _document([partition(index) for index in range(PARTITIONS)])


def _document(devices: list[dict[str, Any]]) -> bytes:
    return json.dumps(slice_document(devices), separators=(",", ":")).encode()


def work(data: bytes) -> bytes:
    """What is measured: a slice comes in, is checked, goes out."""
    slice_ = decode(data, ResourceSlice)
    if validate_create(slice_):
        raise AssertionError("the workload is valid")
    return encode(slice_)


# For benchmarks.compare: dray alone, by name.
WORKLOADS: Final = {
    f"ResourceSlice, {DEVICES} devices": partial(work, _plain_slice()),
    f"ResourceSlice, {PARTITIONS} partitions": partial(work, _partitioned_slice()),
}


def main() -> bool:
    """Run both contests."""
    held = [
        _contest(f"{DEVICES} devices", _plain_slice(), models_factor=20),
        # Taints and counters have more rules per byte.
        _contest(f"{PARTITIONS} partitions", _partitioned_slice(), models_factor=15),
    ]
    return all(held)


def _contest(title: str, data: bytes, *, models_factor: float) -> bool:
    # Only a yardstick, so only needed here.
    from kubernetes import client  # noqa: PLC0415

    official = client.ApiClient()

    def plain() -> bytes:
        return msgspec.json.encode(msgspec.json.decode(data))

    def models() -> str:
        slice_ = official.deserialize(data.decode(), "V1ResourceSlice", "application/json")
        return json.dumps(official.sanitize_for_serialization(slice_))

    # The official client writes UTC as an offset.
    written = [json.loads(work(data)), json.loads(models().replace("+00:00", "Z"))]
    if any(document != json.loads(data) for document in written):
        raise AssertionError("contestants must do the same work")
    return run_contest(
        f"ResourceSlice with {title}, {len(data)} bytes: decode, validate, encode",
        {
            "dray": partial(work, data),
            "msgspec, plain dicts, unchecked": plain,
            "kubernetes client models, unchecked": models,
        },
        [
            Floor("dray", "msgspec, plain dicts, unchecked", 1 / 3),
            Floor("dray", "kubernetes client models, unchecked", models_factor),
        ],
    )
