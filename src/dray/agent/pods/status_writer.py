"""Brings the statuses of pods to the API: the newest of each, in order, a few at a time.

Whoever has something to say puts it here and goes on. Of a pod only the newest status is kept, and
only one write of a pod is under way, so nothing arrives out of order and a storm of changes costs
as many writes as the API takes. What is only a step of a pod that starts waits a little for what
comes next: a pod that starts quickly is written when it came, and when it runs. When the API is
away, pods wait and try again with backoff; what they then write is what holds then. Upstream
counterpart: pkg/kubelet/status/status_manager.go.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from dray.agent.pods.collaborators import API
from dray.agent.pods.status_patch import is_passing, status_patch, without_devices
from dray.agent.retry import RetrySchedule
from dray.api.core import Pod, PodStatus
from dray.client import PatchType
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import APIError, Conflict, Invalid, NotFound, TransportError

__all__ = ["WRITES_MAX", "StatusWriter"]

# Enough to keep a server busy, few enough that a node with a thousand pods is not all its load.
WRITES_MAX: Final = 16

# Most containers start within it, and nobody waits for an address longer.
PASSING_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Entry:
    stored: Pod
    wanted: PodStatus | None = None
    writing: bool = False
    gone: bool = False
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    urgent: asyncio.Event = field(default_factory=asyncio.Event)


class StatusWriter:
    """Writes while `run` runs; what is put before waits for it."""

    def __init__(self, api: API, *, clock: Clock, entropy: Entropy) -> None:
        self._api = api
        self._clock = clock
        self._entropy = entropy
        self._entries: dict[str, _Entry] = {}
        self._ready: dict[str, None] = {}
        self._woken = asyncio.Event()
        self._slots = asyncio.Semaphore(WRITES_MAX)

    def know(self, pod: Pod) -> Pod:
        """A pod as it is stored; returns the newest there is, which may be another."""
        entry = self._entries.setdefault(pod.metadata.uid, _Entry(pod))
        if _is_newer(pod, entry.stored):
            entry.stored = pod
        return entry.stored

    def put(self, pod: Pod, status: PodStatus) -> None:
        """Let the pod have this status, unless it has it already."""
        uid = pod.metadata.uid
        self.know(pod)
        entry = self._entries[uid]
        if entry.gone:
            return
        entry.wanted = status
        if not is_passing(entry.stored.status, status):
            entry.urgent.set()
        if not entry.writing and status_patch(entry.stored.status, status):
            entry.idle.clear()
            entry.writing = True
            self._ready[uid] = None
            self._woken.set()
        elif not entry.writing:
            entry.idle.set()

    async def written(self, uid: str) -> None:
        """Return once nothing is left to write for a pod."""
        entry = self._entries.get(uid)
        if entry is not None and entry.writing:
            await entry.idle.wait()

    def forget(self, uid: str) -> None:
        """The pod is gone; nothing is written for it any more."""
        entry = self._entries.pop(uid, None)
        if entry is not None:
            entry.gone = True
            entry.wanted = None
            entry.urgent.set()
            entry.idle.set()

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as writes:
            while True:
                await self._woken.wait()
                self._woken.clear()
                while self._ready:
                    uid = next(iter(self._ready))
                    del self._ready[uid]
                    entry = self._entries.get(uid)
                    if entry is not None:
                        writes.create_task(self._write(entry))

    async def _write(self, entry: _Entry) -> None:
        """Write until the pod has what it should have."""
        retries = RetrySchedule(self._entropy)
        try:
            while True:
                wanted: PodStatus | None = None
                await self._wait_for_more(entry)
                try:
                    async with self._slots:
                        # Read only now: what was to be said when we came may be old by our turn.
                        wanted = entry.wanted
                        if entry.gone or wanted is None:
                            return
                        patch = status_patch(entry.stored.status, wanted)
                        if not patch:
                            return
                        await self._send(entry, wanted, patch)
                except NotFound:
                    entry.gone = True
                except Invalid as error:
                    assert wanted is not None, "something was sent"
                    self._refused(entry, wanted, error)
                except (APIError, TransportError, TimeoutError) as error:
                    delay = retries.fail(self._clock.monotonic())
                    _log.warning(
                        "status of pod %s/%s not written, next try in %.1f s: %s",
                        entry.stored.metadata.namespace,
                        entry.stored.metadata.name,
                        delay,
                        error,
                    )
                    await self._clock.sleep(delay)
                    if isinstance(error, Conflict):
                        await self._look_again(entry)
                else:
                    retries.reset()
        finally:
            entry.writing = False
            entry.idle.set()

    async def _wait_for_more(self, entry: _Entry) -> None:
        """Give what is only passing the time to become something else."""
        entry.urgent.clear()
        stored, wanted = entry.stored.status, entry.wanted
        if wanted is not None and is_passing(stored, wanted) and status_patch(stored, wanted):
            with suppress(TimeoutError):
                await within(self._clock, PASSING_SECONDS, entry.urgent.wait())

    async def _send(self, entry: _Entry, wanted: PodStatus, patch: dict[str, Any]) -> None:
        metadata = entry.stored.metadata
        answer = await self._api.patch(
            Pod,
            metadata.name,
            {"metadata": {"uid": metadata.uid}, "status": patch},
            namespace=metadata.namespace,
            type=PatchType.STRATEGIC,
            subresource="status",
        )
        if _is_newer(answer, entry.stored):
            entry.stored = answer
        if entry.wanted is wanted and status_patch(entry.stored.status, wanted):
            # The server keeps something back (a field behind a gate): asking again would not help.
            entry.wanted = None

    async def _look_again(self, entry: _Entry) -> None:
        """Find out what a conflict was about: another pod of this name, or only many writers.

        The UID in a patch keeps it from another pod, and servers say the same of a patch that
        others were faster than too often.
        """
        metadata = entry.stored.metadata
        try:
            found = await self._api.get(Pod, metadata.name, namespace=metadata.namespace)
        except NotFound:
            entry.gone = True
        except (APIError, TransportError, TimeoutError) as error:
            # The next write will tell.
            _log.info("pod %s/%s not read: %s", metadata.namespace, metadata.name, error)
        else:
            if found.metadata.uid != metadata.uid:
                entry.gone = True
            elif _is_newer(found, entry.stored):
                entry.stored = found

    def _refused(self, entry: _Entry, wanted: PodStatus, error: Invalid) -> None:
        """Give up what the server does not take; health must not take the rest with it."""
        _log.error(
            "status of pod %s/%s refused: %s",
            entry.stored.metadata.namespace,
            entry.stored.metadata.name,
            error,
        )
        if entry.wanted is not wanted:
            return
        bare = without_devices(wanted)
        entry.wanted = bare if bare != wanted else None


def _is_newer(pod: Pod, than: Pod) -> bool:
    """Whether a pod was stored later. Versions that are no numbers count as later."""
    mine, other = pod.metadata.resource_version, than.metadata.resource_version
    if mine.isdecimal() and other.isdecimal():
        return int(mine) > int(other)
    return mine != other
