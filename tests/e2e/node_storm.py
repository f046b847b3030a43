"""Pods with devices that come and go on a machine while its processes are killed.

The storm is scheduler, controller and user at once: it decides which claim gets which device, never
the same for two claims that exist, and frees claims of pods that ended or are gone, which is also
how a device may get to the next claim while the node still has it: whoever is removed by force is
asked for nothing. Everything is drawn from one seed, but the timing is the machine's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random

from dray.api.carried import write_part
from dray.api.core import (
    Binding,
    Container,
    EnvVar,
    Namespace,
    ObjectReference,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceRequirements,
)
from dray.api.core import ResourceClaim as ContainerClaim
from dray.api.core.parts import EmptyDirVolumeSource, Volume
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
)
from dray.api.wire import replace
from dray.client import Client, EventType
from dray.errors import AlreadyExists, ConfigurationError, Conflict, NotFound
from tests.e2e.node_machine import DEVICES, DRIVERS, FOLDER_VARIABLE, NODE, Machine, Member

__all__ = ["Claim", "Storm", "Work"]

NAMESPACE = "storm"
PODS_MAX = 7
TERMINAL = ("Succeeded", "Failed")

# For commands that end by themselves, those that end when told to, and those that do not listen.
SHORT = ("sh", "-c", "sleep 0.2")
LASTING = ("sleep", "100000")
DEAF = ("sh", "-c", "trap '' TERM; while true; do sleep 1; done")

# Which members a blow hits: the agent (0) and drivers (1, 2), alone and together.
BLOWS = ((0,), (1,), (2,), (0,), (1,), (1, 2), (0, 1), (0, 1, 2))


@dataclass(slots=True, eq=False)
class Claim:
    """A claim that exists."""

    name: str
    uid: str
    devices: tuple[tuple[str, str], ...]  # driver and device
    users: set[str] = field(default_factory=set)  # UIDs of pods


@dataclass(slots=True, eq=False)
class Work:
    """A pod that was created."""

    name: str
    uid: str
    claims: tuple[Claim, ...]
    containers: dict[str, tuple[Claim, ...]]
    lasting: bool
    deleted: bool = False
    gone: bool = False
    over: bool = False


class Storm:
    """Churn and blows, and what is known about how things should be."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine = machine
        self.works: dict[str, Work] = {}  # by UID
        self.claims: list[Claim] = []
        self.pods_made = 0
        self.claims_made = 0
        self.forced = 0
        self.faults = 0
        self.double: list[str] = []
        self.changed = asyncio.Event()
        self._random = Random(f"churn {seed}")
        self._blows = Random(f"blows {seed}")
        # A claim that a pod is about to use is not freed meanwhile.
        self._scheduling = asyncio.Lock()
        self._number = 0

    @property
    def client(self) -> Client:
        return self.machine.client

    @property
    def kills(self) -> int:
        return sum(member.kills for member in self.machine.members)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Free what pods had, as a controller does, inside of `async with`."""
        with suppress(AlreadyExists):
            await self.client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch())
            yield
            watching.cancel()

    # The storm ----------------------------------------------------------------------------------

    async def rage(self, kills: int) -> None:
        """Churn until so many processes were killed."""
        calm = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._churn(calm))
            while self.kills < kills:
                await self._strike()
            calm.set()

    async def subside(self) -> None:
        """Everything runs, and nothing fails any more."""
        await self._raise(self.machine.members)
        for member in self.machine.members:
            await member.ready()
        for driver in DRIVERS:
            await self.machine.tell(driver, {"recover": "*"})

    async def _strike(self) -> None:
        random, members = self._blows, self.machine.members
        await asyncio.sleep(random.uniform(0.0, 0.8))
        await self._disturb()
        victims = [members[index] for index in random.choice(BLOWS)]
        for victim in victims:
            await victim.kill()
        self.look()
        if random.random() < 0.3:
            await asyncio.sleep(random.uniform(0.0, 1.0))
        await self._raise([*victims, *members])
        if random.random() < 0.8:
            for victim in victims:
                await victim.ready()
            await asyncio.sleep(random.uniform(0.0, 1.0))
        self.look()

    async def _raise(self, members: Sequence[Member]) -> None:
        """Start what does not run; a fault makes drivers crash by themselves."""
        for member in members:
            if not member.running:
                code = member.ended_by_itself
                assert code is None, f"{member.name} exited with {code}:\n{member.last_words()}"
                await member.start()

    async def _disturb(self) -> None:
        random = self._blows
        driver = random.choice(sorted(DRIVERS))
        device = f"{DRIVERS[driver]}-{random.randrange(DEVICES)}"
        operation = random.choice(("prepare", "unprepare"))
        told = random.choice(
            (
                {"inject": {"kind": "unhealthy", "device": device, "message": "struck"}},
                {"inject": {"kind": "slow", "seconds": 0.3, "operation": operation}},
                {"inject": {"kind": "failing", "times": 2, "operation": operation}},
                {"inject": {"kind": "crashing", "times": 1, "operation": operation}},
                {"recover": "*"},
                {"recover": "*"},
            )
        )
        with suppress(ConfigurationError):
            await self.machine.tell(driver, told)
            self.faults += 1

    def look(self) -> None:
        """See whether any device is with two claims right now."""
        holders: dict[tuple[str, str], set[str]] = {}
        for process in self.machine.processes():
            for text in process.environment["STORM_DEVICES"].split():
                driver, device, uid = text.split("/")
                holders.setdefault((driver, device), set()).add(uid)
        for driver in DRIVERS:
            kept: dict[str, set[str]] = {}
            for entry in self.machine.journal(driver):
                for one in entry.devices:
                    kept.setdefault(one.device, set()).add(entry.uid)
            self.double += [
                f"{driver}/{key}: {uids}" for key, uids in kept.items() if len(uids) > 1
            ]
        self.double += [f"{key} in use by {uids}" for key, uids in holders.items() if len(uids) > 1]

    # Pods come and go ---------------------------------------------------------------------------

    async def _churn(self, calm: asyncio.Event) -> None:
        while not calm.is_set():
            await asyncio.sleep(self._random.uniform(0.0, 0.3))
            present = [work for work in self.works.values() if not work.deleted]
            if len(present) < self._random.randrange(1, PODS_MAX + 1):
                await self.add()
            elif present:
                work = self._random.choice(present)
                await self.remove(work, force=self._random.random() < 0.3)

    async def add(self) -> None:
        """A pod with claims, if there are devices for it."""
        async with self._scheduling:
            await self._add()

    async def _add(self) -> None:
        claims = self._choose_shared() or await self._make_claims()
        if not claims:
            return
        self._number += 1
        lasting = self._random.random() < 0.7
        name = f"pod-{self._number}"
        containers = {
            f"c{index}": tuple(claims if index == 0 else claims[:1])
            for index in range(self._random.randrange(1, 3))
        }
        pod = await self.client.create(self._pod(name, claims, containers, lasting=lasting))
        work = Work(name, pod.metadata.uid, tuple(claims), containers, lasting)
        self.works[work.uid] = work
        self.pods_made += 1
        for claim in claims:
            claim.users.add(work.uid)
            await self._write_status(claim)
        binding = Binding(
            metadata=ObjectMeta(name=name, namespace=NAMESPACE),
            target=ObjectReference(kind="Node", name=NODE),
        )
        await self.client.create_subresource(
            Pod, name, "binding", binding, Binding, namespace=NAMESPACE
        )

    def _choose_shared(self) -> list[Claim]:
        """A claim that another pod has already, now and then."""
        in_use = [
            claim
            for claim in self.claims
            if claim.users and not any(self.works[uid].over for uid in claim.users)
        ]
        if in_use and self._random.random() < 0.25:
            return [self._random.choice(in_use)]
        return []

    async def _make_claims(self) -> list[Claim]:
        taken = {device for claim in self.claims for device in claim.devices}
        made = []
        for _ in range(self._random.randrange(1, 3)):
            free = [
                (driver, f"{stem}-{index}")
                for driver, stem in DRIVERS.items()
                for index in range(DEVICES)
                if (driver, f"{stem}-{index}") not in taken
            ]
            count = self._random.randrange(1, 3)
            if len(free) < count:
                break
            devices = tuple(self._random.sample(free, count))
            taken.update(devices)
            made.append(await self._make_claim(devices))
        return made

    async def _make_claim(self, devices: tuple[tuple[str, str], ...]) -> Claim:
        self.claims_made += 1
        request = ExactDeviceRequest(device_class_name="storm.test")
        stored = await self.client.create(
            ResourceClaim(
                metadata=ObjectMeta(name=f"claim-{self.claims_made}", namespace=NAMESPACE),
                spec=ResourceClaimSpec(
                    devices=DeviceClaim(
                        requests=tuple(
                            DeviceRequest(name=f"r{index}", exactly=request)
                            for index in range(len(devices))
                        )
                    )
                ),
            )
        )
        claim = Claim(stored.metadata.name, stored.metadata.uid, devices)
        self.claims.append(claim)
        return claim

    async def _write_status(self, claim: Claim) -> None:
        """Say what the claim has, and for whom."""
        results = tuple(
            DeviceRequestAllocationResult(
                request=f"r{index}", driver=driver, pool=NODE, device=device
            )
            for index, (driver, device) in enumerate(claim.devices)
        )
        allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
        while True:
            stored = await self.client.get(ResourceClaim, claim.name, namespace=NAMESPACE)
            status = replace(
                stored.status,
                allocation=allocation if claim.users else None,
                devices=stored.status.devices if claim.users else (),
                reserved_for=tuple(
                    ResourceClaimConsumerReference(
                        resource="pods", name=self.works[uid].name, uid=uid
                    )
                    for uid in sorted(claim.users)
                ),
            )
            with suppress(Conflict):
                await self.client.update_status(replace(stored, status=status))
                return

    def _pod(
        self,
        name: str,
        claims: Sequence[Claim],
        containers: dict[str, tuple[Claim, ...]],
        *,
        lasting: bool,
    ) -> Pod:
        deaf = self._random.random() < 0.3
        return Pod(
            metadata=ObjectMeta(name=name, namespace=NAMESPACE),
            spec=PodSpec(
                restart_policy="Never",
                termination_grace_period_seconds=1 if deaf else 30,
                automount_service_account_token=False,
                volumes=write_part((Volume(name="scratch", empty_dir=EmptyDirVolumeSource()),)),
                resource_claims=tuple(
                    PodResourceClaim(name=claim.name, resource_claim_name=claim.name)
                    for claim in claims
                ),
                containers=tuple(
                    Container(
                        name=container,
                        image="none",
                        command=SHORT if not lasting else DEAF if deaf else LASTING,
                        env=(
                            EnvVar(name=FOLDER_VARIABLE, value=str(self.machine.folder)),
                            EnvVar(name="STORM_POD", value=name),
                            EnvVar(name="STORM_CONTAINER", value=container),
                            EnvVar(name="STORM_DEVICES", value=_devices(used)),
                        ),
                        resources=ResourceRequirements(
                            claims=tuple(ContainerClaim(name=claim.name) for claim in used)
                        ),
                    )
                    for container, used in containers.items()
                ),
            ),
        )

    async def remove(self, work: Work, *, force: bool) -> None:
        """Delete a pod, waiting for its node or not."""
        work.deleted = True
        self.forced += force
        with suppress(NotFound):
            await self.client.delete(
                Pod,
                work.name,
                namespace=NAMESPACE,
                uid=work.uid,
                grace_period_seconds=0 if force else None,
            )

    # What a controller does ---------------------------------------------------------------------

    async def _watch(self) -> None:
        """Free claims of pods that ended or are gone."""
        async for event in self.client.watch(Pod, namespace=NAMESPACE):
            if event.type is EventType.BOOKMARK:
                continue
            self.changed.set()
            work = self.works.get(event.object.metadata.uid)
            if work is None:
                continue
            work.gone = event.type is EventType.DELETED
            if work.gone or event.object.status.phase in TERMINAL:
                work.over = True
                async with self._scheduling:
                    await self._free(work)

    async def _free(self, work: Work) -> None:
        for claim in work.claims:
            if work.uid not in claim.users:
                continue
            claim.users.discard(work.uid)
            await self._write_status(claim)
            if not claim.users:
                await self.client.delete(ResourceClaim, claim.name, namespace=NAMESPACE)
                self.claims.remove(claim)


def _devices(claims: Sequence[Claim]) -> str:
    return " ".join(
        f"{driver}/{device}/{claim.uid}" for claim in claims for driver, device in claim.devices
    )
