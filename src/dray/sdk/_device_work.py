"""The author's part of preparing a claim: one device at a time, several at once.

Here what is known of a claim becomes what the author's code gets, and what it wants remembered
goes into the journal. Nothing here decides what becomes of the claim.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final

import msgspec

from dray.api.cdi import ContainerEdits
from dray.api.resource import Device, ResourceClaim
from dray.errors import PermanentError
from dray.sdk._calls import Calls, Outcome
from dray.sdk._claims import Results
from dray.sdk._configuration import configuration_of
from dray.sdk._devices import ClaimedDevice, PreparedDevice
from dray.sdk._driver import Driver
from dray.sdk._journal import DeviceKey, Entry, Journal, JournalDevice
from dray.sdk._steps import OnStep, Step

__all__ = ["DeviceWork", "prepared_device"]

# More at once does not make hardware faster, and a claim of a hundred devices should not open a
# hundred files.
DEVICES_AT_ONCE: Final = 16

# What an author may have remembered of a device: a note, not data.
STATE_BYTES_MAX: Final = 64 * 1024


def prepared_device(driver: str, entry: Entry, device: JournalDevice) -> PreparedDevice:
    """What the journal knows of a device, as authors see it."""
    return PreparedDevice(
        driver=driver,
        pool=device.pool,
        device=device.device,
        claim_uid=entry.uid,
        claim_namespace=entry.namespace,
        claim_name=entry.name,
        share_id=device.share_id,
        requests=device.requests,
        admin_access=device.admin_access,
        state=device.state,
    )


class DeviceWork:
    """Calls the author's code for devices of claims."""

    def __init__(
        self,
        driver: Driver,
        journal: Journal,
        *,
        calls: Calls,
        published: Callable[[str, str], Device | None],
        on_step: OnStep,
    ) -> None:
        self._driver = driver
        self._journal = journal
        self._calls = calls
        self._published = published
        self._on_step = on_step
        self._alone = asyncio.Lock()

    async def prepare(
        self,
        claim: ResourceClaim,
        results: Sequence[Results],
        states: Mapping[DeviceKey, Any],
        *,
        deadline: float,
    ) -> list[tuple[Results, Outcome[ContainerEdits | None]]]:
        """Make devices ready; `states` is what an earlier attempt remembered."""
        siblings = tuple((each.key.pool, each.key.device) for each in results)
        # Of one claim, so that a claim whose devices hang is in nobody else's way.
        slots = asyncio.Semaphore(DEVICES_AT_ONCE)

        async def prepare(each: Results) -> Outcome[ContainerEdits | None]:
            device = self._claimed(claim, each, states.get(each.key), siblings)
            async with slots, self._turn():
                outcome = await self._calls.make(
                    f"preparing device {each.key}",
                    lambda: self._driver.prepare(device),
                    deadline=deadline,
                    subject=self._subject(claim.metadata.uid, each.key),
                )
            self._on_step(Step.DEVICE_PREPARED, claim.metadata.uid)
            return outcome

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(prepare(each)) for each in results]
        return [(each, task.result()) for each, task in zip(results, tasks, strict=True)]

    async def unprepare(
        self, entry: Entry, device: JournalDevice, *, deadline: float
    ) -> Outcome[None]:
        """Undo one device."""
        given_back = prepared_device(self._driver.name, entry, device)
        async with self._turn():
            return await self._calls.make(
                f"unpreparing device {device.key}",
                lambda: self._driver.unprepare(given_back),
                deadline=deadline,
                subject=self._subject(entry.uid, device.key),
            )

    def _turn(self) -> AbstractAsyncContextManager[None]:
        return self._alone if self._driver.serialize else nullcontext()

    def _subject(self, uid: str, key: DeviceKey) -> tuple[str, DeviceKey] | None:
        """What a call that does not end keeps others from: everything, where calls take turns."""
        return None if self._driver.serialize else (uid, key)

    def _claimed(
        self,
        claim: ResourceClaim,
        results: Results,
        state: Any,
        siblings: tuple[tuple[str, str], ...],
    ) -> ClaimedDevice:
        first = results.results[0]
        allocation = claim.status.allocation
        entries = allocation.devices.config if allocation is not None else ()

        async def remember(state: Any) -> None:
            await self._remember(claim.metadata.uid, results.key, state)

        return ClaimedDevice(
            driver=self._driver.name,
            pool=results.key.pool,
            device=results.key.device,
            request=first.request,
            requests=results.requests,
            claim=claim,
            share_id=results.key.share_id,
            admin_access=results.admin_access,
            consumed_capacity=first.consumed_capacity,
            config=configuration_of(entries, driver=self._driver.name, request=first.request),
            published=self._published(results.key.pool, results.key.device),
            state=state,
            siblings=siblings,
            _remember=remember,
        )

    async def _remember(self, uid: str, key: DeviceKey, state: Any) -> None:
        try:
            data = msgspec.json.encode(state)
            # As the next process will read it, so that this one sees no other value.
            plain = msgspec.json.decode(data)
        except (TypeError, ValueError, RecursionError) as error:
            raise PermanentError(f"state to remember is no JSON value: {error}") from error
        if len(data) > STATE_BYTES_MAX:
            raise PermanentError(
                f"state to remember has {len(data)} bytes, of {STATE_BYTES_MAX} at most"
            )
        entry = self._journal.get(uid)
        if entry is None:
            raise PermanentError("the claim is no longer being prepared")
        devices = tuple(
            msgspec.structs.replace(device, state=plain) if device.key == key else device
            for device in entry.devices
        )
        await self._journal.put(msgspec.structs.replace(entry, devices=devices))
