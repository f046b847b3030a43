"""What follows from failures and from success."""

from __future__ import annotations

import asyncio

from dray.api.resource import ResourceClaim
from dray.sdk import DeviceHealth, Health
from dray.sdk._aftermath import Aftermath
from dray.sdk._claim_status import ClaimStatuses
from dray.sdk._journal import DeviceKey, JournalDevice
from dray.sdk._taints import TaintPolicy, Taints
from dray.testing import FakeClock
from tests.unit.sdk.drivers import DRIVER, claim
from tests.unit.sdk.turns import pass_time, settle


class NoWriter:
    async def apply(self, obj: ResourceClaim, **_: object) -> ResourceClaim:
        return obj


class Story:
    def __init__(self, *, recovers: bool = False) -> None:
        self.clock = FakeClock()
        self.published = asyncio.Event()
        self.taints = Taints(
            clock=self.clock, on_change=lambda: None, policy=TaintPolicy.usual(DRIVER)
        )
        self.aftermath = Aftermath(
            self.taints,
            ClaimStatuses(NoWriter(), driver=DRIVER, clock=self.clock),
            driver=DRIVER,
            clock=self.clock,
            recovers=recovers,
            published=self._published,
        )

    async def _published(self) -> None:
        await self.published.wait()

    def marks(self) -> list[str]:
        return [str(taint) for taint in self.taints.of("n1", "gpu-0")]


KEY = DeviceKey("n1", "gpu-0")
TAINT = "gpu.example.com/failed:NoSchedule"


def test_a_broken_device_is_tainted_and_schedulers_know_before_the_node_does() -> None:
    async def scenario() -> None:
        story = Story()
        telling = asyncio.create_task(story.aftermath.device_failed(KEY, "dead"))
        await settle()
        assert story.marks() == [TAINT]
        assert not telling.done()
        story.published.set()
        await telling

    asyncio.run(scenario())


def test_the_node_does_not_wait_for_ever() -> None:
    async def scenario() -> None:
        story = Story()
        telling = asyncio.create_task(story.aftermath.device_failed(KEY, "dead"))
        await pass_time(story.clock, 4)
        await telling
        assert story.marks() == [TAINT]

    asyncio.run(scenario())


def test_a_device_that_was_prepared_after_all_is_offered_again() -> None:
    async def scenario() -> None:
        story = Story()
        story.published.set()
        await story.aftermath.device_failed(KEY, "dead")
        admin = JournalDevice(pool="n1", device="gpu-0", admin_access=True)
        story.aftermath.prepared(claim(), [admin], anew=True)
        assert story.marks() == [TAINT]
        ready = [JournalDevice(pool="n1", device="gpu-0")]
        story.aftermath.prepared(claim(), ready, anew=False)
        assert story.marks() == [TAINT]
        story.aftermath.prepared(claim(), ready, anew=True)
        assert story.marks() == []

    asyncio.run(scenario())


def test_a_device_that_is_found_well_for_a_while_is_offered_again() -> None:
    async def scenario() -> None:
        story = Story(recovers=True)
        story.published.set()
        await story.aftermath.device_failed(KEY, "dead")
        running = asyncio.create_task(story.taints.run())
        story.taints.hear([DeviceHealth("gpu-0", Health.HEALTHY, pool="n1")])
        await pass_time(story.clock, 30)
        assert story.marks() == [TAINT]
        await pass_time(story.clock, 40)
        assert story.marks() == []
        running.cancel()
        await asyncio.wait((running,))

    asyncio.run(scenario())
