"""What every act is told with: manifests applied, objects waited for, devices looked up.

Nothing is told that was not seen: each wait ends when the API shows what the story needs, or ends
the show with a sentence that says what was seen instead.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from cluster import PROGRAM, Cluster, Unexpected, run
from kubectl import ROOT, Kubectl
from stage import Stage, excerpt

from dray.api.core import Pod
from dray.api.meta import Object
from dray.api.resource import ResourceClaim
from dray.client import EventType
from dray.errors import DrayError

__all__ = ["Seen", "Show", "expect", "health_of", "is_ready", "milliseconds"]

HERE = Path(__file__).parent

# Every step takes a second or so; a machine that is busy with something else needs more.
SECONDS_MAX = 30
LOOK_AGAIN_SECONDS = 0.1

T = TypeVar("T", bound=Object)


@dataclass(frozen=True)
class Seen(Generic[T]):
    """An object that is as it should be, and when that was heard."""

    object: T
    at: float


class Show:
    """The stage, the cluster, and the ways to bring one to the other."""

    def __init__(self, stage: Stage, cluster: Cluster, kubectl: Kubectl) -> None:
        self.stage = stage
        self.cluster = cluster
        self._kubectl = kubectl

    # Commands ----------------------------------------------------------------------------------

    def manifest(self, file: str, start: str) -> None:
        """Show what matters of a manifest."""
        self.stage.manifest(excerpt(HERE / file, start))

    async def apply(self, file: str, *, namespace: str = "", refused: bool = False) -> str:
        """Apply a manifest of the show; what was said."""
        where = f"-n {namespace} " if namespace else ""
        path = (HERE / file).relative_to(ROOT).as_posix()
        return await self.kubectl(f"apply {where}-f {path}", refused=refused)

    async def kubectl(self, line: str, *, refused: bool = False) -> str:
        """Run a command and show what it says. Raises Unexpected if it should say otherwise."""
        self.stage.command(f"kubectl {line}")
        code, said = await self._kubectl(line)
        if (code != 0) != refused:
            outcome = "succeed" if refused else "fail"
            raise Unexpected(f"kubectl {line} should not {outcome}, but said:\n{said}")
        self.stage.output(said)
        return said

    async def log(self, pod: str, *, namespace: str = "", contains: str) -> list[str]:
        """Show the lines of a pod's log that contain a text, as soon as there are any."""
        where = f"-n {namespace} " if namespace else ""
        self.stage.command(f"kubectl logs {where}{pod} | grep {contains}")
        until = time.perf_counter() + SECONDS_MAX
        said = ""
        while contains not in said:
            told = f"the log of {pod} should have {contains}, but is:\n{said}"
            expect(time.perf_counter() < until, told)
            _, said = await self._kubectl(f"logs {where}{pod}")
            await asyncio.sleep(0 if contains in said else LOOK_AGAIN_SECONDS)
        lines = [line for line in said.splitlines() if contains in line]
        self.stage.output("\n".join(lines))
        return lines

    async def last_line(self, pod: str) -> str:
        """The end of a pod's log, not shown."""
        _, said = await self._kubectl(f"logs {pod} --tail=1")
        return said

    async def dray(self, line: str, *, code: int = 0) -> str:
        """Run a command of dray's; what it said, not yet shown."""
        self.stage.command(f"dray {line}")
        ended, said = await run(
            *PROGRAM, *line.split(), environment=self.cluster.environment, directory=ROOT
        )
        expect(ended == code, f"dray {line} should end with {code}, not {ended}:\n{said}")
        return said

    # Objects -----------------------------------------------------------------------------------

    async def until(self, kind: type[T], what: str, test: Callable[[T], object]) -> Seen[T]:
        """Wait for an object that passes the test; `what` says what that is."""
        last = "nothing of the kind"
        try:
            async with (
                asyncio.timeout(SECONDS_MAX),
                aclosing(self.cluster.client.watch(kind, bookmarks=False)) as events,
            ):
                async for event in events:
                    found = event.object
                    if event.type is not EventType.DELETED and test(found):
                        return Seen(found, time.perf_counter())
                    last = f"{event.type.value} {kind.__name__} {found.metadata.name}"
        except TimeoutError as error:
            told = f"waited {SECONDS_MAX} s for {what}; heard last of {last}"
            raise Unexpected(told) from error
        except DrayError as error:
            raise Unexpected(f"waiting for {what}: {error}") from error
        raise Unexpected(f"the server ended the watch before there was {what}")

    async def running(self, name: str, namespace: str = "default") -> Pod:
        """A pod, once it is ready."""

        def test(pod: Pod) -> bool:
            metadata = pod.metadata
            return (metadata.name, metadata.namespace) == (name, namespace) and is_ready(pod)

        return (await self.until(Pod, f"pod {name} to run", test)).object

    async def claims_of(self, pod: Pod) -> list[ResourceClaim]:
        """The claims of a pod: named, made from templates, or made for extended resources."""
        status = pod.status
        made = {one.name: one.resource_claim_name for one in status.resource_claim_statuses or ()}
        names = [
            one.resource_claim_name or made.get(one.name) for one in pod.spec.resource_claims or ()
        ]
        if status.extended_resource_claim_status is not None:
            names.append(status.extended_resource_claim_status.resource_claim_name)
        namespace = pod.metadata.namespace
        return [
            await self.cluster.client.get(ResourceClaim, name, namespace=namespace)
            for name in names
            if name
        ]

    async def devices_of(self, pod: Pod) -> list[str]:
        """What a pod got, as POOL/DEVICE; the pools of the show are called as their nodes."""
        return [
            f"{result.pool}/{result.device}"
            for claim in await self.claims_of(pod)
            if claim.status.allocation is not None
            for result in claim.status.allocation.devices.results
        ]

    async def device_of(self, pod: Pod) -> str:
        """The only device of a pod."""
        devices = await self.devices_of(pod)
        told = f"pod {pod.metadata.name} should have one device, but has {devices}"
        expect(len(devices) == 1, told)
        return devices[0]


def expect(truth: bool, otherwise: str) -> None:
    """Go on if the story holds. Raises Unexpected with what is the case instead."""
    if not truth:
        raise Unexpected(otherwise)


def is_ready(pod: Pod) -> bool:
    conditions = pod.status.conditions or ()
    return any(one.type == "Ready" and one.status == "True" for one in conditions)


def health_of(pod: Pod) -> str:
    """What the status of a pod says of its only device: `Unhealthy: too hot`."""
    for container in pod.status.container_statuses or ():
        for resource in container.allocated_resources_status or ():
            for device in resource.resources or ():
                return f"{device.health}: {device.message}" if device.message else device.health
    return ""


def milliseconds(since: float, until: float) -> str:
    """How long it took; two watches may hear of cause and effect in either order."""
    return f"{max(0.0, until - since) * 1000:,.0f} ms"
