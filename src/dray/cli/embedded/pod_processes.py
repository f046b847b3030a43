"""Ends what pods run on this machine, when their cluster stops: each with its time to end well.

Containers end as they do when their pod is deleted: hooks first, sidecars last. Objects stay as
they are. The next start finds ended containers, and starts them anew where their restart policy
says so, as a machine does after a reboot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Final

from dray.agent.pods.checks import Checker
from dray.agent.pods.collaborators import WARNING
from dray.agent.pods.hooks import Hooks
from dray.agent.pods.pod_state import Look, PodState
from dray.agent.pods.stopping import MINIMUM_GRACE_SECONDS, Stopper, grace_of
from dray.agent.runtimes.runtime import Container, ContainerState, PodIdentity, Runtime
from dray.api.core import Pod
from dray.api.meta import Object
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
    pods: Iterable[Pod],
    clock: Clock,
    *,
    hurry: asyncio.Event | None = None,
    others: bool = True,
) -> int:
    """End all containers, and return how many there were. `pods` are those that are known.

    `others` says whether containers of other pods than those are ended, too: they are where the
    runtime is ours alone.

    Bounded: a container that does not end in time is killed, and one that cannot be killed is told
    of and left. Once `hurry` is set all are killed at once.
    """
    look = Look(await runtime.list_sandboxes(), await runtime.list_containers())
    known = {pod.metadata.uid: pod for pod in pods}
    hooks = Hooks(Checker(runtime, clock=clock), clock=clock)
    stopper = Stopper(runtime, hooks, _Unwritten(), clock=clock)
    containers: list[Container] = []
    starting: list[Container] = []
    ends: list[Awaitable[None]] = []
    for identity in look.pods:
        pod, state = known.get(identity.uid), look.state(identity.uid)
        if pod is None and not others:
            continue
        containers += state.running
        if pod is not None and state.running:
            ends.append(_end_pod(stopper, pod, identity, state, clock))
        else:
            ends += (_end(runtime, one, GRACE_SECONDS_MAX, clock) for one in state.running)
        # One that was about to run when its agent ended may do so yet.
        made = [one for one in state.containers if one.state is ContainerState.CREATED]
        ends += (_end(runtime, one, MINIMUM_GRACE_SECONDS, clock) for one in made)
        starting += made
    if not ends:
        return 0
    stopping = asyncio.gather(*ends)
    hurried = asyncio.ensure_future((hurry or asyncio.Event()).wait())
    try:
        await asyncio.wait((stopping, hurried), return_when=asyncio.FIRST_COMPLETED)
        if not stopping.done():
            stopping.cancel()
            await asyncio.wait((stopping,))
            every = (*containers, *starting)
            await asyncio.gather(*(_end(runtime, one, 0.0, clock) for one in every))
    finally:
        hurried.cancel()
    return len(containers)


async def _end_pod(
    stopper: Stopper, pod: Pod, identity: PodIdentity, state: PodState, clock: Clock
) -> None:
    grace = min(grace_of(pod), GRACE_SECONDS_MAX)
    # Hooks and containers share the grace, but for what a container is left with in any case.
    limit = grace + MINIMUM_GRACE_SECONDS + KILL_SECONDS
    await _told(within(clock, limit, stopper.stop_all(pod, state, grace)), f"pod {_name(identity)}")


async def _end(runtime: Runtime, container: Container, grace: float, clock: Clock) -> None:
    what = f"container {container.name} of pod {_name(container.pod)}"
    stop = runtime.stop_container(container.id, grace)
    await _told(within(clock, grace + KILL_SECONDS, stop), what)


async def _told(ending: Awaitable[None], what: str) -> None:
    """Say so if something does not end."""
    try:
        await ending
    except TimeoutError:
        _log.warning("%s cannot be ended", what)
    except DrayError as error:
        _log.warning("%s cannot be ended: %s", what, error)


def _name(pod: PodIdentity) -> str:
    return f"{pod.namespace}/{pod.name}"


class _Unwritten:
    """Events of a cluster that ends: nobody writes them any more, and troubles are logged."""

    def record(
        self,
        regarding: Object,
        type: str,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        field_path: str = "",
    ) -> None:
        if type == WARNING:
            name = f"{regarding.metadata.namespace}/{regarding.metadata.name}"
            _log.warning("pod %s, %s: %s: %s", name, field_path, reason, message)
