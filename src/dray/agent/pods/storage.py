"""A pod's files on the node: its volumes, and the messages its containers leave.

Everything of a pod is below `pods/<uid>`, logs apart, and goes with it. Mounts go first: what they
show is not ours to remove. Simulated nodes have none.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from dray.agent.pods.collaborators import API
from dray.agent.pods.downward import PodFacts
from dray.agent.pods.last_words import read_log_end, read_message
from dray.agent.pods.mounts import detach_below, may_mount
from dray.agent.pods.pod_containers import find_container
from dray.agent.pods.service_tokens import ServiceTokens
from dray.agent.pods.sub_paths import SUB_PATHS, hold, locate
from dray.agent.pods.volumes import Volumes, is_written, refreshes
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.api.core import TERMINATION_MESSAGE_FALLBACK_TO_LOGS_ON_ERROR, Pod
from dray.api.core.parts import Volume
from dray.clock import Clock

__all__ = ["NoStorage", "PodStorage"]

_log = logging.getLogger(__name__)


class PodStorage:
    """Files of pods below one directory."""

    def __init__(
        self,
        api: API,
        root: Path,
        *,
        clock: Clock,
        facts: PodFacts,
        can_mount: bool | None = None,
    ) -> None:
        """`can_mount`: whether containers can see files elsewhere than they are; root's can."""
        self.can_mount = may_mount() if can_mount is None else can_mount
        self._root = root
        self._facts = facts
        self._tokens = ServiceTokens(api, clock=clock)
        self.volumes = Volumes(api, self._tokens, root, can_mount=self.can_mount)

    async def set_up(self, pod: Pod) -> None:
        await self.volumes.make(pod, self._facts)

    async def release(self, pod_uid: str) -> None:
        self._tokens.forget(pod_uid)
        for name in (SUB_PATHS, "volumes"):
            await _remove(self._root / "pods" / pod_uid / name)

    async def tear_down(self, pod_uid: str) -> None:
        self._tokens.forget(pod_uid)
        for directory in self._directories():
            if _owner(directory) == pod_uid:
                await _remove(directory)

    async def retain(self, pod_uids: Collection[str]) -> None:
        # What is there when this is called: a pod that comes later may make its own meanwhile.
        for directory in self._directories():
            if _owner(directory) not in pod_uids:
                try:
                    await _remove(directory)
                except OSError as error:
                    # The next start tries again; the pods that are there need this one.
                    _log.warning("files of a pod that is gone are left: %s", error)

    def _directories(self) -> list[Path]:
        """All directories of pods, for files and for logs."""
        found = []
        for place in (self._root / "pods", self._root / "logs"):
            with suppress(FileNotFoundError):
                found += [place / name for name in sorted(os.listdir(place))]
        return found

    def refreshes(self, pod: Pod) -> bool:
        return refreshes(pod)

    def sub_path(self, pod: Pod, place: str, volume: Volume, path: str) -> Path:
        """What to mount for a path in a volume; `place` is that mount's own. Or ConfigFailed."""
        at = self.volumes.path_of(pod, volume)
        if not self.can_mount:
            return locate(at, path, links=is_written(volume))
        held = self._root / "pods" / pod.metadata.uid / SUB_PATHS / volume.name / place
        return hold(at, path, held)

    def message_path(self, pod: Pod, name: str, attempt: int) -> Path:
        """The file a container writes its message to."""
        return self._root / "pods" / pod.metadata.uid / "containers" / name / str(attempt)

    def last_words(self, pod: Pod, container: RunContainer) -> str:
        words = read_message(self.message_path(pod, container.name, container.attempt))
        spec = find_container(pod, container.name)
        if words or spec is None or not container.exit_code or not container.log_path:
            return words
        if spec.termination_message_policy == TERMINATION_MESSAGE_FALLBACK_TO_LOGS_ON_ERROR:
            return read_log_end(Path(container.log_path))
        return ""


class NoStorage:
    """For nodes that only seem to be there."""

    async def set_up(self, pod: Pod) -> None:
        pass

    async def release(self, pod_uid: str) -> None:
        pass

    async def tear_down(self, pod_uid: str) -> None:
        pass

    async def retain(self, pod_uids: Collection[str]) -> None:
        pass

    def refreshes(self, pod: Pod) -> bool:  # noqa: ARG002 - nobody would see it
        return False

    def last_words(self, pod: Pod, container: RunContainer) -> str:  # noqa: ARG002 - silent
        return ""


def _owner(directory: Path) -> str:
    """The UID of the pod: all of a name, or what comes after its namespace and name."""
    return directory.name.rpartition("_")[2]


async def _remove(directory: Path) -> None:
    if directory.exists():
        await asyncio.to_thread(_remove_now, directory)


def _remove_now(directory: Path) -> None:
    """Raises OSError, with everything still there, if something stays mounted."""
    detach_below(directory)
    shutil.rmtree(directory, ignore_errors=True)
