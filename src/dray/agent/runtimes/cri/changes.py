"""Of which pods something changed, whoever changed it.

A runtime that tells is listened to; one that does not is asked every second. Silence is not
believed: a stream counts as one only once something came through it, and even then everything is
looked at now and then. Whatever happened while nobody listened is found by comparing two looks.
Upstream counterpart: pkg/kubelet/pleg, generic and evented.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final

import grpc

from dray.agent.runtimes.cri.connection import CallFailed, Connection
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.process.listeners import Listeners
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.proto import cri_v1_pb2 as cri

__all__ = ["Changes", "Snapshot"]

logger = logging.getLogger(__name__)

# As the kubelet's, which asks for the same two lists.
RELIST_SECONDS: Final = 1.0
# With events: two calls and some milliseconds, for what a runtime forgot to tell.
RELIST_SECONDS_WITH_EVENTS: Final = 15.0

RETRY_SECONDS_MIN: Final = 0.5
RETRY_SECONDS_MAX: Final = 5.0
# A runtime without events gets them, if at all, by an upgrade.
UNSUPPORTED_RETRY_SECONDS: Final = 300.0

# By id of a sandbox or container: its pod, and its state.
Snapshot = Mapping[str, tuple[str, object]]


class Changes:
    """Tells listeners of changes, from the first listener on and until it is closed."""

    def __init__(
        self,
        connection: Connection,
        look: Callable[[], Awaitable[Snapshot]],
        *,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._connection = connection
        self._look = look
        self._clock = clock
        self._entropy = entropy
        self._listeners = Listeners()
        self._known: Snapshot = {}
        self._hurry = asyncio.Event()
        self._has_events = False
        self._tasks: list[asyncio.Task[None]] = []

    def listen(self) -> AsyncIterator[str]:
        """UIDs of pods that change from now on, and first of all that there are."""
        return self._follow(self._listeners.listen())

    def tell(self, pod_uid: str) -> None:
        """Something about this pod was changed by us."""
        self._listeners.tell(pod_uid)

    def look_soon(self) -> None:
        """Something was changed by us, of we do not know which pod."""
        if not self._has_events:
            self._hurry.set()

    async def close(self) -> None:
        """Stop looking."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    # Private --------------------------------------------------------------------------------------

    async def _follow(self, changes: AsyncIterator[str]) -> AsyncIterator[str]:
        if not self._tasks:
            self._tasks = [self._begin(self._relist()), self._begin(self._listen_to_events())]
        else:
            # Whoever comes later has missed what the others were told of.
            self._known = {}
            self._hurry.set()
        async for pod_uid in changes:
            yield pod_uid

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(_done)
        return task

    async def _relist(self) -> None:
        failures = 0
        while True:
            self._hurry.clear()
            try:
                self._compare(await self._look())
            except (CallFailed, RuntimeFailed) as failure:
                if not failures:
                    logger.warning("cannot look at sandboxes and containers: %s", failure)
                failures += 1
            else:
                if failures:
                    logger.info("sandboxes and containers can be looked at again")
                failures = 0
            seconds = RELIST_SECONDS_WITH_EVENTS if self._has_events else RELIST_SECONDS
            if failures:
                await self._clock.sleep(self._backoff(failures))
                continue
            try:
                await within(self._clock, seconds, self._hurry.wait())
            except TimeoutError:
                continue

    def _compare(self, found: Snapshot) -> None:
        changed = {
            pod_uid
            for one, another in ((self._known, found), (found, self._known))
            for key, (pod_uid, state) in one.items()
            if key not in another or another[key][1] != state
        }
        self._known = found
        for pod_uid in sorted(changed):
            self._listeners.tell(pod_uid)

    async def _listen_to_events(self) -> None:
        failures = 0
        while True:
            try:
                async for event in self._connection.stream(
                    "GetContainerEvents", cri.GetEventsRequest(), cri.ContainerEventResponse
                ):
                    failures = 0
                    if not self._has_events:
                        self._has_events = True
                        self._hurry.set()
                    self._take(event)
                failure = None
            except CallFailed as error:
                failure = error
            # What happens from here on is found by looking.
            self._has_events = False
            self._hurry.set()
            failures += 1
            if failure is not None and failure.code is grpc.StatusCode.UNIMPLEMENTED:
                await self._clock.sleep(UNSUPPORTED_RETRY_SECONDS)
            else:
                await self._clock.sleep(self._backoff(failures))

    def _take(self, event: cri.ContainerEventResponse) -> None:
        pod_uid = event.pod_sandbox_status.metadata.uid
        if not pod_uid:
            pod_uid = self._known.get(event.container_id, ("", None))[0]
        if pod_uid:
            self._listeners.tell(pod_uid)
        else:
            self._hurry.set()

    def _backoff(self, failures: int) -> float:
        seconds: float = min(RETRY_SECONDS_MAX, RETRY_SECONDS_MIN * 2 ** min(failures - 1, 8))
        return seconds * self._entropy.uniform(0.5, 1.0)


def _done(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        logger.error("looking at containers failed", exc_info=error)
