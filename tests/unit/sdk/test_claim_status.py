"""What claims' statuses are told of devices."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dray.api.meta import Condition
from dray.api.resource import AllocatedDeviceStatus, ResourceClaim
from dray.api.wire import replace
from dray.errors import (
    DrayError,
    Forbidden,
    Timeout,
    TooManyRequests,
    TransportError,
    Unavailable,
)
from dray.sdk._claim_status import WAITING_MAX, ClaimStatuses
from dray.sdk._failures import ClaimFailure, DeviceFailure, ErrorClass, failure_of_devices
from dray.sdk._journal import DeviceKey, JournalDevice
from dray.testing import FakeClock
from tests.unit.sdk.drivers import DRIVER, claim, result
from tests.unit.sdk.turns import pass_time, settle


class Writer:
    """Keeps what is applied; `failures` come first."""

    def __init__(self, failures: Sequence[DrayError] = ()) -> None:
        self.failures = list(failures)
        self.applied: list[ResourceClaim] = []
        self.attempts = 0

    async def apply(
        self,
        obj: ResourceClaim,
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = True,
    ) -> ResourceClaim:
        assert (subresource, field_manager, force) == ("status", f"{DRIVER}-prepare", True)
        self.attempts += 1
        if self.failures:
            raise self.failures.pop(0)
        self.applied.append(obj)
        return obj

    def told(self) -> list[tuple[str, str, str, str]]:
        return [
            (device.device, condition.status, condition.reason, condition.message)
            for each in self.applied
            for device in each.status.devices
            for condition in device.conditions or ()
        ]


def failure(*names: str) -> ClaimFailure:
    return failure_of_devices(
        [DeviceFailure(DeviceKey("n1", name), "dead", ErrorClass.DEVICE_FAILED) for name in names]
    )


def ready(*names: str) -> list[JournalDevice]:
    return [JournalDevice(pool="n1", device=name) for name in names]


class Story:
    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.clock = FakeClock()
        self.statuses = ClaimStatuses(writer, driver=DRIVER, clock=self.clock)

    async def tell(self, seconds: float = 0.0) -> None:
        running = asyncio.create_task(self.statuses.run())
        await pass_time(self.clock, seconds)
        await settle()
        running.cancel()
        await asyncio.wait((running,))


def test_failing_devices_are_told_with_class_and_message() -> None:
    async def scenario() -> None:
        story = Story(Writer())
        story.statuses.failed(claim(), failure("gpu-0"))
        await story.tell()
        assert story.writer.told() == [("gpu-0", "False", "DeviceFailed", "dead")]
        [applied] = story.writer.applied
        assert applied.metadata.uid == "uid-1"
        assert applied.status.allocation is None

    asyncio.run(scenario())


def test_a_failure_of_no_device_in_particular_is_told_of_all() -> None:
    async def scenario() -> None:
        story = Story(Writer())
        one = claim("uid-1", result("gpu-0"), result("nic", driver="other"), result("gpu-1"))
        story.statuses.failed(one, ClaimFailure("disk full", ErrorClass.TRANSIENT))
        await story.tell()
        assert story.writer.told() == [
            ("gpu-0", "False", "TransientError", "disk full"),
            ("gpu-1", "False", "TransientError", "disk full"),
        ]

    asyncio.run(scenario())


def test_success_is_told_only_after_failure_was() -> None:
    async def scenario() -> None:
        story = Story(Writer())
        story.statuses.prepared(claim(), ready("gpu-0"))
        await story.tell()
        assert story.writer.applied == []
        story.statuses.failed(claim(), failure("gpu-0"))
        await story.tell()
        story.statuses.prepared(claim(), ready("gpu-0"))
        story.statuses.prepared(claim(), ready("gpu-0"))
        await story.tell()
        assert [each[1] for each in story.writer.told()] == ["False", "True"]

    asyncio.run(scenario())


def test_what_an_earlier_process_told_is_corrected() -> None:
    async def scenario() -> None:
        story = Story(Writer())
        condition = Condition(type="Prepared", status="False")
        old = AllocatedDeviceStatus(driver=DRIVER, device="gpu-0", conditions=(condition,))
        one = claim()
        one = replace(one, status=replace(one.status, devices=(old,)))
        story.statuses.prepared(one, ready("gpu-0"))
        await story.tell()
        assert [each[1] for each in story.writer.told()] == ["True"]

    asyncio.run(scenario())


def test_of_several_words_on_a_claim_the_last_is_told() -> None:
    async def scenario() -> None:
        story = Story(Writer())
        story.statuses.failed(claim(), failure("gpu-0"))
        story.statuses.prepared(claim(), ready("gpu-0"))
        await story.tell()
        assert [each[1] for each in story.writer.told()] == ["True"]

    asyncio.run(scenario())


def test_a_server_that_is_away_is_told_again_and_one_that_refuses_is_not() -> None:
    async def scenario() -> None:
        away = [TransportError("no route"), Unavailable("x"), TooManyRequests("x"), Timeout("x")]
        for error in away:
            story = Story(Writer([error]))
            story.statuses.failed(claim(), failure("gpu-0"))
            await story.tell(5)
            assert len(story.writer.applied) == 1
        story = Story(Writer([Forbidden("no")]))
        story.statuses.failed(claim(), failure("gpu-0"))
        await story.tell(60)
        assert story.writer.attempts == 1
        story = Story(Writer([TransportError("no route")] * 99))
        story.statuses.failed(claim(), failure("gpu-0"))
        await story.tell(60)
        assert story.writer.attempts == 3
        await story.statuses.idle()

    asyncio.run(scenario())


def test_no_more_than_so_many_wait() -> None:
    async def scenario() -> None:
        story = Story(Writer())
        for number in range(WAITING_MAX + 5):
            story.statuses.failed(claim(f"u-{number}"), failure("gpu-0"))
        assert len(story.statuses._waiting) == WAITING_MAX
        assert "u-0" not in story.statuses._waiting

    asyncio.run(scenario())
