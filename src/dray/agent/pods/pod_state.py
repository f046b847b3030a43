"""What the runtime shows of one pod: its sandboxes and containers, the newest first.

A value, made anew by every look at the runtime. Upstream counterpart: PodStatus in
pkg/kubelet/container/runtime.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dray.agent.runtimes.runtime import Container, ContainerState, PodIdentity, Sandbox

__all__ = ["NOTHING", "Look", "PodState"]

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PodState:
    """The sandboxes and containers of a pod."""

    sandboxes: tuple[Sandbox, ...] = ()
    containers: tuple[Container, ...] = ()

    @staticmethod
    def of(sandboxes: Iterable[Sandbox], containers: Iterable[Container]) -> PodState:
        """The state these make, sorted."""
        return PodState(
            tuple(sorted(sandboxes, key=lambda box: (box.attempt, box.created_at), reverse=True)),
            tuple(
                sorted(
                    containers,
                    key=lambda one: (one.attempt, one.created_at or _NEVER),
                    reverse=True,
                )
            ),
        )

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox that containers start in: the newest, if it alone is ready."""
        if not self.sandboxes or not self.sandboxes[0].ready:
            return None
        if any(other.ready for other in self.sandboxes[1:]):
            return None
        return self.sandboxes[0]

    @property
    def running(self) -> tuple[Container, ...]:
        """What may still run; of an unknown container nobody can say that it does not."""
        return tuple(
            one
            for one in self.containers
            if one.state in (ContainerState.RUNNING, ContainerState.UNKNOWN)
        )

    def latest(self, name: str) -> Container | None:
        """The newest container of this name."""
        return next((one for one in self.containers if one.name == name), None)

    def active(self, name: str) -> Container | None:
        """The newest container of this name in the present sandbox."""
        sandbox = self.sandbox
        if sandbox is None:
            return None
        return next(
            (one for one in self.containers if one.name == name and one.sandbox_id == sandbox.id),
            None,
        )

    def history(self, name: str) -> tuple[Container, ...]:
        """All containers of this name, the newest first."""
        return tuple(one for one in self.containers if one.name == name)


NOTHING: Final = PodState()


class Look:
    """What the runtime listed at one moment, by pods; sorted only for those who are asked about."""

    def __init__(
        self, sandboxes: Iterable[Sandbox] = (), containers: Iterable[Container] = ()
    ) -> None:
        self._pods: dict[str, PodIdentity] = {}
        self._sandboxes: dict[str, list[Sandbox]] = {}
        self._containers: dict[str, list[Container]] = {}
        for sandbox in sandboxes:
            self._pods[sandbox.pod.uid] = sandbox.pod
            self._sandboxes.setdefault(sandbox.pod.uid, []).append(sandbox)
        for container in containers:
            self._pods.setdefault(container.pod.uid, container.pod)
            self._containers.setdefault(container.pod.uid, []).append(container)

    @property
    def pods(self) -> Collection[PodIdentity]:
        """Pods of which there is anything."""
        return self._pods.values()

    def state(self, uid: str) -> PodState:
        """What there is of a pod."""
        if uid not in self._pods:
            return NOTHING
        return PodState.of(self._sandboxes.get(uid, ()), self._containers.get(uid, ()))
