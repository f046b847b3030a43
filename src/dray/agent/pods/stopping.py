"""Ending containers: hooks first, then the signal, sidecars last and in reverse.

All that happens within one grace period: what a hook takes is not there for the container, and a
sidecar that waits for its turn waits out of its own time. Stopping may be begun again with less
time; hooks then do not run twice. Upstream counterpart: killContainer and
kuberuntime_termination_order.go in pkg/kubelet/kuberuntime.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from dray.agent.pods.collaborators import NORMAL, WARNING, Events
from dray.agent.pods.hooks import Hooks, lifecycle_of
from dray.agent.pods.plan import Kill, KillReason
from dray.agent.pods.pod_containers import find_container, tell
from dray.agent.pods.pod_state import PodState
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import Runtime
from dray.api.carried import read_part
from dray.api.core import Pod
from dray.api.core.parts import Probe
from dray.api.pod_resources import is_sidecar
from dray.clock import Clock, within

__all__ = ["MINIMUM_GRACE_SECONDS", "Stopper", "grace_of"]

# Also a pod that must go at once gets this long for each container, as upstream has it.
MINIMUM_GRACE_SECONDS: Final = 2.0
DEFAULT_GRACE_SECONDS: Final = 30.0


def grace_of(pod: Pod) -> float:
    """How long a pod may take to end: what its deletion says, else what it asked for."""
    if pod.metadata.deletion_grace_period_seconds is not None:
        return float(pod.metadata.deletion_grace_period_seconds)
    if pod.spec.termination_grace_period_seconds is not None:
        return float(pod.spec.termination_grace_period_seconds)
    return DEFAULT_GRACE_SECONDS


class Stopper:
    """Ends the containers of one pod."""

    def __init__(self, runtime: Runtime, hooks: Hooks, events: Events, *, clock: Clock) -> None:
        self._runtime = runtime
        self._hooks = hooks
        self._events = events
        self._clock = clock
        self._hooked: set[str] = set()  # containers whose hooks have run
        self._announced: set[str] = set()

    async def stop_all(self, pod: Pod, state: PodState, grace_seconds: float) -> None:
        """End everything that runs. Returns once it has ended."""
        running = state.running
        ended = {container.name: asyncio.Event() for container in running}
        first = _prerequisites(pod, ended)
        failures: list[RuntimeFailed] = []

        async def stop(container: RunContainer) -> None:
            message = f"Stopping container {container.name}"
            after = first.get(container.name, ())
            try:
                await self._stop(pod, state, container, message, grace_seconds, after=after)
            except RuntimeFailed as error:
                failures.append(error)
            ended[container.name].set()

        async with asyncio.TaskGroup() as stops:
            for container in running:
                stops.create_task(stop(container))
        if failures:
            raise failures[0]

    async def kill(self, pod: Pod, state: PodState, kill: Kill) -> None:
        """End one container whose pod goes on."""
        grace = self._grace_of_kill(pod, kill)
        await self._stop(pod, state, kill.container, kill.message, grace)

    async def _stop(
        self,
        pod: Pod,
        state: PodState,
        container: RunContainer,
        message: str,
        grace_seconds: float,
        *,
        after: Sequence[asyncio.Event] = (),
    ) -> None:
        deadline = self._clock.monotonic() + grace_seconds
        if container.id not in self._announced:
            self._announced.add(container.id)
            tell(self._events, pod, container.name, NORMAL, "Killing", message)
        await self._run_hook(pod, state, container, grace_seconds)
        await self._wait_for(after, deadline)
        left = max(deadline - self._clock.monotonic(), MINIMUM_GRACE_SECONDS)
        await self._runtime.stop_container(container.id, left)
        self._hooked.discard(container.id)
        self._announced.discard(container.id)

    async def _run_hook(
        self, pod: Pod, state: PodState, container: RunContainer, grace_seconds: float
    ) -> None:
        spec = find_container(pod, container.name)
        hook = lifecycle_of(spec).pre_stop if spec is not None else None
        if spec is None or hook is None or grace_seconds <= 0 or container.id in self._hooked:
            return
        self._hooked.add(container.id)
        try:
            answer = await within(
                self._clock,
                grace_seconds,
                self._hooks.run(hook, spec, container.id, state.sandbox, grace_seconds),
            )
        except TimeoutError:
            return
        if not answer.success:
            text = "PreStopHook failed"
            tell(self._events, pod, container.name, WARNING, "FailedPreStopHook", text)

    async def _wait_for(self, events: Sequence[asyncio.Event], deadline: float) -> None:
        for event in events:
            left = deadline - self._clock.monotonic()
            if event.is_set():
                continue
            if left <= 0:
                return
            try:
                await within(self._clock, left, event.wait())
            except TimeoutError:
                return

    def _grace_of_kill(self, pod: Pod, kill: Kill) -> float:
        spec = find_container(pod, kill.container.name)
        if spec is not None and kill.reason in (
            KillReason.STARTUP_PROBE,
            KillReason.LIVENESS_PROBE,
        ):
            carried = (
                spec.startup_probe
                if kill.reason is KillReason.STARTUP_PROBE
                else spec.liveness_probe
            )
            probe = read_part(carried, Probe)
            if probe is not None and probe.termination_grace_period_seconds is not None:
                return float(probe.termination_grace_period_seconds)
        return grace_of(pod)


def _prerequisites(
    pod: Pod, ended: Mapping[str, asyncio.Event]
) -> Mapping[str, Sequence[asyncio.Event]]:
    """Whose end each sidecar waits for: all main containers, and the sidecar after it."""
    main = [ended[one.name] for one in pod.spec.containers or () if one.name in ended]
    found: dict[str, Sequence[asyncio.Event]] = {}
    later: list[asyncio.Event] = []
    for container in reversed(pod.spec.init_containers):
        if is_sidecar(container) and container.name in ended:
            found[container.name] = (*main, *later)
            later = [ended[container.name]]
    return found
