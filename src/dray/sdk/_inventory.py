"""What a driver offers, in plain Python: devices, the pools they are in, and the whole of it.

`device` makes the API's device of numbers, texts and flags, and refuses at once what the API would
refuse later: with the device's name, the value and the rule, all that is wrong in one error. Rules
that need the rest of a slice are checked when the inventory is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

from dray.api.core import NodeSelector
from dray.api.names import c_identifier, dns_label, dns_subdomain
from dray.api.quantity import Quantity
from dray.api.resource import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
    NodeAllocatableResource,
)
from dray.api.semver import Semver, is_semver
from dray.errors import DrayError, ParseError, quote, shorten

__all__ = [
    "Amount",
    "AttributeValue",
    "Inventory",
    "InventoryError",
    "Pool",
    "Version",
    "capacity_of",
    "device",
]

# The API's limits that one value alone can break.
VALUE_BYTES_MAX: Final = 64
DOMAIN_BYTES_MAX: Final = 63
IDENTIFIER_BYTES_MAX: Final = 32
_INT64_MAX: Final = 2**63 - 1


class InventoryError(DrayError, ValueError):
    """A device or pool cannot be published as it is; the message has all that is wrong with it."""

    def __init__(self, subject: str, problems: Sequence[str]) -> None:
        super().__init__(f"{subject}: {'; '.join(problems)}")
        self.subject = subject
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version, so that selectors compare it as one: Version("1.10.0") > "1.9.0"."""

    text: str

    def __post_init__(self) -> None:
        if not is_semver(self.text):
            raise ParseError(self.text, "must be a version as in semver.org 2.0.0, such as 1.2.3")

    def __str__(self) -> str:
        return self.text


Amount: TypeAlias = str | int | Quantity
Scalar: TypeAlias = str | int | bool | Version | Semver
AttributeValue: TypeAlias = Scalar | Sequence[Scalar] | DeviceAttribute
CapacityValue: TypeAlias = Amount | DeviceCapacity
Consumption: TypeAlias = Mapping[str, Amount] | DeviceCounterConsumption


def device(
    name: str,
    *,
    attributes: Mapping[str, AttributeValue] | None = None,
    capacity: Mapping[str, CapacityValue] | None = None,
    consumes: Mapping[str, Consumption] | None = None,
    taints: Iterable[DeviceTaint] = (),
    shared: bool = False,
    node_name: str = "",
    node_selector: NodeSelector | None = None,
    all_nodes: bool = False,
    binding_conditions: Iterable[str] = (),
    binding_failure_conditions: Iterable[str] = (),
    binds_to_node: bool = False,
    node_allocatable: Mapping[str, NodeAllocatableResource] | None = None,
) -> Device:
    """A device as slices hold it.

    Attributes are texts, whole numbers, flags and Versions, or lists of one of these. Capacity is
    an amount ("40Gi"), or what `capacity_of` makes. `consumes` says what the device takes of each
    of the pool's counter sets. `shared` devices may be allocated many times over. The node options
    are for pools that leave the choice of nodes to each device.
    """
    problems = [f"name {quote(shorten(name))}: {rule}" for rule in dns_label(name)]
    read = _Reader(problems)
    made = Device(
        name=name,
        attributes={
            read.name("attribute", key): read.attribute(key, value)
            for key, value in (attributes or {}).items()
        },
        capacity={
            read.name("capacity", key): read.capacity(f"capacity {key}", value)
            for key, value in (capacity or {}).items()
        },
        consumes_counters=tuple(
            read.consumption(counter_set, taken) for counter_set, taken in (consumes or {}).items()
        ),
        taints=tuple(taints),
        allow_multiple_allocations=shared or None,
        node_name=node_name or None,
        node_selector=node_selector,
        all_nodes=all_nodes or None,
        binding_conditions=tuple(binding_conditions),
        binding_failure_conditions=tuple(binding_failure_conditions),
        binds_to_node=binds_to_node or None,
        node_allocatable_resources=dict(node_allocatable or {}),
    )
    if problems:
        raise InventoryError(f"device {shorten(name)}", problems)
    return made


def capacity_of(
    value: Amount,
    *,
    default: Amount | None = None,
    values: Iterable[Amount] = (),
    minimum: Amount | None = None,
    maximum: Amount | None = None,
    step: Amount | None = None,
) -> DeviceCapacity:
    """Capacity of a shared device, and how claims may cut it: from a list, or from a range.

    `default` is what a claim gets that asks for nothing in particular.
    """
    problems: list[str] = []
    read = _Reader(problems)
    ranged = minimum is not None or maximum is not None or step is not None
    choices = tuple(read.amount("one of values", each) for each in values)
    policy = None
    if choices or ranged or default is not None:
        policy = CapacityRequestPolicy(
            default=read.optional("default", default),
            valid_values=choices,
            valid_range=CapacityRequestPolicyRange(
                min=read.optional("minimum", minimum),
                max=read.optional("maximum", maximum),
                step=read.optional("step", step),
            )
            if ranged
            else None,
        )
    if (choices or ranged) and default is None:
        problems.append(
            "default: is missing; where claims may choose an amount, the API wants to know what "
            "those get that choose none"
        )
    made = DeviceCapacity(value=read.amount("value", value), request_policy=policy)
    if problems:
        raise InventoryError(f"capacity of {value}", problems)
    return made


@dataclass(frozen=True, slots=True, init=False)
class Pool:
    """Devices that are published together, in order of preference.

    Without a name, a pool is named after the node. Without a choice of nodes, its devices are on
    the driver's node. A generation is needed only by drivers that number their states themselves.
    """

    devices: tuple[Device, ...]
    name: str
    counters: tuple[CounterSet, ...]
    generation: int
    node_selector: NodeSelector | None
    all_nodes: bool
    per_device_node_selection: bool
    partition_type_attribute: str
    skip_node_operations: tuple[str, ...]

    def __init__(
        self,
        devices: Iterable[Device],
        *,
        name: str = "",
        counters: Mapping[str, Mapping[str, Amount]] | None = None,
        generation: int = 0,
        node_selector: NodeSelector | None = None,
        all_nodes: bool = False,
        per_device_node_selection: bool = False,
        partition_type_attribute: str = "",
        skip_node_operations: Iterable[str] = (),
    ) -> None:
        subject = f"pool {shorten(name)}" if name else "pool"
        problems: list[str] = []
        read = _Reader(problems)
        sets = tuple(
            CounterSet(
                name=counter_set,
                counters={
                    counter: Counter(value=read.amount(f"counter {counter_set}/{counter}", value))
                    for counter, value in amounts.items()
                },
            )
            for counter_set, amounts in (counters or {}).items()
        )
        held = tuple(devices)
        problems += _misfits(held)
        chosen = [node_selector is not None, all_nodes, per_device_node_selection]
        if sum(chosen) > 1:
            rule = "only one of node_selector, all_nodes and per_device_node_selection may be given"
            problems.append(rule)
        if generation < 0:
            problems.append(f"generation {generation} is negative")
        if problems:
            raise InventoryError(subject, problems)
        for field, value in {
            "devices": held,
            "name": name,
            "counters": sets,
            "generation": generation,
            "node_selector": node_selector,
            "all_nodes": all_nodes,
            "per_device_node_selection": per_device_node_selection,
            "partition_type_attribute": partition_type_attribute,
            "skip_node_operations": tuple(skip_node_operations),
        }.items():
            object.__setattr__(self, field, value)

    def with_devices(self, devices: Sequence[Device]) -> Pool:
        """The same pool with these devices, which have the names of its own."""
        copy = object.__new__(Pool)
        for each in fields(self):
            value = tuple(devices) if each.name == "devices" else getattr(self, each.name)
            object.__setattr__(copy, each.name, value)
        return copy


@dataclass(frozen=True, slots=True, init=False)
class Inventory:
    """All a driver offers on a node. Pools that are not in it are withdrawn."""

    pools: tuple[Pool, ...]

    def __init__(self, pools: Iterable[Pool] = ()) -> None:
        held = tuple(pools)
        names = [pool.name for pool in held]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            named = ", ".join(quote(name) if name else "the node" for name in twice)
            raise InventoryError("inventory", [f"more than one pool is named after {named}"])
        object.__setattr__(self, "pools", held)

    @staticmethod
    def of(devices: Inventory | Iterable[Device] | Iterable[Pool]) -> Inventory:
        """What a driver's `discover` returned, as an inventory: plain devices are one pool."""
        if isinstance(devices, Inventory):
            return devices
        if isinstance(devices, Pool):
            return Inventory([devices])
        held: list[Device | Pool] = list(devices)
        pools = [each for each in held if isinstance(each, Pool)]
        if pools and len(pools) < len(held):
            rule = "pools and bare devices are mixed: put the devices into a pool"
            raise InventoryError("inventory", [rule])
        if pools:
            return Inventory(pools)
        return Inventory([Pool(each for each in held if not isinstance(each, Pool))])

    def devices(self, node_name: str = "") -> tuple[tuple[str, Device], ...]:
        """Every device with the name of its pool; a pool without one is named after the node."""
        return tuple((pool.name or node_name, each) for pool in self.pools for each in pool.devices)


def _misfits(held: Iterable[object]) -> list[str]:
    """What is no device, or is called as another one is."""
    problems = []
    seen: set[str] = set()
    for each in held:
        if not isinstance(each, Device):
            problems.append(f"{shorten(repr(each))} is a {type(each).__name__}, not a device")
        elif each.name in seen:
            problems.append(f"two devices are named {quote(shorten(each.name))}")
        else:
            seen.add(each.name)
    return problems


def _attribute(member: str, value: Any) -> DeviceAttribute:
    return DeviceAttribute(**{member: value})


class _Reader:
    """Reads plain values, and notes what is wrong instead of stopping at the first."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = problems

    def name(self, noun: str, key: str) -> str:
        """Check a qualified name: an identifier, with or without a domain before it."""
        domain, slash, identifier = key.rpartition("/")
        where = f"{noun} {quote(shorten(key))}"
        if len(identifier.encode()) > IDENTIFIER_BYTES_MAX:
            rule = f"the part after the domain may have {IDENTIFIER_BYTES_MAX} bytes"
            self._problems.append(f"{where}: {rule}")
        self._problems.extend(f"{where}: {rule}" for rule in c_identifier(identifier))
        if slash:
            if len(domain.encode()) > DOMAIN_BYTES_MAX:
                self._problems.append(f"{where}: the domain may have {DOMAIN_BYTES_MAX} bytes")
            self._problems.extend(f"{where}: {rule}" for rule in dns_subdomain(domain))
        return key

    def attribute(self, key: str, value: AttributeValue) -> DeviceAttribute:
        if isinstance(value, DeviceAttribute):
            return value
        where = f"attribute {shorten(key)}"
        if isinstance(value, (str, bool, int, Version, Semver)):
            kind, read = self._scalar(where, value)
            return _attribute(f"{kind}_value", read) if kind else DeviceAttribute()
        if isinstance(value, (list, tuple)):
            return self._list(where, value)
        self._problems.append(
            f"{where} is {shorten(repr(value))}, a {type(value).__name__}: attributes are str, int,"
            " bool, Version, or a list of one of these"
        )
        return DeviceAttribute()

    def _list(self, where: str, values: Sequence[Scalar]) -> DeviceAttribute:
        if not values:
            self._problems.append(f"{where} is an empty list: leave it out instead")
            return DeviceAttribute()
        pairs = [self._scalar(where, value) for value in values]
        kinds = {kind for kind, _ in pairs}
        if len(kinds) > 1:
            self._problems.append(
                f"{where} is {shorten(repr(list(values)))}: the values of a list are of one type"
            )
            return DeviceAttribute()
        kind = kinds.pop()
        if not kind:
            return DeviceAttribute()
        return _attribute(f"{kind}_values", tuple(read for _, read in pairs))

    def _scalar(self, where: str, value: object) -> tuple[str, str | int | bool]:
        if isinstance(value, bool):
            return "bool", value
        if isinstance(value, int):
            if not -_INT64_MAX - 1 <= value <= _INT64_MAX:
                self._problems.append(f"{where} is {value}: it must fit into 64 bits")
            return "int", value
        if isinstance(value, (str, Version, Semver)):
            text = str(value)
            if len(text.encode(errors="replace")) > VALUE_BYTES_MAX:
                rule = f"it may have {VALUE_BYTES_MAX} bytes"
                self._problems.append(f"{where} is {quote(shorten(text))}: {rule}")
            return ("string" if isinstance(value, str) else "version"), text
        self._problems.append(
            f"{where} is {shorten(repr(value))}, a {type(value).__name__}: values are str, int,"
            " bool or Version"
        )
        return "", ""

    def capacity(self, where: str, value: CapacityValue) -> DeviceCapacity:
        if isinstance(value, DeviceCapacity):
            return value
        return DeviceCapacity(value=self.amount(where, value))

    def consumption(self, counter_set: str, taken: Consumption) -> DeviceCounterConsumption:
        if isinstance(taken, DeviceCounterConsumption):
            return taken
        return DeviceCounterConsumption(
            counter_set=counter_set,
            counters={
                name: Counter(value=self.amount(f"counter {counter_set}/{name}", value))
                for name, value in taken.items()
            },
        )

    def amount(self, where: str, value: Amount) -> Quantity:
        if isinstance(value, Quantity):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return Quantity.from_int(value)
        if isinstance(value, str):
            try:
                return Quantity.parse(value)
            except ParseError as error:
                self._problems.append(f"{where} is {error}")
                return Quantity.from_int(0)
        self._problems.append(
            f"{where} is {value!r}, a {type(value).__name__}: amounts are whole numbers, or texts"
            " such as 40Gi"
        )
        return Quantity.from_int(0)

    def optional(self, where: str, value: Amount | None) -> Quantity | None:
        return None if value is None else self.amount(where, value)
