"""The health of a node's devices: heard from drivers, kept, and told to whom it concerns.

Joins the streams, the cache, its file and the entries of pods. A change is on its way to the pods'
workers in the same turn of the event loop in which it was heard, or in which a deadline passed; all
changes of a turn are one notification, and a pod is in it once, however often its devices flap.

Facts, and nothing more: what to do about an unhealthy device is for others to decide.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

from dray.agent.claims.claim_info import ClaimInfo
from dray.agent.health import history, tombstones
from dray.agent.health.cache import DeviceFact, HealthCache
from dray.agent.health.entries import health_entries
from dray.agent.health.history import HealthHistory
from dray.agent.health.streams import HealthStreams
from dray.agent.health.tombstones import Tombstones
from dray.agent.health.words import DEVICES_PER_DRIVER_MAX, DeviceID, Report
from dray.agent.plugins.plugin import Plugins
from dray.api.core import Pod, ResourceStatus
from dray.clock import Clock

__all__ = ["DeviceFact", "HealthClaims", "HealthKeeper"]

log = logging.getLogger(__name__)

# How long words are believed after their stream has ended: a driver that restarts is back by then,
# and nobody's status flickers.
GRACE_SECONDS: Final = 5.0


class HealthClaims(Protocol):
    """What health needs to know of claims."""

    def info(self, namespace: str, name: str) -> ClaimInfo | None:
        """What is known of a claim on this node."""
        ...

    def pods_using(self, driver: str, pool: str, device: str) -> frozenset[str]:
        """UIDs of the pods whose claims have this device."""
        ...


class HealthKeeper:
    """Knows how devices are, and tells whose pods are concerned."""

    def __init__(
        self,
        plugins: Plugins,
        claims: HealthClaims,
        *,
        path: Path | None,
        clock: Clock,
        grace_seconds: float = GRACE_SECONDS,
        devices_max: int = DEVICES_PER_DRIVER_MAX,
    ) -> None:
        """`path` is the node's root, the directory of its files; None keeps nothing on disk."""
        self._claims = claims
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._cache = HealthCache(clock, devices_max=devices_max)
        self._history = HealthHistory(path and path / history.FILE_NAME, self._cache, clock=clock)
        self._tombstones = Tombstones(path and path / tombstones.FILE_NAME)
        self._streams = HealthStreams(plugins, self, clock=clock)
        self._listeners: list[Callable[[frozenset[str]], None]] = []
        self._pending: set[str] = set()
        self._refused: dict[str, int] = {}
        self._deadline_moved = asyncio.Event()
        self._armed_for = float("inf")
        self._history.load()
        self._tombstones.load()

    # What others ask ---------------------------------------------------------------------------

    def statuses(self, pod: Pod, container_name: str) -> tuple[ResourceStatus, ...]:
        """The allocatedResourcesStatus of a container; of a frozen pod, as it was then."""
        frozen = self._tombstones.get(pod.metadata.uid)
        if frozen is not None:
            return frozen.get(container_name, ())
        return health_entries(pod, container_name, self._claims, self._cache.read)

    def facts(self) -> Sequence[DeviceFact]:
        """All that is known of all devices, sorted by device."""
        self._tell(self._cache.expire())
        return self._cache.facts()

    def listen(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Call this with the UIDs of pods whose devices changed. Listeners must not wait."""
        self._listeners.append(listener)

    def freeze(self, pod: Pod) -> None:
        """Keep what a pod's containers show now; call it before the pod's claims are unprepared.

        It is on disk when this returns. Freezing again adds devices, and changes none.
        """
        containers = (*(pod.spec.containers or ()), *pod.spec.init_containers)
        self._tombstones.freeze(
            pod.metadata.uid,
            {
                container.name: health_entries(pod, container.name, self._claims, self._cache.read)
                for container in containers
            },
        )

    def forget(self, pod_uid: str) -> None:
        """The pod is gone from the API."""
        self._tombstones.forget(pod_uid)

    def retain(self, pod_uids: Collection[str]) -> None:
        """Only these pods exist: whoever else was frozen was deleted while no agent ran."""
        self._tombstones.retain(pod_uids)

    async def run(self) -> None:
        """Watch all drivers until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._streams.run(), name="health streams")
            group.create_task(self._history.run(), name="health history")
            group.create_task(self._expire(), name="health timeouts")

    # What streams say --------------------------------------------------------------------------

    def heard(self, driver: str, report: Report) -> None:
        """A driver reported."""
        changed, refused_count = self._cache.apply_report(driver, report.words)
        if refused_count != self._refused.get(driver, 0):
            # Told when it changes: reports come often.
            self._refused[driver] = refused_count
            log.warning("driver %s: %d devices are too many: ignored", driver, refused_count)
        self._tell(changed)
        self._arm()

    def ended(self, driver: str, cause: str) -> None:
        """A driver's stream is gone."""
        self._refused.pop(driver, None)
        self._cache.end(driver, cause, grace_seconds=self._grace_seconds)
        self._arm()

    # Telling -----------------------------------------------------------------------------------

    def _tell(self, changed: Iterable[DeviceID]) -> None:
        self._history.note()
        idle = not self._pending
        last: frozenset[str] | None = None
        for device in changed:
            pods = self._claims.pods_using(*device)
            # The devices of one claim have the same pods.
            if pods is not last:
                self._pending.update(pods)
                last = pods
        if idle and self._pending:
            asyncio.get_running_loop().call_soon(self._notify)

    def _notify(self) -> None:
        pods = frozenset(self._pending)
        self._pending.clear()
        for listener in self._listeners:
            listener(pods)

    # Timeouts ----------------------------------------------------------------------------------

    def _arm(self) -> None:
        deadline = self._cache.next_deadline()
        if deadline is not None and deadline < self._armed_for:
            self._deadline_moved.set()

    async def _expire(self) -> None:
        while True:
            self._tell(self._cache.expire())
            deadline = self._cache.next_deadline()
            self._armed_for = float("inf") if deadline is None else deadline
            self._deadline_moved.clear()
            moved = asyncio.ensure_future(self._deadline_moved.wait())
            alarm = None
            if deadline is not None:
                seconds = max(deadline - self._clock.monotonic(), 0.0)
                alarm = asyncio.ensure_future(self._clock.sleep(seconds))
            try:
                waiting = (moved,) if alarm is None else (moved, alarm)
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                moved.cancel()
                if alarm is not None:
                    alarm.cancel()
