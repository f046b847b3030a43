"""What a runtime runs, as the agent lists it.

A listing of CRI lacks what a pod's status shows (addresses, exit codes, times), and asking for each
sandbox and container every time would be hundreds of calls. None of it changes while the state
stays the same, so it is asked for once per state. Upstream counterpart: the kubelet's pod cache.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import grpc

from dray.agent.runtimes.cri.configuration import CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID
from dray.agent.runtimes.cri.connection import CallFailed
from dray.agent.runtimes.runtime import Container, ContainerState, PodIdentity, Sandbox
from dray.clock import Clock
from dray.proto import cri_v1_pb2 as cri

__all__ = ["Observer", "container_of", "identity_of_container", "identity_of_sandbox"]

COMPLETED: Final = "Completed"
ERROR: Final = "Error"

# A runtime hears of the kernel's killings on another way than of exits, and may learn the reason
# of an exit after the exit. Until so long after it, what was killed is asked about again.
REASON_SECONDS: Final = 10.0
KILLED: Final = 137

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STATES: Final = {
    cri.CONTAINER_CREATED: ContainerState.CREATED,
    cri.CONTAINER_RUNNING: ContainerState.RUNNING,
    cri.CONTAINER_EXITED: ContainerState.EXITED,
}

SandboxStatus = Callable[[str], Awaitable[cri.PodSandboxStatus]]
ContainerStatus = Callable[[str], Awaitable[cri.ContainerStatus]]


@dataclass(frozen=True, slots=True)
class _Seen:
    container: Container
    asked_at: datetime


class Observer:
    """Turns listings into sandboxes and containers, with what their statuses add."""

    def __init__(
        self,
        sandbox_status: SandboxStatus,
        container_status: ContainerStatus,
        *,
        clock: Clock,
        node_addresses: Sequence[str] = (),
    ) -> None:
        """`node_addresses` are those of pods on the host's network."""
        self._sandbox_status = sandbox_status
        self._container_status = container_status
        self._clock = clock
        self._node_addresses = tuple(node_addresses)
        self._sandboxes: dict[str, Sandbox] = {}
        self._containers: dict[str, _Seen] = {}

    async def sandboxes(self, listed: Sequence[cri.PodSandbox]) -> list[Sandbox]:
        """The sandboxes of pods; others' are not ours to know."""
        found: dict[str, Sandbox] = {}
        for item in listed:
            if not item.metadata.uid:
                continue
            known = self._sandboxes.get(item.id)
            if known is None or known.ready != (item.state == cri.SANDBOX_READY):
                known = await self._ask_sandbox(item)
            if known is not None:
                found[item.id] = known
        self._sandboxes = found
        return list(found.values())

    async def containers(self, listed: Sequence[cri.Container], scheme: str) -> list[Container]:
        """The containers of pods."""
        found: dict[str, _Seen] = {}
        for item in listed:
            if not item.labels.get(POD_UID):
                continue
            known = self._containers.get(item.id)
            if known is None or not self._current(known, item):
                known = await self._ask_container(item, scheme)
            if known is not None:
                found[item.id] = known
        self._containers = found
        return [seen.container for seen in found.values()]

    # Private --------------------------------------------------------------------------------------

    async def _ask_sandbox(self, item: cri.PodSandbox) -> Sandbox | None:
        try:
            status = await self._sandbox_status(item.id)
        except CallFailed as failure:
            if failure.code is grpc.StatusCode.NOT_FOUND:
                return None  # removed since it was listed
            raise
        ready = status.state == cri.SANDBOX_READY
        return Sandbox(
            id=status.id,
            pod=identity_of_sandbox(status),
            attempt=status.metadata.attempt,
            ready=ready,
            created_at=_time(status.created_at) or _EPOCH,
            addresses=self._addresses(status) if ready else (),
        )

    def _addresses(self, status: cri.PodSandboxStatus) -> tuple[str, ...]:
        if status.linux.namespaces.options.network == cri.NODE:
            return self._node_addresses
        addresses = (status.network.ip, *(each.ip for each in status.network.additional_ips))
        return tuple(address for address in addresses if address)

    async def _ask_container(self, item: cri.Container, scheme: str) -> _Seen | None:
        now = self._clock.now()
        try:
            status = await self._container_status(item.id)
        except CallFailed as failure:
            if failure.code is grpc.StatusCode.NOT_FOUND:
                return None
            raise
        return _Seen(container_of(status, item.pod_sandbox_id, scheme), now)

    def _current(self, seen: _Seen, item: cri.Container) -> bool:
        container = seen.container
        if container.state is not _STATES.get(item.state, ContainerState.UNKNOWN):
            return False
        return (
            container.state is not ContainerState.EXITED
            or container.exit_code != KILLED
            or container.reason != ERROR
            or container.finished_at is None
            or (seen.asked_at - container.finished_at).total_seconds() > REASON_SECONDS
        )


def identity_of_sandbox(sandbox: cri.PodSandbox | cri.PodSandboxStatus) -> PodIdentity:
    """Whose it is."""
    metadata = sandbox.metadata
    return PodIdentity(metadata.namespace, metadata.name, metadata.uid)


def identity_of_container(container: cri.Container | cri.ContainerStatus) -> PodIdentity:
    """Whose it is."""
    labels = container.labels
    return PodIdentity(
        labels.get(POD_NAMESPACE, ""), labels.get(POD_NAME, ""), labels.get(POD_UID, "")
    )


def container_of(status: cri.ContainerStatus, sandbox_id: str, scheme: str) -> Container:
    """A container as the agent knows it."""
    state = _STATES.get(status.state, ContainerState.UNKNOWN)
    reason = status.reason
    if state is ContainerState.EXITED and not reason:
        reason = ERROR if status.exit_code else COMPLETED
    started_at, finished_at = _time(status.started_at), _time(status.finished_at)
    if started_at and finished_at:
        # containerd notes a start when it has heard of it, by when a short process has ended.
        started_at = min(started_at, finished_at)
    return Container(
        id=f"{scheme}{status.id}",
        sandbox_id=sandbox_id,
        pod=identity_of_container(status),
        name=status.labels.get(CONTAINER_NAME) or status.metadata.name,
        attempt=status.metadata.attempt,
        state=state,
        image=status.image.user_specified_image or status.image.image,
        image_id=status.image_ref,
        created_at=_time(status.created_at),
        started_at=started_at,
        finished_at=finished_at,
        exit_code=status.exit_code,
        reason=reason,
        message=status.message,
        log_path=status.log_path,
    )


def _time(nanoseconds: int) -> datetime | None:
    """A time of CRI: 0 is none. One that no calendar has is none either."""
    if nanoseconds <= 0:
        return None
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
