"""What must be so on a machine once a storm is over: in the API, in files, and among processes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence

from dray.api.core import Pod
from dray.clock import SystemClock
from dray.sdk._journal import Phase
from tests.e2e.node_machine import DRIVERS, NODE, Member
from tests.e2e.node_storm import NAMESPACE, Claim, Storm, Work

__all__ = ["problems", "settled"]

# Drivers that were away are asked at once; what failed otherwise is tried again within a minute.
SETTLE_SECONDS = 90.0
LOOK_SECONDS = 0.1

# An agent has some dozens, and a few for every container and driver.
DESCRIPTORS_MAX = 120
RESIDENT_BYTES_MAX = 200 * 1024 * 1024


async def settled(storm: Storm) -> tuple[float, Sequence[str]]:
    """Wait until nothing is wrong any more; returns how long that took, and what was wrong last."""
    clock = SystemClock()
    began = clock.monotonic()
    last: Sequence[str] = ()
    while found := await problems(storm):
        last = found
        if clock.monotonic() - began > SETTLE_SECONDS:
            words = "\n".join(
                f"--- {member.log}\n{member.last_words()}" for member in storm.machine.members
            )
            raise AssertionError("\n".join([*found, words]))
        storm.changed.clear()
        try:
            await asyncio.wait_for(storm.changed.wait(), LOOK_SECONDS)
        except TimeoutError:
            # Files and processes say nothing when they change.
            continue
    return clock.monotonic() - began, last


async def problems(storm: Storm) -> list[str]:
    """Everything that is not as it should be, a line each."""
    for member in (storm.machine.server, *storm.machine.members):
        code = member.ended_by_itself
        assert code is None, f"{member.name} exited with {code}:\n{member.last_words()}"
    listed = await storm.client.list(Pod, namespace=NAMESPACE)
    pods = {pod.metadata.uid: pod for pod in listed.items}
    return [
        *_pods(storm, pods),
        *_claims(storm),
        *_files(storm),
        *_processes(storm),
        *await _health(storm, pods),
        *(_resources(storm, storm.machine.agent)),
    ]


def _expected(storm: Storm) -> list[Work]:
    """Pods that should run."""
    return [work for work in storm.works.values() if work.lasting and not work.deleted]


def _prepared(storm: Storm) -> dict[str, Claim]:
    """Claims that should be prepared, by UID."""
    return {claim.uid: claim for work in _expected(storm) for claim in work.claims}


def _pods(storm: Storm, pods: dict[str, Pod]) -> Iterator[str]:
    for work in storm.works.values():
        pod = pods.get(work.uid)
        if work.deleted:
            if pod is not None:
                yield f"{work.name} was deleted and is still there: {pod.status.phase}"
            continue
        if pod is None:
            yield f"{work.name} is gone, and nobody deleted it"
            continue
        wanted = "Running" if work.lasting else "Succeeded"
        if pod.status.phase != wanted:
            yield (
                f"{work.name} is {pod.status.phase} and not {wanted}: {pod.status.reason} "
                f"{pod.status.message}"
            )
        elif work.lasting and not all(one.ready for one in pod.status.container_statuses):
            yield f"{work.name} runs, and its containers are not ready"


def _claims(storm: Storm) -> Iterator[str]:
    wanted = _prepared(storm)
    known = {claim.uid for claim in storm.claims}
    if set(wanted) != known:
        yield f"claims that are not freed, or not there: {sorted(known ^ wanted.keys())}"
    recorded = {info.claim.uid: info for info in storm.machine.checkpoint()}
    for uid in recorded.keys() - wanted.keys():
        yield f"{recorded[uid].claim.name} is in the checkpoint and not in use"
    for uid, claim in wanted.items():
        users = {work.uid for work in _expected(storm) if claim in work.claims}
        if uid not in recorded:
            yield f"{claim.name} is in use and not in the checkpoint"
        elif recorded[uid].pods != users:
            yield f"{claim.name} is recorded for {sorted(recorded[uid].pods)}, not {sorted(users)}"
        else:
            found = {
                (driver, device.device)
                for driver, devices in recorded[uid].drivers.items()
                for device in devices
            }
            if found != set(claim.devices):
                yield f"{claim.name} is recorded with {found} and has {claim.devices}"


def _files(storm: Storm) -> Iterator[str]:
    present = [work.uid for work in storm.works.values() if not work.deleted]
    for name in storm.machine.leftovers():
        if not any(uid in name for uid in present):
            yield f"{name} is left of a pod that is gone"
    for uid in storm.machine.frozen() - set(present):
        yield f"the last health of pod {uid} is kept, which is gone"
    named: dict[str, str] = {}
    for driver in DRIVERS:
        wanted = {
            claim.uid: {device for owner, device in claim.devices if owner == driver}
            for claim in _prepared(storm).values()
            if any(owner == driver for owner, _ in claim.devices)
        }
        found = {entry.uid: entry for entry in storm.machine.journal(driver)}
        for uid in found.keys() - wanted.keys():
            yield f"{found[uid].name} is in the journal of {driver} and not in use"
        for uid in wanted.keys() - found.keys():
            yield f"claim {uid} is in use and not in the journal of {driver}"
        for uid in wanted.keys() & found.keys():
            entry = found[uid]
            if entry.phase is not Phase.COMMITTED:
                yield f"{entry.name} is {entry.phase} in the journal of {driver}"
            if {one.device for one in entry.devices} != wanted[uid]:
                yield f"{entry.name} has other devices in the journal of {driver}"
            named |= {
                name.partition("=")[2]: entry.name
                for device in entry.devices
                for name in device.cdi_devices
            }
    for name, devices in storm.machine.cdi_files().items():
        if not devices or not set(devices) <= named.keys():
            yield f"CDI file {name} is an orphan"
        for device in devices:
            named.pop(device, None)
    for device in named:
        yield f"no CDI file has {device} of {named[device]}"


def _processes(storm: Storm) -> Iterator[str]:
    works = {work.name: work for work in _expected(storm)}
    wanted = {(work.name, name) for work in works.values() for name in work.containers}
    found = set()
    for process in storm.machine.processes():
        if process.container not in wanted:
            yield f"process {process.pid} of {process.container} is an orphan"
            continue
        found.add(process.container)
        pod, container = process.container
        given = {
            name: value
            for name, value in process.environment.items()
            if name.startswith("SIMULATED_DEVICE_")
        }
        if given != _environment(works[pod].containers[container]):
            yield f"process {process.pid} of {process.container} has the environment {given}"
    for missing in wanted - found:
        yield f"container {missing} has no process"
    supervisors = storm.machine.supervisors()
    if len(supervisors) != len(wanted):
        yield f"{len(wanted)} containers have {len(supervisors)} supervisors"


def _environment(claims: tuple[Claim, ...]) -> dict[str, str]:
    told: dict[str, str] = {}
    for claim in claims:
        for _driver, device in claim.devices:
            name = f"SIMULATED_DEVICE_{re.sub('[^A-Z0-9]', '_', device.upper())}"
            told |= {name: device, f"{name}_POOL": NODE}
    return told


async def _health(storm: Storm, pods: dict[str, Pod]) -> list[str]:
    bad: set[tuple[str, str]] = set()
    names: dict[str, tuple[str, str]] = {}
    for driver in DRIVERS:
        told = await storm.machine.tell(driver, {"list": True})
        bad |= {(driver, fault["device"]) for fault in told["faults"]}
        for entry in storm.machine.journal(driver):
            for device in entry.devices:
                names |= dict.fromkeys(device.cdi_devices, (driver, device.device))
    found = []
    for work in _expected(storm):
        pod = pods.get(work.uid)
        for status in pod.status.container_statuses if pod else ():
            wanted = {
                (f"claim:{claim.name}", device): "Unhealthy" if device in bad else "Healthy"
                for claim in work.containers[status.name]
                for device in claim.devices
            }
            shown = {
                (entry.name, names.get(one.resource_id)): one.health
                for entry in status.allocated_resources_status
                for one in entry.resources
            }
            if shown != wanted:
                found.append(f"{work.name}/{status.name} shows {shown} and not {wanted}")
    return found


def _resources(storm: Storm, agent: Member) -> Iterator[str]:
    descriptors = storm.machine.descriptors(agent)
    if descriptors > DESCRIPTORS_MAX:
        yield f"the agent has {descriptors} descriptors open"
    resident = storm.machine.resident_bytes(agent)
    if resident > RESIDENT_BYTES_MAX:
        yield f"the agent takes {resident // 1024 // 1024} MB"
