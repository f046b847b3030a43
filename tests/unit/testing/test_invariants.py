"""Each check finds what it is for, and nothing in a cluster where all is well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dray.api.core import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodResourceClaim,
    PodSpec,
    PodStatus,
)
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.quantity import Quantity
from dray.api.resource import (
    AllocationResult,
    Counter,
    CounterSet,
    Device,
    DeviceAllocationResult,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.testing.invariants import (
    claims_are_reserved_for_live_pods,
    claims_have_their_owners,
    no_capacity_exceeded,
    no_counter_overdrawn,
    no_device_held_twice,
    pods_have_what_they_use,
    violations,
)

DRIVER = "gpu.example.com"


def held(device: str, **fields: Any) -> DeviceRequestAllocationResult:
    return DeviceRequestAllocationResult(
        request="gpu", driver=DRIVER, pool="node-1", device=device, **fields
    )


def claim(
    name: str,
    *results: DeviceRequestAllocationResult,
    reserved: Sequence[str] = (),
    owner: str = "",
    node: str = "node-1",
) -> ResourceClaim:
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))
    owners = (OwnerReference(api_version="v1", kind="Pod", name=owner, uid=owner, controller=True),)
    return ResourceClaim(
        metadata=ObjectMeta(
            name=name, namespace="default", uid=name, owner_references=owners if owner else ()
        ),
        status=ResourceClaimStatus(
            allocation=AllocationResult(
                devices=DeviceAllocationResult(results=results), node_selector=selector
            )
            if results
            else None,
            reserved_for=tuple(
                ResourceClaimConsumerReference(resource="pods", name=one, uid=one)
                for one in reserved
            ),
        ),
    )


def pod(name: str, claim: str = "", *, node: str = "node-1", phase: str = "Running") -> Pod:
    entry = PodResourceClaim(name="gpu", resource_claim_name=claim)
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=name),
        spec=PodSpec(node_name=node, resource_claims=(entry,) if claim else ()),
        status=PodStatus(phase=phase),
    )


def part(*devices: Device, generation: int = 1, **spec: Any) -> ResourceSlice:
    pool = ResourcePool(name="node-1", generation=generation, resource_slice_count=1)
    return ResourceSlice(
        spec=ResourceSliceSpec(
            driver=DRIVER, pool=pool, node_name="node-1", devices=devices, **spec
        )
    )


def amount(text: str) -> Quantity:
    return Quantity.parse(text)


NODES = (Node(metadata=ObjectMeta(name="node-1")), Node(metadata=ObjectMeta(name="node-2")))


def test_nothing_is_found_where_all_is_well() -> None:
    pods = (pod("a", "a"), pod("b", "b"), pod("waits", "b", node=""))
    claims = (claim("a", held("gpu-0"), reserved=["a"]), claim("b", held("gpu-1"), reserved=["b"]))
    slices = (part(Device(name="gpu-0"), Device(name="gpu-1")),)
    assert violations(pods, claims, slices, NODES) == []


def test_a_device_of_two_claims_is_found() -> None:
    assert no_device_held_twice([claim("a", held("gpu-0")), claim("b", held("gpu-0"))]) == [
        "device gpu.example.com/node-1/gpu-0 is held by claim default/a, claim default/b"
    ]


def test_a_device_that_is_both_whole_and_shared_is_found() -> None:
    claims = [claim("a", held("gpu-0")), claim("b", held("gpu-0", share_id="1"))]
    assert no_device_held_twice(claims) == [
        (
            "device gpu.example.com/node-1/gpu-0 is held whole by claim default/a and shared by "
            "claim default/b"
        )
    ]


def test_a_share_of_two_claims_is_found() -> None:
    claims = [claim(name, held("gpu-0", share_id="1")) for name in ("a", "b")]
    assert no_device_held_twice(claims) == [
        "share 1 of gpu.example.com/node-1/gpu-0 is held by claim default/a, claim default/b"
    ]


def test_shares_and_watchers_of_a_device_are_in_order() -> None:
    claims = [
        claim("a", held("gpu-0", share_id="1")),
        claim("b", held("gpu-0", share_id="2")),
        claim("admin", held("gpu-0", admin_access=True)),
    ]
    assert no_device_held_twice(claims) == []


@pytest.mark.parametrize(("taken", "sentences"), [("20Gi", 0), ("21Gi", 1)])
def test_more_capacity_than_there_is_is_found(taken: str, sentences: int) -> None:
    shared = Device(name="gpu-0", capacity={"memory": DeviceCapacity(value=amount("40Gi"))})
    use = {"memory": amount("20Gi")}, {"memory": amount(taken)}
    claims = [
        claim(str(n), held("gpu-0", share_id=str(n), consumed_capacity=one))
        for n, one in enumerate(use)
    ]
    found = no_capacity_exceeded(claims, [part(shared)])
    assert len(found) == sentences
    assert all(
        "memory of device gpu.example.com/node-1/gpu-0, 41Gi is taken" in one for one in found
    )


@pytest.mark.parametrize(("parts", "sentences"), [(2, 0), (3, 1)])
def test_a_counter_that_is_overdrawn_is_found(parts: int, sentences: int) -> None:
    half = {"memory": Counter(value=amount("20Gi"))}
    devices = [
        Device(
            name=f"part-{n}",
            consumes_counters=(DeviceCounterConsumption(counter_set="gpu", counters=half),),
        )
        for n in range(4)
    ]
    counters = CounterSet(name="gpu", counters={"memory": Counter(value=amount("40Gi"))})
    slices = [part(*devices), part(shared_counters=(counters,))]
    claims = [claim(str(n), held(f"part-{n}")) for n in range(parts)]
    found = no_counter_overdrawn(claims, slices)
    assert len(found) == sentences
    assert all("60Gi is drawn and 40Gi is there" in one for one in found)


def test_devices_of_an_older_generation_count_for_nothing() -> None:
    shared = Device(name="gpu-0", capacity={"memory": DeviceCapacity(value=amount("1Gi"))})
    larger = Device(name="gpu-0", capacity={"memory": DeviceCapacity(value=amount("9Gi"))})
    use = {"memory": amount("5Gi")}
    claims = [claim("a", held("gpu-0", share_id="1", consumed_capacity=use))]
    assert no_capacity_exceeded(claims, [part(larger, generation=2), part(shared)]) == []


@pytest.mark.parametrize(
    ("who", "why"),
    [
        (None, "which is gone"),
        (pod("a", phase="Failed"), "which has failed"),
        (pod("a", node=""), "which has no node"),
    ],
)
def test_a_reservation_for_nobody_is_found(who: Pod | None, why: str) -> None:
    pods = [who] if who is not None else []
    claims = [claim("a", held("gpu-0"), reserved=["a"])]
    assert claims_are_reserved_for_live_pods(pods, claims) == [
        f"claim default/a is reserved for pod a, {why}"
    ]


def test_a_reservation_of_nothing_is_found() -> None:
    assert claims_are_reserved_for_live_pods([pod("a")], [claim("a", reserved=["a"])]) == [
        "claim default/a is reserved and has no devices"
    ]


def test_claims_that_outlived_their_pods_are_found() -> None:
    assert claims_have_their_owners([], [claim("a", owner="train")]) == [
        "claim default/a belongs to pod train, which is gone"
    ]
    assert claims_have_their_owners([pod("train", "other")], [claim("a", owner="train")]) == [
        "claim default/a belongs to pod train, which does not use it"
    ]


@pytest.mark.parametrize(
    ("claims", "what"),
    [
        ([], "has no claim a"),
        ([claim("a")], "uses claim default/a, which has no devices"),
        ([claim("a", held("gpu-0"))], "uses claim default/a, which is not reserved for it"),
        (
            [claim("a", held("gpu-0"), reserved=["train"], node="node-2")],
            "uses claim default/a, which is out of its reach",
        ),
    ],
)
def test_a_pod_that_runs_without_its_devices_is_found(
    claims: list[ResourceClaim], what: str
) -> None:
    found = pods_have_what_they_use([pod("train", "a")], claims, NODES)
    assert found == [f"pod default/train on node-1 {what}"]
