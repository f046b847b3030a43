"""Users of a cluster that is killed over and over: what they create, change and delete, and expect.

Whoever gets no answer asks again until there is one, so that it is always known what the cluster
has acknowledged: names are never used twice, so asking twice does no harm. Everything is drawn from
one seed, but the timing is the machine's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from dray.api.apps import Deployment
from dray.api.batch import Job
from dray.api.core import Namespace, Pod
from dray.api.meta import Object, ObjectMeta
from dray.api.resource import DeviceTaintRule, ResourceClaim
from dray.client import Client
from dray.errors import (
    AlreadyExists,
    ConfigurationError,
    NotFound,
    TooManyRequests,
    TransportError,
    Unavailable,
)
from tests.e2e.up_machine import REAL_NODES, SIMULATED_NODES, UpMachine
from tests.e2e.up_objects import (
    NAMESPACE,
    SHAPES,
    claim,
    deployment,
    device_class,
    job,
    pod,
    taint_rule,
    template,
)

__all__ = ["UpStorm", "Work"]

USERS = 3
WORKS_MAX = 20
SHARED_CLAIMS_MAX = 3
DEPLOYMENT_SHAPES = (("fragile",), ("part",), ("share",), ("one", "share"), ())
POD_SHAPES = tuple(name for name in SHAPES if name != "fragile")
POOLS = (*REAL_NODES, *SIMULATED_NODES)
DEVICES = ("gpu-0", "gpu-1", "gpu-2", "gpu-3", "big-0", "shared-0")

T = TypeVar("T")
Made = TypeVar("Made", bound=Object)


async def _nothing() -> None:
    return


@dataclass(slots=True, eq=False)
class Work:
    """Something that was created, by a user."""

    kind: type[Object]
    name: str
    uid: str
    lasting: bool = True
    # Of a Deployment: all numbers of replicas that somebody has asked for, and how many of these
    # wishes were answered.
    wishes: list[int] = field(default_factory=list)
    answered: int = 0
    shared_claim: str = ""
    # Nobody says of its devices that they may be tainted, so it may be evicted.
    fragile: bool = False
    deleting: bool = False  # somebody has asked
    deleted: bool = False  # and has got an answer
    forced: bool = False

    @property
    def replicas(self) -> int:
        return self.wishes[self.answered - 1]

    def __str__(self) -> str:
        return f"{self.kind.__name__} {self.name}"


@dataclass(slots=True)
class Counts:
    """What a storm has done."""

    pods: int = 0
    jobs: int = 0
    deployments: int = 0
    claims: int = 0
    deletions: int = 0
    forced: int = 0
    scalings: int = 0
    faults: int = 0
    unanswered: int = 0

    def __str__(self) -> str:
        return (
            f"{self.pods} pods, {self.jobs} jobs, {self.deployments} deployments, {self.claims} "
            f"shared claims, {self.deletions} deletions ({self.forced} by force), {self.scalings} "
            f"scalings, {self.faults} faults, {self.unanswered} calls without an answer"
        )


@dataclass(slots=True, eq=False)
class UpStorm:
    """Churn, blows, and what is known about how things should be."""

    machine: UpMachine
    seed: int
    works: list[Work] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    seen_pods: set[str] = field(default_factory=set)  # UIDs
    seen_claims: set[str] = field(default_factory=set)  # UIDs
    pids: dict[str, int] = field(default_factory=dict)  # by the UIDs of pods
    _random: Random = field(init=False)
    _blows: Random = field(init=False)
    _up: asyncio.Event = field(default_factory=asyncio.Event)
    # What must hold at any moment.
    inspect: Callable[[], Awaitable[None]] = field(default=_nothing, init=False)
    _number: int = 0

    def __post_init__(self) -> None:
        self._random = Random(f"churn {self.seed}")
        self._blows = Random(f"blows {self.seed}")

    @property
    def kills(self) -> int:
        return self.machine.up.kills

    @property
    def client(self) -> Client:
        return self.machine.client

    def present(self, kind: type[Object]) -> list[Work]:
        """What is there, and is to stay."""
        return [work for work in self.works if work.kind is kind and not work.deleting]

    async def prepare(self) -> None:
        """What everything else needs."""
        self._up.set()
        await self.make(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
        await self.make(device_class())
        for shape in SHAPES:
            await self.make(template(shape))

    # The storm ----------------------------------------------------------------------------------

    async def rage(self, kills: int) -> None:
        """Churn until the cluster was killed so many times."""
        calm = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(USERS):
                tasks.create_task(self._churn(calm))
            while self.kills < kills:
                await self._strike()
            calm.set()

    async def churn(self, steps: int) -> None:
        """Users at work, for so many steps each, with nobody killed."""

        async def use() -> None:
            for _ in range(steps):
                await self._step()

        await asyncio.gather(*(use() for _ in range(USERS)))

    async def subside(self) -> None:
        """Nothing fails any more."""
        for node in REAL_NODES:
            await self.machine.tell(node, {"recover": "*"})
        for rule in await self._rules():
            await self.unmake(DeviceTaintRule, rule)

    async def _strike(self) -> None:
        random = self._blows
        await self._disturb()
        await self.inspect()
        await asyncio.sleep(random.uniform(0.0, 2.0))
        self.machine.check_alive()
        self._up.clear()
        await self.machine.kill()
        while random.random() < 0.25:
            # A start is a moment like any other.
            await self.machine.up.start()
            await asyncio.sleep(random.uniform(0.0, 3.0))
            self.machine.check_alive()
            await self.machine.kill()
        if random.random() < 0.2:
            await asyncio.sleep(random.uniform(0.0, 1.0))
        await self.machine.start()
        await self.inspect()
        self._up.set()

    async def _disturb(self) -> None:
        """Break a device of a real node, or make its driver slow or fail."""
        random = self._blows
        node, device = random.choice(REAL_NODES), random.choice(DEVICES)
        operation = random.choice(("prepare", "unprepare"))
        told = random.choice(
            (
                {"inject": {"kind": "unhealthy", "device": device, "message": "struck"}},
                {"inject": {"kind": "slow", "seconds": 0.3, "operation": operation}},
                {"inject": {"kind": "failing", "times": 2, "operation": operation}},
                {"recover": "*"},
            )
        )
        with suppress(ConfigurationError):
            await self.machine.tell(node, told)
            self.counts.faults += 1

    # Users --------------------------------------------------------------------------------------

    async def _churn(self, calm: asyncio.Event) -> None:
        while not calm.is_set():
            await asyncio.sleep(self._random.uniform(0.0, 0.1))
            await self._step()

    async def _step(self) -> None:
        present = [work for work in self.works if not work.deleting]
        if len(present) < self._random.randrange(1, WORKS_MAX + 1):
            await self._add()
            return
        if self._random.random() < 0.15:
            await self._taint()
            return
        # One user at a time, or nobody could say what was wished for last.
        deployments = [
            work for work in self.present(Deployment) if work.answered == len(work.wishes)
        ]
        if deployments and self._random.random() < 0.3:
            await self._scale(self._random.choice(deployments))
            return
        removable = [work for work in present if work.kind is not ResourceClaim]
        if removable:
            await self.remove(self._random.choice(removable), force=self._random.random() < 0.3)

    async def _add(self) -> None:
        random = self._random
        self._number += 1
        number, folder = self._number, str(self.machine.folder)
        choice = random.random()
        if choice < 0.1:
            name = f"job-{number}"
            shape = random.choice(("one", "part", "share"))
            made = await self.make(job(name, folder, shape=shape, completions=random.randint(1, 3)))
            self.works.append(Work(Job, name, made.metadata.uid, lasting=False))
            self.counts.jobs += 1
        elif choice < 0.25:
            name, replicas = f"deployment-{number}", random.randint(1, 3)
            shapes = random.choice(DEPLOYMENT_SHAPES)
            made_deployment = await self.make(
                deployment(
                    name, folder, shapes=shapes, extended=0 if shapes else 1, replicas=replicas
                )
            )
            uid = made_deployment.metadata.uid
            self.works.append(Work(Deployment, name, uid, wishes=[replicas], answered=1))
            self.counts.deployments += 1
        else:
            await self._add_pod(f"pod-{number}")

    async def _add_pod(self, name: str) -> None:
        random, folder = self._random, str(self.machine.folder)
        lasting = random.random() < 0.6
        deaf = lasting and random.random() < 0.2
        choice = random.random()
        shared, extended = "", 0
        shapes: tuple[str, ...] = ()
        if choice < 0.3:
            shared = await self._shared_claim()
        elif choice < 0.5:
            extended = random.randint(1, 2)
        else:
            shapes = tuple(random.choices(POD_SHAPES, k=random.choice((1, 1, 1, 2))))
        made = await self.make(
            pod(
                name,
                folder,
                shapes=shapes,
                shared_claim=shared,
                extended=extended,
                lasting=lasting,
                deaf=deaf,
            )
        )
        self.works.append(
            Work(
                Pod,
                name,
                made.metadata.uid,
                lasting=lasting,
                shared_claim=shared,
                fragile=extended > 0,
            )
        )
        self.counts.pods += 1

    async def _shared_claim(self) -> str:
        """A claim for several pods: one that is there, or a new one."""
        claims = self.present(ResourceClaim)
        if len(claims) >= SHARED_CLAIMS_MAX:
            if self._random.random() < 0.8:
                return self._random.choice(claims).name
            # It stays for as long as a pod uses it, and no other gets it.
            await self.remove(self._random.choice(claims), force=False)
        self._number += 1
        name = f"claim-{self._number}"
        made = await self.make(claim(name, self._random.choice(("one", "two", "part", "share"))))
        self.works.append(Work(ResourceClaim, name, made.metadata.uid))
        self.counts.claims += 1
        return name

    async def _taint(self) -> None:
        """Taint a device, or take a taint away."""
        rules = await self._rules()
        if len(rules) > 2:
            await self.unmake(DeviceTaintRule, self._random.choice(rules))
            return
        self._number += 1
        effect = self._random.choice(("NoSchedule", "NoExecute"))
        pool, device = self._random.choice(POOLS), self._random.choice(DEVICES)
        await self.make(taint_rule(f"rule-{self._number}", pool, device, effect))
        self.counts.faults += 1

    async def _rules(self) -> list[str]:
        async def listed(client: Client) -> list[str]:
            return sorted(one.metadata.name for one in (await client.list(DeviceTaintRule)).items)

        return await self.insist(listed)

    async def _scale(self, work: Work) -> None:
        replicas = self._random.randint(0, 4)

        async def scaled(client: Client) -> None:
            # Somebody may delete it meanwhile.
            with suppress(NotFound):
                patch = {"spec": {"replicas": replicas}}
                await client.patch(Deployment, work.name, patch, namespace=NAMESPACE)

        work.wishes.append(replicas)
        await self.insist(scaled)
        work.answered += 1
        self.counts.scalings += 1

    async def remove(self, work: Work, *, force: bool) -> None:
        """Delete it, and for pods wait for their node or not."""
        work.deleting = True
        work.forced = force and work.kind is Pod
        self.counts.deletions += 1
        self.counts.forced += work.forced
        await self.unmake(
            work.kind, work.name, uid=work.uid, grace_seconds=0 if work.forced else None
        )
        work.deleted = True

    async def remove_all(self, kinds: Sequence[type[Object]]) -> None:
        """Delete what there is of some kinds."""
        for kind in kinds:
            for work in self.present(kind):
                await self.remove(work, force=False)

    # Calls that are repeated until they are answered -------------------------------------------

    async def insist(self, ask: Callable[[Client], Awaitable[T]]) -> T:
        """The answer of the cluster, however often it must be asked."""
        while True:
            await self._up.wait()
            try:
                return await ask(self.client)
            except (TransportError, Unavailable, TooManyRequests):
                self.counts.unanswered += 1
                # Its end may not be known here yet.
                await asyncio.sleep(0.02)

    async def make(self, obj: Made) -> Made:
        """Have it created, once."""

        async def created(client: Client) -> Made:
            try:
                return await client.create(obj)
            except AlreadyExists:
                return await client.get(
                    type(obj), obj.metadata.name, namespace=obj.metadata.namespace
                )

        return await self.insist(created)

    async def unmake(
        self, kind: type[Object], name: str, *, uid: str = "", grace_seconds: int | None = None
    ) -> None:
        """Have it deleted."""
        namespaced = kind is not DeviceTaintRule

        async def deleted(client: Client) -> None:
            with suppress(NotFound):
                await client.delete(
                    kind,
                    name,
                    namespace=NAMESPACE if namespaced else "",
                    uid=uid,
                    grace_period_seconds=grace_seconds,
                    # What kubectl says; without it the pods of a Job would stay.
                    propagation_policy="Background",
                )

        await self.insist(deleted)
