"""XIDs are heard as they happen."""

from __future__ import annotations

import asyncio

from dray.drivers.nvml.events import Event, EventThread
from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu
from tests.unit.drivers.nvml.machines import machine_of


def test_an_xid_is_heard_with_its_gpu_and_its_instance() -> None:
    async def scenario() -> None:
        with machine_of(FakeGpu(0), FakeGpu(1)) as machine:
            uuids = [gpu.uuid for gpu in machine.gpus]
            thread = EventThread(fake_nvml)
            events, unwatched = thread.open(uuids)
            assert unwatched == {}
            assert machine.registered == {0, 1}
            thread.start(events)
            machine.xid(1, 79)
            await thread.news()
            assert thread.take() == [Event(79, uuids[1])]
            machine.xid(0, 94, instance=3)
            await thread.news()
            assert thread.take() == [Event(94, uuids[0], 3)]
            assert thread.take() == []
            machine.gpus[0].lost = True
            machine.xid(0, 79)
            await thread.news()
            # A GPU that is lost does not even say which one it is; its handle does.
            assert thread.take() == [Event(79, uuids[0])]
            thread.stop()
            machine.xid(1, 1)
            await asyncio.to_thread(thread.join)
            assert not thread.listening
            assert machine.freed.is_set()

    asyncio.run(scenario())


def test_gpus_without_events_are_named_with_the_reason() -> None:
    with machine_of(FakeGpu(0), FakeGpu(1, events=False), FakeGpu(2, lost=True)) as machine:
        _, unwatched = EventThread(fake_nvml).open([gpu.uuid for gpu in machine.gpus])
        assert unwatched == {
            machine.gpus[1].uuid: "the GPU has no such events",
            machine.gpus[2].uuid: "GPU is lost",
        }


def test_a_library_without_events_is_said_of_all_gpus() -> None:
    with machine_of(FakeGpu(0), initialized=False):
        events, unwatched = EventThread(fake_nvml).open(["GPU-a"])
        assert events is None
        assert unwatched == {"GPU-a": "Uninitialized"}
