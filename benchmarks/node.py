"""A node under load: how soon a pod shows what became of its device, and what nodes cost.

    python -m benchmarks.node [health | memory | fleet | idle]

`health` is a node with a thousand pods, each with a device of its own, against an API server in a
process of its own that syncs every write; `memory` is the same with a server that keeps nothing. A
time is from the fault in the driver to the event that a watcher of pods gets. `fleet` are hundreds
of simulated nodes with a driver each; `idle` is what an agent and a driver use that have nothing to
do. Every part runs in a process of its own, since memory is measured.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import Final

from dray.agent.agent import Agent
from dray.agent.fleet import Fleet
from dray.agent.garbage import keep_what_is_there
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.settings import AgentSettings
from dray.api.core import Container, Pod, PodResourceClaim, PodSpec, ResourceRequirements
from dray.api.core import ResourceClaim as ContainerClaim
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.client import Client, EventType, connect, load_kubeconfig
from dray.clock import SystemClock
from dray.drivers.simulated import Fault, FaultKind, Faults, SimulatedDriver, read_fleet
from dray.entropy import SystemEntropy
from dray.http.loop import run as run_loop
from dray.sdk import Settings, serve
from dray.server.pki import write_kubeconfig
from dray.server.server import Server
from dray.server.server import Settings as ServerSettings
from dray.server.user import SYSTEM_MASTERS
from dray.store.memory import MemoryStore

__all__ = ["main"]

NODE: Final = "node-1"
PODS: Final = 1000
CHANGES: Final = 200
ROUNDS: Final = 3
FLAPS_PER_SECOND: Final = 100
FLAPPING_SECONDS: Final = 20.0
NODES: Final = 500
IDLE_SECONDS: Final = 20.0
AT_ONCE: Final = 16

LATENCY_P99_MS_MAX: Final = 50.0
FLAPPING_MB_MAX: Final = 20.0
DRIVER_MB_MAX: Final = 60.0
IDLE_PERCENT_MAX: Final = 3.0
NODE_MB_MAX: Final = 2.0
NODE_SECONDS_MAX: Final = 0.2

FLEET: Final = """
models: {{gpu: {{}}}}
nodes:
- devices: [{{model: gpu, count: {count}}}]
"""

PARTS: Final = ("health", "memory", "fleet", "idle")


# Servers ----------------------------------------------------------------------------------------


@contextmanager
def server(folder: Path, *, durable: bool) -> Iterator[Path]:
    """A server in a process of its own; yields its kubeconfig."""
    kubeconfig = folder / "kubeconfig"
    words = [sys.executable, "-m", "benchmarks.node", "serve", str(folder)]
    if durable:
        words = [sys.executable, "-m", "dray", "server", "--port", "0"]
        words += ["--data-dir", str(folder / "data"), "--kubeconfig", str(kubeconfig)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        assert "ready" in process.stdout.readline()
        yield kubeconfig
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def serve_from_memory(folder: Path) -> None:
    settings = ServerSettings(secrets=folder / "pki")
    running = Server(MemoryStore(), settings, SystemClock(), SystemEntropy())
    await running.start()
    write_kubeconfig(
        folder / "kubeconfig",
        server=running.url,
        authority=running.authority.certificate,
        credentials=running.authority.client_certificate("admin", [SYSTEM_MASTERS]),
    )
    print("ready", flush=True)
    await asyncio.Event().wait()


# One node with a thousand pods ------------------------------------------------------------------


class Watcher:
    """A client that watches all pods and notes when each shows another health."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.shown: dict[str, str] = {}
        self._waiting: dict[tuple[str, str], asyncio.Future[float]] = {}

    async def run(self) -> None:
        async for event in self._client.watch(Pod, namespace="default"):
            if event.type is EventType.BOOKMARK:
                continue
            name, shown = event.object.metadata.name, _health(event.object)
            self.shown[name] = shown
            waiting = self._waiting.pop((name, shown), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(time.perf_counter())

    def when(self, name: str, health: str) -> asyncio.Future[float]:
        """The moment a pod shows this."""
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        if self.shown.get(name) == health:
            future.set_result(time.perf_counter())
        else:
            self._waiting[name, health] = future
        return future


def _health(pod: Pod) -> str:
    for status in pod.status.container_statuses:
        for entry in status.allocated_resources_status:
            for resource in entry.resources:
                return resource.health or ""
    return ""


async def add_pod(client: Client, index: int, driver: str) -> None:
    """A pod with a claim that has the device of the same number."""
    name = f"pod-{index}"
    request = ExactDeviceRequest(device_class_name="class")
    requests = (DeviceRequest(name="r", exactly=request),)
    claim = await client.create(
        ResourceClaim(
            metadata=ObjectMeta(name=name, namespace="default"),
            spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
        )
    )
    pod = await client.create(_pod(name))
    result = DeviceRequestAllocationResult(
        request="r", driver=driver, pool=NODE, device=f"gpu-{index}"
    )
    consumer = ResourceClaimConsumerReference(resource="pods", name=name, uid=pod.metadata.uid)
    status = ResourceClaimStatus(
        allocation=AllocationResult(devices=DeviceAllocationResult(results=(result,))),
        reserved_for=(consumer,),
    )
    await client.update_status(replace(claim, status=status))


def _pod(name: str) -> Pod:
    claims = (ContainerClaim(name="device"),)
    container = Container(name="main", image="none", resources=ResourceRequirements(claims=claims))
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=PodSpec(
            node_name=NODE,
            containers=(container,),
            resource_claims=(PodResourceClaim(name="device", resource_claim_name=name),),
            automount_service_account_token=False,
        ),
    )


async def at_once(count: int, work: Callable[[int], Awaitable[None]]) -> None:
    """Do something so many times, a few at a time."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(index: int) -> None:
        async with slots:
            await work(index)

    await asyncio.gather(*(one(index) for index in range(count)))


@asynccontextmanager
async def node(kubeconfig: Path, root: Path, faults: Faults) -> AsyncIterator[Agent]:
    """An agent with a driver of a thousand devices in its process."""
    clock, entropy = SystemClock(), SystemEntropy()
    client = connect(load_kubeconfig(kubeconfig), clock=clock)
    settings = AgentSettings(node_name=NODE, root=root, pods_max=2 * PODS)
    agent = Agent(client, MemoryRuntime(clock), settings, clock=clock, entropy=entropy)
    running = asyncio.ensure_future(agent.run())
    await agent.ready()
    driver = SimulatedDriver(read_fleet(FLEET.format(count=PODS)), faults)
    place = Settings(node_name=NODE, in_memory=True)
    async with serve(driver, place, client=client, clock=clock, entropy=entropy) as served:
        agent.attach(driver.name, served.service)
        keep_what_is_there()  # as `dray node` does
        yield agent
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await client.close()


async def measure_health(kubeconfig: Path, root: Path) -> bool:
    faults = Faults()
    user = connect(load_kubeconfig(kubeconfig), clock=SystemClock())
    async with node(kubeconfig, root, faults) as agent:
        watcher = Watcher(user)
        watching = asyncio.ensure_future(watcher.run())
        driver = agent.plugins.drivers()[0]
        began = time.perf_counter()
        healthy = [watcher.when(f"pod-{index}", "Healthy") for index in range(PODS)]
        await at_once(PODS, lambda index: add_pod(user, index, driver))
        await asyncio.gather(*healthy)
        seconds = time.perf_counter() - began
        print(f"{PODS} pods with claims created, prepared and shown healthy in {seconds:.1f} s")
        held = await _one_by_one(faults, watcher)
        await _all_together(faults, watcher)
        held &= await _flapping(agent, faults, watcher)
        await _at_rest()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    await user.close()
    return held


async def _one_by_one(faults: Faults, watcher: Watcher) -> bool:
    """Devices that fail and recover now and then, one at a time; the best of some rounds counts."""
    random, best = Random(1), float("inf")
    for _ in range(ROUNDS):
        busy, times = time.process_time(), []
        for _ in range(CHANGES // 2):
            index = random.randrange(PODS)
            for health in ("Unhealthy", "Healthy"):
                seen = watcher.when(f"pod-{index}", health)
                began = time.perf_counter()
                _turn(faults, index, health)
                times.append((await seen - began) * 1000)
                await asyncio.sleep(random.uniform(0.02, 0.08))
        cost = (time.process_time() - busy) / CHANGES * 1000
        times.sort()
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        best = min(best, p99)
        print(
            f"one device of {PODS} changes: p50 {p50:.1f} ms, p99 {p99:.1f} ms, max "
            f"{times[-1]:.1f} ms; {cost:.1f} ms of processor time (driver, agent, watcher)"
        )
    return _holds("ms for a change of health (p99)", best, LATENCY_P99_MS_MAX)


async def _all_together(faults: Faults, watcher: Watcher) -> None:
    for health in ("Unhealthy", "Healthy"):
        seen = [watcher.when(f"pod-{index}", health) for index in range(PODS)]
        began = time.perf_counter()
        if health == "Unhealthy":
            faults.inject(Fault(kind=FaultKind.UNHEALTHY, message="power"))
        else:
            faults.recover()
        await asyncio.gather(*seen)
        seconds = time.perf_counter() - began
        print(f"all {PODS} devices turn {health}: shown by all pods in {seconds:.2f} s")


async def _flapping(agent: Agent, faults: Faults, watcher: Watcher) -> bool:
    random, longest, before = Random(2), 0, resident_mb()
    tasks = len(asyncio.all_tasks())
    began, busy = time.perf_counter(), time.process_time()
    for step in range(int(FLAPPING_SECONDS * FLAPS_PER_SECOND)):
        index = random.randrange(PODS)
        _turn(faults, index, "Healthy" if faults.of(f"gpu-{index}") else "Unhealthy")
        waiting = len(agent.pods._writer._ready) + len(agent.health._pending)  # noqa: SLF001
        longest = max(longest, waiting)
        pause = began + (step + 1) / FLAPS_PER_SECOND - time.perf_counter()
        await asyncio.sleep(max(pause, 0.0))
    seconds = time.perf_counter() - began
    load = (time.process_time() - busy) / seconds * 100
    faults.recover()
    began = time.perf_counter()
    await asyncio.gather(*(watcher.when(f"pod-{index}", "Healthy") for index in range(PODS)))
    calm = time.perf_counter() - began
    grown = resident_mb() - before
    print(
        f"flapping {FLAPS_PER_SECOND}/s for {seconds:.0f} s: waiting at most {longest} pods, "
        f"{len(asyncio.all_tasks()) - tasks} tasks more, {before:.0f} MB and {grown:+.1f} after, "
        f"{load:.0f} % of a core (driver, agent, watcher), all shown {calm * 1000:.0f} ms later"
    )
    return _holds("MB more after flapping", grown, FLAPPING_MB_MAX)


async def _at_rest() -> None:
    busy = time.process_time()
    await asyncio.sleep(IDLE_SECONDS / 2)
    load = (time.process_time() - busy) / (IDLE_SECONDS / 2) * 100
    print(f"{PODS} pods at rest: {load:.1f} % of a core (driver, agent, watcher)")


def _turn(faults: Faults, index: int, health: str) -> None:
    if health == "Healthy":
        faults.recover(f"gpu-{index}")
    else:
        fault = Fault(kind=FaultKind.UNHEALTHY, device=f"gpu-{index}", message="XID 79")
        faults.inject(fault)


# Many nodes -------------------------------------------------------------------------------------


async def measure_fleet(kubeconfig: Path) -> bool:
    clock, entropy = SystemClock(), SystemEntropy()
    client = connect(load_kubeconfig(kubeconfig), clock=clock)
    before, began = resident_mb(), time.perf_counter()
    names = [f"node-{number}" for number in range(NODES)]
    fleet = Fleet(client, names, clock=clock, entropy=entropy)
    running = asyncio.ensure_future(fleet.run())
    await fleet.ready()
    registered = time.perf_counter() - began
    models = read_fleet(FLEET.format(count=8))
    drivers = []
    for name, agent in fleet.agents.items():
        driver = SimulatedDriver(models)
        place = Settings(node_name=name, in_memory=True)
        drivers.append(serve(driver, place, client=client, clock=clock, entropy=entropy))
        served = await drivers[-1].__aenter__()
        agent.attach(driver.name, served.service)
    count = 0
    async for event in client.watch(ResourceSlice):
        count += event.type is EventType.ADDED
        if count == NODES:
            break
    seconds = time.perf_counter() - began
    each = (resident_mb() - before) / NODES
    busy = time.process_time()
    await asyncio.sleep(IDLE_SECONDS)
    load = (time.process_time() - busy) / IDLE_SECONDS * 100
    print(
        f"{NODES} simulated nodes: registered in {registered:.1f} s, with drivers and slices in "
        f"{seconds:.1f} s; {each:.2f} MB each, {resident_mb():.0f} MB in all; "
        f"{load:.0f} % of a core at rest"
    )
    for driver_context in reversed(drivers):
        await driver_context.__aexit__(None, None, None)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await client.close()
    held = _holds("s for a node", seconds / NODES, NODE_SECONDS_MAX)
    return held & _holds("MB for a node", each, NODE_MB_MAX)


# Processes that have nothing to do --------------------------------------------------------------


def measure_idle(kubeconfig: Path, root: Path) -> bool:
    common = ["--kubeconfig", str(kubeconfig), "--node-name", NODE]
    agent = [sys.executable, "-m", "dray", "node", *common, "--root-dir", str(root), "--port", "0"]
    driver = [sys.executable, "-m", "dray.drivers.simulated", *common]
    driver += ["--kubelet-directory", str(root), "--cdi-directory", str(root / "cdi")]
    processes = {}
    held = True
    try:
        for name, words in (("agent", agent), ("driver", driver)):
            process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            processes[name] = process
            assert process.stdout is not None
            assert "ready" in process.stdout.readline()
        time.sleep(5.0)  # registration, slices, imports that come late
        before = {name: cpu_seconds(process.pid) for name, process in processes.items()}
        time.sleep(IDLE_SECONDS)
        for name, process in processes.items():
            load = (cpu_seconds(process.pid) - before[name]) / IDLE_SECONDS * 100
            memory = resident_mb(process.pid)
            print(f"idle {name}: {load:.2f} % of a core, {memory:.0f} MB")
            held &= _holds(f"% of a core for an idle {name}", load, IDLE_PERCENT_MAX)
        held &= _holds("MB for an idle driver", resident_mb(processes["driver"].pid), DRIVER_MB_MAX)
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
    return held


def cpu_seconds(pid: int) -> float:
    fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int | None = None) -> float:
    pages = int(Path("/proc", str(pid or os.getpid()), "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


# ------------------------------------------------------------------------------------------------


def _holds(what: str, value: float, most: float) -> bool:
    if value <= most:
        return True
    print(f"  MISSED: {value:.2f} {what}; at most {most:g}")
    return False


def measure(part: str) -> bool:
    """One part, in this process."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="dray") as directory:
        folder = Path(directory)
        (folder / "n").mkdir()
        with server(folder, durable=part != "memory") as kubeconfig:
            print(f"{part}:", flush=True)
            match part:
                case "fleet":
                    return run_loop(measure_fleet(kubeconfig))
                case "idle":
                    return measure_idle(kubeconfig, folder / "n")
                case _:
                    return run_loop(measure_health(kubeconfig, folder / "n"))


def main() -> bool:
    """All parts; whether every limit is kept."""
    words = [sys.executable, "-m", "benchmarks.node"]
    codes = [subprocess.run([*words, part], check=False).returncode for part in PARTS]
    return not any(codes)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", where]:
            run_loop(serve_from_memory(Path(where)))
        case [part]:
            sys.exit(0 if measure(part) else 1)
        case _:
            sys.exit(0 if main() else 1)
