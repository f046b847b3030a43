"""The same object as each served version writes it. Only v1beta1 has a shape of its own."""

from __future__ import annotations

import copy
from typing import Any

from tests.conformance.generate.case import Request

GROUP = "resource.k8s.io"
SERVED: dict[str, tuple[str, ...]] = {
    "DeviceClass": ("v1", "v1beta2", "v1beta1"),
    "ResourceClaim": ("v1", "v1beta2", "v1beta1"),
    "ResourceClaimTemplate": ("v1", "v1beta2", "v1beta1"),
    "ResourceSlice": ("v1", "v1beta2", "v1beta1"),
    "DeviceTaintRule": ("v1", "v1beta2", "v1alpha3"),
    "ResourcePoolStatusRequest": ("v1alpha3",),
}


def written_as(version: str, root: Request) -> Request:
    """A v1-shaped object in the words of another version.

    Damaged objects pass through too: whatever does not have the expected type is left alone.
    """
    result = copy.deepcopy(root)
    result["apiVersion"] = f"{GROUP}/{version}"
    if version == "v1beta1":
        spec = _mapping(result.get("spec"))
        _lift_exactly(spec)
        _lift_exactly(_mapping(spec.get("spec")))
        if result.get("kind") == "ResourceSlice":
            _nest_basic(spec)
    return result


def _lift_exactly(spec: dict[str, Any]) -> None:
    for request in _items(_mapping(spec.get("devices")).get("requests")):
        exactly = request.pop("exactly", None)
        if isinstance(exactly, dict):
            request.update(exactly)


def _nest_basic(spec: dict[str, Any]) -> None:
    devices = spec.get("devices")
    if isinstance(devices, list):
        spec["devices"] = [_as_basic(device) for device in devices]


def _as_basic(device: Any) -> Any:
    if not isinstance(device, dict):
        return device
    basic = {key: value for key, value in device.items() if key != "name"}
    outer = {"name": device["name"]} if "name" in device else {}
    return {**outer, "basic": basic} if basic else outer


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
