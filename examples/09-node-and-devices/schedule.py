"""Play the scheduler for one pod: python schedule.py KUBECONFIG POD [NAMESPACE].

dray has no scheduler yet. This finds a node with devices for the pod's claims, by the allocator a
scheduler will use, and does what a scheduler does: it writes the allocation into each claim,
reserves the claim for the pod, and only then binds the pod. It looks at devices and nothing else.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from dray.allocator import Allocation, Allocator, Features, Inventory, Occupancy
from dray.api.core import Binding, Node, ObjectReference, Pod
from dray.api.features import FeatureGates
from dray.api.meta import ObjectMeta, Status
from dray.api.resource import (
    DeviceClass,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.client import Client, connect, load_kubeconfig
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import DrayError, NotFound

ATTEMPTS_MAX = 20
PAUSE_SECONDS = 0.5


async def schedule(client: Client, name: str, namespace: str = "default") -> list[str]:
    """Give a pod devices and a node, and say which. Drivers may still be publishing theirs."""
    for _ in range(ATTEMPTS_MAX - 1):
        answer = await attempt(client, name, namespace)
        if isinstance(answer, list):
            return answer
        await asyncio.sleep(PAUSE_SECONDS)
    answer = await attempt(client, name, namespace)
    return answer if isinstance(answer, list) else sys.exit(answer)


async def attempt(client: Client, name: str, namespace: str) -> list[str] | str:
    """What was given, or why nothing was."""
    pod = await client.get(Pod, name, namespace=namespace)
    claims = (await client.list(ResourceClaim)).items
    own = {claim.metadata.name: claim for claim in claims if claim.metadata.namespace == namespace}
    names = [entry.resource_claim_name or "" for entry in pod.spec.resource_claims or ()]
    if missing := [name for name in names if name not in own]:
        raise NotFound(f"pod {pod.metadata.name} waits for claims: {', '.join(missing)}")
    wanted = [own[name] for name in names]
    slices = (await client.list(ResourceSlice)).items
    classes = (await client.list(DeviceClass)).items
    allocator = Allocator(
        Inventory(Features.of(FeatureGates()), slices, ()),
        Occupancy.of(claims),
        {each.metadata.name: each for each in classes},
        share_id=SystemEntropy().uid,
    )
    summaries = []
    for node in (await client.list(Node)).items:
        answer = allocator.allocate(node, wanted)
        if isinstance(answer, Allocation):
            return await write_down(client, pod, node.metadata.name, wanted, answer)
        summaries.append(f"{node.metadata.name}: {answer.report.summary}")
    return "\n".join(summaries) or "there are no nodes"


async def write_down(
    client: Client, pod: Pod, node: str, claims: list[ResourceClaim], allocation: Allocation
) -> list[str]:
    """Claims first: a pod that is bound expects to find its devices."""
    name, namespace, uid = pod.metadata.name, pod.metadata.namespace, pod.metadata.uid
    consumer = ResourceClaimConsumerReference(resource="pods", name=name, uid=uid)
    told = []
    for claim, result in zip(claims, allocation.results, strict=True):
        status = ResourceClaimStatus(allocation=result, reserved_for=(consumer,))
        await client.update_status(replace(claim, status=status))
        given = [f"{each.pool}/{each.device}" for each in result.devices.results or ()]
        told.append(f"claim {claim.metadata.name} has {', '.join(given)}")
    binding = Binding(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=uid),
        target=ObjectReference(kind="Node", name=node),
    )
    await client.create_subresource(Pod, name, "binding", binding, Status, namespace=namespace)
    return [*told, f"pod {name} goes to {node}"]


async def main(kubeconfig: str, name: str, namespace: str = "default") -> None:
    client = connect(load_kubeconfig(Path(kubeconfig)), clock=SystemClock())
    try:
        print(*await schedule(client, name, namespace), sep="\n")
    finally:
        await client.close()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(f"usage: {sys.argv[0]} KUBECONFIG POD [NAMESPACE]")
    try:
        asyncio.run(main(*sys.argv[1:]))
    except DrayError as error:
        sys.exit(str(error))
