"""What tests of the SDK share: a driver that notes what it is asked, claims, a reader of claims."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceClaimStatus,
)
from dray.client import Client
from dray.entropy import SeededEntropy
from dray.errors import NotFound, StatusDetails
from dray.proto import dra_v1_pb2 as v1
from dray.sdk import ClaimedDevice, Driver, Edits, Inventory, PreparedDevice, Step, device
from dray.sdk._cdi_files import CDIFiles
from dray.sdk._claims import ClaimName
from dray.sdk._failures import ClaimFailure
from dray.sdk._journal import Journal, JournalDevice
from dray.sdk._preparation import Observer, Preparation
from dray.sdk._serialization import ProcessLock
from dray.sdk._steps import OnStep, pass_by
from dray.testing import FakeClock

DRIVER = "gpu.example.com"
POOL = "n1"


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory whose name leaves room for those of sockets."""
    path = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def result(
    name: str = "gpu-0", *, request: str = "gpu", driver: str = DRIVER, **more: Any
) -> DeviceRequestAllocationResult:
    members = {"pool": POOL} | more
    return DeviceRequestAllocationResult(request=request, driver=driver, device=name, **members)


def config(
    parameters: Any,
    *,
    source: str = "FromClaim",
    requests: tuple[str, ...] = (),
    driver: str = DRIVER,
) -> DeviceAllocationConfiguration:
    return DeviceAllocationConfiguration(
        source=source,
        requests=requests,
        opaque=OpaqueDeviceConfiguration(
            driver=driver, parameters=msgspec.Raw(msgspec.json.encode(parameters))
        ),
    )


def claim(
    uid: str = "uid-1",
    *results: DeviceRequestAllocationResult,
    name: str = "",
    namespace: str = "default",
    configs: tuple[DeviceAllocationConfiguration, ...] = (),
    allocated: bool = True,
) -> ResourceClaim:
    allocation = AllocationResult(
        devices=DeviceAllocationResult(results=results or (result(),), config=configs)
    )
    return ResourceClaim(
        metadata=ObjectMeta(name=name or f"claim-of-{uid}", namespace=namespace, uid=uid),
        status=ResourceClaimStatus(allocation=allocation if allocated else None),
    )


class Claims:
    """Stands for the API where a test is about what becomes of claims, not how they are read.

    `failures` are raised first, one at each call.
    """

    def __init__(self, *claims: ResourceClaim) -> None:
        self.claims = {(each.metadata.namespace, each.metadata.name): each for each in claims}
        self.failures: list[Exception] = []
        self.calls = 0

    def add(self, *claims: ResourceClaim) -> None:
        self.claims |= {(each.metadata.namespace, each.metadata.name): each for each in claims}

    def remove(self, each: ResourceClaim) -> None:
        del self.claims[each.metadata.namespace, each.metadata.name]

    async def get(
        self, kind: type[ResourceClaim], name: str, *, namespace: str = ""
    ) -> ResourceClaim:
        assert kind is ResourceClaim
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        if (namespace, name) not in self.claims:
            raise NotFound(f'claims "{name}" not found', StatusDetails(name=name))
        return self.claims[namespace, name]


def as_client(claims: Claims) -> Client:
    """For a driver that publishes nothing, claims are all there is to the API."""
    return cast("Client", claims)


class Gpus(Driver):
    """Notes every call; `script` says what to do for a device instead of succeeding."""

    name = DRIVER

    def __init__(self, *, count: int = 4, log: list[str] | None = None) -> None:
        self.count = count
        self.log: list[str] = [] if log is None else log
        self.script: dict[str, Callable[[ClaimedDevice], Any]] = {}
        self.undo_script: dict[str, Callable[[PreparedDevice], Any]] = {}
        self.held: dict[str, str] = {}  # what the "hardware" is set up for: device to claim

    async def discover(self) -> Inventory:
        return Inventory.of([device(f"gpu-{n}") for n in range(self.count)])

    async def prepare(self, device: ClaimedDevice) -> Edits | None:
        self.log.append(f"prepare {device.device} for {device.claim_uid}")
        self.held[device.device] = device.claim_uid
        act = self.script.get(device.device)
        if act is not None:
            answer = act(device)
            if asyncio.iscoroutine(answer):
                answer = await answer
            return answer  # type: ignore[no-any-return]  # scripts answer as tests want
        return Edits(env=(f"GPU={device.device}",))

    async def unprepare(self, device: PreparedDevice) -> None:
        self.log.append(f"unprepare {device.device} for {device.claim_uid}")
        act = self.undo_script.get(device.device)
        if act is not None:
            answer = act(device)
            if asyncio.iscoroutine(answer):
                await answer
        if self.held.get(device.device) == device.claim_uid:
            del self.held[device.device]


def prepare_request(*claims: ResourceClaim) -> v1.NodePrepareResourcesRequest:
    return v1.NodePrepareResourcesRequest(claims=map(_reference, claims))


def unprepare_request(*claims: ResourceClaim) -> v1.NodeUnprepareResourcesRequest:
    return v1.NodeUnprepareResourcesRequest(claims=map(_reference, claims))


def _reference(each: ResourceClaim) -> v1.Claim:
    metadata = each.metadata
    return v1.Claim(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)


def raising(error: Exception) -> Callable[[Any], Any]:
    def act(_: Any) -> Any:
        raise error

    return act


def in_turn(*answers: Any) -> Callable[[Any], Any]:
    """Each call gets the next: raised if it is an error, else returned."""
    left = list(answers)

    def act(_: Any) -> Any:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return act


def errors_of(response: v1.NodePrepareResourcesResponse) -> Mapping[str, str]:
    return {uid: each.error for uid, each in response.claims.items()}


class Killed(Exception):
    """The process is no more."""


class Fuse:
    """Lets so many steps pass, then kills the process: nothing passes after that."""

    def __init__(self, steps: int | None = None) -> None:
        self.left = steps
        self.steps: list[Step] = []

    def __call__(self, step: Step, uid: str) -> None:
        if self.left is not None:
            if self.left <= 0:
                raise Killed(f"after {step.value} of {uid}")
            self.left -= 1
        self.steps.append(step)


class Machine:
    """A node's disk, its API, and the hardware: what outlives a driver's process."""

    def __init__(self, root: Path, *claims: ResourceClaim) -> None:
        self.root = root
        self.claims = Claims(*claims)
        self.clock = FakeClock()
        self.boot_id = "boot-1"
        self.driver = Gpus()
        self.problems: list[str] = []
        self.observer = Observer()

    def start(self, on_step: OnStep = pass_by, driver: Gpus | None = None) -> Preparation:
        """A process: it knows what is on disk."""
        journal = Journal(
            self.journal_path,
            driver=DRIVER,
            boot_id=self.boot_id,
            on_problem=self.problems.append,
        )
        return Preparation(
            driver or self.driver,
            self.claims,
            journal=journal,
            cdi_files=CDIFiles(self.root / "cdi", driver=DRIVER, device_class="claim"),
            lock=ProcessLock(
                self.root / "serialize.lock", clock=self.clock, acquired=journal.refresh
            ),
            clock=self.clock,
            entropy=SeededEntropy(1),
            observer=self.observer,
            on_step=on_step,
        )

    def reboot(self) -> None:
        """Hardware forgets, and what was on tmpfs is gone."""
        self.boot_id += "'"
        self.driver.held.clear()
        shutil.rmtree(self.root / "cdi", ignore_errors=True)

    @property
    def journal_path(self) -> Path:
        return self.root / "journal.json"

    def cdi_files(self) -> list[str]:
        return sorted(path.name for path in (self.root / "cdi").glob("*"))


async def prepared(
    process: Preparation, *claims: ResourceClaim
) -> dict[str, tuple[JournalDevice, ...] | ClaimFailure]:
    return await process.prepare(map(name_of, claims))


async def unprepared(
    process: Preparation, *claims: ResourceClaim
) -> dict[str, ClaimFailure | None]:
    return await process.unprepare(map(name_of, claims))


def name_of(each: ResourceClaim) -> ClaimName:
    return ClaimName(each.metadata.namespace, each.metadata.name, each.metadata.uid)


def refusal(outcome: tuple[JournalDevice, ...] | ClaimFailure | None) -> ClaimFailure:
    assert isinstance(outcome, ClaimFailure), f"this should have failed: {outcome}"
    return outcome


def devices(outcome: tuple[JournalDevice, ...] | ClaimFailure | None) -> tuple[JournalDevice, ...]:
    assert isinstance(outcome, tuple), f"this should have succeeded: {outcome}"
    return outcome
