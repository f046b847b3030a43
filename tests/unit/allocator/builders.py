"""Small objects for allocation: each shows only what a test is about, the rest is usual.

Amounts may be given as texts. Whatever a builder has no argument of its own for goes through as a
field of the object's spec (or of the device), so that no test needs to build the nest by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dray.allocator.devices import Choice, PlacedDevice
from dray.allocator.requests import Want
from dray.api.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, NodeStatus
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    ALLOCATION_MODE_EXACT_COUNT,
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    CELDeviceSelector,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceClass,
    DeviceClassConfiguration,
    DeviceClassSpec,
    DeviceID,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceClaimSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)

DRIVER = "gpu.example.com"
POOL = "pool-1"
NODE = "node-1"
CLASS = "gpu"
NAMESPACE = "default"

Amount = str | Quantity


def amount(value: Amount) -> Quantity:
    return Quantity.parse(value) if isinstance(value, str) else value


def _amount_or_none(value: Amount | None) -> Quantity | None:
    return None if value is None else amount(value)


# Slices ----------------------------------------------------------------------------------------


def attribute(value: str | int | bool) -> DeviceAttribute:
    if isinstance(value, bool):
        return DeviceAttribute(bool_value=value)
    if isinstance(value, int):
        return DeviceAttribute(int_value=value)
    return DeviceAttribute(string_value=value)


def capacity(
    value: Amount,
    *,
    default: Amount | None = None,
    values: Iterable[Amount] = (),
    lowest: Amount | None = None,
    highest: Amount | None = None,
    step: Amount | None = None,
) -> DeviceCapacity:
    """An amount; with any option, one that is cut by a policy."""
    span = None
    if not (lowest is None and highest is None and step is None):
        span = CapacityRequestPolicyRange(
            min=_amount_or_none(lowest), max=_amount_or_none(highest), step=_amount_or_none(step)
        )
    listed = tuple(map(amount, values))
    policy = None
    if default is not None or listed or span is not None:
        policy = CapacityRequestPolicy(
            default=_amount_or_none(default), valid_values=listed, valid_range=span
        )
    return DeviceCapacity(value=amount(value), request_policy=policy)


def device(
    name: str = "gpu-0",
    *,
    attributes: Mapping[str, str | int | bool | DeviceAttribute] | None = None,
    capacity: Mapping[str, Amount | DeviceCapacity] | None = None,
    **fields: Any,
) -> Device:
    return Device(
        name=name,
        attributes={
            key: value if isinstance(value, DeviceAttribute) else attribute(value)
            for key, value in (attributes or {}).items()
        },
        capacity={
            key: value if isinstance(value, DeviceCapacity) else DeviceCapacity(value=amount(value))
            for key, value in (capacity or {}).items()
        },
        **fields,
    )


def slice_(
    *devices: Device,
    name: str = "slice-1",
    driver: str = DRIVER,
    pool: str = POOL,
    generation: int = 1,
    slice_count: int = 1,
    **spec: Any,
) -> ResourceSlice:
    """A slice of one pool, on NODE unless `spec` says where."""
    somewhere = {"node_name", "all_nodes", "node_selector", "per_device_node_selection"}
    if not somewhere & spec.keys():
        spec["node_name"] = NODE
    return ResourceSlice(
        metadata=ObjectMeta(name=name),
        spec=ResourceSliceSpec(
            driver=driver,
            pool=ResourcePool(name=pool, generation=generation, resource_slice_count=slice_count),
            **{"devices": devices, **spec},
        ),
    )


def placed(device: Device, slice_: ResourceSlice) -> PlacedDevice:
    spec = slice_.spec
    return PlacedDevice(DeviceID(spec.driver, spec.pool.name, device.name), device, slice_)


def taint(key: str = "broken", *, value: str = "", effect: str = "NoSchedule") -> DeviceTaint:
    return DeviceTaint(key=key, value=value, effect=effect)


# Claims and classes ----------------------------------------------------------------------------


def selectors(*expressions: str) -> tuple[DeviceSelector, ...]:
    return tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in expressions)


def _wanted(capacity: Mapping[str, Amount] | None) -> CapacityRequirements | None:
    if capacity is None:
        return None
    return CapacityRequirements(requests={key: amount(value) for key, value in capacity.items()})


def request(
    name: str = "req",
    *,
    device_class: str = CLASS,
    select: Iterable[str] = (),
    mode: str = ALLOCATION_MODE_EXACT_COUNT,
    count: int | None = None,
    capacity: Mapping[str, Amount] | None = None,
    **fields: Any,
) -> DeviceRequest:
    """An exact request: one device, unless mode or count say otherwise."""
    exactly = ExactDeviceRequest(
        device_class_name=device_class,
        selectors=selectors(*select),
        allocation_mode=mode,
        count=_count(mode, count),
        capacity=_wanted(capacity),
        **fields,
    )
    return DeviceRequest(name=name, exactly=exactly)


def alternative(
    name: str = "sub",
    *,
    device_class: str = CLASS,
    select: Iterable[str] = (),
    mode: str = ALLOCATION_MODE_EXACT_COUNT,
    count: int | None = None,
    capacity: Mapping[str, Amount] | None = None,
    **fields: Any,
) -> DeviceSubRequest:
    return DeviceSubRequest(
        name=name,
        device_class_name=device_class,
        selectors=selectors(*select),
        allocation_mode=mode,
        count=_count(mode, count),
        capacity=_wanted(capacity),
        **fields,
    )


def first_available(name: str, *alternatives: DeviceSubRequest) -> DeviceRequest:
    return DeviceRequest(name=name, first_available=alternatives)


def _count(mode: str, count: int | None) -> int:
    if count is not None:
        return count
    return 1 if mode == ALLOCATION_MODE_EXACT_COUNT else 0


def claim(*requests: DeviceRequest, name: str = "claim", **devices: Any) -> ResourceClaim:
    """A claim; without requests, for one device."""
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, uid=f"uid-{name}"),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests or (request(),), **devices)),
    )


def opaque(driver: str = DRIVER) -> OpaqueDeviceConfiguration:
    return OpaqueDeviceConfiguration(driver=driver)


def claim_config(*requests: str, driver: str = DRIVER) -> DeviceClaimConfiguration:
    return DeviceClaimConfiguration(requests=requests, opaque=opaque(driver))


def device_class(
    name: str = CLASS, *, select: Iterable[str] = (), configs: Iterable[str] = (), **spec: Any
) -> DeviceClass:
    """A class of every device, unless selected; `configs` are the drivers it has setup for."""
    return DeviceClass(
        metadata=ObjectMeta(name=name),
        spec=DeviceClassSpec(
            selectors=selectors(*select),
            config=tuple(DeviceClassConfiguration(opaque=opaque(driver)) for driver in configs),
            **spec,
        ),
    )


def toleration(
    key: str = "broken", *, operator: str = "Exists", value: str = "", effect: str = ""
) -> DeviceToleration:
    return DeviceToleration(key=key, operator=operator, value=value, effect=effect)


def want(
    of: ResourceClaim | None = None,
    *,
    name: str = "req",
    parent: str | None = None,
    device_class_: DeviceClass | None = None,
    capacity: Mapping[str, Amount] | None = None,
    **fields: Any,
) -> Want:
    """A want of one device; with `parent`, an alternative of that request."""
    usual: dict[str, Any] = {
        "index": 0,
        "claim_index": 0,
        "request_index": 0,
        "alternative": None if parent is None else 0,
        "selectors": (),
        "tolerations": (),
        "derived_attributes": {},
        "admin_access": False,
        "all_devices": False,
        "count": 1,
    }
    return Want(
        claim=of if of is not None else claim(request(parent or name)),
        name=name,
        full_name=name if parent is None else f"{parent}/{name}",
        parent_name=parent or name,
        device_class=device_class_ if device_class_ is not None else device_class(),
        capacity={key: amount(value) for key, value in (capacity or {}).items()},
        **{**usual, **fields},
    )


def choice(
    want: Want,
    device: Device,
    slice_: ResourceSlice,
    *,
    consumed: Mapping[str, Amount] | None = None,
) -> Choice:
    taken = None
    if consumed is not None:
        taken = {key: amount(value) for key, value in consumed.items()}
    return Choice(want, placed(device, slice_), taken)


# Nodes -----------------------------------------------------------------------------------------


def node(
    name: str = NODE, *, labels: Mapping[str, str] | None = None, features: Iterable[str] = ()
) -> Node:
    """A node; `features` are those its kubelet declares."""
    return Node(
        metadata=ObjectMeta(name=name, labels=dict(labels or {})),
        status=NodeStatus(declared_features=tuple(features)),
    )


def requirement(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def term(
    *expressions: NodeSelectorRequirement, fields: Iterable[NodeSelectorRequirement] = ()
) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=expressions, match_fields=tuple(fields))


def node_selector(*terms: NodeSelectorTerm) -> NodeSelector:
    return NodeSelector(node_selector_terms=terms)


def labelled(key: str, *values: str) -> NodeSelector:
    """Nodes whose label has one of these values."""
    return node_selector(term(requirement(key, "In", *values)))
