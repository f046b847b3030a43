from __future__ import annotations

import pytest

from dray.api.resource import DeviceID
from dray.cli.snapshot import Consumer, Holder, ObjectName, Snapshot

from .conftest import Load

HELD = """
    apiVersion: v1
    kind: List
    items:
    - {apiVersion: v1, kind: Node, metadata: {name: n1}}
    - apiVersion: v1
      kind: Pod
      metadata: {name: train-0, namespace: ml, uid: u0}
      status: {phase: Succeeded}
    - apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a, namespace: ml}
      status:
        allocation:
          devices:
            results:
            - {request: gpu, driver: d, pool: n1, device: gpu-0, shareID: s-1}
            - {request: all, driver: d, pool: n1, device: gpu-1, adminAccess: true}
        reservedFor:
        - {resource: pods, name: train-0, uid: u0}
        - {resource: pods, name: train-1, uid: u1}
        - {apiGroup: scheduling.k8s.io, resource: podgroups, name: gang, uid: u2}
    - apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: b, namespace: ml}
      status:
        allocation:
          devices:
            results: [{request: gpu, driver: d, pool: n1, device: gpu-0, shareID: s-2}]
    - apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: pending, namespace: ml}
    """


def test_holders_are_who_keeps_a_device_from_others(load: Load) -> None:
    holders = load(HELD).holders
    assert list(holders) == [DeviceID("d", "n1", "gpu-0")]
    first, second = holders[DeviceID("d", "n1", "gpu-0")]
    assert (first.claim, first.request, first.share) == (ObjectName("ml", "a"), "gpu", "s-1")
    assert str(first) == (
        "claim ml/a for pod train-0 (Succeeded), pod train-1, podgroups.scheduling.k8s.io/gang"
    )
    assert str(second) == "claim ml/b, reserved for nobody"


def test_the_phase_is_of_the_very_pod_that_was_meant(load: Load) -> None:
    snapshot = load(HELD.replace("name: train-0, uid: u0}", "name: train-0, uid: before}"))
    (first, _) = snapshot.holders[DeviceID("d", "n1", "gpu-0")]
    assert first.consumers[0] == Consumer("pods", "train-0")


def test_many_consumers_are_cut() -> None:
    consumers = tuple(Consumer("pods", f"p{number}") for number in range(5))
    holder = Holder(ObjectName("ml", "a"), "gpu", consumers=consumers)
    assert str(holder) == "claim ml/a for pod p0, pod p1, pod p2 and 2 more"


def test_a_snapshot_does_not_change(load: Load) -> None:
    snapshot = load(HELD)
    assert isinstance(snapshot, Snapshot)
    with pytest.raises(TypeError):
        snapshot.pods[ObjectName("ml", "x")] = snapshot.pods[ObjectName("ml", "train-0")]  # type: ignore[index]  # the type forbids it too
    assert snapshot.holders is snapshot.holders
