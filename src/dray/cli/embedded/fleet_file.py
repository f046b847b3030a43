"""Which nodes there are, and with which devices, as a YAML file says it.

    driver: gpu.simulated.dev
    models:
      a100: {attributes: {productName: A100}, capacity: {memory: 40Gi}}
    nodes:
    - name: gpu
      count: 3
      runtime: memory
      labels: {rack: r1}
      taints: [{key: gpu, effect: NoSchedule}]
      capacity: {cpu: 64, memory: 512Gi}
      devices: [{model: a100, count: 8}]
    - name: edge
      runtime: process
      drivers: [host=devices.yaml]

`driver`, `models`, `unhealthy`, `devices` and `topology` are those of the simulated driver's own
file. That file is one of these, too: its nodes have a `match` where others have a `name`, so it
says what nodes have, and not which there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml

from dray.api.core import Taint as NodeTaint
from dray.api.names import dns_subdomain, label_key, label_value
from dray.api.quantity import Quantity
from dray.drivers.simulated.fleet import (
    DEFAULT_DRIVER,
    DriverName,
    Fleet,
    Group,
    Model,
    NodeEntry,
    Topology,
    Unhealthy,
    read_fleet,
)
from dray.drivers.yaml_errors import describe_yaml_error
from dray.errors import ConfigurationError, ParseError, quote

__all__ = [
    "NODES_MAX",
    "FleetFile",
    "NodeGroup",
    "TaintEntry",
    "load_fleet_file",
    "read_fleet_file",
]

FILE_BYTES_MAX: Final = 4 * 1024 * 1024

# More agents in one process would each wait too long for their turn.
NODES_MAX: Final = 10_000

Count = Annotated[int, msgspec.Meta(ge=1, le=NODES_MAX)]


class _Strict(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What a file may say, and nothing else."""


class TaintEntry(_Strict, frozen=True):
    """A taint that nodes start with."""

    key: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    value: str = ""


class NodeGroup(_Strict, frozen=True):
    """Nodes that are alike: one of this name or, with a count, several that are numbered."""

    name: str
    count: Count | None = None
    runtime: Literal["process", "memory", "cri"] | None = None
    labels: Mapping[str, str] = {}
    taints: tuple[TaintEntry, ...] = ()
    capacity: Mapping[str, str | int] = {}
    devices: tuple[Group, ...] = ()
    topology: Topology = Topology()
    drivers: tuple[str, ...] = ()

    def names(self) -> Iterator[str]:
        """The nodes: NAME, or NAME-1 to NAME-COUNT."""
        if self.count is None:
            yield self.name
        else:
            yield from (f"{self.name}-{number}" for number in range(1, self.count + 1))

    def node_taints(self) -> tuple[NodeTaint, ...]:
        """The taints, as a node has them."""
        return tuple(NodeTaint(key=t.key, value=t.value, effect=t.effect) for t in self.taints)

    def quantities(self) -> dict[str, Quantity]:
        """The capacity, as a node has it."""
        return {name: Quantity.parse(str(amount)) for name, amount in self.capacity.items()}


class FleetFile(_Strict, frozen=True):
    """A fleet whose nodes have names."""

    nodes: tuple[NodeGroup, ...]
    models: Mapping[str, Model] = {}
    driver: DriverName = DEFAULT_DRIVER
    unhealthy: Unhealthy = Unhealthy()

    def simulated(self, group: NodeGroup) -> Fleet | None:
        """What the simulated driver is told on nodes of a group; None if they have none of it."""
        if not group.devices:
            return None
        entry = NodeEntry(devices=group.devices, topology=group.topology)
        return Fleet(
            models=self.models, nodes=(entry,), driver=self.driver, unhealthy=self.unhealthy
        )

    def check(self) -> None:
        """Refuse what cannot be. Raises ConfigurationError with the place, the value, the rule."""
        if not self.nodes:
            raise ConfigurationError("$.nodes: names no node")
        seen: dict[str, str] = {}
        for number, group in enumerate(self.nodes):
            place = f"$.nodes[{number}]"
            _check_group(place, group)
            for name in group.names():
                if name in seen:
                    raise ConfigurationError(
                        f"{place}: node {quote(name)} is there already, by {seen[name]}"
                    )
                seen[name] = place
            fleet = self.simulated(group)
            if fleet is not None:
                try:
                    fleet.check()
                except ConfigurationError as error:
                    raise ConfigurationError(str(error).replace("$.nodes[0]", place, 1)) from error
        if len(seen) > NODES_MAX:
            raise ConfigurationError(f"$.nodes: {len(seen)} nodes, and at most {NODES_MAX} run")


def read_fleet_file(text: str, *, source: str = "fleet") -> FleetFile | Fleet:
    """A fleet with named nodes, or one that says what nodes of any name have."""
    try:
        plain: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source}: {describe_yaml_error(error)}") from error
    if plain is None:
        raise ConfigurationError(f"{source}: is empty")
    if not _names_nodes(plain):
        return read_fleet(text, source=source)
    try:
        file = msgspec.convert(plain, FleetFile)
        file.check()
    except (msgspec.ValidationError, ConfigurationError) as error:
        raise ConfigurationError(f"{source}: {error}") from error
    return file


def load_fleet_file(path: Path) -> FleetFile | Fleet:
    """The same from a file. Raises ConfigurationError."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}") from error
    if len(text) > FILE_BYTES_MAX:
        raise ConfigurationError(f"{path}: larger than {FILE_BYTES_MAX} bytes")
    return read_fleet_file(text, source=str(path))


def _names_nodes(plain: Any) -> bool:
    nodes = plain.get("nodes") if isinstance(plain, dict) else None
    entries = nodes if isinstance(nodes, list) else []
    return any(isinstance(entry, dict) and "name" in entry for entry in entries)


def _check_group(place: str, group: NodeGroup) -> None:
    for name in group.names():
        for rule in dns_subdomain(name):
            raise ConfigurationError(f"{place}.name: {quote(name)}: {rule}")
    for key, value in group.labels.items():
        for rule in (*label_key(key), *label_value(value)):
            raise ConfigurationError(f"{place}.labels: {quote(f'{key}={value}')}: {rule}")
    for index, taint in enumerate(group.taints):
        for rule in (*label_key(taint.key), *label_value(taint.value)):
            raise ConfigurationError(f"{place}.taints[{index}]: {quote(taint.key)}: {rule}")
    for resource, amount in group.capacity.items():
        try:
            quantity = Quantity.parse(str(amount))
        except ParseError as error:
            raise ConfigurationError(f"{place}.capacity.{resource}: {error}") from error
        if quantity < Quantity.from_int(0):
            raise ConfigurationError(f"{place}.capacity.{resource}: {amount} is less than nothing")
