"""Probes of one pod: a task for each probe of each running container, and what they have found.

A verdict needs as many answers in a row as the probe's thresholds say. Readiness and liveness wait
until the startup probe has succeeded; once it has, it is not asked again. A probe that fails for
good stays so until the container is replaced. Upstream counterpart: pkg/kubelet/prober.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from dray.agent.pods.checks import Answer, Checker
from dray.agent.pods.collaborators import WARNING, Events
from dray.agent.pods.pod_containers import tell
from dray.agent.pods.pod_state import PodState
from dray.agent.pods.probe_results import UNPROBED, ProbeResults, is_started
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerState, Sandbox
from dray.api.carried import read_part
from dray.api.core import Container, Pod
from dray.api.core.parts import Probe
from dray.api.wire import is_null
from dray.clock import Clock

__all__ = ["ProbeKind", "Prober", "Tally"]


class ProbeKind(Enum):
    """What a probe is for; the value begins its events."""

    STARTUP = "Startup"
    READINESS = "Readiness"
    LIVENESS = "Liveness"


@dataclass(frozen=True, slots=True)
class Tally:
    """How often in a row a probe said the same."""

    success: bool = False
    count: int = 0

    def add(self, *, success: bool) -> Tally:
        return Tally(success, self.count + 1 if success is self.success else 1)

    def verdict(self, probe: Probe) -> bool | None:
        """What the probe has decided, once it has."""
        needed = probe.success_threshold if self.success else probe.failure_threshold
        default = 1 if self.success else 3
        return self.success if self.count >= (needed or default) else None


class Prober:
    """Probes the containers of one pod; `tasks` owns the tasks, `changed` hears of new verdicts."""

    def __init__(
        self,
        checker: Checker,
        events: Events,
        *,
        clock: Clock,
        tasks: asyncio.TaskGroup,
        changed: Callable[[], None],
    ) -> None:
        self._checker = checker
        self._events = events
        self._clock = clock
        self._tasks = tasks
        self._changed = changed
        self._running: dict[tuple[str, ProbeKind], asyncio.Task[None]] = {}
        self._results: dict[str, ProbeResults] = {}
        self._pod: Pod | None = None
        self._ending = False

    @property
    def results(self) -> Mapping[str, ProbeResults]:
        """By container IDs."""
        return self._results

    def seed(self, container_id: str, results: ProbeResults) -> None:
        """What an agent before us had found out."""
        self._results[container_id] = results

    def update(self, pod: Pod, state: PodState) -> None:
        """Probe what runs now, and nothing else."""
        self._pod = pod
        wanted: dict[tuple[str, ProbeKind], tuple[Container, RunContainer, Probe]] = {}
        for container in (*pod.spec.init_containers, *(pod.spec.containers or ())):
            for kind, carried in (
                (ProbeKind.STARTUP, container.startup_probe),
                (ProbeKind.READINESS, container.readiness_probe),
                (ProbeKind.LIVENESS, container.liveness_probe),
            ):
                if is_null(carried) or (self._ending and kind is not ProbeKind.READINESS):
                    continue
                found = state.active(container.name)
                probe = read_part(carried, Probe)
                if found and probe and found.state is ContainerState.RUNNING:
                    wanted[found.id, kind] = (container, found, probe)
        for key in [key for key in self._running if key not in wanted]:
            self._running.pop(key).cancel()
        known = {container.id for container in state.containers}
        for gone in [one for one in self._results if one not in known]:
            del self._results[gone]
        sandbox = state.sandbox
        for key, (container, found, probe) in wanted.items():
            if key not in self._running and sandbox is not None:
                self._running[key] = self._tasks.create_task(
                    self._probe(key[1], container, found, probe, sandbox)
                )

    def end(self) -> None:
        """The pod ends: only readiness still matters."""
        self._ending = True
        for key in [key for key in self._running if key[1] is not ProbeKind.READINESS]:
            self._running.pop(key).cancel()

    def stop(self) -> None:
        """Probe no more."""
        for task in self._running.values():
            task.cancel()
        self._running.clear()

    async def _probe(
        self,
        kind: ProbeKind,
        container: Container,
        found: RunContainer,
        probe: Probe,
        sandbox: Sandbox,
    ) -> None:
        started_at = found.started_at or self._clock.now()
        age = (self._clock.now() - started_at).total_seconds()
        await self._clock.sleep(max(probe.initial_delay_seconds - age, 0.0))
        period = float(probe.period_seconds or 10)
        tally = Tally()
        while True:
            if kind is ProbeKind.STARTUP:
                if self._results.get(found.id, UNPROBED).startup is True:
                    return
            elif not is_started(container, found.id, self._results):
                await self._clock.sleep(period)
                continue
            answer = await self._ask(container, found, probe, sandbox)
            if not answer.success and self._pod is not None:
                text = f"{kind.value} probe failed: {answer.output}"
                tell(self._events, self._pod, container.name, WARNING, "Unhealthy", text)
            tally = tally.add(success=answer.success)
            verdict = tally.verdict(probe)
            if verdict is not None and self._settle(kind, found.id, verdict=verdict):
                return
            await self._clock.sleep(period)

    def _settle(self, kind: ProbeKind, container_id: str, *, verdict: bool) -> bool:
        """Keep a verdict; whether it is the last word on this container."""
        before = self._results.get(container_id, UNPROBED)
        match kind:
            case ProbeKind.STARTUP:
                after = replace(before, startup=verdict)
            case ProbeKind.READINESS:
                after = replace(before, readiness=verdict)
            case ProbeKind.LIVENESS:
                after = replace(before, liveness=verdict)
        if after != before:
            self._results[container_id] = after
            self._changed()
        return kind is ProbeKind.STARTUP or (kind is ProbeKind.LIVENESS and not verdict)

    async def _ask(
        self, container: Container, found: RunContainer, probe: Probe, sandbox: Sandbox
    ) -> Answer:
        timeout = float(probe.timeout_seconds or 1)
        if probe.exec is not None:
            return await self._checker.execute(found.id, probe.exec, timeout)
        if probe.http_get is not None:
            return await self._checker.http_get(sandbox, container, probe.http_get, timeout)
        if probe.tcp_socket is not None:
            return await self._checker.tcp_socket(sandbox, container, probe.tcp_socket, timeout)
        if probe.grpc is not None:
            return await self._checker.grpc(sandbox, probe.grpc, timeout)
        return Answer(success=False, output=f"missing probe handler for container {container.name}")
