"""Two schedulers at work on the same devices, by mistake: the server keeps them apart.

Each has views of its own, which now and then are behind, so that both choose the same devices. No
device is ever given away twice, and in the end every pod that fits has its node. One seed decides
everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from dray.api.core import Node, Pod
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    CapacityRequirements,
    CELDeviceSelector,
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClass,
    DeviceClassSpec,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceSlice,
)
from dray.client import Client, Informers
from dray.entropy import SeededEntropy
from dray.scheduler.scheduler import Scheduler
from dray.scheduler.settings import SchedulerSettings
from dray.testing.invariants import (
    no_capacity_exceeded,
    no_counter_overdrawn,
    no_device_held_twice,
    violations,
)
from tests.unit.controllers.stage import Traffic
from tests.unit.scheduler.stage import DRIVER, SchedulerStage

NODES = 2
ROUNDS = 4
CALM_SECONDS = 60

# How many pods of each kind fit on a node. Those that want a partition want a left one or a right
# one, of which there are two each, on a card that has room for two.
FITTING = {"gpu": 3, "share": 4, "part": 2}
SIDES = ("left", "right")


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 120))


def kind(name: str) -> dict[str, DeviceAttribute]:
    return {"kind": DeviceAttribute(string_value=name)}


def devices() -> list[Device]:
    """Three GPUs; an interface for four; a card that has room for two of its four partitions."""
    half = Counter(value=Quantity.parse("20Gi"))
    drawn = DeviceCounterConsumption(counter_set="card", counters={"memory": half})
    return [
        *(Device(name=f"gpu-{n}", attributes=kind("gpu")) for n in range(3)),
        Device(
            name="nic",
            attributes=kind("share"),
            allow_multiple_allocations=True,
            capacity={"bandwidth": DeviceCapacity(value=Quantity.parse("40Gi"))},
        ),
        *(
            Device(name=f"{side}-{n}", attributes=kind(side), consumes_counters=(drawn,))
            for side in SIDES
            for n in range(2)
        ),
    ]


@dataclass
class Rivals:
    """Two schedulers, each with views of its own, and the pods that they quarrel about."""

    stage: SchedulerStage
    other: Traffic
    names: tuple[str, str]
    chance: SeededEntropy
    count: int = 0
    requests: dict[str, DeviceRequest] = field(default_factory=dict)

    async def set_up(self) -> None:
        stage = self.stage
        counters = {"memory": Counter(value=Quantity.parse("40Gi"))}
        for number in range(1, NODES + 1):
            name = f"node-{number}"
            await stage.add_node(name)
            await stage.add_slice(name, devices(), number=1, count=2)
            card = CounterSet(name="card", counters=counters)
            await stage.add_slice(name, number=2, count=2, shared_counters=(card,))
        wanted = CapacityRequirements(requests={"bandwidth": Quantity.parse("10Gi")})
        for name in ("gpu", "share", *SIDES):
            select = CELDeviceSelector(expression=f'device.attributes["{DRIVER}"].kind == "{name}"')
            await stage.client.create(
                DeviceClass(
                    metadata=ObjectMeta(name=name),
                    spec=DeviceClassSpec(selectors=(DeviceSelector(cel=select),)),
                )
            )
            exactly = ExactDeviceRequest(
                device_class_name=name, capacity=wanted if name == "share" else None
            )
            self.requests[name] = DeviceRequest(name="it", exactly=exactly)

    async def claim(self) -> list[str]:
        """As many claims of each kind as there are free devices, in any order."""
        free = {name: NODES * count for name, count in FITTING.items()}
        for pod in await self.pods():
            if pod.status.phase != "Succeeded":
                free[pod.metadata.name.partition("-")[0]] -= 1
        made: list[str] = []
        while left := [name for name, count in free.items() if count]:
            name = left[self.below(len(left))]
            free[name] -= 1
            self.count += 1
            # Each scheduler has a side of its own, so that they disagree about the card alone.
            request = self.requests[SIDES[len(made) % 2] if name == "part" else name]
            made.append(f"{name}-{self.count}")
            await self.stage.add_claim(made[-1], request)
        await self.stage.settle()
        return made

    async def use(self, claims: list[str]) -> None:
        """A pod for each, half of them for each scheduler."""
        for number, name in enumerate(claims):
            scheduler = self.names[number % 2]
            await self.stage.add_pod(name, claim=name, settle=False, scheduler_name=scheduler)

    async def empty(self) -> None:
        """Every other pod ends."""
        for pod in await self.pods():
            if pod.status.phase != "Succeeded" and self.below(2):
                await self.stage.end_pod(pod.metadata.name)

    async def pods(self) -> tuple[Pod, ...]:
        return (await self.stage.client.list(Pod)).items

    def below(self, limit: int) -> int:
        return min(int(self.chance.uniform(0, limit)), limit - 1)

    async def look(self) -> None:
        """What must hold at every moment."""
        claims = (await self.stage.client.list(ResourceClaim)).items
        slices = (await self.stage.client.list(ResourceSlice)).items
        assert not no_device_held_twice(claims)
        assert not no_capacity_exceeded(claims, slices)
        assert not no_counter_overdrawn(claims, slices)

    async def calm(self) -> None:
        """What must hold in the end."""
        await self.stage.pass_time(CALM_SECONDS, steps=CALM_SECONDS)
        client = self.stage.client
        pods = await self.pods()
        waiting = [pod.metadata.name for pod in pods if not pod.spec.node_name]
        assert not waiting, {name: await self.stage.why_not(name) for name in waiting}
        assert not violations(
            pods,
            (await client.list(ResourceClaim)).items,
            (await client.list(ResourceSlice)).items,
            (await client.list(Node)).items,
        )


async def other_scheduler(stage: SchedulerStage, name: str) -> Traffic:
    """Start another one, as in a process of its own."""
    traffic = Traffic(stage.cluster.transport())
    client = Client(traffic, clock=stage.clock)
    informers = Informers(client, clock=stage.clock, entropy=SeededEntropy(5))
    scheduler = Scheduler(
        client,
        SchedulerSettings(name=name),
        informers=informers,
        clock=stage.clock,
        entropy=SeededEntropy(6),
    )
    stage.start(informers.run())
    stage.start(scheduler.run())
    await scheduler.ready()
    return traffic


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("default-scheduler", "other"), id="of-different-names"),
        pytest.param(("default-scheduler", "default-scheduler"), id="of-one-name"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_two_schedulers_never_give_one_device_away_twice(seed: int, names: tuple[str, str]) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            rivals = Rivals(
                stage, await other_scheduler(stage, names[1]), names, SeededEntropy(seed)
            )
            await rivals.set_up()
            for _ in range(ROUNDS):
                claims = await rivals.claim()
                with ExitStack() as behind:
                    for traffic in (stage.traffic, rivals.other)[: rivals.below(3)]:
                        behind.enter_context(traffic.behind("resourceclaims"))
                    await rivals.use(claims)
                    for _ in range(3):
                        await stage.pass_time(1)
                        await rivals.look()
                await rivals.calm()
                await rivals.empty()
            allocations = stage.cluster.server.services.allocations
            assert allocations is not None
            if names[0] != names[1]:
                quarrels = {reason for reason, count in allocations.refusals.items() if count}
                assert quarrels == {"device", "capacity", "counter"}

    run(scenario())
