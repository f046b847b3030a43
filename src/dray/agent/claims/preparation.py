"""Preparing the claims of a pod.

1. Every claim is read and checked, without a trace: a pod that fails here can go without ado.
2. The pod is recorded with all of its claims, on disk.
3. Drivers prepare what is not prepared yet, all drivers at once, one call each.
4. What they prepared is recorded, on disk, also if others failed.

So nothing is ever prepared that the file does not know of. When trying again is pointless, what was
prepared for this pod alone is unprepared right away, as far as drivers can; the file forgets
nothing before that is done. Otherwise it stays, for the next attempt to find. Claims on which
containers may be running already are never rolled back.

Upstream counterpart: prepareResources in pkg/kubelet/cm/dra/manager.go, which calls one driver
after the other, gives up at the first failure and does not roll back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from dray.agent.claims.cache import ClaimCache
from dray.agent.claims.calls import DriverCalls, not_registered
from dray.agent.claims.checkpoint import CheckpointUnwritable
from dray.agent.claims.claim_info import PREPARE, UNPREPARE, ClaimInfo, ClaimKey, ClaimName
from dray.agent.claims.failures import ClaimFailure, ErrorClass, PrepareFailed, summary
from dray.agent.claims.fetching import Fetched, Fetcher
from dray.agent.claims.locks import ClaimLocks, Turn
from dray.agent.claims.metrics import Observer
from dray.agent.claims.responses import Answer
from dray.api.core import Pod
from dray.api.resource import ResourceClaim

__all__ = ["Preparation", "Reporter"]


class Reporter(Protocol):
    """Tells the world how preparing a claim went. Must not wait."""

    def failed(self, claim: ResourceClaim, failures: Sequence[ClaimFailure]) -> None:
        """These failures are all of this claim."""
        ...

    def prepared(self, claim: ResourceClaim) -> None: ...


class Preparation:
    """Prepares claims, and records it."""

    def __init__(
        self,
        fetcher: Fetcher,
        calls: DriverCalls,
        cache: ClaimCache,
        locks: ClaimLocks,
        *,
        observer: Observer,
        reporter: Reporter,
    ) -> None:
        self._fetcher = fetcher
        self._calls = calls
        self._cache = cache
        self._locks = locks
        self._observer = observer
        self._reporter = reporter

    async def prepare(self, pod: Pod, *, anew: bool = False, roll_back: bool = True) -> None:
        """Make all claims of a pod ready; `anew` also those that are. Raises PrepareFailed."""
        fetched = await self._check(pod)
        if not fetched:
            return
        async with self._locks.hold(one.info.key for one in fetched) as turn:
            if not anew and (heard := self._heard(turn, fetched)):
                raise PrepareFailed(summary(heard), heard)
            self._attach(pod, fetched)
            wanted = [info for info in self._current(fetched) if anew or not info.prepared]
            answers = await self._calls.prepare(self._batches(wanted))
            failures = [failure for answer in answers for failure in answer.failures]
            turn.tell(failures)
            self._record(wanted, answers)
            if roll_back and any(failure.error_class.final for failure in failures):
                await self._roll_back(pod, fetched)
        self._report(fetched, failures)
        if failures:
            raise PrepareFailed(summary(failures), failures)

    async def _check(self, pod: Pod) -> Sequence[Fetched]:
        fetched, failures = await self._fetcher.fetch(pod)
        missing = [
            failure
            for one in fetched
            for driver in one.info.drivers
            # Even if it is prepared already: without its driver, something is wrong with the node.
            if not one.info.skips(driver, PREPARE) and not self._calls.is_registered(driver)
            for failure in not_registered(driver, [one.info.claim])
        ]
        # Before waiting for whoever unprepares it: that may take long, and the pod is tried again.
        found = [*failures, *missing, *self._refusals(fetched)]
        if found:
            self._report(fetched, missing)
            raise PrepareFailed(summary(found), found)
        return fetched

    def _refusals(self, fetched: Iterable[Fetched]) -> Sequence[ClaimFailure]:
        found: list[ClaimFailure] = []
        for one in fetched:
            known = self._cache.get(one.info.key)
            name = one.info.claim.name
            if known is None:
                continue
            if known.claim.uid != one.info.claim.uid:
                message = (
                    f"old ResourceClaim with same name {name} and different UID {known.claim.uid}"
                    " still exists (previous pod force-deleted?!)"
                )
            elif known.unpreparing:
                message = f"ResourceClaim {name} is being unprepared"
            else:
                continue
            found.append(ClaimFailure(one.info.claim, message, error_class=ErrorClass.TRANSIENT))
        return found

    def _heard(self, turn: Turn, fetched: Iterable[Fetched]) -> Sequence[ClaimFailure]:
        """What a pod that shares a claim just failed with: to try again right now is no use."""
        found: list[ClaimFailure] = []
        for one in fetched:
            known = self._cache.get(one.info.key)
            if known is None or not known.prepared:
                found += turn.heard(one.info.key)
        return found

    def _attach(self, pod: Pod, fetched: Sequence[Fetched]) -> None:
        """Record the pod as a user of all these claims, or of none."""
        if failures := self._refusals(fetched):
            raise PrepareFailed(summary(failures), failures)
        changes = {
            one.info.key: _joined(self._cache.get(one.info.key), one.info, pod.metadata.uid)
            for one in fetched
        }
        self._commit(changes, "checkpoint ResourceClaim cache")

    def _batches(self, wanted: Sequence[ClaimInfo]) -> dict[str, list[ClaimName]]:
        batches: dict[str, list[ClaimName]] = {}
        for info in wanted:
            for driver in info.drivers:
                if info.skips(driver, PREPARE):
                    self._observer.skipped(PREPARE, driver)
                else:
                    batches.setdefault(driver, []).append(info.claim)
        return batches

    def _record(self, wanted: Sequence[ClaimInfo], answers: Sequence[Answer]) -> None:
        changes: dict[ClaimKey, ClaimInfo] = {}
        for was in wanted:
            # Other pods may have left meanwhile; nothing else changes while we hold the claim.
            info = self._cache.get(was.key)
            if info is None:
                continue
            uid = info.claim.uid
            prepared = {
                answer.driver: answer.devices[uid] for answer in answers if uid in answer.devices
            }
            complete = all(
                driver in prepared or info.skips(driver, PREPARE) for driver in info.drivers
            )
            changes[info.key] = replace(
                info,
                # What a driver says now replaces what it said before; a failure says nothing.
                drivers={**info.drivers, **prepared},
                prepared=complete,
                adopted=info.adopted and not complete,
            )
        self._commit(changes, "checkpoint ResourceClaim state")

    async def _roll_back(self, pod: Pod, fetched: Sequence[Fetched]) -> None:
        """Unprepare what this pod alone uses. What fails stays recorded, for the pod's end."""
        alone = [
            info
            for info in self._current(fetched)
            if info.pods == frozenset({pod.metadata.uid}) and not info.restored
        ]
        batches: dict[str, list[ClaimName]] = {}
        for info in alone:
            for driver, devices in info.drivers.items():
                if (devices or info.prepared) and not info.skips(driver, UNPREPARE):
                    batches.setdefault(driver, []).append(info.claim)
        # This is in memory only, so it cannot fail.
        self._cache.commit({info.key: replace(info, prepared=False) for info in alone})
        answers = await self._calls.unprepare(batches)
        changes: dict[ClaimKey, ClaimInfo] = {}
        for info in self._current(fetched):
            undone = [answer.driver for answer in answers if info.claim.uid in answer.devices]
            if undone:
                drivers = {**info.drivers, **dict.fromkeys(undone, ())}
                changes[info.key] = replace(info, drivers=drivers)
        # Unwritten, the file knows of more than there is, which does no harm.
        with suppress(CheckpointUnwritable):
            self._cache.commit(changes)

    def _current(self, fetched: Iterable[Fetched]) -> Sequence[ClaimInfo]:
        found = (self._cache.get(one.info.key) for one in fetched)
        return [info for info in found if info is not None]

    def _commit(self, changes: dict[ClaimKey, ClaimInfo], what: str) -> None:
        try:
            self._cache.commit(changes)
        except CheckpointUnwritable as error:
            message = f"{what}: {error}"
            raise PrepareFailed(
                message,
                [
                    ClaimFailure(info.claim, message, error_class=ErrorClass.TRANSIENT)
                    for info in changes.values()
                ],
            ) from error

    def _report(self, fetched: Sequence[Fetched], failures: Sequence[ClaimFailure]) -> None:
        for one in fetched:
            if one.claim is None:
                continue
            mine = [failure for failure in failures if failure.claim == one.info.claim]
            info = self._cache.get(one.info.key)
            if mine:
                self._reporter.failed(one.claim, mine)
            elif info is not None and info.prepared:
                self._reporter.prepared(one.claim)


def _joined(known: ClaimInfo | None, allocated: ClaimInfo, pod_uid: str) -> ClaimInfo:
    """The entry with one more pod.

    Drivers come from both: one that unprepared the claim before the agent restarted is no longer in
    the entry, and has to prepare it for this pod.
    """
    if known is None:
        return replace(allocated, pods=frozenset({pod_uid}))
    lost = {driver: () for driver in allocated.drivers if driver not in known.drivers}
    return replace(
        known,
        pods=known.pods | {pod_uid},
        drivers={**known.drivers, **lost},
        prepared=known.prepared and not lost,
        skipped_operations={**allocated.skipped_operations, **known.skipped_operations},
    )
