"""Schedulers under a storm: pods and nodes come and go, writes are lost, schedulers die.

What must never be is looked for all the time, what must be in the end after a calm. One seed
decides everything; the same seed runs the same storm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dray.api.core import Node, Pod
from dray.api.quantity import Quantity
from dray.api.resource import (
    CapacityRequirements,
    Device,
    DeviceCapacity,
    ResourceSlice,
)
from dray.entropy import SeededEntropy
from dray.errors import APIError
from dray.testing.invariants import no_capacity_exceeded, no_device_held_twice, violations
from tests.unit.scheduler.stage import DRIVER, SchedulerStage, one_device

STEPS = 60
FAULT_CHANCE = 0.08
GPU = "example.com/gpu"


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 120))


class Storm:
    """Random work for one stage."""

    def __init__(self, stage: SchedulerStage, seed: int, *, crashes: bool) -> None:
        self.stage = stage
        self._chance = SeededEntropy(seed)
        self._crashes = crashes
        self._count = 0
        self._nodes = 0
        self._blinks = False
        self.pods: list[str] = []
        self.nodes: list[str] = []

    async def set_up(self) -> None:
        stage = self.stage
        await stage.add_class(extended_resource_name=GPU)
        await stage.add_priority("high", 1000)
        await stage.add_template("one")
        await stage.add_template("two", one_device(count=2))
        share = CapacityRequirements(requests={"memory": Quantity.parse("10Gi")})
        await stage.add_template("share", one_device(capacity=share))
        for name in ("shared-0", "shared-1"):
            await stage.add_claim(name)
        for _ in range(3):
            await self.add_node()

    def pick(self, some: list[str]) -> str:
        return some[self._below(len(some))]

    def _below(self, limit: int) -> int:
        return min(int(self._chance.uniform(0, limit)), limit - 1)

    def fate(self, call: str) -> str:
        """What becomes of a call of a scheduler."""
        if call.startswith("GET") or self._chance.uniform(0, 1) > FAULT_CHANCE:
            return ""
        return ("lost", "unsent")[self._below(2)]

    async def add_node(self) -> None:
        self._nodes += 1
        name = f"node-{self._nodes}"
        memory = DeviceCapacity(value=Quantity.parse("40Gi"))
        devices = [Device(name=f"gpu-{n}") for n in range(3)]
        devices.append(
            Device(name="mig", allow_multiple_allocations=True, capacity={"memory": memory})
        )
        await self.stage.add_node(name, devices=devices, allocatable={"cpu": "2"})
        self.nodes.append(name)

    async def remove_node(self) -> None:
        if len(self.nodes) < 3:
            return
        name = self.pick(self.nodes)
        self.nodes.remove(name)
        client = self.stage.client
        await client.delete(Node, name)
        await client.delete(ResourceSlice, f"{name}-{DRIVER}-1")
        for pod in (await client.list(Pod)).items:
            if pod.spec.node_name == name:
                await self.delete(pod.metadata.name)

    async def add_pod(self) -> None:
        self._count += 1
        name = f"pod-{self._count}"
        kinds: list[dict[str, Any]] = [
            {"template": "one"},
            {"template": "two"},
            {"template": "share"},
            {"claim": f"shared-{self._below(2)}"},
            {"resources": {GPU: "1"}},
            {"resources": {"cpu": "1"}},
            {"template": "one", "resources": {GPU: "1"}},
            {"template": "two", "priority_class_name": "high"},
        ]
        await self.stage.add_pod(name, settle=False, **kinds[self._below(len(kinds))])
        self.pods.append(name)

    async def end_pod(self) -> None:
        running = [
            pod.metadata.name
            for pod in (await self.stage.client.list(Pod)).items
            if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed")
        ]
        if running:
            await self.stage.end_pod(self.pick(running))

    async def delete_pod(self) -> None:
        if self.pods:
            await self.delete(self.pick(self.pods))

    async def delete(self, name: str) -> None:
        if name in self.pods:
            self.pods.remove(name)
        try:
            await self.stage.client.delete(Pod, name, namespace="default", grace_period_seconds=0)
        except APIError:
            return

    async def restart(self) -> None:
        # A scheduler that starts lists everything; here views are shared, and must not be behind.
        if self._crashes and not self._blinks:
            self.stage.wire.dead = True
            await self.stage.end_scheduler()
            await self.stage.start_scheduler()
            self.stage.wire.fate = self.fate

    async def blink(self) -> None:
        """Watches hear nothing for a while, and then not what it was."""
        kind = self.pick(["pods", "nodes", "resourceclaims", "resourceslices"])
        with self.stage.traffic.behind(kind, expires=True):
            for _ in range(3):
                await self.step()
                await self.stage.settle()
        await self.stage.pass_time(1)

    async def clear_leaving(self) -> None:
        """Pods that are told to go are gone, as those are whose node is."""
        for pod in (await self.stage.client.list(Pod)).items:
            lost = pod.spec.node_name and pod.spec.node_name not in self.nodes
            if lost or pod.metadata.deletion_timestamp is not None:
                await self.delete(pod.metadata.name)

    async def step(self) -> None:
        deeds: list[Callable[[], Coroutine[Any, Any, None]]] = [
            self.add_pod,
            self.add_pod,
            self.add_pod,
            self.add_pod,
            self.end_pod,
            self.delete_pod,
            self.add_node,
            self.remove_node,
            self.clear_leaving,
            self.restart,
            self.blink,
        ]
        deed = deeds[self._below(len(deeds))]
        if deed == self.blink and self._blinks:
            return
        self._blinks = self._blinks or deed == self.blink
        await deed()
        self._blinks = self._blinks and deed != self.blink
        if self._below(3) == 0:
            await self.stage.pass_time(self._chance.uniform(0, 3))

    async def calm(self) -> None:
        self.stage.wire.fate = lambda _: ""
        for _ in range(4):
            await self.stage.pass_time(40, steps=40)
            await self.clear_leaving()
        await self.stage.pass_time(400, steps=40)
        await self.stage.settle()


async def check_always(stage: SchedulerStage) -> None:
    claims = await stage.claims()
    slices = (await stage.client.list(ResourceSlice)).items
    assert [*no_device_held_twice(claims), *no_capacity_exceeded(claims, slices)] == []


async def check_calm(stage: SchedulerStage) -> None:
    client = stage.client
    found = violations(
        (await client.list(Pod)).items,
        await stage.claims(),
        (await client.list(ResourceSlice)).items,
        (await client.list(Node)).items,
    )
    assert found == []


@pytest.mark.parametrize("crashes", [False, True], ids=["lossy", "crashing"])
@pytest.mark.parametrize("seed", range(4))
def test_no_device_is_held_twice_and_nothing_is_left_behind(seed: int, crashes: bool) -> None:
    async def scenario() -> None:
        names = ("garbage-collector-controller", "disruption-controller")
        async with SchedulerStage(*names) as stage:
            storm = Storm(stage, seed, crashes=crashes)
            await storm.set_up()
            stage.wire.fate = storm.fate
            for _ in range(STEPS):
                await storm.step()
                await check_always(stage)
            await storm.calm()
            await check_always(stage)
            await check_calm(stage)
            # There is room for everyone on nodes that nobody uses.
            waiting = [
                pod.metadata.name
                for pod in (await stage.client.list(Pod)).items
                if not pod.spec.node_name
            ]
            for _ in range(2 + len(waiting) // 2):
                await storm.add_node()
            await storm.calm()
            stuck = {
                pod.metadata.name: await stage.why_not(pod.metadata.name)
                for pod in (await stage.client.list(Pod)).items
                if not pod.spec.node_name
            }
            assert stuck == {}
            for name in list(storm.pods):
                await storm.delete(name)
            for pod in (await stage.client.list(Pod)).items:
                await storm.delete(pod.metadata.name)
            await storm.calm()
            assert {one.metadata.name for one in await stage.claims()} == {"shared-0", "shared-1"}
            assert await stage.devices_in_use() == []

    run(scenario())
