"""Pods are thought away and put back, with their devices, and in the end all is as it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from dray.api.core import Container, Node, NodeStatus, Pod, PodSpec, ResourceRequirements
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.what_if import WhatIf
from tests.unit.scheduler.stage import requests


class Check:
    """Counts pods on the node, as filters do that look at neighbours."""

    def __init__(self, neighbours: Iterable[str] = ()) -> None:
        self.neighbours = set(neighbours)

    def copy(self) -> Check:
        return Check(self.neighbours)

    def add_pod(self, info: PodInfo, _: NodeInfo) -> None:
        self.neighbours.add(info.name)

    def remove_pod(self, info: PodInfo, _: NodeInfo) -> None:
        self.neighbours.remove(info.name)


class Devices:
    """Which claims have devices."""

    def __init__(self, *held: str) -> None:
        self.held = set(held)

    def add_claim(self, claim: ResourceClaim) -> None:
        self.held.add(claim.metadata.name)

    def remove_claim(self, claim: ResourceClaim) -> None:
        self.held.remove(claim.metadata.name)


class OneCpuAndAllDevices:
    """A pod that wants a cpu, and devices that nobody may have."""

    def __init__(self, devices: Devices, neighbours: Iterable[str]) -> None:
        self.check = Check(neighbours)
        self.seen: set[str] = set()
        self._devices = devices
        self._looked = False

    def renew(self) -> None:
        self._looked = not self._devices.held

    def fits(self, node: NodeInfo, check: Check) -> bool:
        self.seen = set(check.neighbours)
        free = node.allocatable["cpu"] - node.requested.get("cpu", 0)
        return self._looked and free >= 1000


def pod(name: str) -> PodInfo:
    resources = ResourceRequirements(requests=requests({"cpu": "1"}))
    container = Container(name="main", image="x", resources=resources)
    metadata = ObjectMeta(name=name, namespace="default", uid=name)
    return PodInfo.of(Pod(metadata=metadata, spec=PodSpec(containers=(container,))))


def claim(name: str, *users: str) -> ResourceClaim:
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace="default", uid=name),
        status=ResourceClaimStatus(
            allocation=AllocationResult(),
            reserved_for=tuple(
                ResourceClaimConsumerReference(resource="pods", name=one, uid=one) for one in users
            ),
        ),
    )


A, B = pod("a"), pod("b")


def scene(devices: Devices, claims: dict[str, list[ResourceClaim]]) -> tuple[WhatIf, Any, NodeInfo]:
    status = NodeStatus(allocatable=requests({"cpu": "2", "pods": "10"}))
    node = NodeInfo(Node(metadata=ObjectMeta(name="node-1"), status=status))
    node.add_pod(A)
    node.add_pod(B)
    one = OneCpuAndAllDevices(devices, ("a", "b"))
    what_if = WhatIf(
        cast("Any", [one]), node, cast("Any", devices), lambda info: claims.get(info.name, [])
    )
    return what_if, one, node


def test_room_and_devices_of_pods_that_are_not_there_are_free() -> None:
    devices = Devices("own")
    what_if, one, node = scene(devices, {"a": [claim("own", "a")]})
    with what_if:
        assert not what_if.fits()
        what_if.remove(A)
        assert what_if.fits()
        assert one.seen == {"b"}
        assert [each.metadata.name for each in what_if.released] == ["own"]
        what_if.put_back(A)
        assert not what_if.fits()
        assert one.seen == {"a", "b"}
        assert what_if.released == ()
    assert set(node.pods) == {"a", "b"}


def test_devices_are_free_once_the_last_who_uses_them_is_gone() -> None:
    devices = Devices("shared")
    shared = claim("shared", "a", "b")
    what_if, _, _ = scene(devices, {"a": [shared], "b": [shared]})
    with what_if:
        what_if.remove(A)
        assert devices.held == {"shared"}
        what_if.remove(B)
        assert devices.held == set()
        what_if.put_back(A)
        assert devices.held == {"shared"}


def test_devices_that_others_use_elsewhere_stay_theirs() -> None:
    devices = Devices("shared")
    what_if, _, _ = scene(devices, {"a": [claim("shared", "a", "elsewhere")]})
    with what_if:
        what_if.remove(A, B)
        assert not what_if.fits()


def test_in_the_end_everybody_has_their_devices_again() -> None:
    devices = Devices("own", "other")
    claims = {"a": [claim("own", "a")], "b": [claim("other", "b")]}
    what_if, _, node = scene(devices, claims)
    with what_if:
        what_if.remove(A, B)
        assert devices.held == set()
        what_if.put_back(B)
    assert devices.held == {"own", "other"}
    assert node.requested["cpu"] == 2000, "it was a copy that was played with"
