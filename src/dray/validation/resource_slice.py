"""ResourceSlice: what a driver may publish.

Devices are screened first; only those the screen stops are checked rule by rule. That changes
nothing in what is found or in which order, because a device that passes breaks no rule.

Upstream counterpart: validateResourceSliceSpec in pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.resource import Device, ResourcePool, ResourceSlice, ResourceSliceSpec
from dray.validation.attributes import has_list
from dray.validation.counters import check_counter_sets, declare_counter_sets
from dray.validation.device import check_device, declare_device
from dray.validation.device_screen import passes
from dray.validation.device_usage import check_skip_node_operations, declare_skip_node_operations
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.node_selectors import check_node_selector
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import (
    check_driver_name,
    check_fully_qualified_name,
    check_immutable,
    check_node_name,
    check_pool_name,
    check_size,
    check_unique,
    declare_fully_qualified_name,
)
from dray.validation.shown import as_internal

__all__ = ["DEVICES_MAX", "DEVICES_WITH_EXTRAS_MAX", "RULEBOOK"]

DEVICES_MAX: Final = 128
# Taints, counters and lists of values make devices large: with any of them, a slice holds fewer.
DEVICES_WITH_EXTRAS_MAX: Final = 64


def _create(new: ResourceSlice, context: Context) -> Verdict:
    handwritten = Findings()
    handwritten.extend(validate_object_meta(new.metadata, namespaced=False))
    return _validate_spec(handwritten, new.spec, None, context)


def _update(new: ResourceSlice, old: ResourceSlice, context: Context) -> Verdict:
    handwritten = Findings()
    handwritten.extend(validate_object_meta_update(new.metadata, old.metadata))
    return _validate_spec(handwritten, new.spec, old.spec, context)


RULEBOOK: Final = Rulebook(namespaced=False, create=_create, update=_update)


def _validate_spec(
    found: Findings, spec: ResourceSliceSpec, old: ResourceSliceSpec | None, context: Context
) -> Verdict:
    devices = spec.devices or ()
    selects_nodes = bool(spec.per_device_node_selection)
    stopped = [index for index, device in enumerate(devices) if not passes(device, selects_nodes)]
    _check_spec(found, spec, old, stopped, context.gates)
    declared = Findings(shared=True)
    if stopped or spec.shared_counters or _has_optional_parts(spec):
        _declare_spec(declared, spec, old, stopped, context.gates)
    return Verdict(found, declared)


def _has_optional_parts(spec: ResourceSliceSpec) -> bool:
    return spec.partition_type_attribute is not None or bool(spec.skip_node_operations)


def _check_spec(
    found: Findings,
    spec: ResourceSliceSpec,
    old: ResourceSliceSpec | None,
    stopped: Sequence[int],
    gates: FeatureGates,
) -> None:
    check_driver_name(found, spec.driver, "spec.driver")
    _check_pool(found, spec.pool)
    if old is not None:
        check_immutable(found, spec.pool.name, old.pool.name, "spec.pool.name")
        check_immutable(found, spec.driver, old.driver, "spec.driver")
        check_immutable(found, spec.node_name, old.node_name, "spec.nodeName")
    _check_nodes(found, spec)
    if spec.shared_counters is not None and spec.devices is not None:
        found.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    if spec.devices:
        _check_devices(found, spec, spec.devices, old, stopped, gates)
    if spec.shared_counters:
        check_counter_sets(found, spec.shared_counters, "spec.sharedCounters")
    if spec.partition_type_attribute is not None:
        _check_partition_type(found, spec, spec.partition_type_attribute)
    if spec.skip_node_operations:
        path = "spec.skipNodeOperations"
        check_skip_node_operations(found, spec.skip_node_operations, path)


def _declare_spec(
    found: Findings,
    spec: ResourceSliceSpec,
    old: ResourceSliceSpec | None,
    stopped: Sequence[int],
    gates: FeatureGates,
) -> None:
    devices = spec.devices or ()
    # Unchanged devices are left alone together or not at all: the list has no keys.
    if stopped and (old is None or not semantically_equal(devices, old.devices or ())):
        for index in stopped:
            declare_device(found, devices[index], f"spec.devices[{index}]")
    if spec.shared_counters:
        stored = (old.shared_counters or ()) if old else ()
        declare_counter_sets(found, spec.shared_counters, stored, "spec.sharedCounters")
    attribute = spec.partition_type_attribute
    if attribute is not None and (old is None or old.partition_type_attribute != attribute):
        path = "spec.partitionTypeAttribute"
        if "DRAPartitionableDevicesType" in gates:
            declare_fully_qualified_name(found, attribute, path, shared=False)
        else:
            found.forbidden(path, shared=False)
    skipped = old.skip_node_operations if old else ()
    declare_skip_node_operations(
        found, spec.skip_node_operations, skipped, "spec.skipNodeOperations"
    )


def _check_pool(found: Findings, pool: ResourcePool) -> None:
    check_pool_name(found, pool.name, "spec.pool.name")
    if pool.resource_slice_count <= 0:
        detail = "must be greater than zero"
        found.invalid("spec.pool.resourceSliceCount", pool.resource_slice_count, detail)
    if pool.generation < 0:
        detail = "must be greater than or equal to zero"
        found.invalid("spec.pool.generation", pool.generation, detail)


def _check_nodes(found: Findings, spec: ResourceSliceSpec) -> None:
    chosen = []
    if spec.node_name is not None:
        if spec.node_name:
            chosen.append("`nodeName`")
            check_node_name(found, spec.node_name, "spec.nodeName")
        else:
            detail = "must be either unset or set to a non-empty string"
            found.invalid("spec.nodeName", spec.node_name, detail)
    if spec.node_selector is not None:
        chosen.append("`nodeSelector`")
        check_node_selector(found, spec.node_selector, "spec.nodeSelector")
        # One term only, so that the selectors of several slices can be put together.
        terms = spec.node_selector.node_selector_terms
        if terms is None or len(terms) != 1:
            path = "spec.nodeSelector.nodeSelectorTerms"
            found.invalid(path, as_internal(terms), "must have exactly one node selector term")
    for name, value in (
        ("allNodes", spec.all_nodes),
        ("perDeviceNodeSelection", spec.per_device_node_selection),
    ):
        if value:
            chosen.append(f"`{name}`")
        elif value is not None:
            found.invalid(f"spec.{name}", value, "must be either unset or set to true")
    detail = (
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
        " is required"
    )
    if not chosen:
        found.required("spec", detail)
    elif len(chosen) > 1:
        shown = f"{{{', '.join(chosen)}}}"
        found.invalid("spec", shown, f"{detail}, but multiple fields are set")


def _check_devices(
    found: Findings,
    spec: ResourceSliceSpec,
    devices: Sequence[Device],
    old: ResourceSliceSpec | None,
    stopped: Sequence[int],
    gates: FeatureGates,
) -> None:
    devices_max = DEVICES_MAX
    if len(devices) > DEVICES_WITH_EXTRAS_MAX and _has_extras(devices, stopped):
        devices_max = DEVICES_WITH_EXTRAS_MAX
    if not check_size(found, devices, devices_max, "spec.devices"):
        return
    if stopped:
        stored: dict[str, Device] = {}
        for device in (old and old.devices) or ():
            stored.setdefault(device.name, device)
        for index in stopped:
            device = devices[index]
            check_device(
                found,
                device,
                stored.get(device.name),
                f"spec.devices[{index}]",
                selects_nodes=bool(spec.per_device_node_selection),
                gates=gates,
            )
    if len({device.name for device in devices}) < len(devices):
        check_unique(found, (device.name for device in devices), "spec.devices")


def _has_extras(devices: Sequence[Device], stopped: Sequence[int]) -> bool:
    return any(device.taints or device.consumes_counters for device in devices) or any(
        has_list(attribute) for index in stopped for attribute in devices[index].attributes.values()
    )


def _check_partition_type(found: Findings, spec: ResourceSliceSpec, name: str) -> None:
    """Every device cut from counters says of which type it is, as a string."""
    devices = spec.devices or ()
    if not any(device.consumes_counters for device in devices):
        found.invalid(
            "spec.partitionTypeAttribute",
            name,
            "may only be set on a slice which declares devices that consume counters",
        )
        return
    malformed = Findings()
    check_fully_qualified_name(malformed, name, "")
    if malformed:
        return  # the declared rule says so once; no device could carry such a name
    bare_name = name.removeprefix(f"{spec.driver}/")
    for index, device in enumerate(devices):
        if not device.consumes_counters:
            continue
        path = f"spec.devices[{index}].attributes[{name}]"
        attribute = device.attributes.get(name)
        if attribute is None and bare_name:
            attribute = device.attributes.get(bare_name)
        if attribute is None:
            found.required(
                path,
                "device consumes counters and `partitionTypeAttribute` names this attribute, so it"
                " must be set",
            )
        elif attribute.string_value is None:
            found.invalid(
                path,
                as_internal(attribute),
                "must be a string value because `partitionTypeAttribute` names this attribute",
            )
