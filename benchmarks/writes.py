"""What the writes of a pod's life cost an API server, in microseconds of processor time each.

A pod with a claim is created, its claim is made, allocated and reserved, the pod is bound, runs and
is deleted: a few hundred pods at a time take each step together, fifty in flight, through the typed
client. Twice: to a server in the same process, where the client's work counts too, and to a server
of its own over TLS, where only the server's does. The best round counts.

`python -m benchmarks.writes` runs it alone, and `python -m benchmarks.compare REVISION` compares
what it costs in the same process with another revision.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dray.api.core import (
    Binding,
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStatus,
    Event,
    EventSource,
    ObjectReference,
    Pod,
    PodCondition,
    PodResourceClaim,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from dray.api.core import ResourceClaim as ContainerClaim
from dray.api.meta import ObjectMeta, OwnerReference, Status
from dray.api.quantity import Quantity
from dray.api.resource import (
    AllocationResult,
    CELDeviceSelector,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dray.api.wire import Time, replace
from dray.client import Client, PatchType, connect, load_kubeconfig
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.http.loop import run as run_loop
from dray.scheduler.giving import give
from dray.store.sqlite import SQLiteStore
from dray.testing.cluster import Cluster
from tests.interop.dray_server import DrayServer

__all__ = ["main", "measure"]

ROUNDS: Final = 4
PODS: Final = 400
IN_FLIGHT: Final = 50

NAMESPACE: Final = "default"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"

# What a write may cost where client and server share a process; with all of them for one pod, and
# what schedulers and controllers do in between, two cores keep up with 500 pods a second.
MICROSECONDS_MAX: Final[Mapping[str, float]] = {
    "create pod": 300,
    "create claim": 250,
    "patch pod status, merge": 300,
    "allocate claim": 300,
    "bind pod": 150,
    "create event": 150,
    "patch pod status, strategic": 300,
    "patch pod status, apply": 400,
    "begin to delete pod": 150,
    "delete pod": 150,
    "release claim": 300,
    "delete claim": 225,
}

# A machine may be slower, or busy; by more than this much, it is not the machine.
TOLERANCE: Final = 2.0

Microseconds = dict[str, float]
Meter = Callable[[], float]


@dataclass
class Life:
    """One pod and its claim, as far as they have come."""

    name: str
    pod: Pod = field(default_factory=Pod)
    claim: ResourceClaim = field(default_factory=ResourceClaim)


Step = Callable[[Client, Life], Awaitable[Any]]


# The steps --------------------------------------------------------------------------------------


def _spec() -> PodSpec:
    container = Container(
        name="main",
        image="registry.example/train:1",
        resources=ResourceRequirements(
            requests={"cpu": Quantity.parse("500m"), "memory": Quantity.parse("1Gi")},
            claims=(ContainerClaim(name="gpu"),),
        ),
    )
    claim = PodResourceClaim(name="gpu", resource_claim_template_name="gpu")
    return PodSpec(containers=(container,), resource_claims=(claim,))


def _claim_spec() -> ResourceClaimSpec:
    expression = 'device.attributes["gpu.example.com"].model == "a100"'
    selector = DeviceSelector(cel=CELDeviceSelector(expression=expression))
    exactly = ExactDeviceRequest(device_class_name="gpu.example.com", selectors=(selector,))
    request = DeviceRequest(name="gpu", exactly=exactly)
    return ResourceClaimSpec(devices=DeviceClaim(requests=(request,)))


_POD_SPEC: Final = _spec()
_CLAIM_SPEC: Final = _claim_spec()


async def create_pod(client: Client, life: Life) -> None:
    metadata = ObjectMeta(name=life.name, namespace=NAMESPACE, labels={"app": "train"})
    life.pod = await client.create(Pod(metadata=metadata, spec=_POD_SPEC))


async def create_claim(client: Client, life: Life) -> None:
    owner = OwnerReference(
        api_version="v1",
        kind="Pod",
        name=life.name,
        uid=life.pod.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
    metadata = ObjectMeta(
        generate_name=f"{life.name}-gpu-",
        namespace=NAMESPACE,
        annotations={"resource.kubernetes.io/pod-claim-name": "gpu"},
        owner_references=(owner,),
        finalizers=(FINALIZER,),
    )
    life.claim = await client.create(ResourceClaim(metadata=metadata, spec=_CLAIM_SPEC))


async def name_claim(client: Client, life: Life) -> None:
    claims = [{"name": "gpu", "resourceClaimName": life.claim.metadata.name}]
    await _patch_status(client, life, {"resourceClaimStatuses": claims}, PatchType.MERGE)


async def allocate_claim(client: Client, life: Life) -> None:
    result = DeviceRequestAllocationResult(
        request="gpu", driver="gpu.example.com", pool="node-1", device=f"gpu-{life.name}"
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    life.claim = await give(client, life.claim, allocation, life.pod)


async def bind_pod(client: Client, life: Life) -> None:
    binding = Binding(
        metadata=ObjectMeta(name=life.name, namespace=NAMESPACE, uid=life.pod.metadata.uid),
        target=ObjectReference(kind="Node", name="node-1"),
    )
    await client.create_subresource(Pod, life.name, "binding", binding, Status, namespace=NAMESPACE)


async def create_event(client: Client, life: Life) -> None:
    now = Time(SystemClock().now())
    event = Event(
        metadata=ObjectMeta(name=f"{life.name}.17e2a3b4c5d6e7f8", namespace=NAMESPACE),
        involved_object=ObjectReference(
            api_version="v1",
            kind="Pod",
            namespace=NAMESPACE,
            name=life.name,
            uid=life.pod.metadata.uid,
            resource_version=life.pod.metadata.resource_version,
        ),
        reason="Scheduled",
        message=f"Successfully assigned {NAMESPACE}/{life.name} to node-1",
        source=EventSource(component="default-scheduler"),
        first_timestamp=now,
        last_timestamp=now,
        count=1,
        type="Normal",
        reporting_component="default-scheduler",
    )
    await client.create(event)


def _running(now: Time) -> PodStatus:
    ready = tuple(
        PodCondition(type=name, status="True", last_transition_time=now)
        for name in ("Initialized", "Ready", "ContainersReady")
    )
    container = ContainerStatus(
        name="main",
        image="registry.example/train:1",
        image_id="registry.example/train@sha256:0",
        container_id="process://1",
        ready=True,
        started=True,
        state=ContainerState(running=ContainerStateRunning(started_at=now)),
    )
    return PodStatus(
        phase="Running", conditions=ready, start_time=now, container_statuses=(container,)
    )


async def run_pod(client: Client, life: Life) -> None:
    status = _running(Time(SystemClock().now()))
    await _patch_status(client, life, status, PatchType.STRATEGIC)


async def apply_status(client: Client, life: Life) -> None:
    status = {"message": f"applied to {life.name}"}
    document = {"apiVersion": "v1", "kind": "Pod", "status": status}
    await client.patch(
        Pod,
        life.name,
        document,
        namespace=NAMESPACE,
        type=PatchType.APPLY,
        subresource="status",
        field_manager="applier",
    )


async def _patch_status(client: Client, life: Life, status: Any, kind: PatchType) -> None:
    await client.patch(
        Pod, life.name, {"status": status}, namespace=NAMESPACE, type=kind, subresource="status"
    )


async def begin_to_delete_pod(client: Client, life: Life) -> None:
    await client.delete(Pod, life.name, namespace=NAMESPACE, uid=life.pod.metadata.uid)


async def delete_pod(client: Client, life: Life) -> None:
    await client.delete(Pod, life.name, namespace=NAMESPACE, grace_period_seconds=0)


async def release_claim(client: Client, life: Life) -> None:
    free = await client.update_status(replace(life.claim, status=ResourceClaimStatus()))
    life.claim = replace(free, metadata=replace(free.metadata, finalizers=()))


async def delete_claim(client: Client, life: Life) -> None:
    await client.update(life.claim)
    await client.delete(ResourceClaim, life.claim.metadata.name, namespace=NAMESPACE)


# A step, and how many writes it is.
STEPS: Final[Mapping[str, tuple[Step, int]]] = {
    "create pod": (create_pod, 1),
    "create claim": (create_claim, 1),
    "patch pod status, merge": (name_claim, 1),
    "allocate claim": (allocate_claim, 1),
    "bind pod": (bind_pod, 1),
    "create event": (create_event, 1),
    "patch pod status, strategic": (run_pod, 1),
    "patch pod status, apply": (apply_status, 1),
    "begin to delete pod": (begin_to_delete_pod, 1),
    "delete pod": (delete_pod, 1),
    "release claim": (release_claim, 1),
    "delete claim": (delete_claim, 2),
}


# Measuring --------------------------------------------------------------------------------------


async def _round(client: Client, meter: Meter, number: int, pods: int) -> Microseconds:
    lives = [Life(f"train-{number}-{index}") for index in range(pods)]
    found: Microseconds = {}
    for name, (step, writes) in STEPS.items():
        started = meter()
        for start in range(0, pods, IN_FLIGHT):
            batch = lives[start : start + IN_FLIGHT]
            await asyncio.gather(*(step(client, life) for life in batch))
        found[name] = (meter() - started) / (pods * writes) * 1e6
    return found


async def _rounds(
    serving: AbstractAsyncContextManager[tuple[Client, Meter]], *, rounds: int, pods: int
) -> Microseconds:
    best: Microseconds = {}
    async with serving as (client, meter):
        for number in range(rounds):
            for name, each in (await _round(client, meter, number, pods)).items():
                best[name] = min(best.get(name, each), each)
    return best


@asynccontextmanager
async def _in_process() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore.open(Path(folder) / "data.db")
        cluster = Cluster(clock=SystemClock(), entropy=SystemEntropy(), store=store)
        async with cluster:
            yield cluster.client, time.process_time


@asynccontextmanager
async def _over_tls() -> Any:
    server = DrayServer()
    try:
        config = load_kubeconfig(server.endpoint.kubeconfig)
        client = connect(config, clock=SystemClock(), entropy=SystemEntropy())
        yield client, lambda: sum(_cpu_seconds(pid) for pid in server.process_ids)
        await client.close()
    finally:
        server.stop()


def _cpu_seconds(pid: int) -> float:
    """Of all threads, to the nanosecond; a process as such is counted in hundredths of seconds."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def measure(*, rounds: int = ROUNDS, pods: int = PODS) -> Microseconds:
    """What each write costs, client and server in one process."""
    return run_loop(_rounds(_in_process(), rounds=rounds, pods=pods))


def main(arguments: list[str] | None = None) -> bool:
    """Whether every write costs what it may."""
    quick = "--quick" in (arguments or [])
    rounds, pods = (1, PODS // 4) if quick else (ROUNDS, PODS)
    together = measure(rounds=rounds, pods=pods)
    apart = run_loop(_rounds(_over_tls(), rounds=rounds, pods=pods))
    print(
        f"\n{'µs of processor time per write':<32}{'in process':>12}{'server, TLS':>14}{'limit':>8}"
    )
    held = True
    for name, each in together.items():
        limit = MICROSECONDS_MAX[name]
        told = "" if each <= limit else "  over its limit"
        if each > limit * TOLERANCE:
            held, told = False, "  MISSED"
        print(f"{name:<32}{each:>12.0f}{apart[name]:>14.0f}{limit:>8.0f}{told}")
    total = sum(together[name] * writes for name, (_step, writes) in STEPS.items())
    print(f"{'the whole life of a pod':<32}{total:>12.0f}")
    return held


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
