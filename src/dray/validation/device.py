"""One device of a slice: every rule, with its explanation.

This is the slow side: it builds a path for every value it looks at. `device_screen` finds the
devices that need it. Upstream counterpart: validateDevice in pkg/apis/resource/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.resource import Device
from dray.validation.attributes import check_attributes, declare_attributes, shown_key
from dray.validation.capacity import check_capacity
from dray.validation.counters import check_consumptions, declare_consumptions
from dray.validation.device_node_resources import check_node_resources, declare_node_resources
from dray.validation.device_usage import check_binding_conditions, declare_binding_conditions
from dray.validation.findings import Findings
from dray.validation.node_selectors import check_node_selector
from dray.validation.rules import (
    check_dns_label,
    check_node_name,
    check_qualified_name,
    check_size,
)
from dray.validation.taints import check_taint, declare_taint

__all__ = [
    "ATTRIBUTES_AND_CAPACITIES_MAX",
    "ATTRIBUTE_VALUES_MAX",
    "TAINTS_MAX",
    "check_device",
    "declare_device",
]

ATTRIBUTES_AND_CAPACITIES_MAX: Final = 32
ATTRIBUTE_VALUES_MAX: Final = 48
TAINTS_MAX: Final = 16

_NODES: Final = "`nodeName`, `nodeSelector`"


def check_device(
    found: Findings,
    device: Device,
    old: Device | None,
    path: str,
    *,
    selects_nodes: bool,
    gates: FeatureGates,
) -> None:
    """`old` is the stored device of that name, `selects_nodes` whether devices name their nodes."""
    check_dns_label(found, device.name, f"{path}.name")
    _check_counts(found, device, path)
    check_attributes(found, device.attributes, f"{path}.attributes")
    if old is None or not semantically_equal(old.capacity, device.capacity):
        _check_capacities(found, device, f"{path}.capacity", gates=gates)
    if old is None or not semantically_equal(old.taints, device.taints):
        where = f"{path}.taints"
        if check_size(found, device.taints, TAINTS_MAX, where):
            for index, taint in enumerate(device.taints):
                check_taint(found, taint, None, f"{where}[{index}]")
    check_consumptions(found, device.consumes_counters, f"{path}.consumesCounters")
    if selects_nodes:
        _check_nodes(found, device, path)
    elif (device.node_name, device.node_selector, device.all_nodes) != (None, None, None):
        found.invalid(
            path,
            None,
            f"{_NODES} and `allNodes` can only be set if `perDeviceNodeSelection` is set to true"
            " in the ResourceSlice spec",
        )
    check_binding_conditions(
        found, device.binding_conditions, device.binding_failure_conditions, path
    )
    check_node_resources(
        found,
        device.node_allocatable_resources,
        device.capacity,
        f"{path}.nodeAllocatableResources",
    )


def declare_device(found: Findings, device: Device, path: str) -> None:
    declare_attributes(found, device.attributes, f"{path}.attributes")
    declare_consumptions(found, device.consumes_counters, f"{path}.consumesCounters")
    for index, taint in enumerate(device.taints):
        declare_taint(found, taint, None, f"{path}.taints[{index}]")
    declare_binding_conditions(
        found, device.binding_conditions, device.binding_failure_conditions, path
    )
    declare_node_resources(
        found, device.node_allocatable_resources, f"{path}.nodeAllocatableResources"
    )


def _check_counts(found: Findings, device: Device, path: str) -> None:
    count = len(device.attributes) + len(device.capacity)
    if count > ATTRIBUTES_AND_CAPACITIES_MAX:
        detail = (
            "the total number of attributes and capacities must not exceed"
            f" {ATTRIBUTES_AND_CAPACITIES_MAX}"
        )
        found.invalid(path, count, detail)
    count = 0
    for attribute in device.attributes.values():
        listed = (
            len(attribute.bool_values or ())
            + len(attribute.int_values or ())
            + len(attribute.string_values or ())
            + len(attribute.version_values or ())
        )
        count += listed or 1
    if count > ATTRIBUTE_VALUES_MAX:
        detail = f"the total number of attribute values must not exceed {ATTRIBUTE_VALUES_MAX}"
        found.invalid(path, count, detail)


def _check_capacities(found: Findings, device: Device, path: str, *, gates: FeatureGates) -> None:
    shareable = bool(device.allow_multiple_allocations)
    for name, capacity in device.capacity.items():
        check_qualified_name(found, name, path)
        where = f"{path}[{shown_key(name)}]"
        check_capacity(found, capacity, where, shareable=shareable, gates=gates)


def _check_nodes(found: Findings, device: Device, path: str) -> None:
    chosen = []
    if device.node_name is not None:
        if device.node_name:
            chosen.append("`nodeName`")
            check_node_name(found, device.node_name, f"{path}.nodeName")
        else:
            found.invalid(f"{path}.nodeName", device.node_name, "must not be empty")
    if device.node_selector is not None:
        chosen.append("`nodeSelector`")
        check_node_selector(found, device.node_selector, f"{path}.nodeSelector")
    if device.all_nodes is not None:
        if device.all_nodes:
            chosen.append("`allNodes`")
        else:
            found.invalid(f"{path}.allNodes", False, "must be either unset or set to true")
    detail = (
        f"exactly one of {_NODES}, or `allNodes` is required when `perDeviceNodeSelection` is set"
        " to true in the ResourceSlice spec"
    )
    if not chosen:
        found.required(path, detail)
    elif len(chosen) > 1:
        found.invalid(path, f"{{{', '.join(chosen)}}}", detail)
