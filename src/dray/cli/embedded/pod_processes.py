"""Ends what pods run on this machine, when their cluster stops: each with its time to end well.

Objects stay as they are. The next start finds ended containers, and starts them anew where their
restart policy says so, as a machine does after a reboot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from dray.agent.runtimes.runtime import Container, ContainerState, Runtime
from dray.clock import Clock, within
from dray.errors import DrayError

__all__ = ["GRACE_SECONDS_MAX", "end_containers"]

_log = logging.getLogger(__name__)

# Kubernetes' default for pods. Whoever stops a cluster waits no longer than this.
GRACE_SECONDS_MAX: Final = 30.0

# What is killed is gone at once, unless the kernel holds on to it.
KILL_SECONDS: Final = 15.0


async def end_containers(
    runtime: Runtime,
    graces: Mapping[str, float],
    clock: Clock,
    *,
    hurry: asyncio.Event | None = None,
    others: bool = True,
) -> int:
    """End all containers, and return how many there were. `graces` are by the UIDs of pods.

    `others` says whether containers of other pods than those are ended, too: they are where the
    runtime is ours alone.

    Bounded: a container that does not end in time is killed, and one that cannot be killed is told
    of and left. Once `hurry` is set all are killed at once.
    """
    containers = [
        one
        for one in await runtime.list_containers()
        if one.state is not ContainerState.EXITED and (others or one.pod.uid in graces)
    ]
    if not containers:
        return 0
    stopping = asyncio.gather(
        *(_end(runtime, one, _grace(graces, one), clock) for one in containers)
    )
    if hurry is not None:
        hurried = asyncio.ensure_future(hurry.wait())
        try:
            await asyncio.wait((stopping, hurried), return_when=asyncio.FIRST_COMPLETED)
            if not stopping.done():
                # Asking again with no grace is what makes a runtime lose its patience.
                await asyncio.gather(*(_end(runtime, one, 0.0, clock) for one in containers))
        finally:
            hurried.cancel()
    await stopping
    return len(containers)


def _grace(graces: Mapping[str, float], container: Container) -> float:
    return min(graces.get(container.pod.uid, GRACE_SECONDS_MAX), GRACE_SECONDS_MAX)


async def _end(runtime: Runtime, container: Container, grace: float, clock: Clock) -> None:
    what = f"container {container.name} of pod {container.pod.namespace}/{container.pod.name}"
    try:
        await within(clock, grace + KILL_SECONDS, runtime.stop_container(container.id, grace))
    except TimeoutError:
        _log.warning("%s cannot be ended", what)
    except DrayError as error:
        _log.warning("%s cannot be ended: %s", what, error)
