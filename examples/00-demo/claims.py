"""Acts 1 to 6: devices and the ways to ask for them."""

from __future__ import annotations

import time

from cluster import FLEET
from show import Show, expect

from dray.api.core import Node, Pod
from dray.api.resource import Device, ResourceClaim, ResourceSlice

__all__ = [
    "admin_access",
    "alternatives",
    "cluster_comes_up",
    "extended_resource",
    "selector",
    "sharing",
]

# The report of `dray explain` goes on with other ways out; one makes the point.
SECOND_WAY_OUT = "  2. "


async def cluster_comes_up(show: Show) -> None:
    stage = show.stage
    stage.act(
        "1. A cluster",
        "One process is all of Kubernetes that devices need: API server, scheduler, controllers, "
        "two nodes, and on each a driver, which publishes what hardware there is. The GPUs are "
        "simulated, as this file says; the rest is real. Pods run as processes of this machine.",
    )
    stage.manifest(FLEET)
    stage.command(show.cluster.command)
    began = time.perf_counter()
    stage.output(await show.cluster.start())
    took = time.perf_counter() - began

    client = show.cluster.client
    nodes = (await client.list(Node)).items
    slices = (await client.list(ResourceSlice)).items
    rows = []
    for node in sorted(nodes, key=lambda each: each.metadata.name):
        name = node.metadata.name
        devices = [
            device
            for one in slices
            if one.spec.node_name == name
            for device in one.spec.devices or ()
        ]
        ready = any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)
        rows.append((name, "Ready" if ready else "NotReady", ", ".join(map(_described, devices))))
    stage.table(("NODE", "STATUS", "DEVICES, AS THE DRIVER PUBLISHED THEM IN RESOURCESLICES"), rows)
    expect(
        [row[:2] for row in rows] == [("node-1", "Ready"), ("node-2", "Ready")]
        and all(row[2].count(",") == 2 for row in rows),
        "there should be two nodes, both ready, with three devices each",
    )
    stage.say("")
    stage.say(
        f"From nothing to here: {took:.1f} s. To look around from another terminal: "
        f"export KUBECONFIG={show.cluster.kubeconfig}"
    )


def _described(device: Device) -> str:
    memory = device.capacity["memory"].value
    shared = " to share" if device.allow_multiple_allocations else ""
    return f"{device.name} ({memory}{shared})"


async def selector(show: Show) -> None:
    show.stage.act(
        "2. A claim, and a pod with a GPU",
        "A pod does not name a device, it claims one: of a class, with properties given by an "
        "expression in CEL. The scheduler finds a device that fits and a node that has it, and the "
        "driver puts it into the container.",
    )
    show.manifest("selector.yaml", "requests:")
    await show.apply("selector.yaml")
    pod = await show.running("train")
    await _show_devices(show, pod)
    lines = await show.log("train", contains="SIMULATED_DEVICE")
    expect(await show.device_of(pod) == "node-1/h100-0", "train should have the only H100")
    expect("SIMULATED_DEVICE_H100_0=h100-0" in lines, "the container should be told of its GPU")


async def alternatives(show: Show) -> None:
    show.stage.act(
        "3. The best that is left",
        "A request may list alternatives, best first. This one would like an H100 and takes an "
        "A100 as well.",
    )
    show.manifest("alternatives.yaml", "firstAvailable:")
    await show.apply("alternatives.yaml")
    pod = await show.running("serve")
    await _show_devices(show, pod)
    (claim,) = await show.claims_of(pod)
    assert claim.status.allocation is not None
    (result,) = claim.status.allocation.devices.results
    expect(result.request == "gpu/good", f"the second should be taken, not {result.request}")
    show.stage.say("")
    show.stage.say(
        "Why the second: the only H100, node-1/h100-0, is allocated to claim big-gpu, and a device "
        "that is not made for sharing belongs to one claim alone."
    )


async def sharing(show: Show) -> None:
    stage = show.stage
    stage.act(
        "4. One GPU for several pods",
        "The L40S may be shared: claims take a part of its 40Gi each, and the scheduler keeps the "
        "books. Three notebooks take 10Gi each. A fourth wants 20Gi where 10Gi are left, so it "
        "waits.",
    )
    show.manifest("sharing.yaml", "exactly:")
    await show.apply("sharing.yaml")
    for number in (1, 2, 3):
        pod = await show.running(f"notebook-{number}")
        expect(await show.device_of(pod) == "node-2/l40s-0", "notebooks should share the L40S")
    await show.apply("too-much.yaml")
    waiting = await show.until(
        Pod,
        "notebook-4 to be refused by the scheduler",
        lambda pod: pod.metadata.name == "notebook-4" and _unschedulable(pod),
    )
    rows = []
    for number in (1, 2, 3, 4):
        pod = await show.cluster.client.get(Pod, f"notebook-{number}", namespace="default")
        (claim,) = await show.claims_of(pod)
        rows.append((pod.metadata.name, pod.status.phase, *_share(claim)))
    stage.table(("POD", "PHASE", "DEVICE", "MEMORY"), rows)
    stage.say("")
    stage.say("The condition PodScheduled of notebook-4 says why it waits, in numbers:")
    reason = _unschedulable(waiting.object)
    stage.output(reason)
    expect("at most 10Gi left of 40Gi" in reason, "the condition should say what is left")

    said = await show.dray("explain pod/notebook-4", code=1)
    shown, cut, _ = said.partition(SECOND_WAY_OUT)
    stage.output(shown + ("  … and more" if cut else ""))
    expect("ask for 10Gi memory" in said, "dray explain should find a way out")

    stage.say("")
    stage.say("When a notebook ends there is room, and the scheduler needs no telling.")
    await show.kubectl("delete pod notebook-1")
    pod = await show.running("notebook-4")
    await _show_devices(show, pod)


def _unschedulable(pod: Pod) -> str:
    for one in pod.status.conditions or ():
        if one.type == "PodScheduled" and one.status == "False":
            return one.message
    return ""


def _share(claim: ResourceClaim) -> tuple[str, str]:
    if claim.status.allocation is None:
        return "none yet", "wants 20Gi"
    (result,) = claim.status.allocation.devices.results
    return f"{result.pool}/{result.device}", str(result.consumed_capacity["memory"])


async def admin_access(show: Show) -> None:
    stage = show.stage
    stage.act(
        "5. Looking at devices that others use",
        "A monitor has to see GPUs that belong to somebody else. Such claims ask for admin access, "
        "and are for namespaces that an administrator has labelled. Anywhere else the API refuses "
        "them.",
    )
    show.manifest("admin-claim.yaml", "exactly:")
    said = await show.apply("admin-claim.yaml", refused=True)
    rule = "requires the `resource.kubernetes.io/admin-access: true` label"
    expect(rule in said, f"the refusal should name the label, but is:\n{said}")
    stage.say("")
    stage.say("The same claim in a namespace with the label:")
    show.manifest("monitor.yaml", "metadata:")
    await show.apply("monitor.yaml")
    await show.apply("admin-claim.yaml", namespace="monitoring")
    pod = await show.running("monitor", "monitoring")
    seen = await show.devices_of(pod)
    owners = await _owners(show)
    rows = [(device, owners.get(device, "nobody")) for device in seen]
    stage.table(("MONITOR SEES", "IN USE BY"), rows)
    expect(len(seen) == 3, f"the monitor should see three GPUs of node-1, not {seen}")
    expect(owners.get("node-1/h100-0") == "default/big-gpu", "train should keep its GPU")


async def _owners(show: Show) -> dict[str, str]:
    """Which claim has a device, those that only look left aside."""
    claims = (await show.cluster.client.list(ResourceClaim)).items
    return {
        f"{result.pool}/{result.device}": f"{claim.metadata.namespace}/{claim.metadata.name}"
        for claim in claims
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
        if not result.admin_access
    }


async def extended_resource(show: Show) -> None:
    show.stage.act(
        "6. The way it always was",
        "Manifests that know nothing of claims go on working: the class gpu.example.com also goes "
        "by the name of an extended resource. The scheduler makes the claim itself.",
    )
    show.manifest("extended.yaml", "resources:")
    await show.apply("extended.yaml")
    pod = await show.running("classic")
    await _show_devices(show, pod)
    await show.log("classic", contains="SIMULATED_DEVICE")
    (claim,) = await show.claims_of(pod)
    expect("extended-resources" in claim.metadata.name, "the scheduler should make the claim")


async def _show_devices(show: Show, pod: Pod) -> None:
    rows = []
    for claim in await show.claims_of(pod):
        assert claim.status.allocation is not None, "the pod runs"
        for result in claim.status.allocation.devices.results:
            got = f"{result.pool}/{result.device}"
            rows.append(
                (
                    pod.metadata.name,
                    pod.spec.node_name or "",
                    claim.metadata.name,
                    result.request,
                    got,
                )
            )
    show.stage.table(("POD", "NODE", "CLAIM", "REQUEST", "DEVICE"), rows)
