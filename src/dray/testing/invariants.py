"""What must hold of a cluster whatever happened to it, checked on lists of its objects. Pure.

Each check answers with the violations it found, as sentences; none is what a test wants to see.
`no_device_held_twice`, `no_capacity_exceeded` and `no_counter_overdrawn` hold at every moment. The
others speak of claims and pods that some component has yet to look after, so they hold once things
have calmed down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from dray.api.core import Node, Pod
from dray.api.node_matching import node_matches
from dray.api.pod_claims import is_reserved, references
from dray.api.quantity import Quantity
from dray.api.resource import (
    Device,
    DeviceID,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceSlice,
)

__all__ = [
    "claims_are_reserved_for_live_pods",
    "claims_have_their_owners",
    "no_capacity_exceeded",
    "no_counter_overdrawn",
    "no_device_held_twice",
    "pods_have_what_they_use",
    "violations",
]

_ENDED = ("Succeeded", "Failed")


def violations(
    pods: Iterable[Pod],
    claims: Iterable[ResourceClaim],
    slices: Iterable[ResourceSlice],
    nodes: Iterable[Node],
) -> list[str]:
    """Everything that is wrong in a cluster that has calmed down."""
    pods, claims, slices, nodes = tuple(pods), tuple(claims), tuple(slices), tuple(nodes)
    return [
        *no_device_held_twice(claims),
        *no_capacity_exceeded(claims, slices),
        *no_counter_overdrawn(claims, slices),
        *claims_are_reserved_for_live_pods(pods, claims),
        *claims_have_their_owners(pods, claims),
        *pods_have_what_they_use(pods, claims, nodes),
    ]


# At every moment ---------------------------------------------------------------------------------


def no_device_held_twice(claims: Iterable[ResourceClaim]) -> list[str]:
    """A device is one claim's, or is shared by shares alone."""
    whole: defaultdict[DeviceID, list[str]] = defaultdict(list)
    shares: defaultdict[tuple[DeviceID, str], list[str]] = defaultdict(list)
    for claim, result in _results(claims):
        if result.share_id is None:
            whole[_device(result)].append(_name(claim))
        else:
            shares[_device(result), result.share_id].append(_name(claim))
    found = [
        f"device {_path(device)} is held by {', '.join(holders)}"
        for device, holders in whole.items()
        if len(holders) > 1
    ]
    for (device, share), holders in shares.items():
        if device in whole:
            found.append(
                f"device {_path(device)} is held whole by {whole[device][0]} and shared by "
                f"{holders[0]}"
            )
        if len(holders) > 1:
            found.append(f"share {share} of {_path(device)} is held by {', '.join(holders)}")
    return found


def no_capacity_exceeded(
    claims: Iterable[ResourceClaim], slices: Iterable[ResourceSlice]
) -> list[str]:
    """The shares of a device take no more of it than there is. Unknown devices have no limit."""
    devices = {device: one for device, one, _ in _devices(slices)}
    taken: defaultdict[tuple[DeviceID, str], Quantity] = defaultdict(_nothing)
    for _, result in _results(claims):
        for name, amount in result.consumed_capacity.items():
            taken[_device(result), name] += amount
    found = []
    for (device, name), amount in taken.items():
        known = devices.get(device)
        capacity = known.capacity.get(name) if known is not None else None
        if capacity is not None and amount > capacity.value:
            found.append(
                f"of {name} of device {_path(device)}, {amount} is taken and "
                f"{capacity.value} is there"
            )
    return found


def no_counter_overdrawn(
    claims: Iterable[ResourceClaim], slices: Iterable[ResourceSlice]
) -> list[str]:
    """Partitions that are in use draw no more from a counter than it has."""
    slices = tuple(slices)
    in_use = {_device(result) for _, result in _results(claims)}
    limits: dict[tuple[str, str, str, str], Quantity] = {}
    for one in slices:
        for counters in one.spec.shared_counters or ():
            for name, counter in counters.counters.items():
                key = (one.spec.driver, one.spec.pool.name, counters.name, name)
                limits[key] = counter.value
    drawn: defaultdict[tuple[str, str, str, str], Quantity] = defaultdict(_nothing)
    for device, one_device, owner in _devices(slices):
        if device not in in_use:
            continue
        for consumption in one_device.consumes_counters:
            for name, counter in consumption.counters.items():
                pool = owner.spec.pool.name
                drawn[device.driver, pool, consumption.counter_set, name] += counter.value
    return [
        f"of counter {name} of set {counters} in pool {driver}/{pool}, {amount} is drawn "
        f"and {limits[driver, pool, counters, name]} is there"
        for (driver, pool, counters, name), amount in drawn.items()
        if amount > limits.get((driver, pool, counters, name), amount)
    ]


# When all is calm --------------------------------------------------------------------------------


def claims_are_reserved_for_live_pods(
    pods: Iterable[Pod], claims: Iterable[ResourceClaim]
) -> list[str]:
    """Nobody has a reservation who is gone, has ended, or never got a node."""
    live = {pod.metadata.uid: pod for pod in pods}
    found = []
    for claim in claims:
        for consumer in claim.status.reserved_for:
            if consumer.resource != "pods":
                continue
            who = f"{_name(claim)} is reserved for pod {consumer.name}"
            pod = live.get(consumer.uid)
            if pod is None:
                found.append(f"{who}, which is gone")
            elif pod.status.phase in _ENDED:
                found.append(f"{who}, which has {pod.status.phase.lower()}")
            elif not pod.spec.node_name:
                found.append(f"{who}, which has no node")
        if claim.status.reserved_for and claim.status.allocation is None:
            found.append(f"{_name(claim)} is reserved and has no devices")
    return found


def claims_have_their_owners(pods: Iterable[Pod], claims: Iterable[ResourceClaim]) -> list[str]:
    """A claim that was made for a pod is there as long as the pod, and is the one it uses."""
    live = {pod.metadata.uid: pod for pod in pods}
    found = []
    for claim in claims:
        for owner in claim.metadata.owner_references:
            if not owner.controller or owner.kind != "Pod":
                continue
            pod = live.get(owner.uid)
            if pod is None:
                found.append(f"{_name(claim)} belongs to pod {owner.name}, which is gone")
            elif claim.metadata.name not in {one.claim_name for one in references(pod)}:
                found.append(f"{_name(claim)} belongs to pod {owner.name}, which does not use it")
    return found


def pods_have_what_they_use(
    pods: Iterable[Pod], claims: Iterable[ResourceClaim], nodes: Iterable[Node]
) -> list[str]:
    """A pod that has a node has its claims: with devices, within reach, and reserved for it."""
    known = {(one.metadata.namespace, one.metadata.name): one for one in claims}
    by_name = {node.metadata.name: node for node in nodes}
    found = []
    for pod in pods:
        if not pod.spec.node_name or pod.status.phase in _ENDED:
            continue
        who = f"pod {pod.metadata.namespace}/{pod.metadata.name} on {pod.spec.node_name}"
        for reference in references(pod):
            if not reference.claim_name:
                continue
            claim = known.get((pod.metadata.namespace, reference.claim_name))
            if claim is None:
                found.append(f"{who} has no claim {reference.claim_name}")
            elif claim.status.allocation is None:
                found.append(f"{who} uses {_name(claim)}, which has no devices")
            elif not is_reserved(pod, claim):
                found.append(f"{who} uses {_name(claim)}, which is not reserved for it")
            else:
                node = by_name.get(pod.spec.node_name)
                selector = claim.status.allocation.node_selector
                if (
                    node is not None
                    and selector is not None
                    and not node_matches(node, None, None, selector)
                ):
                    found.append(f"{who} uses {_name(claim)}, which is out of its reach")
    return found


# Reading -----------------------------------------------------------------------------------------


def _results(
    claims: Iterable[ResourceClaim],
) -> Iterator[tuple[ResourceClaim, DeviceRequestAllocationResult]]:
    """What claims hold. To watch a device is not to hold it."""
    for claim in claims:
        if claim.status.allocation is not None:
            for result in claim.status.allocation.devices.results:
                if not result.admin_access:
                    yield claim, result


def _devices(slices: Iterable[ResourceSlice]) -> Iterator[tuple[DeviceID, Device, ResourceSlice]]:
    """The devices of the newest generation of each pool."""
    slices = tuple(slices)
    newest: Mapping[tuple[str, str], int] = {
        (one.spec.driver, one.spec.pool.name): one.spec.pool.generation
        for one in sorted(slices, key=lambda one: one.spec.pool.generation)
    }
    for one in slices:
        pool = one.spec.pool
        if pool.generation == newest[one.spec.driver, pool.name]:
            for device in one.spec.devices or ():
                yield DeviceID(one.spec.driver, pool.name, device.name), device, one


def _device(result: DeviceRequestAllocationResult) -> DeviceID:
    return DeviceID(result.driver, result.pool, result.device)


def _path(device: DeviceID) -> str:
    return "/".join(device)


def _name(claim: ResourceClaim) -> str:
    return f"claim {claim.metadata.namespace}/{claim.metadata.name}"


def _nothing() -> Quantity:
    return Quantity.from_int(0)
