"""What all workers of a node share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dray.agent.pods.collaborators import API, Claims, Events, Health
from dray.agent.pods.observer import Observer
from dray.agent.pods.starting import Configure
from dray.agent.pods.status_writer import StatusWriter
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import Runtime
from dray.api.core import Pod
from dray.clock import Clock
from dray.entropy import Entropy

__all__ = ["Storage", "Surroundings"]


class Storage(Protocol):
    """Volumes and other files of pods."""

    async def set_up(self, pod: Pod) -> None:
        """Have everything that the pod's containers mount; raises ConfigFailed."""
        ...

    async def release(self, pod_uid: str) -> None:
        """Remove what only running containers need."""
        ...

    async def tear_down(self, pod_uid: str) -> None:
        """Remove everything."""
        ...

    async def retain(self, pod_uids: Collection[str]) -> None:
        """Remove everything of all other pods."""
        ...

    def refreshes(self, pod: Pod) -> bool:
        """Whether there is anything to set up again from time to time."""
        ...

    def last_words(self, pod: Pod, container: RunContainer) -> str:
        """What a container that ended left as its message."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all workers of a node share."""

    api: API
    runtime: Runtime
    observer: Observer
    claims: Claims
    health: Health
    events: Events
    writer: StatusWriter
    storage: Storage
    configure: Configure
    clock: Clock
    entropy: Entropy
    root: Path
    host_addresses: tuple[str, ...] = ()
