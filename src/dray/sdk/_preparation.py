"""Preparing claims, and undoing it, so that a crash at any point can be made good.

The order that makes it so: the intent is recorded, the author's code makes devices ready, the CDI
file is written, the completion is recorded, and only then the node is told. Undoing goes the other
way, and what was recorded goes last. So an entry without completion was never promised to anybody:
`recover` and whoever meets it later undo it, or do it again.

A device that another claim holds is refused: schedulers can err and pods can be removed by force,
and this is the last guard against two users of one device.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from dray.api.cdi import ContainerEdits
from dray.api.resource import Device, ResourceClaim
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import APIError, NotFound, PermanentError, TransportError
from dray.sdk._calls import Calls, Outcome
from dray.sdk._cdi_files import CDIFiles
from dray.sdk._claims import (
    ClaimName,
    ClaimReader,
    Results,
    RetrievalFailed,
    results_of,
    retrieve,
)
from dray.sdk._device_work import DeviceWork
from dray.sdk._driver import Driver
from dray.sdk._failures import (
    ClaimFailure,
    DeviceFailure,
    ErrorClass,
    failure_of_devices,
)
from dray.sdk._journal import DeviceKey, Entry, Journal, JournalDevice, Phase
from dray.sdk._operations import OperationMetrics, Operations, Refused
from dray.sdk._serialization import ProcessLock
from dray.sdk._steps import OnStep, Step, pass_by

__all__ = ["Companions", "Observer", "Preparation"]

_log = logging.getLogger(__name__)

# A kubelet waits 45 s for its answer. This leaves room for undoing what failed.
PREPARE_SECONDS_MAX: Final = 30.0
UNDO_SECONDS_MAX: Final = 8.0
UNPREPARE_SECONDS_MAX: Final = 30.0

# An API server that cannot be reached is asked again, as long as there is time left for devices.
RETRIEVAL_PAUSE_SECONDS: Final = 0.5
RETRIEVAL_SECONDS_MAX: Final = 10.0
WORK_SECONDS_MIN: Final = 15.0


class Observer:
    """Hears how claims fare. What it does must not fail, and not take long."""

    async def device_failed(self, key: DeviceKey, message: str) -> None:
        """A device is broken; the claim is not answered before this returns."""

    def prepared(
        self, claim: ResourceClaim, devices: Sequence[JournalDevice], *, anew: bool
    ) -> None:
        """A claim is ready: since just now, or it was already and was asked for again."""

    def failed(self, claim: ResourceClaim, failure: ClaimFailure) -> None:
        """A claim was not made ready."""


class Companions(Protocol):
    """Files besides CDI's that a claim has, such as its devices' metadata."""

    def write(self, claim: ResourceClaim, devices: Sequence[JournalDevice]) -> Mapping[str, str]:
        """Have the files; returns further CDI names by request. May be repeated."""
        ...

    def has(self, devices: Iterable[JournalDevice]) -> bool:
        """Whether the files are there that devices were given names for."""
        ...

    def remove(self, uid: str) -> None:
        """Have none."""
        ...

    def claims(self) -> Iterable[str]:
        """The UIDs of claims that have files."""
        ...

    def reconcile(self, keep: Iterable[str]) -> object:
        """Have none but for these claims."""
        ...


@dataclass(frozen=True, slots=True)
class _Task:
    """A claim on its way: what it gets, and by when."""

    claim: ResourceClaim
    results: tuple[Results, ...]
    deadline: float

    @property
    def uid(self) -> str:
        return self.claim.metadata.uid


class Preparation:
    """Does what a node asks for claims."""

    def __init__(
        self,
        driver: Driver,
        reader: ClaimReader,
        *,
        journal: Journal,
        cdi_files: CDIFiles,
        lock: ProcessLock,
        clock: Clock,
        entropy: Entropy,
        published: Callable[[str, str], Device | None] = lambda _pool, _device: None,
        observer: Observer | None = None,
        companions: Companions | None = None,
        metrics: OperationMetrics | None = None,
        on_step: OnStep = pass_by,
    ) -> None:
        self._driver = driver
        self._reader = reader
        self._journal = journal
        self._cdi_files = cdi_files
        self._lock = lock
        self._clock = clock
        self._device_work = DeviceWork(
            driver,
            journal,
            calls=Calls(clock=clock, entropy=entropy),
            published=published,
            on_step=on_step,
        )
        self._observer = observer or Observer()
        self._companions = companions
        self._metrics = metrics
        self._on_step = on_step
        self._operations = Operations(clock=clock)
        self._recovered = False
        self._recovering = asyncio.Lock()
        # Claims that were gone when last looked for, in case the node still asks to undo them.
        self._gone: set[str] = set()

    # What a node asks ----------------------------------------------------------------------------

    async def prepare(
        self, claims: Iterable[ClaimName]
    ) -> dict[str, tuple[JournalDevice, ...] | ClaimFailure]:
        """Make claims ready. By UID: the devices of each, or why there are none."""
        deadline = self._clock.monotonic() + PREPARE_SECONDS_MAX
        note = None if self._metrics is None else self._metrics.prepared
        return await self._operations.each(
            claims, lambda claim: self._prepare(claim, deadline), note, deadline=deadline
        )

    async def unprepare(self, claims: Iterable[ClaimName]) -> dict[str, ClaimFailure | None]:
        """Undo it. By UID: nothing, or why it is still there."""
        deadline = self._clock.monotonic() + UNPREPARE_SECONDS_MAX
        note = None if self._metrics is None else self._metrics.unprepared
        return await self._operations.each(
            claims, lambda claim: self._unprepare(claim, deadline), note, deadline=deadline
        )

    async def recover(self) -> None:
        """Make good what an earlier process left; if that fails, operations try it again."""
        async with self._locked():
            pass

    async def collect(self) -> tuple[str, ...]:
        """Release claims that are gone from the API and that nobody asked to undo.

        A claim that is ready is released only if it was gone the last time, too: as long as a pod
        that was removed by force still runs, its node has yet to ask. Returns their UIDs.
        """
        gone: set[str] = set()
        released = []
        for entry in self._journal.entries():
            if entry.phase is Phase.FOUND or not await self._is_gone(entry):
                continue
            gone.add(entry.uid)
            if self._journal.current(entry) and entry.uid not in self._gone:
                continue
            name = ClaimName(entry.namespace, entry.name, entry.uid)
            outcome = await self.unprepare([name])
            if outcome[entry.uid] is None:
                _log.info("released claim %s, which no longer exists", entry)
                gone.discard(entry.uid)
                released.append(entry.uid)
        self._gone = gone
        return tuple(released)

    async def close(self) -> None:
        """Wait for what was begun; it has its deadlines."""
        await self._operations.finish()

    def entries(self) -> tuple[Entry, ...]:
        """What is known of claims now."""
        return self._journal.entries()

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        async with self._lock.hold():
            async with self._recovering:
                if not self._recovered:
                    await self._recover()
                    self._recovered = True
            yield

    # Preparing -----------------------------------------------------------------------------------

    async def _prepare(self, name: ClaimName, deadline: float) -> tuple[JournalDevice, ...]:
        task = await self._retrieve(name, deadline)
        if isinstance(task, tuple):
            return task
        async with self._locked():
            entry = self._journal.get(task.uid)
            anew = entry is None or not self._is_ready(entry, task)
            try:
                devices = await self._make_ready(task)
            except Refused as error:
                failure = error.failure
            else:
                if anew:
                    _log.info("claim %s is ready: %s", name, ", ".join(_keys(devices)))
                self._observer.prepared(task.claim, devices, anew=anew)
                return devices
        _log.warning("claim %s is not ready: %s", name, failure.message)
        await self._withdraw(failure)
        self._observer.failed(task.claim, failure)
        raise Refused(failure)

    async def _withdraw(self, failure: ClaimFailure) -> None:
        async with asyncio.TaskGroup() as group:
            for device in failure.devices:
                if device.error_class is ErrorClass.DEVICE_FAILED:
                    group.create_task(self._observer.device_failed(device.key, device.message))

    def _is_ready(self, entry: Entry, task: _Task) -> bool:
        wanted = frozenset(results.key for results in task.results)
        return entry.keys == wanted and self._journal.current(entry)

    async def _retrieve(
        self, name: ClaimName, deadline: float
    ) -> _Task | tuple[JournalDevice, ...]:
        """The claim; if nobody can be asked and there is an answer already, the answer."""
        pause_seconds = RETRIEVAL_PAUSE_SECONDS
        while True:
            try:
                claim = await self._read(name)
            except RetrievalFailed as error:
                known = await self._known(name) if error.unreachable else None
                if known is not None:
                    return known
                again_at = self._clock.monotonic() + pause_seconds
                if not error.unreachable or again_at > deadline - WORK_SECONDS_MIN:
                    error_class = ErrorClass.TRANSIENT if error.unreachable else ErrorClass.UNKNOWN
                    raise Refused(ClaimFailure(str(error), error_class)) from error
                await self._clock.sleep(pause_seconds)
                pause_seconds *= 2
            else:
                return _Task(claim, results_of(claim, driver=self._driver.name), deadline)

    async def _read(self, name: ClaimName) -> ResourceClaim:
        try:
            return await within(self._clock, RETRIEVAL_SECONDS_MAX, retrieve(self._reader, name))
        except TimeoutError as error:
            raise RetrievalFailed(f"retrieve claim {name}: {error}", unreachable=True) from error

    async def _known(self, name: ClaimName) -> tuple[JournalDevice, ...] | None:
        """What was answered before, and still holds."""
        async with self._locked():
            entry = self._journal.get(name.uid)
            if entry is None or not self._journal.current(entry):
                return None
            if self._companions is not None and not self._companions.has(entry.devices):
                # Only the claim says what was in them.
                return None
            self._cdi_files.write(entry.uid, entry.devices)
            return entry.devices

    async def _make_ready(self, task: _Task) -> tuple[JournalDevice, ...]:
        entry = self._journal.get(task.uid)
        if entry is not None and self._is_ready(entry, task):
            # Runtimes look for the files, and they may have been lost without the journal.
            self._cdi_files.write(entry.uid, entry.devices)
            if self._companions is not None:
                self._companions.write(task.claim, entry.devices)
            return entry.devices
        if entry is not None and entry.keys != {results.key for results in task.results}:
            # The claim was given other devices since, and nobody asked to undo the first ones.
            await self._release(entry, task.deadline)
            entry = None
        await self._take_from_others(task)
        states = {} if entry is None else {device.key: device.state for device in entry.devices}
        await self._journal.put(_intent(task, states))
        self._on_step(Step.INTENT_RECORDED, task.uid)
        outcomes = await self._device_work.prepare(
            task.claim, task.results, states, deadline=task.deadline
        )
        try:
            return await self._commit(task, outcomes)
        except Refused:
            await self._roll_back(task.uid)
            raise

    async def _take_from_others(self, task: _Task) -> None:
        """See to it that nobody else has the devices. Raises Refused if somebody has."""
        # Whenever something was waited for, all devices are looked at again: the last look and the
        # intent that follows are one.
        while (found := self._held_by_others(task)) is not None:
            key, holder = found
            if self._journal.current(holder) or self._operations.locks.busy(holder.uid):
                verb = "is prepared" if self._journal.current(holder) else "is being prepared"
                message = f"{verb} for claim {holder}, which has not been unprepared"
                raise Refused(
                    failure_of_devices([DeviceFailure(key, message, ErrorClass.TRANSIENT)])
                )
            # It was interrupted, or made ready before the machine was restarted: nobody uses it.
            async with self._operations.locks.hold(holder.uid):
                await self._release(holder, task.deadline)

    def _held_by_others(self, task: _Task) -> tuple[DeviceKey, Entry] | None:
        for results in task.results:
            if not results.admin_access:
                holder = self._journal.holder(results.key, other_than=task.uid)
                if holder is not None:
                    return results.key, holder
        return None

    async def _commit(
        self, task: _Task, outcomes: Sequence[tuple[Results, Outcome[ContainerEdits | None]]]
    ) -> tuple[JournalDevice, ...]:
        failures = [
            DeviceFailure(results.key, outcome.message, outcome.error_class)
            for results, outcome in outcomes
            if outcome.error_class is not None
        ]
        for results, outcome in outcomes:
            if not isinstance(outcome.value, (ContainerEdits, type(None))):
                message = (
                    f"prepare returned {type(outcome.value).__name__} instead of Edits or None"
                )
                failures.append(DeviceFailure(results.key, message, ErrorClass.PERMANENT))
        if failures:
            raise Refused(failure_of_devices(failures))
        entry = self._journal.get(task.uid)
        assert entry is not None, "it was put there, and this operation alone may remove it"
        edits = {results.key: outcome.value for results, outcome in outcomes}
        devices = tuple(
            msgspec.structs.replace(device, edits=edits[device.key]) for device in entry.devices
        )
        names = self._cdi_files.named(task.uid, devices)
        devices = tuple(
            msgspec.structs.replace(device, cdi_devices=cdi_devices)
            for device, cdi_devices in zip(devices, names, strict=True)
        )
        try:
            self._cdi_files.write(task.uid, devices)
        except PermanentError as error:
            raise Refused(ClaimFailure(error.message, ErrorClass.PERMANENT)) from error
        if self._companions is not None:
            devices = _with_further(devices, self._companions.write(task.claim, devices))
        self._on_step(Step.CDI_WRITTEN, task.uid)
        committed = msgspec.structs.replace(entry, phase=Phase.COMMITTED, devices=devices)
        await self._journal.put(committed)
        self._on_step(Step.COMMITTED, task.uid)
        return devices

    async def _roll_back(self, uid: str) -> None:
        """Undo what was done for a claim that failed; what cannot be undone stays an intent."""
        entry = self._journal.get(uid)
        if entry is None:
            return
        try:
            await self._release(entry, self._clock.monotonic() + UNDO_SECONDS_MAX)
        except Refused as error:
            _log.warning("claim %s failed, and cannot be undone yet: %s", entry, error)

    # Undoing -------------------------------------------------------------------------------------

    async def _unprepare(self, name: ClaimName, deadline: float) -> None:
        async with self._locked():
            entry = self._journal.get(name.uid)
            if entry is None:
                self._remove_files(name.uid)
                return
            try:
                await self._release(entry, deadline)
            except Refused as error:
                failure = error.failure
            else:
                _log.info("claim %s is given back: %s", entry, ", ".join(_keys(entry.devices)))
                return
        _log.warning("claim %s is not given back: %s", entry, failure.message)
        await self._withdraw(failure)
        raise Refused(failure)

    async def _release(self, entry: Entry, deadline: float) -> None:
        """Undo everything that was done for a claim, last things first. Raises Refused."""
        if entry.phase is Phase.COMMITTED:
            entry = msgspec.structs.replace(entry, phase=Phase.INTENT)
            await self._journal.put(entry)
            self._on_step(Step.COMMIT_WITHDRAWN, entry.uid)
        self._remove_files(entry.uid)
        self._on_step(Step.CDI_REMOVED, entry.uid)
        for device in reversed(entry.devices):
            outcome = await self._device_work.unprepare(entry, device, deadline=deadline)
            if outcome.error_class is not None:
                failure = DeviceFailure(device.key, outcome.message, outcome.error_class)
                raise Refused(failure_of_devices([failure]))
            self._on_step(Step.DEVICE_UNPREPARED, entry.uid)
        await self._journal.remove(entry.uid)
        self._on_step(Step.ENTRY_REMOVED, entry.uid)

    def _remove_files(self, uid: str) -> None:
        self._cdi_files.remove(uid)
        if self._companions is not None:
            self._companions.remove(uid)

    # Making good ---------------------------------------------------------------------------------

    async def _recover(self) -> None:
        """Undo what was interrupted, and have exactly the files that the journal speaks of."""
        if self._journal.lost:
            found = set(self._cdi_files.claims())
            if self._companions is not None:
                found.update(self._companions.claims())
            unknown = sorted(uid for uid in found if self._journal.get(uid) is None)
            if unknown:
                # All at once: the next process takes a journal that is there for all there was.
                await self._journal.put(*(Entry(uid=uid, phase=Phase.FOUND) for uid in unknown))
        deadline = self._clock.monotonic() + UNDO_SECONDS_MAX
        for entry in self._journal.entries():
            if entry.phase is Phase.INTENT:
                _log.info("undoing claim %s, whose preparation was interrupted", entry)
                try:
                    await self._release(entry, deadline)
                except Refused as error:
                    _log.warning("claim %s cannot be undone yet: %s", entry, error)
        entries = self._journal.entries()
        if self._companions is not None:
            self._companions.reconcile(entry.uid for entry in entries)
        done = self._cdi_files.reconcile(
            {entry.uid: entry.devices for entry in entries if self._journal.current(entry)},
            keep=[entry.uid for entry in entries if entry.phase is Phase.FOUND],
        )
        if done.removed or done.written:
            _log.info(
                "removed %d CDI files of no claim, wrote %d that were missing",
                len(done.removed),
                len(done.written),
            )

    async def _is_gone(self, entry: Entry) -> bool:
        if self._operations.locks.busy(entry.uid):
            return False
        try:
            found = await self._reader.get(ResourceClaim, entry.name, namespace=entry.namespace)
        except NotFound as error:
            # Without a name it is the API that is not there: that says nothing of the claim.
            return bool(error.details.name)
        except (APIError, TransportError):
            return False
        return found.metadata.uid != entry.uid


def _keys(devices: Iterable[JournalDevice]) -> list[str]:
    return [str(device.key) for device in devices]


def _with_further(
    devices: Iterable[JournalDevice], names: Mapping[str, str]
) -> tuple[JournalDevice, ...]:
    """The devices with the CDI names that their requests have besides."""
    return tuple(
        msgspec.structs.replace(
            device,
            cdi_devices=(
                *device.cdi_devices,
                *(names[request] for request in device.requests if request in names),
            ),
        )
        for device in devices
    )


def _intent(task: _Task, states: dict[DeviceKey, Any]) -> Entry:
    metadata = task.claim.metadata
    return Entry(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        devices=tuple(
            JournalDevice(
                pool=results.key.pool,
                device=results.key.device,
                share_id=results.key.share_id,
                requests=results.requests,
                admin_access=results.admin_access,
                state=states.get(results.key),
            )
            for results in task.results
        ),
    )
