"""Claims of the pods on this node: prepared before containers start, given back after they ended.

This is what the rest of the agent sees; the parts have the rules. Everything runs on one event
loop, and methods that are not async do not wait. Upstream counterpart: pkg/kubelet/cm/dra.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from dray.agent.claims.adoption import Adoption
from dray.agent.claims.cache import ClaimCache
from dray.agent.claims.calls import DriverCalls
from dray.agent.claims.cdi import cdi_devices
from dray.agent.claims.checkpoint import CheckpointFile, CheckpointUnwritable, NoCheckpoint
from dray.agent.claims.claim_info import ClaimInfo, ClaimKey
from dray.agent.claims.conditions import ClaimPatcher, ConditionWriter
from dray.agent.claims.failures import ClaimFailure, UnprepareFailed, summary
from dray.agent.claims.fetching import ClaimReader, Fetcher
from dray.agent.claims.locks import ClaimLocks
from dray.agent.claims.metrics import (
    PREPARE_OPERATION,
    UNPREPARE_OPERATION,
    Observer,
    SilentObserver,
    claims_in_use,
)
from dray.agent.claims.preparation import Preparation
from dray.agent.claims.unpreparation import Unpreparation
from dray.agent.plugins.plugin import Plugins
from dray.agent.retry import RetrySchedule
from dray.api.core import Pod
from dray.clock import Clock
from dray.entropy import Entropy

__all__ = ["ClaimManager", "ClaimsAPI"]

# As a kubelet: half of the time after which it would try again.
CALL_TIMEOUT_SECONDS: Final = 45.0

# How long the API may take to answer with a claim.
READ_TIMEOUT_SECONDS: Final = 30.0

# How often claims of pods that are no more are looked for, as a kubelet does.
RECONCILE_SECONDS: Final = 60.0

# How soon it is asked again which pods there are, as long as nobody knows: a node that starts.
RECOVERY_SECONDS: Final = 1.0

# How many vanished pods are given back at once: one hung driver must not hold up all of them.
_VANISHED_AT_ONCE: Final = 8


class ClaimsAPI(ClaimReader, ClaimPatcher, Protocol):
    """The part of the client that is used here."""


class ClaimManager:
    """Prepares and unprepares, and knows what is prepared.

    The file at `path` is read at once; None keeps nothing, for nodes that only seem to be there.
    `on_event(reason, message)` hears of what concerns the node and not one pod: a damaged file,
    claims of vanished pods that cannot be given back.
    """

    def __init__(
        self,
        client: ClaimsAPI,
        plugins: Plugins,
        *,
        path: Path | None,
        node_name: str,
        clock: Clock,
        entropy: Entropy,
        call_timeout_seconds: float = CALL_TIMEOUT_SECONDS,
        observer: Observer | None = None,
        on_event: Callable[[str, str], None] = lambda _reason, _message: None,
    ) -> None:
        self._retries = RetrySchedule(entropy)
        self._node_name = node_name
        self._clock = clock
        self._observer = observer or SilentObserver()
        self._on_event = on_event
        self._file = (
            NoCheckpoint()
            if path is None
            else CheckpointFile(
                path, on_damage=lambda message: on_event("DamagedClaimCheckpoint", message)
            )
        )
        self._cache = ClaimCache(self._file, self._file.load())
        # What is wrong with the disk is said when there is something to write.
        with suppress(CheckpointUnwritable):
            self._file.create()
        locks = ClaimLocks()
        calls = DriverCalls(plugins, clock, timeout_seconds=call_timeout_seconds)
        fetcher = Fetcher(client, self._cache, clock, timeout_seconds=READ_TIMEOUT_SECONDS)
        self._conditions = ConditionWriter(client, clock, on_event=on_event)
        self._preparation = Preparation(
            fetcher,
            calls,
            self._cache,
            locks,
            observer=self._observer,
            reporter=self._conditions,
        )
        self._unpreparation = Unpreparation(calls, self._cache, locks, observer=self._observer)
        self._adoption = Adoption(fetcher, self._cache)

    # What is known ---------------------------------------------------------------------------

    @property
    def needs_rebuild(self) -> bool:
        """Whether there was no file, or none that could be read, and it was not rebuilt since."""
        return self._file.incomplete

    def info(self, namespace: str, name: str) -> ClaimInfo | None:
        return self._cache.get(ClaimKey(namespace, name))

    def claims(self) -> Sequence[ClaimInfo]:
        """All claims on this node."""
        return self._cache.values()

    def claims_of(self, pod_uid: str) -> Sequence[ClaimInfo]:
        """What a pod uses, or did not give back yet."""
        return self._cache.of_pod(pod_uid)

    def pods(self) -> frozenset[str]:
        """The UIDs of pods that use any claim, or did not give it back yet."""
        return self._cache.pods()

    def pods_using(self, driver: str, pool: str, device: str) -> frozenset[str]:
        """The UIDs of pods that use this device."""
        return self._cache.pods_using(driver, pool, device)

    def claims_in_use(self) -> Mapping[str, int]:
        """How many claims are prepared, by driver, for the gauge dra_resource_claims_in_use."""
        return claims_in_use(self._cache.values())

    def cdi_devices(self, pod: Pod, container_name: str) -> tuple[str, ...]:
        """The devices of a container of whichever kind, by their names in CDI.

        Raises ClaimInfoMissing if a claim of it is not recorded, or nobody knows what its drivers
        prepared: then `prepare` is what helps.
        """
        return cdi_devices(pod, container_name, self._cache.get)

    # What is done ----------------------------------------------------------------------------

    async def prepare(self, pod: Pod) -> None:
        """Make all claims of a pod ready. What is ready stays so. Raises PrepareFailed."""
        # As long as nobody knows what ran before, this pod may have.
        preparing = self._preparation.prepare(pod, roll_back=not self.needs_rebuild)
        await self._timed(PREPARE_OPERATION, preparing)

    async def refresh(self, pod: Pod) -> None:
        """Have drivers prepare all claims of a pod again, as what they prepared got lost.

        Raises PrepareFailed; then nothing is rolled back, as containers may be running.
        """
        preparing = self._preparation.prepare(pod, anew=True, roll_back=False)
        await self._timed(PREPARE_OPERATION, preparing)

    async def unprepare(self, pod: Pod) -> None:
        """Give back what a pod uses. Raises UnprepareFailed; a pod that uses nothing is fine."""
        await self._timed(UNPREPARE_OPERATION, self._unprepare(pod))

    async def rebuild(self, pods: Iterable[Pod]) -> Sequence[ClaimFailure]:
        """Take the claims of these pods, which may have run here before, from the API.

        To be called with all pods when `needs_rebuild`, before pods are handled, and again until it
        returns nothing: what it returns could not be read. Pods of other nodes are left out.
        """
        mine = [pod for pod in pods if pod.spec.node_name == self._node_name]
        failures = await self._adoption.adopt(mine)
        if not failures:
            self._file.complete()
        return failures

    async def reconcile(self, active_pod_uids: Collection[str]) -> Sequence[ClaimFailure]:
        """Give back what pods use that are not active any more; returns what could not be.

        A pod is active as long as any of its containers may be running.
        """
        vanished = sorted(self._cache.pods().difference(active_pod_uids))
        failures: list[ClaimFailure] = []
        at_once = asyncio.Semaphore(_VANISHED_AT_ONCE)

        async def give_back(pod_uid: str) -> None:
            async with at_once:
                try:
                    await self._unpreparation.unprepare(pod_uid)
                except UnprepareFailed as error:
                    failures.extend(error.failures)

        async with asyncio.TaskGroup() as group:
            for pod_uid in vanished:
                group.create_task(give_back(pod_uid))
        return failures

    async def run(self, active_pod_uids: Callable[[], Collection[str] | None]) -> None:
        """Reconcile every minute, sooner after a failure, and write conditions of claims.

        `active_pod_uids` says which pods may still run here, those that are about to end included,
        or None while that is not known yet.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._conditions.run())
            while True:
                active = active_pod_uids()
                if active is None:
                    await self._clock.sleep(RECOVERY_SECONDS)
                    continue
                failures = await self.reconcile(active)
                if not failures:
                    self._retries.reset()
                    await self._clock.sleep(RECONCILE_SECONDS)
                    continue
                if self._retries.attempts:  # at first, drivers may not be back themselves
                    self._on_event(
                        "FailedUnprepareDynamicResources",
                        f"claims of pods that are gone are still prepared: {summary(failures)}",
                    )
                await self._clock.sleep(self._retries.fail(self._clock.monotonic()))

    async def _unprepare(self, pod: Pod) -> None:
        unknown = self.needs_rebuild and not self._cache.of_pod(pod.metadata.uid)
        # To say that it has no claims, when nobody knows, would leave them prepared.
        if unknown and (failures := await self._adoption.adopt([pod])):
            raise UnprepareFailed(summary(failures), failures)
        await self._unpreparation.unprepare(pod.metadata.uid)

    async def _timed(self, name: str, operation: Awaitable[None]) -> None:
        began = self._clock.monotonic()
        is_error = True
        try:
            await operation
            is_error = False
        finally:
            self._observer.operation(name, self._clock.monotonic() - began, is_error=is_error)
