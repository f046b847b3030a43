"""A device's bearing on a node's cpu, memory and huge pages.

Upstream counterpart: validateNodeAllocatableResources in pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dray.api.pod_resources import is_node_allocatable
from dray.api.resource import (
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    NodeAllocatableResource,
)
from dray.validation.findings import Findings

__all__ = ["check_node_resources", "declare_node_resources"]


def check_node_resources(
    found: Findings,
    resources: Mapping[str, NodeAllocatableResource],
    capacities: Collection[str],
    path: str,
) -> None:
    for name, resource in resources.items():
        where = f"{path}[{name}]"
        if not is_node_allocatable(name):
            found.invalid(where, name, "must be a node allocatable resource name")
        if resource.mapping is None and resource.overhead is None:
            found.required(where, "at least one of mapping or overhead must be set")
        if resource.mapping is not None:
            _check_mapping(found, resource.mapping, capacities, f"{where}.mapping")
        if resource.overhead is not None:
            _check_overhead(found, resource.overhead, f"{where}.overhead")


def _check_mapping(
    found: Findings, mapping: NodeAllocatableMapping, capacities: Collection[str], path: str
) -> None:
    key, multiplier = mapping.capacity_key, mapping.capacity_multiplier
    if key is not None:
        if not key:
            detail = "capacityKey must not be an empty string"
            found.invalid(f"{path}.capacityKey", "", detail)
        elif key not in capacities:
            found.not_found(f"{path}.capacityKey", key)
        if multiplier is None:
            detail = "capacityMultiplier is required when capacityKey is set"
            found.required(f"{path}.capacityMultiplier", detail)
        elif multiplier.sign <= 0:
            found.invalid(f"{path}.capacityMultiplier", str(multiplier), "must be positive")
    per_device = mapping.device_multiplier
    if per_device is not None and per_device.sign <= 0:
        found.invalid(f"{path}.deviceMultiplier", str(per_device), "must be positive")
    if multiplier is not None and key is None:
        detail = "capacityKey is required when capacityMultiplier is set"
        found.required(f"{path}.capacityKey", detail)


def _check_overhead(found: Findings, overhead: NodeAllocatableOverhead, path: str) -> None:
    if overhead.per_pod is None and overhead.per_container is None:
        found.invalid(path, "", "at least one of perPod or perContainer must be set")
        return
    for name, quantity in (("perPod", overhead.per_pod), ("perContainer", overhead.per_container)):
        if quantity is not None and quantity.sign < 0:
            found.invalid(f"{path}.{name}", str(quantity), "must be non-negative")


def declare_node_resources(
    found: Findings, resources: Mapping[str, NodeAllocatableResource], path: str
) -> None:
    """A mapping goes by one of the device's capacities, or by the device; never by both."""
    members = "`capacityKey`, `deviceMultiplier`"
    for name, resource in resources.items():
        mapping = resource.mapping
        if mapping is None:
            continue
        where = f"{path}[{name}].mapping"
        by_key, by_device = mapping.capacity_key is not None, mapping.device_multiplier is not None
        if by_key and by_device:
            chosen = "{capacityKey, deviceMultiplier}"
            detail = f"must specify exactly one of: {members}"
            found.invalid(where, chosen, detail, shared=False)
        elif not by_key and not by_device:
            found.invalid(where, "", f"must specify one of: {members}", shared=False)
