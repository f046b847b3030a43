"""A cluster of equal nodes with eight devices each, and pods that want one of them.

Every device has a UUID of its own, so that no two slices are equal.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Final

from benchmarks.allocator_cases import GATES
from benchmarks.allocator_go import Object, Placed
from dray.allocator import Allocation, Allocator, Features, Inventory, Occupancy
from dray.allocator.fleet import Fleet
from dray.api.codec import decode
from dray.api.core import Node
from dray.api.resource import (
    DeviceClass,
    DeviceID,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceSlice,
)
from dray.api.wire import replace

__all__ = ["DEVICES_PER_NODE", "STATES", "Cluster", "Placer", "claim_document", "slice_document"]

DEVICES_PER_NODE: Final = 8
DRIVER: Final = "gpu.example.com"
SEED: Final = 1
CLASS: Final = {
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
}


def node_name(number: int) -> str:
    return f"node-{number:05}"


def slice_document(number: int, *, generation: int = 1, devices: int = DEVICES_PER_NODE) -> Object:
    """The one slice of a node."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node_name(number)}-gpu"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node_name(number),
            "pool": {
                "name": node_name(number),
                "generation": generation,
                "resourceSliceCount": 1,
            },
            "devices": [
                {
                    "name": f"gpu-{index}",
                    "attributes": {
                        "uuid": {"string": f"GPU-{number:08x}-{index:04x}"},
                        "model": {"string": "A100"},
                        "index": {"int": index},
                        "driverVersion": {"version": "550.54.15"},
                    },
                    "capacity": {"memory": {"value": "80Gi"}},
                }
                for index in range(devices)
            ],
        },
    }


def claim_document(memory: str) -> Object:
    """A claim for one device with that much memory; every amount makes another expression."""
    expression = (
        f'device.attributes["{DRIVER}"].model == "A100" && '
        f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{memory}")) >= 0'
    )
    exactly = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


class Cluster:
    """Nodes and slices, as documents and decoded."""

    def __init__(self, nodes: int) -> None:
        self.size = nodes
        self.node_documents = [{"metadata": {"name": node_name(one)}} for one in range(nodes)]
        self.slice_documents = [slice_document(one) for one in range(nodes)]
        self.class_documents = [CLASS]
        self.nodes = [decode(json.dumps(one).encode(), Node) for one in self.node_documents]
        self.slices = self.decoded_slices()
        self.classes = {"gpu": decode(json.dumps(CLASS).encode(), DeviceClass)}

    def decoded_slices(self) -> list[ResourceSlice]:
        """The slices, decoded anew."""
        return [decode(json.dumps(one).encode(), ResourceSlice) for one in self.slice_documents]

    @property
    def device_count(self) -> int:
        return self.size * DEVICES_PER_NODE

    def devices(self) -> Iterator[DeviceID]:
        for number in range(self.size):
            for index in range(DEVICES_PER_NODE):
                yield DeviceID(DRIVER, node_name(number), f"gpu-{index}")


def nothing(cluster: Cluster) -> list[DeviceID]:  # noqa: ARG001 (one of several states)
    return []


def half(cluster: Cluster) -> list[DeviceID]:
    chance = random.Random(SEED)
    return [device for device in cluster.devices() if chance.random() < 0.5]


def all_but_one_node(cluster: Cluster) -> list[DeviceID]:
    """The node that is free is the last that anybody looks at."""
    return list(cluster.devices())[:-DEVICES_PER_NODE]


STATES: Final[dict[str, Callable[[Cluster], list[DeviceID]]]] = {
    "empty": nothing,
    "half in use": half,
    "all but the last node in use": all_but_one_node,
}


class Placer:
    """dray's allocator and fleet, from decoded objects on, and the pods it has placed."""

    def __init__(
        self, cluster: Cluster, slices: list[ResourceSlice], in_use: list[DeviceID]
    ) -> None:
        features = Features.by_gates((*GATES, "DRAResourceClaimDeviceStatus"))
        occupancy = Occupancy()
        for device in in_use:
            occupancy.hold(device)
        numbers = itertools.count()
        self.allocator = Allocator(
            Inventory(features, slices),
            occupancy,
            cluster.classes,
            share_id=lambda: f"share-{next(numbers)}",
        )
        self.fleet = Fleet(self.allocator, cluster.nodes)
        self.adding_seconds = 0.0
        self._placed: list[ResourceClaim] = []

    def place(self, document: Object, *, pods: int) -> Placed:
        """Give pods the first node that fits, one after the other; what they get is in use."""
        total = adding = 0.0
        devices = []
        for claim in _pods(document, pods):
            start = perf_counter()
            allocation = self.ask(claim)
            total += perf_counter() - start
            result = allocation.results[0]
            allocated = replace(claim, status=ResourceClaimStatus(allocation=result))
            start = perf_counter()
            self.fleet.add_claim(allocated)
            adding += perf_counter() - start
            self._placed.append(allocated)
            one = result.devices.results[0]
            devices.append(DeviceID(one.driver, one.pool, one.device))
        self.adding_seconds = adding / pods
        return Placed(total / pods, tuple(devices))

    def ask(self, claim: ResourceClaim) -> Allocation:
        """What a pod gets on the first node that fits; there must be one."""
        survey = self.fleet.survey([claim])
        first = survey.first()
        assert first is not None
        allocation = survey.on(first)
        assert isinstance(allocation, Allocation)
        return allocation

    def ask_all(self, document: Object) -> tuple[float, int]:
        """Which nodes fit: the seconds it took, and how many."""
        (claim,) = _pods(document, 1)
        start = perf_counter()
        fitting = self.fleet.survey([claim]).fitting()
        return perf_counter() - start, len(fitting)

    def ask_all_devices(self, document: Object) -> tuple[float, int]:
        """What every node would give: the seconds it took, and how many have something."""
        (claim,) = _pods(document, 1)
        start = perf_counter()
        survey = self.fleet.survey([claim])
        answers = [survey.on(name) for name in self.fleet]
        seconds = perf_counter() - start
        return seconds, sum(isinstance(answer, Allocation) for answer in answers)

    def release(self) -> None:
        """Give back what pods got."""
        for claim in self._placed:
            self.fleet.remove_claim(claim)
        self._placed.clear()


_NUMBERS = itertools.count()


def _pods(document: Object, count: int) -> list[ResourceClaim]:
    """Claims of that many pods, with names that none had before."""
    claim = decode(json.dumps(document).encode(), ResourceClaim)
    return [
        replace(claim, metadata=replace(claim.metadata, name=f"claim-{next(_NUMBERS)}"))
        for _ in range(count)
    ]
