"""A scheduler under load: pods with claims made from a template, through the API, writes synced.

    python -m benchmarks.scheduling [WORKLOAD ...] [--peer] [--profile]

The workloads have the shapes of upstream's scheduler_perf. `burst` creates pods as fast as it can
until all devices are given away, after half of them were. The others are steady: a pod that has its
node is deleted and another created, on a fleet of which no device, half of them (`half`) or all but
ten (`full`) are in use.

The API server is one process, scheduler and controllers are another, and whoever creates the pods
and watches them is this one. A latency is from sending a pod to hearing that it has a node. With
`--peer` every workload is measured a second time, right after, on etcd, kube-apiserver,
kube-controller-manager and kube-scheduler (`python -m tests.interop.build` makes them, which needs
Go), with the limits on their clients lifted.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import gc
import logging
import os
import pstats
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.node import cpu_seconds, resident_mb, server
from dray.agent.garbage import keep_what_is_there
from dray.api.core import (
    Container,
    Node,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceRequirements,
    ServiceAccount,
)
from dray.api.core import ResourceClaim as ContainerClaim
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    AllocationResult,
    CELDeviceSelector,
    Device,
    DeviceAllocationResult,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.wire import replace
from dray.client import Client, Informer, Informers, connect, load_kubeconfig
from dray.clock import SystemClock
from dray.controllers.controllers import Controllers
from dray.entropy import SystemEntropy
from dray.errors import AlreadyExists, NotFound
from dray.http.loop import run as run_loop
from dray.scheduler.scheduler import Scheduler
from tests.interop.build import path_of
from tests.interop.upstream import Upstream

__all__ = ["WORKLOADS", "main"]

DRIVER: Final = "test-driver.example.com"
NAMESPACE: Final = "default"
DEVICES_PER_NODE: Final = 10
STEADY_SECONDS: Final = 10.0
STEADY_PODS: Final = 10
AT_ONCE: Final = 64

PODS_PER_SECOND_MIN: Final = 500.0
LARGE_RATIO_MIN: Final = 0.7

# What a cluster that somebody watches runs; the others have nothing to do here.
CONTROLLERS: Final = ("resourceclaim-controller", "garbage-collector-controller")


@dataclass(frozen=True, slots=True)
class Workload:
    """So many nodes, and what is done on them."""

    nodes: int
    pods: int = 0  # of a burst; steady if there are none
    pods_before: int = 0
    devices_in_use: int = 0  # before a steady one


WORKLOADS: Final = {
    "burst_200": Workload(200, pods=1000, pods_before=1000),
    "burst_500": Workload(500, pods=2500, pods_before=2500),
    "burst_5000": Workload(5000, pods=2500, pods_before=2500),
    "empty_500": Workload(500),
    "half_500": Workload(500, devices_in_use=2500),
    "full_500": Workload(500, devices_in_use=4990),
    "half_5000": Workload(5000, devices_in_use=25_000),
}

# Upstream's parts, and what they are told besides.
PEERS: Final = {
    "kube-controller-manager": (
        "--controllers=resourceclaim-controller,garbage-collector-controller",
        "--secure-port=0",
    ),
    "kube-scheduler": ("--secure-port=0",),
}

DEFAULT: Final = ("burst_200", "burst_500", "empty_500", "half_500", "full_500", "burst_5000")


# The cluster ------------------------------------------------------------------------------------


async def furnish(client: Client, workload: Workload) -> None:
    """Nodes, their devices, and what is asked for."""
    with contextlib.suppress(AlreadyExists):
        # Whose work that is in a whole cluster is not there in upstream's.
        await client.create(
            ServiceAccount(metadata=ObjectMeta(name="default", namespace=NAMESPACE))
        )
    await each(workload.nodes, lambda number: add_node(client, number))
    expression = f'device.driver == "{DRIVER}"'
    selectors = (DeviceSelector(cel=CELDeviceSelector(expression=expression)),)
    await client.create(
        DeviceClass(metadata=ObjectMeta(name="test"), spec=DeviceClassSpec(selectors=selectors))
    )
    await client.create(
        ResourceClaimTemplate(
            metadata=ObjectMeta(name="test", namespace=NAMESPACE),
            spec=ResourceClaimTemplateSpec(spec=claim_spec()),
        )
    )
    in_use = [
        (node_name(number % workload.nodes), f"instance-{number // workload.nodes}")
        for number in range(workload.devices_in_use)
    ]
    await each(len(in_use), lambda number: add_claim(client, number, *in_use[number]))


async def add_node(client: Client, number: int) -> None:
    name = node_name(number)
    await client.create(Node(metadata=ObjectMeta(name=name)))
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    await client.patch(Node, name, {"status": status}, subresource="status")
    await client.patch(Node, name, {"spec": {"taints": None}})
    await client.create(
        ResourceSlice(
            metadata=ObjectMeta(name=f"{name}-slice"),
            spec=ResourceSliceSpec(
                driver=DRIVER,
                node_name=name,
                pool=ResourcePool(name=name, generation=1, resource_slice_count=1),
                devices=tuple(device(index) for index in range(DEVICES_PER_NODE)),
            ),
        )
    )


def device(index: int) -> Device:
    return Device(
        name=f"instance-{index}",
        attributes={
            "model": DeviceAttribute(string_value="A100"),
            "family": DeviceAttribute(string_value="GPU"),
            "driverVersion": DeviceAttribute(version_value="1.2.3"),
            "numa": DeviceAttribute(int_value=index % 2),
        },
        capacity={"memory": DeviceCapacity(value=Quantity.parse("1Gi"))},
    )


def node_name(number: int) -> str:
    return f"scheduler-perf-dra-{number:05}"


def claim_spec() -> ResourceClaimSpec:
    wanted = DeviceRequest(name="req-0", exactly=ExactDeviceRequest(device_class_name="test"))
    return ResourceClaimSpec(devices=DeviceClaim(requests=(wanted,)))


async def add_claim(client: Client, number: int, node: str, name: str) -> None:
    """A claim that has a device, of which no pod knows."""
    claim = await client.create(
        ResourceClaim(
            metadata=ObjectMeta(name=f"in-use-{number}", namespace=NAMESPACE), spec=claim_spec()
        )
    )
    result = DeviceRequestAllocationResult(request="req-0", driver=DRIVER, pool=node, device=name)
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    await client.update_status(replace(claim, status=ResourceClaimStatus(allocation=allocation)))


async def each(count: int, work: Callable[[int], Awaitable[None]]) -> None:
    """Do something for each number, a few at a time."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


# The load ---------------------------------------------------------------------------------------


class Load:
    """Creates pods, and notes when each has its node."""

    def __init__(self, client: Client, watched: Informer[Pod]) -> None:
        self._client = client
        self._sent: dict[str, float] = {}
        self.latencies: list[float] = []
        self._waiting: dict[str, asyncio.Future[None]] = {}
        watched.listen(self._hear)

    def _hear(self, old: Pod | None, new: Pod | None) -> None:
        if new is None or not new.spec.node_name or (old is not None and old.spec.node_name):
            return
        name = new.metadata.name
        sent = self._sent.pop(name, None)
        if sent is not None:
            self.latencies.append(time.perf_counter() - sent)
            self._waiting.pop(name).set_result(None)

    async def pod(self, name: str) -> None:
        """A pod, from sending it to having a node."""
        self._sent[name] = time.perf_counter()
        placed = self._waiting[name] = asyncio.get_running_loop().create_future()
        await self._client.create(pod(name))
        await placed

    async def send(self, name: str) -> asyncio.Future[None]:
        """A pod, sent; what is returned is done when it has a node."""
        self._sent[name] = time.perf_counter()
        placed = self._waiting[name] = asyncio.get_running_loop().create_future()
        await self._client.create(pod(name))
        return placed

    async def burst(self, prefix: str, count: int) -> float:
        """So many pods, as fast as the server takes them; returns the seconds for all."""
        began = time.perf_counter()
        placed: list[asyncio.Future[None]] = []

        async def send(number: int) -> None:
            placed.append(await self.send(f"{prefix}-{number}"))

        await each(count, send)
        await asyncio.gather(*placed)
        return time.perf_counter() - began

    async def steady(self, seconds: float) -> float:
        """A few pods at a time, each replaced when it has its node; returns the rate."""
        began = time.perf_counter()
        done = 0

        async def one(place: int) -> None:
            nonlocal done
            number = 0
            while time.perf_counter() - began < seconds:
                name = f"steady-{place}-{number}"
                number += 1
                await self.pod(name)
                done += 1
                with contextlib.suppress(NotFound):
                    await self._client.delete(
                        Pod, name, namespace=NAMESPACE, grace_period_seconds=0
                    )

        await asyncio.gather(*(one(place) for place in range(STEADY_PODS)))
        return done / (time.perf_counter() - began)


def pod(name: str) -> Pod:
    main = Container(
        name="main",
        image="registry.example/pause:1",
        resources=ResourceRequirements(claims=(ContainerClaim(name="resource"),)),
    )
    claims = (PodResourceClaim(name="resource", resource_claim_template_name="test"),)
    return Pod(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE),
        spec=PodSpec(containers=(main,), resource_claims=claims),
    )


# Processes --------------------------------------------------------------------------------------


async def control(kubeconfig: Path) -> None:
    """Scheduler and controllers, until told to stop."""
    clock, entropy = SystemClock(), SystemEntropy()
    client = connect(load_kubeconfig(kubeconfig), clock=clock)
    informers = Informers(client, clock=clock, entropy=entropy)
    controllers = Controllers(
        client, informers=informers, clock=clock, entropy=entropy, names=CONTROLLERS
    )
    scheduler = Scheduler(client, informers=informers, clock=clock, entropy=entropy)
    tasks = [asyncio.ensure_future(part.run()) for part in (informers, controllers, scheduler)]
    await scheduler.ready()
    await controllers.ready()
    keep_what_is_there()
    print("ready", flush=True)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def controlling(kubeconfig: Path, *, profile: bool) -> Iterator[int]:
    """A process with a scheduler and controllers; yields its pid."""
    words = [sys.executable, "-m", "benchmarks.scheduling", "--control", str(kubeconfig)]
    if profile:
        words.append("--profile")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert "ready" in process.stdout.readline()
        yield process.pid
    finally:
        process.terminate()
        output = process.stdout.read()
        process.wait()
        process.stdout.close()
        if profile:
            print(output)


def children() -> list[int]:
    """The processes that this one started, in the order of their starts."""
    own = os.getpid()
    listed = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    return sorted(map(int, listed))


@asynccontextmanager
async def loaded(kubeconfig: Path) -> AsyncIterator[tuple[Client, Load]]:
    clock, entropy = SystemClock(), SystemEntropy()
    client = connect(load_kubeconfig(kubeconfig), clock=clock)
    # Who only wants to know when pods have nodes asks for those.
    informer = Informer(
        client,
        Pod,
        clock=clock,
        entropy=entropy,
        namespace=NAMESPACE,
        field_selector="spec.nodeName!=",
    )
    watching = asyncio.ensure_future(informer.run())
    await informer.synced()
    try:
        yield client, Load(client, informer)
    finally:
        watching.cancel()
        await client.close()


# Measuring --------------------------------------------------------------------------------------


async def prepare(kubeconfig: Path, workload: Workload) -> None:
    client = connect(load_kubeconfig(kubeconfig), clock=SystemClock())
    await furnish(client, workload)
    await client.close()


async def measure(kubeconfig: Path, workload: Workload, pids: dict[str, int]) -> float:
    """Pods per second, with what else there is to tell printed."""
    async with loaded(kubeconfig) as (_, load):
        if workload.pods_before:
            await load.burst("before", workload.pods_before)
            load.latencies.clear()
        gc.collect()
        gc.freeze()
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        if workload.pods:
            rate = workload.pods / await load.burst("pod", workload.pods)
        else:
            rate = await load.steady(STEADY_SECONDS)
        count = len(load.latencies)
        load.latencies.sort()
        p50, p99 = (load.latencies[int(count * share)] for share in (0.5, 0.99))
        costs = ", ".join(
            f"{name} {1e3 * (cpu_seconds(pid) - before[name]) / count:.2f} ms CPU per pod, "
            f"{resident_mb(pid):.0f} MB"
            for name, pid in pids.items()
        )
        print(f"  {rate:.0f} pods/s, latency p50 {p50 * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms")
        if costs:
            print(f"  {costs}", flush=True)
        return rate


def run_workload(name: str, *, profile: bool) -> float:
    """One workload on a cluster of its own."""
    workload = WORKLOADS[name]
    print(f"{name}:", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="dray") as directory,
        server(Path(directory), durable=True) as kubeconfig,
    ):
        run_loop(prepare(kubeconfig, workload))
        with controlling(kubeconfig, profile=profile) as controls:
            pids = {"server": children()[0], "scheduler and controllers": controls}
            return run_loop(measure(kubeconfig, workload, pids))


def run_peer(name: str) -> float:
    """The same on a cluster of upstream's."""
    workload = WORKLOADS[name]
    print(f"{name}, upstream:", flush=True)
    peer = Upstream(durable=True)
    kubeconfig = peer.endpoint.kubeconfig
    try:
        run_loop(prepare(kubeconfig, workload))
        with contextlib.ExitStack() as stack:
            pids = {"apiserver": peer.process_ids[0], "etcd": peer.process_ids[1]}
            for part, options in PEERS.items():
                words = [str(path_of(part)), f"--kubeconfig={kubeconfig}", *options]
                words += ["--leader-elect=false", "--kube-api-qps=5000", "--kube-api-burst=5000"]
                quiet = subprocess.DEVNULL
                process = subprocess.Popen(words, stdout=quiet, stderr=quiet, cwd=peer.folder)
                stack.callback(process.wait)
                stack.callback(process.terminate)
                pids[part] = process.pid
            return run_loop(measure(kubeconfig, workload, pids))
    finally:
        peer.stop()


def main(names: tuple[str, ...] = DEFAULT, *, profile: bool = False, peer: bool = False) -> bool:
    """All workloads; whether every floor is kept."""
    logging.disable(logging.WARNING)
    rates = {}
    for name in names:
        rates[name] = run_workload(name, profile=profile)
        if peer:
            print(f"  {rates[name] / run_peer(name):.1f} times as many pods per second")
    held = True
    for name, rate in rates.items():
        if name.endswith("_500") and rate < PODS_PER_SECOND_MIN:
            print(f"  MISSED: {name}: {rate:.0f} pods/s; at least {PODS_PER_SECOND_MIN:.0f}")
            held = False
    if "burst_500" in rates and "burst_5000" in rates:
        ratio = rates["burst_5000"] / rates["burst_500"]
        print(f"ten times the nodes: {ratio:.2f} of the rate")
        if ratio < LARGE_RATIO_MIN:
            print(f"  MISSED: at least {LARGE_RATIO_MIN}")
            held = False
    return held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--profile", action="store_true", help="of the scheduler's process")
    parser.add_argument("--peer", action="store_true", help="measure upstream as well")
    parser.add_argument("--control", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.control is not None:
        logging.disable(logging.WARNING)
        profiler = cProfile.Profile()
        if arguments.profile:
            profiler.enable()
        run_loop(control(arguments.control))
        if arguments.profile:
            profiler.disable()
            pstats.Stats(profiler).sort_stats("tottime").print_stats(40)
    else:
        chosen = tuple(arguments.names) or DEFAULT
        sys.exit(0 if main(chosen, profile=arguments.profile, peer=arguments.peer) else 1)
