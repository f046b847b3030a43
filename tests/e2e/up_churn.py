"""Pods that come and go as fast as a cluster lets them, with devices that it must get back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from random import Random

from dray.api.core import Namespace, Pod
from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceClaim
from dray.client import Client, Informer
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import AlreadyExists, NotFound
from tests.e2e.up_machine import UpMachine
from tests.e2e.up_objects import NAMESPACE, SHAPES, claim, device_class, pod, template

__all__ = ["CHURN_FLEET", "Churn"]

# Nobody runs anything: what is asked for is whatever a cluster does itself.
CHURN_FLEET = """
models:
  plain: {attributes: {productName: plain}, capacity: {memory: 40Gi}}
  cut:
    attributes: {productName: cut}
    capacity: {memory: 80Gi}
    partitions:
      counters: {memory: 80Gi, slices: 7}
      profiles:
      - {name: 1g, count: 7, capacity: {memory: 10Gi}, consumes: {memory: 10Gi, slices: 1}}
      - {name: 3g, count: 2, capacity: {memory: 40Gi}, consumes: {memory: 40Gi, slices: 3}}
  shared:
    attributes: {productName: shared, shared: true}
    capacity: {memory: {value: 40Gi, minimum: 1Gi, step: 1Gi, default: 10Gi}}
    shared: true
nodes:
- name: sim
  count: 8
  runtime: memory
  devices:
  - {model: plain, count: 8, name: gpu}
  - {model: cut, count: 2, name: big}
  - {model: shared, count: 2, name: shared}
"""

USERS = 48
SHARED_CLAIM = "everybody"
RUNNING_SECONDS = 300.0


class Churn:
    """Users who create a pod, wait for it or not, delete it, and begin again."""

    def __init__(self, machine: UpMachine, seed: int) -> None:
        self.machine = machine
        self.pods = 0
        self._random = Random(f"churn {seed}")
        self._ran: dict[str, asyncio.Event] = {}
        self._gone: dict[str, asyncio.Event] = {}

    @property
    def client(self) -> Client:
        return self.machine.client

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Hear of pods, inside of `async with`."""
        with suppress(AlreadyExists):
            await self.client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
        await self.client.create(device_class())
        for shape in SHAPES:
            await self.client.create(template(shape))
        await self.client.create(claim(SHARED_CLAIM, "share"))
        pods = Informer(
            self.client, Pod, clock=SystemClock(), entropy=SystemEntropy(), namespace=NAMESPACE
        )
        pods.listen(self._hear)
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(pods.run())
            await pods.synced()
            yield
            watching.cancel()

    async def go(self, pods: int) -> None:
        """Have so many pods come and go, and wait until the last is gone."""
        numbers = iter(range(self.pods, self.pods + pods))
        self.pods += pods
        async with asyncio.TaskGroup() as tasks:
            for _ in range(USERS):
                tasks.create_task(self._use(numbers))

    async def _use(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            await self._pod(f"pod-{number}")

    async def _pod(self, name: str) -> None:
        random = self._random
        choice, force = random.random(), random.random() < 0.2
        patient = random.random() < 0.7
        made = pod(
            name,
            str(self.machine.folder),
            shapes=(random.choice(("one", "part", "share", "mixed")),) if choice < 0.7 else (),
            shared_claim=SHARED_CLAIM if choice >= 0.9 else "",
            extended=1 if 0.7 <= choice < 0.9 else 0,
            lasting=random.random() < 0.5,
        )
        ran, gone = asyncio.Event(), asyncio.Event()
        self._ran[name], self._gone[name] = ran, gone
        await self.client.create(made)
        if patient:
            await asyncio.wait_for(ran.wait(), RUNNING_SECONDS)
        with suppress(NotFound):
            await self.client.delete(
                Pod, name, namespace=NAMESPACE, grace_period_seconds=0 if force else None
            )
        await asyncio.wait_for(gone.wait(), RUNNING_SECONDS)
        del self._ran[name], self._gone[name]

    def _hear(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None, "something changed"
            self._gone[old.metadata.name].set()
            self._ran[old.metadata.name].set()
        elif new.status.phase in ("Running", "Succeeded", "Failed"):
            self._ran[new.metadata.name].set()

    async def leaked(self) -> list[str]:
        """Pods that are there, and claims other than the one that is everybody's, or in use."""
        pods = (await self.client.list(Pod, namespace=NAMESPACE)).items
        claims = (await self.client.list(ResourceClaim, namespace=NAMESPACE)).items
        return [
            *(f"pod {one.metadata.name}" for one in pods),
            *(
                f"claim {one.metadata.name}"
                for one in claims
                if one.metadata.name != SHARED_CLAIM
                or one.status.allocation is not None
                or one.status.reserved_for
            ),
        ]
