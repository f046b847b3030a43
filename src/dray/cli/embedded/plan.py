"""Which nodes a cluster in one process has: options and a fleet file, made into one list.

Nodes with the runtimes `process` and `cri` are this machine, each with files and sockets of its
own; nodes with the runtime `memory` only seem to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.agent.fleet import Traits
from dray.cli.drivers import driver_factory
from dray.cli.embedded.fleet_file import FleetFile, NodeGroup, load_fleet_file
from dray.drivers.simulated import Fleet, fleet_driver_factory, read_fleet
from dray.errors import ConfigurationError
from dray.sdk import Driver

__all__ = ["DEFAULT_NODES", "PROCESS", "NodePlan", "default_devices", "plan_nodes"]

DEFAULT_NODES: Final = 2

CRI: Final = "cri"
MEMORY: Final = "memory"
PROCESS: Final = "process"

DriverFactory = Callable[[], Driver]


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node."""

    name: str
    runtime: str = PROCESS
    traits: Traits = field(default_factory=Traits)
    drivers: tuple[DriverFactory, ...] = ()

    @property
    def simulated(self) -> bool:
        return self.runtime == MEMORY


def plan_nodes(
    *, count: int | None, fleet: Path | None, drivers: Sequence[str], runtime: str | None
) -> list[NodePlan]:
    """The nodes. Raises ConfigurationError for what contradicts itself.

    `count` nodes are simulated unless a runtime is named; without a count and a file that names
    them there are two, which are this machine, or one if it has a CRI runtime.
    """
    read = None if fleet is None else load_fleet_file(fleet)
    if isinstance(read, FleetFile):
        if count is not None:
            raise ConfigurationError(
                f"--nodes {count}: {fleet} says which nodes there are; leave out one of the two"
            )
        if drivers:
            raise ConfigurationError(
                f"--driver {drivers[0]}: {fleet} says which drivers nodes have; add it there, to "
                "`drivers` of a node"
            )
        return _checked([one for group in read.nodes for one in _planned(read, group, runtime)])
    if read is not None and any(each.partition("=")[0] == "simulated" for each in drivers):
        raise ConfigurationError(
            f"--driver simulated: {fleet} is for the simulated driver already; leave out one of "
            "the two"
        )
    factories: list[DriverFactory] = [] if read is None else [fleet_driver_factory(read)]
    factories += [driver_factory(each) for each in drivers]
    factories = factories or [fleet_driver_factory(default_devices())]
    kind = runtime or (PROCESS if count is None else MEMORY)
    usual = 1 if kind == CRI else DEFAULT_NODES
    names = [f"node-{n}" for n in range(1, (usual if count is None else count) + 1)]
    return _checked([NodePlan(name, kind, drivers=tuple(factories)) for name in names])


def _checked(plans: list[NodePlan]) -> list[NodePlan]:
    sharing = [plan.name for plan in plans if plan.runtime == CRI]
    if len(sharing) > 1:
        # Each would take the other's pods for what is left of its own.
        raise ConfigurationError(
            f"nodes {sharing[0]} and {sharing[1]} both have the runtime cri: only one node can "
            "have it"
        )
    return plans


def _planned(file: FleetFile, group: NodeGroup, runtime: str | None) -> list[NodePlan]:
    fleet = file.simulated(group)
    factories: list[DriverFactory] = [] if fleet is None else [fleet_driver_factory(fleet)]
    factories += [driver_factory(each) for each in group.drivers]
    traits = Traits(
        labels=dict(group.labels), taints=group.node_taints(), capacity=group.quantities()
    )
    kind = runtime or group.runtime or PROCESS
    return [NodePlan(name, kind, traits, tuple(factories)) for name in group.names()]


# Something to show every way in which devices are shared out: whole ones of two models, so that
# selectors and lists of alternatives have a choice; some that can be cut; some that can be shared.
# One that was broken on command and made well again is wanted again soon, not after a minute.
_DEFAULT_DEVICES: Final = """
unhealthy: {recoverSeconds: 2}
models:
  a100:
    attributes:
      productName: A100-40GB
      architecture: Ampere
      driverVersion: {version: 570.86.15}
    capacity: {memory: 40Gi}
  h100:
    attributes:
      productName: H100-80GB
      architecture: Hopper
      driverVersion: {version: 570.86.15}
    capacity: {memory: 80Gi}
    partitions:
      counters: {memory: 80Gi, slices: 7}
      profiles:
      - {name: 1g, count: 7, capacity: {memory: 10Gi}, consumes: {memory: 10Gi, slices: 1}}
      - {name: 2g, count: 3, capacity: {memory: 20Gi}, consumes: {memory: 20Gi, slices: 2}}
      - {name: 3g, count: 2, capacity: {memory: 40Gi}, consumes: {memory: 40Gi, slices: 3}}
  l40s:
    attributes:
      productName: L40S-40GB
      architecture: Ada
      driverVersion: {version: 570.86.15}
      shared: true
    capacity: {memory: {value: 40Gi, minimum: 1Gi, step: 1Gi, default: 10Gi}}
    shared: true
nodes:
- devices:
  - {model: a100, count: 4, name: gpu}
  - {model: h100, count: 2, name: big}
  - {model: l40s, count: 2, name: shared}
  topology: {numaNodes: 2, pcieRoots: 4}
"""


def default_devices() -> Fleet:
    """Eight GPUs of three models on every node."""
    return read_fleet(_DEFAULT_DEVICES)
