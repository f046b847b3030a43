"""Dray's scheduler and controllers on a real kube-apiserver: `python -m tests.interop.scheduling`.

Nodes and devices are only said to be there, and what a kubelet would report, this does. The
scheduler has upstream's rights and no others. Prints a line for each claim that held, and exits
with 1 at the first that does not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from dray.api.apps import (
    ControllerRevision,
    DaemonSet,
    DaemonSetSpec,
    ReplicaSet,
    ReplicaSetSpec,
)
from dray.api.batch import Job, JobSpec
from dray.api.core import (
    Container,
    Event,
    Node,
    Pod,
    PodResourceClaim,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    ServiceAccount,
)
from dray.api.core import ResourceClaim as ContainerClaim
from dray.api.meta import LabelSelector, Object, ObjectMeta
from dray.api.pod_claims import is_reserved
from dray.api.quantity import Quantity
from dray.api.resource import (
    CELDeviceSelector,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceSelector,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.wire import replace
from dray.client import (
    Client,
    EventType,
    Informer,
    Informers,
    PatchType,
    connect,
    load_kubeconfig,
)
from dray.clock import SystemClock, within
from dray.controllers.controllers import Controllers
from dray.entropy import SystemEntropy
from dray.errors import DrayError
from dray.scheduler.scheduler import Scheduler
from dray.testing.invariants import no_device_held_twice, violations
from tests.interop.client import Failed, held
from tests.interop.endpoint import Endpoint, write_kubeconfig
from tests.interop.upstream import Upstream

SPACE: Final = "default"
DRIVER: Final = "gpu.example.com"
CLASS: Final = "gpu"
EXTENDED: Final = "example.com/gpu"
NODES: Final = ("node-a", "node-b")
DEVICES_PER_NODE: Final = 4
DEVICES: Final = len(NODES) * DEVICES_PER_NODE

SCHEDULER: Final = "system:kube-scheduler"
CONTROLLERS: Final = (
    "resourceclaim-controller",
    "device-taint-eviction-controller",
    "garbage-collector-controller",
    "job-controller",
    "replicaset-controller",
    "daemonset-controller",
)

# The garbage collector learns within seconds what kinds there are; all else takes less.
CLAIM_SECONDS_MAX: Final = 60.0

T = TypeVar("T", bound=Object)


# What is asked for -------------------------------------------------------------------------------


def named(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=SPACE)


def claim_spec(count: int = 1) -> ResourceClaimSpec:
    exactly = ExactDeviceRequest(device_class_name=CLASS, count=count)
    request = DeviceRequest(name="gpu", exactly=exactly)
    return ResourceClaimSpec(devices=DeviceClaim(requests=(request,)))


def pod_spec(*, template: str = "", claim: str = "", extended: int = 0) -> PodSpec:
    """Of a pod that ends at once when it is deleted: nobody would report that it has."""
    uses = bool(template or claim)
    entry = PodResourceClaim(
        name="gpu",
        resource_claim_template_name=template or None,
        resource_claim_name=claim or None,
    )
    resources = ResourceRequirements(
        limits={EXTENDED: Quantity.parse(str(extended))} if extended else {},
        claims=(ContainerClaim(name="gpu"),) if uses else (),
    )
    return PodSpec(
        containers=(Container(name="main", image="registry.example/main:1", resources=resources),),
        resource_claims=(entry,) if uses else (),
        termination_grace_period_seconds=0,
    )


def pod(name: str, spec: PodSpec) -> Pod:
    return Pod(metadata=named(name), spec=spec)


def node_slice(node: str) -> ResourceSlice:
    return ResourceSlice(
        metadata=ObjectMeta(name=f"{node}-gpus"),
        spec=ResourceSliceSpec(
            driver=DRIVER,
            node_name=node,
            pool=ResourcePool(name=node, generation=1, resource_slice_count=1),
            devices=tuple(Device(name=f"gpu-{index}") for index in range(DEVICES_PER_NODE)),
        ),
    )


# What is seen ------------------------------------------------------------------------------------


def is_placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name)


def condition(conditions: Iterable[Any] | None, type_: str) -> Any:
    """The condition of a type; some kinds have conditions of a type of their own."""
    return next((one for one in conditions or () if one.type == type_), None)


def devices_of(claim: ResourceClaim) -> list[tuple[str, str]]:
    """Pool and name of each device; pools are named after their nodes here."""
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else None
    return [(one.pool, one.device) for one in results or ()]


class Cluster:
    """A server, a client, and what can be waited for with it."""

    def __init__(self, server: Upstream, client: Client) -> None:
        self.server = server
        self.client = client

    async def until(self, kind: type[T], test: Callable[[T], object], *, name: str = "") -> T:
        """Wait until an object, or any of its kind, is as it should be."""
        async with aclosing(self.client.watch(kind, bookmarks=False)) as events:
            async for event in events:
                found = event.object
                is_it = event.type is not EventType.DELETED and name in ("", found.metadata.name)
                if is_it and test(found):
                    return found
        raise Failed(f"the watch for {kind.__name__} {name} ended")

    async def placed(self, name: str) -> Pod:
        return await self.until(Pod, is_placed, name=name)

    async def deleted(self, kind: type[T], name: str) -> None:
        """Wait until something is gone that somebody deletes, or has."""
        listing = await self.client.list(kind)
        if all(one.metadata.name != name for one in listing.items):
            return
        await self.last_seen(kind, name, since=listing.resource_version)

    async def last_seen(self, kind: type[T], name: str, *, since: str) -> T:
        """Wait until something is gone that was there at a version: what it was in the end."""
        watch = self.client.watch(kind, bookmarks=False, resource_version=since)
        async with aclosing(watch) as events:
            async for event in events:
                if event.type is EventType.DELETED and event.object.metadata.name == name:
                    return event.object
        raise Failed(f"the watch for {kind.__name__} {name} ended")

    async def delete(self, kind: type[T], name: str) -> None:
        await self.client.delete(kind, name, namespace=SPACE, propagation_policy="Background")
        await self.deleted(kind, name)

    async def claim_of(self, pod: Pod) -> ResourceClaim:
        """The claim of a pod that has one."""
        extended = pod.status.extended_resource_claim_status
        names = [one.resource_claim_name for one in pod.status.resource_claim_statuses or ()]
        if extended is not None:
            names.append(extended.resource_claim_name)
        (name,) = names
        return await self.client.get(ResourceClaim, name or "", namespace=SPACE)

    async def wrong(self) -> list[str]:
        """What should not be so once nothing is under way."""
        client = self.client
        return violations(
            (await client.list(Pod)).items,
            (await client.list(ResourceClaim)).items,
            (await client.list(ResourceSlice)).items,
            (await client.list(Node)).items,
        )


# The claims --------------------------------------------------------------------------------------


async def furnish(cluster: Cluster) -> None:
    client = cluster.client
    # Whose work that is, does not run.
    await client.create(ServiceAccount(metadata=named("default")))
    for node in NODES:
        await client.create(Node(metadata=ObjectMeta(name=node)))
        amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True"}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
        await client.patch(Node, node, {"status": status}, subresource="status")
        # The server marks new nodes as not ready, and a controller of nodes would take that away.
        await client.patch(Node, node, {"spec": {"taints": None}})
        await client.create(node_slice(node))
    expression = f'device.driver == "{DRIVER}"'
    spec = DeviceClassSpec(
        selectors=(DeviceSelector(cel=CELDeviceSelector(expression=expression)),),
        extended_resource_name=EXTENDED,
    )
    await client.create(DeviceClass(metadata=ObjectMeta(name=CLASS), spec=spec))
    for name, count in (("one", 1), ("too-many", DEVICES_PER_NODE + 1)):
        template = ResourceClaimTemplateSpec(spec=claim_spec(count))
        await client.create(ResourceClaimTemplate(metadata=named(name), spec=template))


async def check_templates(cluster: Cluster) -> None:
    client = cluster.client
    names = [f"pod-{index}" for index in range(DEVICES)]
    for name in names:
        await client.create(pod(name, pod_spec(template="one")))
    pods = [await cluster.placed(name) for name in names]
    held(f"{DEVICES} pods with a template are given nodes", True)
    claims = [await cluster.claim_of(one) for one in pods]
    given = [devices_of(claim) for claim in claims]
    held(
        "each has a device of its node",
        all(
            [pool for pool, _ in devices] == [one.spec.node_name]
            for one, devices in zip(pods, given, strict=True)
        ),
    )
    held("no two have the same", len({devices[0] for devices in given}) == DEVICES)
    held(
        "each claim is reserved for its pod, which owns it",
        all(
            is_reserved(one, claim) and claim.metadata.owner_references[0].uid == one.metadata.uid
            for one, claim in zip(pods, claims, strict=True)
        ),
    )
    await cluster.until(Event, lambda event: event.reason == "Scheduled")
    held("an event says where a pod went", True)

    await client.create(pod("late", pod_spec(template="one")))
    waiting = await cluster.until(Pod, why_not, name="late")
    held(
        f"a pod that comes too late waits, and says why: {why_not(waiting)}",
        f"0/{len(NODES)} nodes are available: {len(NODES)} cannot allocate all claims"
        in why_not(waiting),
    )
    await cluster.delete(Pod, names[0])
    late = await cluster.placed("late")
    released = devices_of(await cluster.claim_of(late))
    held("it gets the device of one that was deleted", released == given[0])
    await cluster.deleted(ResourceClaim, claims[0].metadata.name)
    held("whose claim is collected", True)
    for name in ("late", *names[1:]):
        await cluster.delete(Pod, name)
    for claim in claims:
        await cluster.deleted(ResourceClaim, claim.metadata.name)


def why_not(pod: Pod) -> str:
    found = condition(pod.status.conditions, "PodScheduled")
    if found is None or found.status != "False" or found.reason != "Unschedulable":
        return ""
    return str(found.message)


async def check_refusal(cluster: Cluster) -> None:
    await cluster.client.create(pod("greedy", pod_spec(template="too-many")))
    refused = await cluster.until(Pod, why_not, name="greedy")
    held(f"a pod that fits nowhere says why: {why_not(refused)}", not is_placed(refused))
    event = await cluster.until(
        Event,
        lambda event: event.reason == "FailedScheduling" and event.involved_object.name == "greedy",
    )
    held("and so does an event", event.message == why_not(refused))
    await cluster.delete(Pod, "greedy")


async def check_shared(cluster: Cluster) -> None:
    client = cluster.client
    await client.create(ResourceClaim(metadata=named("shared"), spec=claim_spec()))
    for name in ("first", "second"):
        await client.create(pod(name, pod_spec(claim="shared")))
    pods = [await cluster.placed(name) for name in ("first", "second")]
    claim = await client.get(ResourceClaim, "shared", namespace=SPACE)
    nodes = {one.spec.node_name for one in pods}
    held("two pods share a claim, and a node with it", nodes == {devices_of(claim)[0][0]})
    held("it is reserved for both", all(is_reserved(one, claim) for one in pods))
    await cluster.delete(Pod, "first")
    await cluster.until(
        ResourceClaim,
        lambda claim: len(claim.status.reserved_for) == 1 and devices_of(claim),
        name="shared",
    )
    held("when one goes the other keeps the device", True)
    await cluster.delete(Pod, "second")
    await cluster.until(ResourceClaim, lambda claim: not claim.status.allocation, name="shared")
    held("when both are gone the device is free", True)
    await cluster.delete(ResourceClaim, "shared")


async def check_extended(cluster: Cluster) -> None:
    await cluster.client.create(pod("extended", pod_spec(extended=2)))
    placed = await cluster.placed("extended")
    claim = await cluster.claim_of(placed)
    pools = [pool for pool, _ in devices_of(claim)]
    held("an extended resource is devices by another name", pools == [placed.spec.node_name] * 2)
    held("its claim is the pod's", is_reserved(placed, claim))
    await cluster.delete(Pod, "extended")
    await cluster.deleted(ResourceClaim, claim.metadata.name)
    held("and goes with it", True)


async def check_job(cluster: Cluster) -> None:
    client = cluster.client
    spec = replace(pod_spec(template="one"), restart_policy="Never")
    template = PodTemplateSpec(spec=spec)
    await client.create(Job(metadata=named("train"), spec=JobSpec(template=template)))
    placed = await cluster.until(
        Pod, lambda pod: pod.metadata.labels.get("job-name") == "train" and is_placed(pod)
    )
    claim = await cluster.claim_of(placed)
    held("the pod of a job has its device", bool(devices_of(claim)))
    name = placed.metadata.name
    await client.patch(
        Pod, name, {"status": {"phase": "Succeeded"}}, namespace=SPACE, subresource="status"
    )
    await cluster.deleted(ResourceClaim, claim.metadata.name)
    held("the claim of a pod that is done is released", True)
    job = await cluster.until(
        Job, lambda job: condition(job.status.conditions, "Complete"), name="train"
    )
    held("and its job complete", job.status.succeeded == 1)
    await cluster.delete(Job, "train")
    await cluster.deleted(Pod, name)
    held("the pod is collected with its job", True)


async def check_replicas(cluster: Cluster) -> None:
    client = cluster.client
    labels = {"app": "serve"}
    spec = ReplicaSetSpec(
        replicas=2,
        selector=LabelSelector(match_labels=labels),
        template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod_spec(template="one")),
    )
    await client.create(ReplicaSet(metadata=named("serve"), spec=spec))
    seen: dict[str, Pod] = {}

    def another(pod: Pod) -> bool:
        new = pod.metadata.labels == labels and pod.metadata.name not in seen and is_placed(pod)
        if new:
            seen[pod.metadata.name] = pod
        return new

    first, second = await cluster.until(Pod, another), await cluster.until(Pod, another)
    held("a replica set has its pods, each with a device", first != second)
    await cluster.delete(Pod, first.metadata.name)
    third = await cluster.until(Pod, another)
    held("one that was deleted is replaced", bool(devices_of(await cluster.claim_of(third))))
    await cluster.delete(ReplicaSet, "serve")
    for one in seen.values():
        await cluster.deleted(Pod, one.metadata.name)
    held("all are collected with the set", True)


async def check_history(cluster: Cluster) -> None:
    client = cluster.client
    labels = {"app": "agent"}
    # With what Go writes in its own way: the server compares the bytes of what is adopted.
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels=labels, annotations={"note": "a<b>&c"}), spec=pod_spec()
    )
    spec = DaemonSetSpec(selector=LabelSelector(match_labels=labels), template=template)
    agent = DaemonSet(metadata=named("agent"), spec=spec)
    await client.create(agent)

    async def revision(number: int) -> ControllerRevision:
        return await cluster.until(ControllerRevision, lambda one: one.revision == number)

    async def all_updated(generation: int) -> None:
        await cluster.until(
            DaemonSet,
            lambda one: (
                (one.status.observed_generation, one.status.updated_number_scheduled)
                == (generation, len(NODES))
            ),
        )

    first = await revision(1)
    await all_updated(1)
    containers = [{"name": "main", "image": "registry.example/main:2"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    await client.patch(DaemonSet, "agent", patch, namespace=SPACE)
    second = await revision(2)
    held("a daemon set has a revision for each template", first.data != second.data)
    await client.patch(
        DaemonSet,
        "agent",
        bytes(first.data or b""),
        namespace=SPACE,
        type=PatchType.STRATEGIC,
    )
    again = await revision(3)
    held("the first is returned to", again.metadata.uid == first.metadata.uid)
    await client.delete(DaemonSet, "agent", namespace=SPACE, propagation_policy="Orphan")
    await cluster.deleted(DaemonSet, "agent")
    made = await client.create(agent)

    def adopted(one: ControllerRevision) -> bool:
        return [owner.uid for owner in one.metadata.owner_references] == [made.metadata.uid]

    for one in (first, second):
        await cluster.until(ControllerRevision, adopted, name=one.metadata.name)
    await all_updated(1)
    revisions = (await client.list(ControllerRevision)).items
    held("revisions that were left behind are adopted, and no other is made", len(revisions) == 2)
    await cluster.delete(DaemonSet, "agent")
    for one in (first, second):
        await cluster.deleted(ControllerRevision, one.metadata.name)
    held("and collected with the set", True)


async def check_crash(cluster: Cluster) -> None:
    client = cluster.client
    await client.create(pod("before", pod_spec(template="one")))
    before = await cluster.placed("before")
    # Told to stop, it would first wait a minute for all watches to end.
    os.kill(cluster.server.process_ids[0], signal.SIGKILL)
    await asyncio.to_thread(cluster.server.restart)
    await client.create(pod("after", pod_spec(template="one")))
    after = await cluster.placed("after")
    claims = [await cluster.claim_of(one) for one in (before, after)]
    held("after a crash of the server pods get devices as before", bool(devices_of(claims[1])))
    for one, claim in zip((before, after), claims, strict=True):
        await cluster.delete(Pod, one.metadata.name)
        await cluster.deleted(ResourceClaim, claim.metadata.name)
    held("and give them back", True)


async def check_taints(cluster: Cluster) -> None:
    client = cluster.client
    for name in ("hit", "spared"):
        await client.create(pod(name, pod_spec(template="one")))
    hit, spared = [await cluster.placed(name) for name in ("hit", "spared")]
    claim = await cluster.claim_of(hit)
    ((pool, device),) = devices_of(claim)
    spec = DeviceTaintRuleSpec(
        device_selector=DeviceTaintSelector(driver=DRIVER, pool=pool, device=device),
        taint=DeviceTaint(key="example.com/broken", effect="NoExecute"),
    )
    since = (await client.list(Pod)).resource_version
    await client.create(DeviceTaintRule(metadata=ObjectMeta(name="broken"), spec=spec))
    gone = await cluster.last_seen(Pod, "hit", since=since)
    said = condition(gone.status.conditions, "DisruptionTarget")
    held(
        "a rule with NoExecute has a pod evicted, which says so",
        said is not None and said.reason == "DeletionByDeviceTaintManager",
    )
    still = await client.get(Pod, "spared", namespace=SPACE)
    held("a pod with another device stays", still.metadata.uid == spared.metadata.uid)
    rule = await cluster.until(
        DeviceTaintRule,
        lambda rule: eviction(rule) == "False",
        name="broken",
    )
    held("the rule says that it is done", bool(rule.status.conditions))
    names = [f"after-{index}" for index in range(DEVICES - 2)]
    for name in names:
        await client.create(pod(name, pod_spec(template="one")))
    others = [devices_of(await cluster.claim_of(await cluster.placed(name))) for name in names]
    held("nobody else gets the device", [(pool, device)] not in others)
    await client.create(pod("patient", pod_spec(template="one")))
    await cluster.until(Pod, why_not, name="patient")
    await client.delete(DeviceTaintRule, "broken")
    patient = await cluster.placed("patient")
    held(
        "until the rule is gone, and then who waited does",
        devices_of(await cluster.claim_of(patient)) == [(pool, device)],
    )
    await cluster.deleted(ResourceClaim, claim.metadata.name)
    if wrong := await cluster.wrong():
        raise Failed(wrong[0])
    held("what is left are pods with nodes, devices and reservations", True)


def eviction(rule: DeviceTaintRule) -> str:
    found = condition(rule.status.conditions, "EvictionInProgress")
    return found.status if found is not None else ""


# Putting it together -----------------------------------------------------------------------------


@asynccontextmanager
async def at_work(endpoint: Endpoint, folder: Path) -> AsyncIterator[None]:
    """A scheduler as the user it is upstream, and controllers, beside each other."""
    clock, entropy = SystemClock(), SystemEntropy()
    file = folder / "scheduler.kubeconfig"
    write_kubeconfig(file, endpoint.url, ca=endpoint.ca_file, token=endpoint.tokens[SCHEDULER])
    async with AsyncExitStack() as stack:
        clients = [
            connect(load_kubeconfig(path), clock=clock, entropy=entropy)
            for path in (file, endpoint.kubeconfig)
        ]
        for client in clients:
            stack.push_async_callback(client.close)
        views = [Informers(client, clock=clock, entropy=entropy) for client in clients]
        scheduler = Scheduler(clients[0], informers=views[0], clock=clock, entropy=entropy)
        controllers = Controllers(
            clients[1], informers=views[1], clock=clock, entropy=entropy, names=CONTROLLERS
        )
        work = [*(view.run() for view in views), scheduler.run(), controllers.run()]
        await stack.enter_async_context(running(*work))
        await within(clock, CLAIM_SECONDS_MAX, scheduler.ready())
        await within(clock, CLAIM_SECONDS_MAX, controllers.ready())
        held("scheduler and controllers know what there is", True)
        yield


@asynccontextmanager
async def running(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def check(server: Upstream) -> None:
    clock = SystemClock()
    client = connect(load_kubeconfig(server.endpoint.kubeconfig), clock=clock)
    claims = Informer(client, ResourceClaim, clock=clock, entropy=SystemEntropy())
    twice: list[str] = []
    claims.listen(lambda _old, _new: twice.extend(no_device_held_twice(claims.values())))
    cluster = Cluster(server, client)
    try:
        await furnish(cluster)
        async with at_work(server.endpoint, server.folder), running(claims.run()):
            for part in (
                check_templates,
                check_refusal,
                check_shared,
                check_extended,
                check_job,
                check_replicas,
                check_history,
                check_crash,
                check_taints,
            ):
                await within(clock, CLAIM_SECONDS_MAX, part(cluster))
            if twice:
                raise Failed(twice[0])
            held("no device was ever given twice", True)
    finally:
        await client.close()


def main() -> int:
    # Every view says that it lost a server which is killed on purpose.
    logging.getLogger("dray.client").setLevel(logging.ERROR)
    server = Upstream()
    try:
        asyncio.run(check(server))
    except (Failed, DrayError, TimeoutError) as error:
        sys.stdout.write(f"FAILED {type(error).__name__}: {error}\n")
        return 1
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
