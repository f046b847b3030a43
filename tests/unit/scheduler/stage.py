"""A stage for a scheduler: a real API server, claims made from templates, a clock that stands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from dray.api.core import (
    Binding,
    Container,
    Node,
    ObjectReference,
    Pod,
    PodCondition,
    PodResourceClaim,
    PodSpec,
    ResourceRequirements,
)
from dray.api.core import ResourceClaim as ContainerClaim
from dray.api.features import FeatureGates
from dray.api.meta import ObjectMeta, Status
from dray.api.quantity import Quantity
from dray.api.resource import (
    CELDeviceSelector,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.scheduling import PriorityClass
from dray.client import Call, Client, Reply, StreamedReply, Transport
from dray.entropy import SeededEntropy
from dray.errors import TransportError
from dray.scheduler.scheduler import Scheduler
from dray.scheduler.settings import SchedulerSettings
from tests.unit.controllers.stage import Stage, Traffic, kind_of_call

__all__ = ["DRIVER", "SchedulerStage", "one_device", "requests"]

DRIVER = "gpu.example.com"
CLASS = "gpu"


class SchedulerStage(Stage):
    """A scheduler at work, and the controller that makes claims."""

    def __init__(
        self,
        *names: str,
        settings: SchedulerSettings | None = None,
        second: bool = False,
        **options: Any,
    ) -> None:
        """`second` has another scheduler do the same work at the same time, by mistake."""
        super().__init__("resourceclaim-controller", *names, **options)
        self._settings = settings or SchedulerSettings()
        self._count = 2 if second else 1

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.wire = Wire(self.traffic)
        self.schedulers: list[Scheduler] = []
        for _ in range(self._count):
            await self.start_scheduler(Wire(self.traffic, self.wire))
        self.scheduler = self.schedulers[0]
        return self

    async def start_scheduler(self, traffic: Transport | None = None) -> None:
        """Have another one do the same work."""
        if traffic is None:
            self.wire = traffic = Wire(self.traffic)
        self.scheduler = self.another(traffic, seed=11 + len(self.schedulers))
        self.schedulers.append(self.scheduler)
        self._running = asyncio.ensure_future(self.scheduler.run())
        self._tasks.append(self._running)
        await self.scheduler.ready()
        await self.settle()

    async def end_scheduler(self) -> None:
        """Have the last one that was started end."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self.settle()

    def another(
        self,
        traffic: Transport | None = None,
        *,
        name: str = "",
        gates: FeatureGates | None = None,
        seed: int = 11,
    ) -> Scheduler:
        """One more scheduler, which somebody has to run."""
        return Scheduler(
            Client(traffic or self.wire, clock=self.clock),
            replace(self._settings, name=name or self._settings.name),
            informers=self.informers,
            clock=self.clock,
            entropy=SeededEntropy(seed),
            gates=gates or self._gates,
        )

    # What there is -----------------------------------------------------------------------------

    async def add_node(
        self,
        name: str,
        *,
        devices: int | Sequence[Device] = 0,
        allocatable: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Node:
        """A node that is ready, with so many devices, or with these."""
        await self.cluster.add_node(name, labels=labels)
        amounts = {"cpu": "4", "memory": "32Gi", "pods": "110", **(allocatable or {})}
        status = {"allocatable": amounts, "capacity": amounts}
        await self.client.patch(Node, name, {"status": status}, subresource="status")
        node = await self.client.patch(Node, name, {"spec": {"taints": None}})
        if isinstance(devices, int):
            devices = [Device(name=f"gpu-{number}") for number in range(devices)]
        if devices:
            await self.add_slice(name, devices)
        await self.settle()
        return node

    async def add_slice(
        self,
        node: str,
        devices: Sequence[Device] = (),
        *,
        number: int = 1,
        count: int = 1,
        **spec: Any,
    ) -> ResourceSlice:
        """Devices of a node, in one of so many slices."""
        if not spec.get("shared_counters"):
            spec["devices"] = tuple(devices)
        return await self.client.create(
            ResourceSlice(
                metadata=ObjectMeta(name=f"{node}-{DRIVER}-{number}"),
                spec=ResourceSliceSpec(
                    driver=DRIVER,
                    pool=ResourcePool(name=node, generation=1, resource_slice_count=count),
                    node_name=node,
                    **spec,
                ),
            )
        )

    async def add_class(self, name: str = CLASS, **spec: Any) -> DeviceClass:
        """A class of all devices of the driver."""
        select = DeviceSelector(cel=CELDeviceSelector(expression=f'device.driver == "{DRIVER}"'))
        return await self.client.create(
            DeviceClass(
                metadata=ObjectMeta(name=name),
                spec=DeviceClassSpec(selectors=(select,), **spec),
            )
        )

    async def add_template(
        self, name: str, *wanted: DeviceRequest, constraints: Sequence[DeviceConstraint] = ()
    ) -> ResourceClaimTemplate:
        """A template of claims; without requests, for one device."""
        spec = ResourceClaimSpec(
            devices=DeviceClaim(requests=wanted or (one_device(),), constraints=tuple(constraints))
        )
        return await self.client.create(
            ResourceClaimTemplate(
                metadata=ObjectMeta(name=name, namespace="default"),
                spec=ResourceClaimTemplateSpec(spec=spec),
            )
        )

    async def add_claim(
        self, name: str, *wanted: DeviceRequest, namespace: str = "default"
    ) -> ResourceClaim:
        """A claim that pods can share; without requests, for one device."""
        spec = ResourceClaimSpec(devices=DeviceClaim(requests=wanted or (one_device(),)))
        return await self.client.create(
            ResourceClaim(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)
        )

    async def add_pod(
        self,
        name: str,
        *,
        template: str = "",
        claim: str = "",
        claims: Sequence[str] = (),
        namespace: str = "default",
        resources: Mapping[str, str] | None = None,
        settle: bool = True,
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Pod:
        """A pod with a claim from a template, or with claims that are there."""
        named = [PodResourceClaim(name=one, resource_claim_name=one) for one in claims]
        if claim:
            named.append(PodResourceClaim(name="gpu", resource_claim_name=claim))
        if template:
            named.append(PodResourceClaim(name="gpu", resource_claim_template_name=template))
        main = Container(
            name="main",
            image="registry.example/main:1",
            resources=ResourceRequirements(
                claims=tuple(ContainerClaim(name=each.name) for each in named),
                requests=requests(resources),
                limits=requests(
                    {key: value for key, value in (resources or {}).items() if "/" in key}
                ),
            ),
        )
        pod = await self.client.create(
            Pod(
                metadata=ObjectMeta(name=name, namespace=namespace, labels=dict(labels or {})),
                spec=PodSpec(containers=(main,), resource_claims=tuple(named), **spec),
            )
        )
        if settle:
            await self.settle()
        return pod

    async def add_priority(self, name: str, value: int, **fields: Any) -> None:
        """A class of pods that are more or less important than others."""
        await self.client.create(
            PriorityClass(metadata=ObjectMeta(name=name), value=value, **fields)
        )

    # What became of it -------------------------------------------------------------------------

    async def pod(self, name: str) -> Pod:
        return await self.client.get(Pod, name, namespace="default")

    async def node_of(self, name: str) -> str:
        """Where a pod went; empty if nowhere."""
        return (await self.pod(name)).spec.node_name

    async def why_not(self, name: str) -> str:
        """What a pod's condition says."""
        conditions: tuple[PodCondition, ...] = (await self.pod(name)).status.conditions
        return next((each.message for each in conditions if each.type == "PodScheduled"), "")

    def attempts(self) -> int:
        """How many attempts the scheduler has made so far, whatever they came to."""
        lines = self.scheduler.metrics().decode().splitlines()
        name = "scheduler_schedule_attempts_total{"
        return sum(int(float(line.split()[-1])) for line in lines if line.startswith(name))

    async def claims(self) -> tuple[ResourceClaim, ...]:
        return (await self.client.list(ResourceClaim)).items

    async def devices_in_use(self) -> list[tuple[str, str]]:
        """Pool and device of everything that is allocated."""
        return sorted(
            (result.pool, result.device)
            for claim in await self.claims()
            if claim.status.allocation is not None
            for result in claim.status.allocation.devices.results
        )

    async def bind(self, name: str, node_name: str) -> None:
        """Bind a pod, as another scheduler would."""
        await self.client.create_subresource(
            Pod,
            name,
            "binding",
            Binding(
                metadata=ObjectMeta(name=name, namespace="default"),
                target=ObjectReference(kind="Node", name=node_name),
            ),
            Status,
            namespace="default",
        )

    async def end_pod(self, name: str, phase: str = "Succeeded") -> None:
        """A pod is over, as its node would say."""
        await self.client.patch(
            Pod, name, {"status": {"phase": phase}}, namespace="default", subresource="status"
        )
        await self.settle()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await super().__aexit__(kind, error, traceback)
        await asyncio.sleep(0)


class Wire:
    """The way of schedulers to the server. Others, and watches, have their own."""

    def __init__(self, transport: Traffic, faults: Wire | None = None) -> None:
        """`faults` has what is to go wrong, if that is told elsewhere."""
        self._transport = transport
        self._faults = faults or self
        self.lost: list[str] = []  # calls whose next answer does not arrive
        self.unsent: list[str] = []  # calls of which the next does not even reach the server
        self.dies_at: tuple[str, bool] | None = None  # a call, and whether it still arrives
        self.dead = False
        self.failing: dict[str, int] = {}  # calls that the server does, and then fails
        self.fate: Callable[[str], str] = lambda _: ""  # of any call: lost, unsent, or nothing
        self._held: dict[str, asyncio.Event] = {}

    @contextmanager
    def held(self, kind: str) -> Iterator[None]:
        """Meanwhile calls of a kind do not get through; then they do."""
        self._held[kind] = asyncio.Event()
        try:
            yield
        finally:
            self._held.pop(kind).set()

    async def request(self, call: Call) -> Reply:
        return await self._faults.pass_on(call, self._transport)

    async def pass_on(self, call: Call, transport: Traffic) -> Reply:
        kind = kind_of_call(call)
        while kind in self._held:
            await self._held[kind].wait()
        fate = self.fate(kind)
        if self.dies_at is not None and self.dies_at[0] == kind:
            fate = "lost" if self.dies_at[1] else "unsent"
            self.dead, self.dies_at = True, None
        elif self.dead:
            fate = "unsent"
        if kind in self.unsent:
            self.unsent.remove(kind)
            fate = "unsent"
        if fate == "unsent":
            raise TransportError(f"{call}: the server cannot be reached")
        reply = await transport.request(call)
        if self.failing.get(kind):
            self.failing[kind] -= 1
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500}
            body = json.dumps({**status, "reason": "InternalError", "message": "out of order"})
            return Reply(500, {"content-type": "application/json"}, body.encode())
        if kind in self.lost:
            self.lost.remove(kind)
            fate = "lost"
        if fate == "lost":
            raise TransportError(f"{call}: the answer was lost")
        return reply

    async def stream(self, call: Call) -> StreamedReply:
        return await self._transport.stream(call)

    async def close(self) -> None:
        return


def one_device(name: str = "gpu", **fields: Any) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=CLASS, **fields))


def requests(amounts: Mapping[str, str] | None) -> dict[str, Quantity]:
    return {name: Quantity.parse(amount) for name, amount in (amounts or {}).items()}
