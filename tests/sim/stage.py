"""A node with everything on it, on which things go wrong: the stage of the fault scenarios.

Real parts throughout, an agent, drivers of the SDK and an API server, in one process and on one
FakeClock. Only three things stand in for others: a runtime that remembers containers instead of
running them, wires in the place of sockets where a scenario is not about sockets, and this module
in the place of a scheduler. Nothing sleeps: the clock goes from one deadline to the next, and each
time everybody does what they can before it goes on.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from dray.agent.agent import Agent
from dray.agent.plugins.instance import Instance
from dray.agent.plugins.plugin import PluginService
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.settings import AgentSettings
from dray.api.core import (
    Binding,
    Container,
    ObjectReference,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceRequirements,
)
from dray.api.core import ResourceClaim as ClaimUse
from dray.api.meta import ObjectMeta, Status
from dray.api.resource import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dray.client import Client
from dray.drivers.simulated import Fault, FaultKind, Faults, SimulatedDriver, default_fleet
from dray.drivers.simulated.fleet import Fleet
from dray.entropy import SeededEntropy
from dray.sdk import Driver, RunningDriver, Settings, serve
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.sim.quiet import QuietLoop
from tests.sim.timeline import KINDS, Timeline
from tests.sim.wire import Link, Wire

__all__ = ["DRIVER", "NODE", "Stage", "Troupe", "fleet_of"]

NODE: Final = "n1"
DRIVER: Final = "gpu.simulated.dev"

# Steps of the clock in one wait: more means that somebody wakes again and again without an end.
STEPS_MAX: Final = 20_000

# Real time in which a socket on this machine answers, even if it has other things to do.
SOCKET_GRACE_SECONDS: Final = 0.02
# The same where an answer is due: in the first steps of a wait. Later, time is waited for.
SOCKET_PATIENCE_SECONDS: Final = 0.25
PATIENT_STEPS: Final = 4
# The same while nobody is there to answer.
DISK_GRACE_SECONDS: Final = 0.002

UID_LENGTH: Final = 36

# What is due at an instant is seen at that instant; some things are rounded to hundredths.
SLACK_SECONDS: Final = 0.11

# How long is waited for what should have happened long before.
PATIENCE_SECONDS: Final = 120.0

Condition = Callable[[], object]


@dataclass
class Troupe:
    """A driver on the stage, and the ways to let it down."""

    driver: Driver
    running: RunningDriver
    stack: AsyncExitStack
    wire: Wire | None = None
    faults: Faults = field(default_factory=Faults)
    instance: Instance | None = None

    def crash(self) -> None:
        """The process is gone, its files and its registration stay."""
        assert self.wire is not None
        assert self.instance is not None
        self.wire.cut()
        self.instance.set_connected(False)

    def come_back(self) -> None:
        """The process is there again, at the same socket."""
        assert self.wire is not None
        assert self.instance is not None
        self.wire.mend()
        self.instance.set_connected(True)

    def fail(self, kind: FaultKind, device: str = "gpu-0", **how: Any) -> None:
        """Have something go wrong with a device."""
        self.faults.inject(Fault(kind=kind, device=device, **how))


class Stage:
    """One scenario. Enter it, and there is a node with a driver of four GPUs, gpu-0 to gpu-3."""

    def __init__(self, *, disk: bool = False, driver: bool = True) -> None:
        """`disk`: the node keeps files, and finds drivers by their sockets."""
        self.clock: Final = FakeClock()
        self.cluster: Final = Cluster(clock=self.clock, entropy=SeededEntropy(1))
        self.disk: Final = disk
        self._with_driver = driver
        self._entropy = SeededEntropy(2)
        self._stack = AsyncExitStack()
        self._mark = 0.0
        self._marked_entries = 0
        self.runtime = MemoryRuntime(self.clock, unresolved=self._unresolved)
        # Drivers without files of their own have none of CDI's either.
        self._files_are_looked_for = False
        self._behind_sockets = False
        self.lost: set[str] = set()  # names in CDI that the runtime does not find
        self.times: list[float] = []
        self.troupes: list[Troupe] = []
        self._agent: Agent | None = None
        self._life: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.root = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
        self._stack.callback(shutil.rmtree, self.root, ignore_errors=True)
        await self._stack.enter_async_context(self.cluster)
        self.link = Link(self.cluster.transport())
        self.client = Client(self.link, clock=self.clock)
        self._stack.push_async_callback(self.client.close)
        self.seen = Timeline(self.cluster.client, clock=self.clock)
        for kind in KINDS:
            self._begin(self.seen.follow(kind))
        self._stack.push_async_callback(self.stop_agent)
        if self.disk:
            self._loop.listen_for(DISK_GRACE_SECONDS)
        await self.start_agent()
        if self._with_driver:
            await self.add_driver()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for troupe in reversed(self.troupes):
            await self.remove(troupe)
        await self._stack.aclose()

    @property
    def _loop(self) -> QuietLoop:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, QuietLoop), "a stage is entered in `play`"
        return loop

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._stack.push_async_callback(_end, task)

    # The node ------------------------------------------------------------------------------------

    @property
    def agent(self) -> Agent:
        assert self._agent is not None, "the agent was stopped"
        return self._agent

    async def start_agent(self, *, wait: bool = True) -> None:
        """Let an agent run, with what an earlier one left; wait until the node is registered."""
        # No two processes start in the same instant; names of events rely on it.
        self.clock.advance(0.001)
        self._agent = Agent(
            self.client,
            self.runtime,
            AgentSettings(
                node_name=NODE,
                root=self.root,
                simulated=not self.disk,
                addresses=("10.0.0.1",),
            ),
            clock=self.clock,
            entropy=self._entropy,
        )
        for troupe in self.troupes:
            if troupe.wire is not None:
                self._attach(troupe)
        self._life = asyncio.ensure_future(self._agent.run())
        if wait:
            await self.until(self._ready)

    def _ready(self) -> bool:
        return self.agent._ready.is_set()

    async def stop_agent(self) -> None:
        """Kill it: it is told nothing, and does nothing more. Containers go on."""
        life, self._life, self._agent = self._life, None, None
        if life is not None:
            await _end(life)

    async def reboot(self) -> None:
        """Everything of the machine's memory is gone. Drivers and the agent are to be started."""
        for troupe in tuple(self.troupes):
            await self.remove(troupe)
        await self.stop_agent()
        self.runtime = MemoryRuntime(self.clock, unresolved=self._unresolved)
        shutil.rmtree(self.cdi_directory, ignore_errors=True)

    # Drivers -------------------------------------------------------------------------------------

    @property
    def cdi_directory(self) -> Path:
        return self.root / "cdi"

    @property
    def troupe(self) -> Troupe:
        """The driver that is there from the beginning."""
        return self.troupes[0]

    async def add_driver(
        self,
        driver: Driver | None = None,
        *,
        fleet: Fleet | None = None,
        faults: Faults | None = None,
    ) -> Troupe:
        """A driver in this process, behind a wire."""
        faults = faults or Faults()
        driver = driver or SimulatedDriver(fleet or default_fleet(), faults, crash=_no_crash)
        troupe = await self._serve(driver, faults, Settings(node_name=NODE, in_memory=True))
        troupe.wire = Wire(troupe.running.service)
        self._attach(troupe)
        await self.settle()
        return troupe

    async def add_socket_driver(
        self,
        driver: Driver | None = None,
        *,
        pod_uid: str = "",
        boot_id: str = "boot-1",
    ) -> Troupe:
        """A driver with sockets and files of its own, as in a process of its own."""
        self.expect_sockets()
        self._files_are_looked_for = True
        faults = Faults()
        driver = driver or SimulatedDriver(default_fleet(), faults, crash=_no_crash)
        settings = Settings(
            node_name=NODE,
            kubelet_directory=self.root,
            cdi_directory=self.cdi_directory,
            pod_uid=pod_uid,
        )
        return await self._serve(driver, faults, settings, boot_id=boot_id)

    def expect_sockets(self) -> None:
        """Somebody is behind the node's sockets: give them time to answer."""
        self._behind_sockets = True
        self._loop.listen_for(SOCKET_GRACE_SECONDS)

    async def connected(self, name: str = DRIVER, *, count: int = 1) -> None:
        """Wait until the agent has found so many instances of a driver, and is connected to all."""

        def found() -> bool:
            instances = self.agent.plugins.instances(name)
            return len(instances) == count and all(one.connected for one in instances)

        await self.until(found)

    async def attach(self, name: str, service: PluginService) -> Wire:
        """Something that speaks as a driver does, but is none of the SDK's."""
        wire = Wire(service)
        self.agent.attach(name, wire)
        await self.settle()
        return wire

    async def remove(self, troupe: Troupe) -> None:
        """A driver ends in good order."""
        self.troupes.remove(troupe)
        stopping = asyncio.ensure_future(troupe.stack.aclose())
        while not stopping.done():
            await self._turn(stopping)
        await stopping

    async def _serve(
        self, driver: Driver, faults: Faults, settings: Settings, *, boot_id: str = ""
    ) -> Troupe:
        stack = AsyncExitStack()
        running = await stack.enter_async_context(
            serve(
                driver,
                settings,
                client=self.client,
                clock=self.clock,
                entropy=self._entropy,
                boot_id=boot_id,
            )
        )
        troupe = Troupe(driver, running, stack, faults=faults)
        self.troupes.append(troupe)
        return troupe

    def _attach(self, troupe: Troupe) -> None:
        assert troupe.wire is not None
        name, offered = troupe.driver.name, troupe.running.service.offers_health
        detach = self.agent.attach(name, troupe.wire, offers_health=offered)
        troupe.instance = self.agent.plugins.instances(name)[-1]
        troupe.stack.callback(detach)

    def _unresolved(self, names: Sequence[str]) -> Sequence[str]:
        """What a runtime does not find: claims without a file of their driver's."""
        if not self._files_are_looked_for:
            return [name for name in names if name in self.lost]
        files = [path.name for path in self.cdi_directory.glob("*")]
        uids = {name: name.partition("=")[2][:UID_LENGTH] for name in names}
        return [name for name in names if not any(uids[name] in file for file in files)]

    # Pods and claims -----------------------------------------------------------------------------

    async def add_claim(
        self,
        name: str,
        devices: Iterable[str] | Mapping[str, Iterable[str]] = ("gpu-0",),
        *,
        shares: Mapping[str, str] | None = None,
    ) -> ResourceClaim:
        """A claim that is allocated these devices, by driver if there are several."""
        by_driver = devices if isinstance(devices, Mapping) else {DRIVER: tuple(devices)}
        await self.cluster.client.create(
            ResourceClaim(
                metadata=ObjectMeta(
                    name=name,
                    namespace="default",
                    finalizers=("resource.kubernetes.io/delete-protection",),
                ),
                spec=ResourceClaimSpec(
                    devices=DeviceClaim(
                        requests=tuple(
                            DeviceRequest(
                                name=f"r{number}",
                                exactly=ExactDeviceRequest(device_class_name="gpu"),
                            )
                            for number, _ in enumerate(by_driver)
                        )
                    )
                ),
            )
        )
        results = [
            {
                "request": f"r{number}",
                "driver": driver,
                "pool": NODE,
                "device": device,
                **({"shareID": shares[device]} if shares and device in shares else {}),
            }
            for number, driver in enumerate(by_driver)
            for device in by_driver[driver]
        ]
        return await self.cluster.client.patch(
            ResourceClaim,
            name,
            {"status": {"allocation": {"devices": {"results": results}}}},
            namespace="default",
            subresource="status",
        )

    async def reserve(self, claim: str, pods: Iterable[Pod]) -> None:
        """Let these pods, and no others, use a claim."""
        users = [
            {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid} for pod in pods
        ]
        await self.cluster.client.patch(
            ResourceClaim,
            claim,
            {"status": {"reservedFor": users or None}},
            namespace="default",
            subresource="status",
        )

    async def add_pod(
        self,
        name: str,
        *claims: str,
        with_pods: Iterable[Pod] = (),
        restart_policy: str = "Always",
        annotations: Mapping[str, str] | None = None,
        grace_seconds: int = 1,
        init: bool = False,
    ) -> Pod:
        """A pod that uses claims, beside other pods, bound to the node as by a scheduler."""
        client = self.cluster.client
        uses = tuple(ClaimUse(name=claim) for claim in claims)
        container = Container(
            name="main",
            image="registry.example/main:1",
            resources=ResourceRequirements(claims=uses),
        )
        sidecar = Container(
            name="side",
            image="registry.example/side:1",
            restart_policy="Always",
            resources=ResourceRequirements(claims=uses),
        )
        pod = await client.create(
            Pod(
                metadata=ObjectMeta(
                    name=name, namespace="default", annotations=dict(annotations or {})
                ),
                spec=PodSpec(
                    containers=(container,),
                    init_containers=(sidecar,) if init else (),
                    resource_claims=tuple(
                        PodResourceClaim(name=claim, resource_claim_name=claim) for claim in claims
                    ),
                    restart_policy=restart_policy,
                    termination_grace_period_seconds=grace_seconds,
                ),
            )
        )
        for claim in claims:
            await self.reserve(claim, (*with_pods, pod))
        await client.create_subresource(
            Pod,
            name,
            "binding",
            Binding(
                metadata=ObjectMeta(name=name, namespace="default"),
                target=ObjectReference(kind="Node", name=NODE),
            ),
            Status,
            namespace="default",
        )
        return await client.get(Pod, name, namespace="default")

    async def run_pod(self, name: str, devices: Iterable[str] = ("gpu-0",), **how: Any) -> Pod:
        """A pod with a claim of its own, of the same name, that runs and whose devices are well."""
        await self.add_claim(name, devices)
        pod = await self.add_pod(name, name, **how)
        await self.until(
            lambda: self.shows(f"pod {name}", "phase", "Running") and "Healthy" in self.health(name)
        )
        self.mark()
        return pod

    async def delete_pod(self, name: str, *, grace_seconds: int | None = None) -> None:
        await self.cluster.client.delete(
            Pod, name, namespace="default", grace_period_seconds=grace_seconds
        )

    # What is seen --------------------------------------------------------------------------------

    def shows(self, subject: str, fact: str, text: str) -> bool:
        """Whether a fact begins with this now."""
        return self.seen.read(subject, fact).startswith(text)

    def health(self, pod: str, container: str = "main", claim: str = "") -> str:
        """What a pod's status says of its devices."""
        return self.seen.read(f"pod {pod}", f"{container} claim:{claim or pod}")

    def history(self, subject: str, fact: str) -> list[tuple[float, str]]:
        """How a fact changed since the mark: after how many seconds, and to what."""
        return [
            (round(entry.seconds - self._mark, 2), entry.text)
            for entry in self.seen.entries[self._marked_entries :]
            if (entry.subject, entry.fact) == (subject, fact)
        ]

    def events(self, subject: str, reason: str = "") -> list[tuple[float, str]]:
        """Events since the mark, of this reason if one is named."""
        return [
            (seconds, text)
            for seconds, text in self.history(subject, "event")
            if f" {reason}" in text
        ]

    # Time ----------------------------------------------------------------------------------------

    def mark(self) -> None:
        """Count seconds from now on: something is about to go wrong."""
        self._mark = self.clock.monotonic()
        self._marked_entries = len(self.seen.entries)

    @property
    def elapsed(self) -> float:
        """Seconds since the mark."""
        return self.clock.monotonic() - self._mark

    async def settle(self) -> None:
        """Let everybody do what they can do now."""
        await self._loop.settled()
        if self._life is not None and self._life.done():
            self._life.result()  # an agent that is not told to end does not

    async def _listen_longer(self) -> None:
        """Before time goes on, be sure that an answer is not just late on a busy machine."""
        self._loop.listen_for(SOCKET_PATIENCE_SECONDS)
        await self.settle()
        self._loop.listen_for(SOCKET_GRACE_SECONDS)

    async def after(self, seconds: float, *, stride: float = 0.0) -> None:
        """Let so much time pass; with a stride, in steps of so much instead of deadlines."""
        end = self.clock.monotonic() + seconds
        for _ in range(STEPS_MAX):
            await self.settle()
            if self.clock.monotonic() >= end:
                return
            self._step(end, stride)
        raise AssertionError(f"somebody does not come to rest\n{self.seen}")

    async def until(self, condition: Condition, *, seconds_max: float | None = None) -> float:
        """Let time pass until something holds; returns how many seconds after the mark it did.

        A limit that is named counts as measured: it holds so soon.
        """
        end = self.clock.monotonic() + (seconds_max or PATIENCE_SECONDS)
        for step in range(STEPS_MAX):
            await self.settle()
            if step < PATIENT_STEPS and self._behind_sockets and not condition():
                await self._listen_longer()
            if condition():
                self.measured(*(() if seconds_max is None else (seconds_max,)))
                return self.elapsed
            if self.clock.monotonic() >= end:
                break
            self._step(end)
        raise AssertionError(f"not so within {end - self._mark:g} s of the mark\n{self.seen}")

    async def expect(self, seconds: float, condition: Condition, *, jitter: float = 0.0) -> None:
        """Something holds so many seconds after the mark, and not before; the time is noted."""
        took = await self.until(condition)
        assert seconds - 0.01 <= took <= seconds + jitter + SLACK_SECONDS, (
            f"expected after {seconds:g} s (+{jitter:g}), found after {took:.2f} s\n{self.seen}"
        )
        self.measured(seconds, round(seconds + jitter, 3))

    def measured(self, *seconds: float) -> None:
        """Note times that a scenario found out in its own way."""
        self.times += seconds

    async def never(self, seconds: float, condition: Condition) -> None:
        """Something does not hold for so many seconds from now; that is noted, too."""
        self.measured(seconds)
        end = self.clock.monotonic() + seconds
        while True:
            await self.settle()
            assert not condition(), f"it holds after {self.elapsed:.2f} s\n{self.seen}"
            if self.clock.monotonic() >= end:
                return
            self._step(end)

    def _step(self, end: float, stride: float = 0.0) -> None:
        now = self.clock.monotonic()
        wake = self.clock.next_wake
        target = end if wake is None else min(max(wake, now + stride), end)
        self.clock.advance(max(target - now, 0.0))

    async def _turn(self, waiting: asyncio.Future[Any]) -> None:
        """Let something go on that may need time."""
        await self.settle()
        if not waiting.done():
            wake = self.clock.next_wake
            if wake is not None:
                self.clock.advance(max(wake - self.clock.monotonic(), 0.0))


def fleet_of(driver: str) -> Fleet:
    """The usual devices, of a driver of another name."""
    return msgspec.structs.replace(default_fleet(), driver=driver)


def _no_crash() -> None:
    raise AssertionError("a scenario crashes drivers by their wires")


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
