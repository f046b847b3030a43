"""Which simulated devices a node has, as a YAML file says it.

    driver: gpu.simulated.dev
    models:
      a100:
        attributes: {productName: A100, driverVersion: {version: 550.54.14}}
        capacity: {memory: 40Gi}
        partitions:
          profiles:
          - {name: 1g, count: 7, capacity: {memory: 5Gi}, consumes: {memory: 5Gi, slices: 1}}
          counters: {memory: 40Gi, slices: 7}
      l4:
        capacity: {memory: {value: 24Gi, default: 1Gi, minimum: 1Gi, step: 1Gi}}
        shared: true
    unhealthy: {effect: NoExecute, recoverSeconds: 10}
    nodes:
    - match: gpu-*
      devices:
      - {model: a100, count: 4, name: gpu}
      topology: {numaNodes: 2, pcieRoots: 2}
    - match: "*"
      devices:
      - {model: l4, count: 2}

A node has the devices of the first entry that matches its name. Members that nobody knows are
refused by name: a typo must not become a fleet without devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml

from dray.drivers.yaml_errors import describe_yaml_error
from dray.sdk import (
    ConfigurationError,
    Device,
    DeviceCapacity,
    DeviceTaint,
    Health,
    Inventory,
    Pool,
    TaintPolicy,
    Version,
    capacity_of,
    device,
)

__all__ = [
    "CapacityValue",
    "Fleet",
    "Group",
    "Model",
    "NodeEntry",
    "Partitions",
    "Profile",
    "Stock",
    "Taint",
    "Topology",
    "Unhealthy",
    "VersionValue",
    "default_fleet",
    "load_fleet",
    "read_fleet",
]

# A node with more has been mistyped; slices of such a pool would be hundreds.
DEVICES_PER_NODE_MAX: Final = 16_384
FILE_BYTES_MAX: Final = 4 * 1024 * 1024

DEFAULT_DRIVER: Final = "gpu.simulated.dev"

Count = Annotated[int, msgspec.Meta(ge=0, le=DEVICES_PER_NODE_MAX)]
# A device that must be well for longer than a day was meant to be taken away.
RecoverSeconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]
# A DNS subdomain; the rest of its rules are checked where it registers.
DriverName = Annotated[
    str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=63)
]


class _Strict(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What a file may say, and nothing else."""


class VersionValue(_Strict, frozen=True):
    """An attribute that selectors compare as a version."""

    version: str


Attribute = str | bool | int | list[str | int] | VersionValue


class CapacityValue(_Strict, frozen=True):
    """An amount that claims may cut."""

    value: str | int
    default: str | int | None = None
    values: tuple[str | int, ...] = ()
    minimum: str | int | None = None
    maximum: str | int | None = None
    step: str | int | None = None


class Profile(_Strict, frozen=True):
    """One way to cut a device: so many partitions, each taking so much."""

    name: str
    count: Count = 1
    attributes: Mapping[str, Attribute] = {}
    capacity: Mapping[str, str | int | CapacityValue] = {}
    consumes: Mapping[str, str | int] = {}


class Partitions(_Strict, frozen=True):
    """What a device is made of, and the ways to cut it."""

    counters: Mapping[str, str | int]
    profiles: tuple[Profile, ...]
    whole: bool = True  # whether the device can also be had as a whole


class Taint(_Strict, frozen=True):
    """A taint that devices of a model start with."""

    key: str
    effect: Literal["None", "NoSchedule", "NoExecute"]
    value: str = ""


class Model(_Strict, frozen=True):
    """Devices that are alike."""

    attributes: Mapping[str, Attribute] = {}
    capacity: Mapping[str, str | int | CapacityValue] = {}
    shared: bool = False
    partitions: Partitions | None = None
    taints: tuple[Taint, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    binds_to_node: bool = False
    environment: Mapping[str, str] = {}  # given to containers besides the usual

    def devices_each(self) -> int:
        """How many devices one of this model is published as."""
        if self.partitions is None:
            return 1
        parts = sum(profile.count for profile in self.partitions.profiles)
        return parts + self.partitions.whole


class Group(_Strict, frozen=True):
    """So many devices of a model on a node."""

    model: str
    count: Count = 1
    name: str = ""  # gpu makes gpu-0, gpu-1, …; the model's name unless said otherwise
    attributes: Mapping[str, Attribute] = {}


class Topology(_Strict, frozen=True):
    """How devices of a node are spread, in turn, over what they are plugged into."""

    numa_nodes: Count = 0
    pcie_roots: Count = 0


class NodeEntry(_Strict, frozen=True):
    """Nodes by their names, with shell wildcards, and what they have."""

    devices: tuple[Group, ...]
    match: str = "*"
    topology: Topology = Topology()


class Unhealthy(_Strict, frozen=True):
    """What becomes of a device that is unhealthy: the SDK's usual, unless said otherwise."""

    effect: Literal["None", "NoSchedule", "NoExecute"] = "NoSchedule"
    recover_seconds: RecoverSeconds = TaintPolicy().hold_seconds

    def policy(self, driver: str) -> TaintPolicy:
        """The same for the SDK, with the key that it would use itself."""
        usual = TaintPolicy.usual(driver).taints[Health.UNHEALTHY]
        taint = DeviceTaint(key=usual.key, effect=self.effect)
        return TaintPolicy({Health.UNHEALTHY: taint}, hold_seconds=self.recover_seconds)


class Fleet(_Strict, frozen=True):
    """All models, and which nodes have which of them."""

    models: Mapping[str, Model]
    nodes: tuple[NodeEntry, ...]
    driver: DriverName = DEFAULT_DRIVER
    unhealthy: Unhealthy = Unhealthy()

    def inventory(self, node_name: str) -> Inventory:
        """What a node has; nothing if no entry matches its name."""
        entry = self.entry_of(node_name)
        if entry is None:
            return Inventory.of(())
        counters: dict[str, Mapping[str, str | int]] = {}
        devices = [each for each, _model in self._devices(entry, counters)]
        return Inventory([Pool(devices, counters=counters)])

    def models_of(self, node_name: str) -> Mapping[str, Model]:
        """The models of a node's devices, by the devices' names."""
        entry = self.entry_of(node_name)
        if entry is None:
            return {}
        return {each.name: model for each, model in self._devices(entry, {})}

    def parents_of(self, node_name: str) -> Mapping[str, str]:
        """What a node's partitions are cut from, by the partitions' names."""
        entry = self.entry_of(node_name)
        if entry is None:
            return {}
        return {
            each.name: taken.counter_set
            for each, _model in self._devices(entry, {})
            for taken in each.consumes_counters
            # The counters of a device bear its name, whether or not it can be had as a whole.
            if taken.counter_set != each.name
        }

    def entry_of(self, node_name: str) -> NodeEntry | None:
        """What the file says of a node of this name: the first that matches."""
        return next((one for one in self.nodes if fnmatchcase(node_name, one.match)), None)

    def _devices(
        self, entry: NodeEntry, counters: dict[str, Mapping[str, str | int]]
    ) -> Iterator[tuple[Device, Model]]:
        number = 0
        for group in entry.devices:
            model = self.models[group.model]
            for index in range(group.count):
                name = f"{group.name or group.model}-{index}"
                place = _place(entry.topology, number) | dict(group.attributes)
                number += 1
                for each in _cut(name, model, place, counters):
                    yield each, model

    def check(self) -> None:
        """Refuse what no node could publish. Raises ConfigurationError with the place."""
        for number, entry in enumerate(self.nodes):
            self._check_models(f"$.nodes[{number}]", entry)
            try:
                counters: dict[str, Mapping[str, str | int]] = {}
                Pool((each for each, _model in self._devices(entry, counters)), counters=counters)
            except ValueError as error:
                raise ConfigurationError(f"$.nodes[{number}]: {error}") from error

    def _check_models(self, place: str, entry: NodeEntry) -> None:
        total = 0
        for index, group in enumerate(entry.devices):
            model = self.models.get(group.model)
            if model is None:
                known = ", ".join(sorted(self.models)) or "none"
                raise ConfigurationError(
                    f"{place}.devices[{index}]: there is no model {group.model!r}, only {known}"
                )
            total += group.count * model.devices_each()
        if total > DEVICES_PER_NODE_MAX:
            raise ConfigurationError(
                f"{place}: {total} devices, and at most {DEVICES_PER_NODE_MAX} are simulated on "
                "one node"
            )


class Stock:
    """What nodes of a fleet have, worked out once for all that are alike."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # By what a node's name finds first, which is all that tells nodes apart.
        self._known: dict[int, tuple[Inventory, Mapping[str, Model], Mapping[str, str]]] = {}

    def of(self, node_name: str) -> tuple[Inventory, Mapping[str, Model], Mapping[str, str]]:
        """A node's devices; the models of these, and what they are cut from, by their names."""
        entry = self._fleet.entry_of(node_name)
        key = -1 if entry is None else self._fleet.nodes.index(entry)
        found = self._known.get(key)
        if found is None:
            found = (
                self._fleet.inventory(node_name),
                self._fleet.models_of(node_name),
                self._fleet.parents_of(node_name),
            )
            self._known[key] = found
        return found


def _place(topology: Topology, number: int) -> dict[str, Attribute]:
    placed: dict[str, Attribute] = {}
    if topology.numa_nodes:
        placed["numaNode"] = number % topology.numa_nodes
    if topology.pcie_roots:
        # The name that all drivers share, so that constraints work across them.
        placed["resource.kubernetes.io/pcieRoot"] = f"pci0000:{number % topology.pcie_roots:02x}"
    return placed


def _cut(
    name: str,
    model: Model,
    place: Mapping[str, Attribute],
    counters: dict[str, Mapping[str, str | int]],
) -> Iterator[Device]:
    """The device, and the partitions it can be had in."""
    attributes = {"index": int(name.rpartition("-")[2]), **model.attributes, **place}
    partitions = model.partitions
    if partitions is None:
        yield _device(name, model, attributes, model.capacity, {})
        return
    counters[name] = partitions.counters
    if partitions.whole:
        yield _device(name, model, attributes, model.capacity, {name: partitions.counters})
    for profile in partitions.profiles:
        for index in range(profile.count):
            yield _device(
                f"{name}-{profile.name}-{index}",
                model,
                {**attributes, "profile": profile.name, "parent": name, **profile.attributes},
                profile.capacity or model.capacity,
                {name: profile.consumes},
            )


def _device(
    name: str,
    model: Model,
    attributes: Mapping[str, Attribute],
    capacity: Mapping[str, str | int | CapacityValue],
    consumes: Mapping[str, Mapping[str, str | int]],
) -> Device:
    return device(
        name,
        attributes={key: _attribute(value) for key, value in attributes.items()},
        capacity={key: _capacity(value) for key, value in capacity.items()},
        consumes=consumes,
        taints=[
            DeviceTaint(key=taint.key, value=taint.value, effect=taint.effect)
            for taint in model.taints
        ],
        shared=model.shared,
        binding_conditions=model.binding_conditions,
        binding_failure_conditions=model.binding_failure_conditions,
        binds_to_node=model.binds_to_node,
    )


def _attribute(value: Attribute) -> str | bool | int | list[str | int] | Version:
    return Version(value.version) if isinstance(value, VersionValue) else value


def _capacity(value: str | int | CapacityValue) -> str | int | DeviceCapacity:
    if not isinstance(value, CapacityValue):
        return value
    return capacity_of(
        value.value,
        default=value.default,
        values=value.values,
        minimum=value.minimum,
        maximum=value.maximum,
        step=value.step,
    )


def read_fleet(text: str, *, source: str = "fleet") -> Fleet:
    """A fleet from YAML. Raises ConfigurationError with the place and the rule."""
    try:
        plain: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source}: {describe_yaml_error(error)}") from error
    try:
        fleet = msgspec.convert(plain, Fleet)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{source}: {error}") from error
    try:
        fleet.check()
    except ConfigurationError as error:
        raise ConfigurationError(f"{source}: {error}") from error
    return fleet


def load_fleet(path: Path) -> Fleet:
    """A fleet from a file. Raises ConfigurationError."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}") from error
    if len(text) > FILE_BYTES_MAX:
        raise ConfigurationError(f"{path}: larger than {FILE_BYTES_MAX} bytes")
    return read_fleet(text, source=str(path))


_DEFAULT: Final = """
models:
  gpu:
    attributes: {productName: Simulated GPU, architecture: sim, driverVersion: {version: 1.0.0}}
    capacity: {memory: 40Gi}
nodes:
- devices: [{model: gpu, count: 4}]
  topology: {numaNodes: 2, pcieRoots: 2}
"""


def default_fleet() -> Fleet:
    """Four GPUs on every node."""
    return read_fleet(_DEFAULT)
