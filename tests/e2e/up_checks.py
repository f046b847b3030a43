"""What must be so in a cluster that is killed: at any moment, and once everything has settled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

from dray.api.apps import Deployment, ReplicaSet
from dray.api.batch import Job
from dray.api.core import Node, Pod
from dray.api.meta import Object
from dray.api.pod_claims import references
from dray.api.resource import ResourceClaim, ResourceSlice
from dray.client import Client
from dray.clock import SystemClock
from dray.sdk._journal import Phase
from dray.testing.invariants import (
    no_capacity_exceeded,
    no_counter_overdrawn,
    no_device_held_twice,
    pods_have_what_they_use,
    violations,
)
from tests.e2e.up_machine import REAL_NODES, UpMachine
from tests.e2e.up_objects import EXTENDED_RESOURCE, NAMESPACE, SHAPES, Need
from tests.e2e.up_room import Room
from tests.e2e.up_storm import UpStorm, Work

__all__ = ["View", "check_settled", "given_twice", "inspect", "view"]

# What failed is tried again within a minute or two; a node that was away is trusted again later.
SETTLE_SECONDS = 240.0
LOOK_SECONDS = 0.3

DESCRIPTORS_MAX = 300
RESIDENT_BYTES_MAX = 400 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class View:
    """Everything there is, read kind by kind. Pods are read first and again at the end."""

    pods: dict[str, Pod]  # by UID
    claims: dict[str, ResourceClaim]  # by UID
    slices: tuple[ResourceSlice, ...]
    nodes: tuple[Node, ...]
    others: dict[str, Object]  # Jobs and Deployments by UID
    replica_sets: dict[str, ReplicaSet]
    pods_later: dict[str, Pod]

    def steady_pods(self) -> list[Pod]:
        """Pods that were bound and alive all the while."""
        return [
            pod
            for uid, pod in self.pods.items()
            if pod.spec.node_name and _alive(pod) and _alive(self.pods_later.get(uid))
        ]

    def get(self, uid: str) -> Object | None:
        return self.pods_later.get(uid) or self.others.get(uid) or self.claims.get(uid)


def _alive(pod: Pod | None) -> bool:
    return (
        pod is not None
        and pod.metadata.deletion_timestamp is None
        and pod.status.phase not in ("Succeeded", "Failed")
    )


async def view(client: Client) -> View:
    pods = (await client.list(Pod, namespace=NAMESPACE)).items
    claims = (await client.list(ResourceClaim, namespace=NAMESPACE)).items
    slices = (await client.list(ResourceSlice)).items
    nodes = (await client.list(Node)).items
    jobs = (await client.list(Job, namespace=NAMESPACE)).items
    deployments = (await client.list(Deployment, namespace=NAMESPACE)).items
    replica_sets = (await client.list(ReplicaSet, namespace=NAMESPACE)).items
    later = (await client.list(Pod, namespace=NAMESPACE)).items
    return View(
        pods={one.metadata.uid: one for one in pods},
        claims={one.metadata.uid: one for one in claims},
        slices=slices,
        nodes=nodes,
        others={one.metadata.uid: one for one in (*jobs, *deployments)},
        replica_sets={one.metadata.uid: one for one in replica_sets},
        pods_later={one.metadata.uid: one for one in later},
    )


# At any moment ---------------------------------------------------------------------------------


async def inspect(storm: UpStorm) -> None:
    """Nothing acknowledged is lost, and nothing is given twice. Raises AssertionError."""
    before = [copy(work) for work in storm.works]
    seen = await view(storm.client)
    storm.seen_pods |= seen.pods_later.keys()
    storm.seen_claims |= seen.claims.keys()
    found = [
        *given_twice(seen),
        *_forgotten(before, storm.works, seen),
        *_held_twice(storm.machine),
        *_started_anew(storm),
    ]
    assert not found, "\n".join(found)


def given_twice(seen: View) -> list[str]:
    """Devices that too many have, and pods with a node that do not have theirs."""
    claims = seen.claims.values()
    return [
        *no_device_held_twice(claims),
        *no_capacity_exceeded(claims, seen.slices),
        *no_counter_overdrawn(claims, seen.slices),
        *pods_have_what_they_use(seen.steady_pods(), claims, seen.nodes),
    ]


def _forgotten(before: Sequence[Work], after: Sequence[Work], seen: View) -> Iterator[str]:
    """What was acknowledged before somebody looked, and is not so."""
    for work, later in zip(before, after, strict=False):
        found = seen.get(work.uid)
        if found is None:
            if not later.deleting and not work.fragile:
                yield f"{work} is gone, and nobody deleted it"
            continue
        if work.deleted and found.metadata.deletion_timestamp is None:
            yield f"{work} was deleted, and lives"
        if work.deleted and work.forced:
            yield f"{work} was deleted by force, and is there"
        if isinstance(found, Deployment):
            wishes = later.wishes[work.answered - 1 :]
            if found.spec.replicas not in wishes:
                yield f"{work} was scaled to {wishes}, and wants {found.spec.replicas}"


def _held_twice(machine: UpMachine) -> Iterator[str]:
    """Devices of this machine that two claims have at once, by drivers and by processes."""
    holders: dict[tuple[str, str], set[str]] = {}
    for node in REAL_NODES:
        for entry in machine.journal(node):
            for device in entry.devices:
                holders.setdefault((node, device.device), set()).add(entry.uid)
    users: dict[tuple[str, str], set[str]] = {}
    for process in machine.processes():
        for name in process.devices:
            users.setdefault((process.node, name), set()).add(process.owner)
    for what, found in (("is prepared for claims", holders), ("is used by", users)):
        for (node, name), owners in found.items():
            if len(owners) > 1 and not name.startswith("shared"):
                yield f"{name} of {node} {what} {sorted(owners)}"


def _started_anew(storm: UpStorm) -> Iterator[str]:
    """Containers of this machine that did not outlive the cluster, or were started twice."""
    for process in storm.machine.processes():
        known = storm.pids.setdefault(process.uid, process.pid)
        if known != process.pid:
            yield f"the container of pod {process.uid} was {known}, and is {process.pid} now"


# Once everything has settled -------------------------------------------------------------------


async def check_settled(storm: UpStorm) -> float:
    """Wait until nothing is wrong any more; returns how long that took."""
    clock = SystemClock()
    began = clock.monotonic()
    while True:
        storm.machine.check_alive()
        await inspect(storm)
        found = problems(storm, await view(storm.client))
        if not found:
            return clock.monotonic() - began
        if clock.monotonic() - began > SETTLE_SECONDS:
            log = storm.machine.up
            raise AssertionError("\n".join([*found, f"--- {log.log}", log.last_words(30)]))
        # Files and processes say nothing when they change.
        await asyncio.sleep(LOOK_SECONDS)


def problems(storm: UpStorm, seen: View) -> list[str]:
    """Everything that is not as it should be in the end, a line each."""
    return [
        *violations(seen.pods.values(), seen.claims.values(), seen.slices, seen.nodes),
        *_works(storm, seen),
        *_pods(storm, seen),
        *_claims(storm, seen),
        *_files(storm.machine, seen),
        *_processes(storm.machine, seen),
        *_resources(storm.machine),
    ]


def _works(storm: UpStorm, seen: View) -> Iterator[str]:
    stuck = {_controller(pod) for pod in seen.pods.values() if not pod.spec.node_name}
    for work in storm.works:
        found = seen.get(work.uid)
        if work.deleted:
            # A claim stays for as long as somebody uses it.
            if found is not None and not (
                isinstance(found, ResourceClaim) and found.status.reserved_for
            ):
                yield f"{work} was deleted, and is still there"
        elif isinstance(found, Job):
            done = any(
                one.type == "Complete" and one.status == "True" for one in found.status.conditions
            )
            if not done and work.uid not in stuck:
                yield f"{work} is not complete: {found.status}"
        elif isinstance(found, Deployment):
            status = found.status
            counted = status.replicas, status.updated_replicas
            if counted != (work.replicas, work.replicas):
                yield f"{work} has {counted} pods and not {work.replicas}"
    wanted = {work.uid: work for work in storm.works if work.kind is Deployment}
    for uid, replica_set in seen.replica_sets.items():
        owner = _controller(replica_set)
        if owner not in wanted or wanted[owner].deleted:
            yield f"ReplicaSet {replica_set.metadata.name} ({uid}) is an orphan"


def _controller(obj: Object) -> str:
    return next((one.uid for one in obj.metadata.owner_references if one.controller), "")


def _pods(storm: UpStorm, seen: View) -> Iterator[str]:
    works = {work.uid: work for work in storm.works}
    counts: dict[str, int] = {}
    for uid, pod in seen.pods.items():
        name, phase = pod.metadata.name, pod.status.phase
        owner = _controller(pod)
        if uid not in works and owner not in seen.replica_sets and owner not in seen.others:
            yield f"pod {name} is an orphan"
        if pod.metadata.deletion_timestamp is not None:
            yield f"pod {name} does not go"
            continue
        counts[owner] = counts.get(owner, 0) + 1
        if not pod.spec.node_name:
            node = _place(pod, seen)
            if node is not None:
                yield f"pod {name} waits, and {node} has what it wants: {_reason(pod)}"
            continue
        lasting = works[uid].lasting if uid in works else owner in seen.replica_sets
        ended = phase == "Succeeded" or (phase == "Failed" and uid not in works)
        if lasting:
            if phase != "Running" or not all(one.ready for one in pod.status.container_statuses):
                yield f"pod {name} is {phase} on {pod.spec.node_name} and should run"
        elif not ended and not (phase == "Failed" and _was_lost(pod)):
            yield f"pod {name} is {phase} on {pod.spec.node_name} and should have ended"
    for uid, replica_set in seen.replica_sets.items():
        if counts.get(uid, 0) != (replica_set.spec.replicas or 0):
            yield f"ReplicaSet {replica_set.metadata.name} has {counts.get(uid, 0)} pods"


def _was_lost(pod: Pod) -> bool:
    """What a simulated node runs ends with it, and is not started again if that was not wanted."""
    return pod.spec.node_name not in REAL_NODES


def _reason(pod: Pod) -> str:
    return next((one.message for one in pod.status.conditions if one.status == "False"), "")


def _place(pod: Pod, seen: View) -> str | None:
    """A node that a waiting pod could have; None if there is none, or it may not have any."""
    own = {claim.metadata.name: claim for claim in seen.claims.values()}
    needs: list[Need] = []
    others = list(seen.claims.values())
    nodes: Sequence[str] | None = None
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_template_name:
            needs += SHAPES[entry.resource_claim_template_name]
            continue
        claim = own.get(entry.resource_claim_name or "")
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return None
        users = {one.uid for one in claim.status.reserved_for} - {pod.metadata.uid}
        if claim.status.allocation is not None and users:
            nodes = [claim.status.allocation.devices.results[0].pool]
        else:
            needs += SHAPES[claim.metadata.labels["shape"]]
            others.remove(claim)
    for container in pod.spec.containers or ():
        amount = container.resources.requests.get(EXTENDED_RESOURCE)
        if amount is not None:
            needs.append(Need("plain", count=amount.value()))
    mine = [
        claim
        for claim in others
        # What was given to it already may be given back.
        if _controller(claim) != pod.metadata.uid
    ]
    return Room(seen.slices, mine).node_for(needs, nodes)


def _claims(storm: UpStorm, seen: View) -> Iterator[str]:
    named = {work.uid for work in storm.works if work.kind is ResourceClaim}
    living = {uid: pod for uid, pod in seen.pods.items() if _alive(pod)}
    for uid, claim in seen.claims.items():
        name = claim.metadata.name
        if uid not in named and _controller(claim) not in living:
            yield f"claim {name} is left of a pod that has ended: {claim.metadata.owner_references}"
        if claim.status.allocation is not None and not claim.status.reserved_for:
            yield f"claim {name} has devices, and nobody uses it"
    for pod in living.values():
        wanted = {entry.name for entry in pod.spec.resource_claims}
        there = {one.name for one in references(pod) if one.claim_name or one.error == ""}
        if not wanted <= there:
            yield f"pod {pod.metadata.name} has no claims for {sorted(wanted - there)}"


def _prepared(seen: View, node: str) -> dict[str, ResourceClaim]:
    """Claims that should be prepared on a node, by UID."""
    claims = {claim.metadata.name: claim for claim in seen.claims.values()}
    return {
        claims[one.claim_name].metadata.uid: claims[one.claim_name]
        for pod in seen.pods.values()
        if pod.spec.node_name == node and _alive(pod)
        for one in references(pod)
        if one.claim_name in claims
    }


def _files(machine: UpMachine, seen: View) -> Iterator[str]:
    for node in REAL_NODES:
        present = [uid for uid, pod in seen.pods.items() if pod.spec.node_name == node]
        for name in machine.leftovers(node):
            if not any(uid in name for uid in present):
                yield f"{name} of {node} is left of a pod that is gone"
        wanted = _prepared(seen, node)
        recorded = {info.claim.uid: info.claim.name for info in machine.checkpoint(node)}
        journal = {entry.uid: entry for entry in machine.journal(node)}
        for place, uids in (("checkpoint", recorded.keys()), ("journal", journal.keys())):
            if uids != wanted.keys():
                yield f"the {place} of {node} has other claims: {sorted(uids ^ wanted.keys())}"
        named = {
            name.partition("=")[2]: entry.name
            for entry in journal.values()
            for device in entry.devices
            for name in device.cdi_devices
        }
        for entry in journal.values():
            if entry.phase is not Phase.COMMITTED:
                yield f"{entry.name} is {entry.phase} in the journal of {node}"
        for file, devices in machine.cdi_devices(node).items():
            if not devices or not set(devices) <= named.keys():
                yield f"CDI file {file} of {node} is an orphan"
            for device in devices:
                named.pop(device, None)
        for device, claim in named.items():
            yield f"no CDI file of {node} has {device} of {claim}"


def _processes(machine: UpMachine, seen: View) -> Iterator[str]:
    wanted = {
        uid
        for uid, pod in seen.pods.items()
        if pod.spec.node_name in REAL_NODES and pod.status.phase == "Running"
    }
    found: dict[str, int] = {}
    for process in machine.processes():
        found[process.uid] = found.get(process.uid, 0) + 1
    for uid in sorted(found.keys() - wanted):
        yield f"{found[uid]} processes of pod {uid} are orphans"
    for uid in sorted(wanted):
        if found.get(uid, 0) != 1:
            yield f"pod {seen.pods[uid].metadata.name} has {found.get(uid, 0)} processes"
    supervisors = machine.supervisors()
    if len(supervisors) != len(wanted):
        yield f"{len(wanted)} containers have {len(supervisors)} supervisors"


def _resources(machine: UpMachine) -> Iterator[str]:
    descriptors = machine.descriptors()
    if descriptors > DESCRIPTORS_MAX:
        yield f"dray up has {descriptors} descriptors open"
    resident = machine.resident_bytes()
    if resident > RESIDENT_BYTES_MAX:
        yield f"dray up takes {resident // 1024 // 1024} MB"
