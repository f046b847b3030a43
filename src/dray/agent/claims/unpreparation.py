"""Giving back the claims of a pod.

What is given back is what was recorded for the pod, whatever the pod says now. A claim that other
pods use just loses the pod. Of others every driver unprepares its part, all at once; drivers that
are done are struck off on disk, so that the next attempt asks the others only. The entry goes when
none is left. Meanwhile no pod can join: it would lose its devices.

Upstream counterpart: unprepareResources in pkg/kubelet/cm/dra/manager.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dray.agent.claims.cache import ClaimCache
from dray.agent.claims.calls import DriverCalls
from dray.agent.claims.checkpoint import CheckpointUnwritable
from dray.agent.claims.claim_info import UNPREPARE, ClaimInfo, ClaimKey, ClaimName
from dray.agent.claims.failures import ClaimFailure, ErrorClass, UnprepareFailed, summary
from dray.agent.claims.locks import ClaimLocks
from dray.agent.claims.metrics import Observer
from dray.agent.claims.responses import Answer

__all__ = ["Unpreparation"]


class Unpreparation:
    """Unprepares claims, and records it."""

    def __init__(
        self, calls: DriverCalls, cache: ClaimCache, locks: ClaimLocks, *, observer: Observer
    ) -> None:
        self._calls = calls
        self._cache = cache
        self._locks = locks
        self._observer = observer

    async def unprepare(self, pod_uid: str) -> None:
        """Give back all that is recorded for a pod; raises UnprepareFailed, and then some is."""
        self._leave_shared(pod_uid)
        keys = [info.key for info in self._cache.of_pod(pod_uid)]
        if not keys:
            return
        async with self._locks.hold(keys):
            # While we waited, others may have joined.
            self._leave_shared(pod_uid)
            # From here on they may be unprepared, whether or not that can be recorded after.
            mine = [
                replace(info, prepared=False, unpreparing=True)
                for info in self._cache.of_pod(pod_uid)
            ]
            self._commit({info.key: info for info in mine})
            answers = await self._calls.unprepare(self._batches(mine))
            self._commit({info.key: _remaining(info, answers) for info in mine})
        failures = [failure for answer in answers for failure in answer.failures]
        if failures:
            raise UnprepareFailed(summary(failures), failures)

    def _leave_shared(self, pod_uid: str) -> None:
        self._commit(
            {
                info.key: replace(info, pods=info.pods - {pod_uid})
                for info in self._cache.of_pod(pod_uid)
                if len(info.pods) > 1
            }
        )

    def _batches(self, claims: Sequence[ClaimInfo]) -> Mapping[str, Sequence[ClaimName]]:
        batches: dict[str, list[ClaimName]] = {}
        for info in claims:
            for driver in info.drivers:
                if info.skips(driver, UNPREPARE):
                    self._observer.skipped(UNPREPARE, driver)
                else:
                    batches.setdefault(driver, []).append(info.claim)
        return batches

    def _commit(self, changes: Mapping[ClaimKey, ClaimInfo | None]) -> None:
        known = [info.claim for key in changes if (info := self._cache.get(key)) is not None]
        try:
            self._cache.commit(changes)
        except CheckpointUnwritable as error:
            message = f"checkpoint ResourceClaim state: {error}"
            raise UnprepareFailed(
                message,
                [ClaimFailure(claim, message, error_class=ErrorClass.TRANSIENT) for claim in known],
            ) from error


def _remaining(info: ClaimInfo, answers: Sequence[Answer]) -> ClaimInfo | None:
    """The entry without the drivers that are done; None when all are."""
    done = {answer.driver for answer in answers if info.claim.uid in answer.devices}
    drivers = {
        driver: devices
        for driver, devices in info.drivers.items()
        if driver not in done and not info.skips(driver, UNPREPARE)
    }
    return replace(info, drivers=drivers) if drivers else None
