"""Changes by events, without them, and while nobody listened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import grpc

from dray.agent.runtimes.runtime import PodIdentity
from dray.proto import cri_v1_pb2 as cri
from dray.testing import FakeClock
from dray.testing.runtime_suite import POD, sandbox_config
from tests.unit.agent.runtimes.cri.servers import FakeCRI, opened

# Small against the deadline of a call, which takes some turns of the loop.
STEP_SECONDS = 0.1


class Listener:
    """Who hears everything, and waits for what is to come."""

    def __init__(self, changes: AsyncIterator[str], clock: FakeClock) -> None:
        self._changes = changes
        self._clock = clock

    async def hear(self, step_seconds: float = 0.0) -> str:
        """The next change, while time passes in steps."""
        heard = asyncio.ensure_future(anext(self._changes))
        while not heard.done():
            self._clock.advance(step_seconds)
            await asyncio.sleep(0)
        return await heard


def others(uid: str) -> PodIdentity:
    return replace(POD, uid=uid)


def test_whatever_is_there_is_told_first(tmp_path: Path) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with opened(FakeCRI(events=False), clock=clock) as runtime:
            await runtime.run_sandbox(sandbox_config(tmp_path))
            assert await Listener(runtime.changes(), clock).hear() == POD.uid

    asyncio.run(main())


def test_without_events_changes_are_found_by_looking(tmp_path: Path) -> None:
    async def main() -> None:
        clock, fake = FakeClock(), FakeCRI(events=False)
        async with opened(fake, clock=clock) as runtime:
            sandbox_id = await runtime.run_sandbox(sandbox_config(tmp_path))
            listener = Listener(runtime.changes(), clock)
            await listener.hear()
            fake.sandboxes[sandbox_id].state = cri.SANDBOX_NOTREADY
            assert await listener.hear(STEP_SECONDS) == POD.uid
            # What is gone has changed as well.
            del fake.sandboxes[sandbox_id]
            assert await listener.hear(STEP_SECONDS) == POD.uid

    asyncio.run(main())


def test_with_events_nobody_has_to_look(tmp_path: Path) -> None:
    async def main() -> None:
        clock, fake = FakeClock(), FakeCRI()
        async with opened(fake, clock=clock) as runtime:
            sandbox_id = await runtime.run_sandbox(sandbox_config(tmp_path))
            listener = Listener(runtime.changes(), clock)
            await listener.hear()
            await fake.listened.wait()
            for _ in range(3):
                fake.tell("container", sandbox_id)
                assert await listener.hear() == POD.uid

    asyncio.run(main())


def test_an_event_of_a_known_container_is_its_pods(tmp_path: Path) -> None:
    async def main() -> None:
        clock, fake = FakeClock(), FakeCRI()
        async with opened(fake, clock=clock) as runtime:
            sandbox_id = await runtime.run_sandbox(sandbox_config(tmp_path))
            listener = Listener(runtime.changes(), clock)
            await listener.hear()
            await fake.listened.wait()
            fake.tell(sandbox_id, sandbox_id, silent_of=True)
            assert await listener.hear() == POD.uid

    asyncio.run(main())


def test_what_a_runtime_forgets_to_tell_is_found(tmp_path: Path) -> None:
    async def main() -> None:
        clock, fake = FakeClock(), FakeCRI()
        async with opened(fake, clock=clock) as runtime:
            sandbox_id = await runtime.run_sandbox(sandbox_config(tmp_path))
            other = replace(sandbox_config(tmp_path), pod=others("another"))
            other_id = await runtime.run_sandbox(other)
            listener = Listener(runtime.changes(), clock)
            assert {await listener.hear(), await listener.hear()} == {POD.uid, "another"}
            await fake.listened.wait()
            fake.tell("container", sandbox_id)
            assert await listener.hear() == POD.uid
            fake.sandboxes[other_id].state = cri.SANDBOX_NOTREADY
            assert await listener.hear(STEP_SECONDS) == "another"

    asyncio.run(main())


def test_what_happens_while_nobody_tells_is_found(tmp_path: Path) -> None:
    async def main() -> None:
        clock, fake = FakeClock(), FakeCRI()
        async with opened(fake, clock=clock) as runtime:
            sandbox_id = await runtime.run_sandbox(sandbox_config(tmp_path))
            listener = Listener(runtime.changes(), clock)
            await listener.hear()
            await fake.listened.wait()
            fake.tell("container", sandbox_id)
            await listener.hear()
            fake.sandboxes[sandbox_id].state = cri.SANDBOX_NOTREADY
            fake.listened.clear()
            fake.hang_up()
            assert await listener.hear() == POD.uid
            # And it is listened to again.
            while not fake.listened.is_set():
                clock.advance(0.5)
                await asyncio.sleep(0)

    asyncio.run(main())


def test_a_runtime_that_cannot_be_looked_at_is_looked_at_later(tmp_path: Path) -> None:
    async def main() -> None:
        clock, fake = FakeClock(), FakeCRI(events=False)
        async with opened(fake, clock=clock) as runtime:
            await runtime.run_sandbox(sandbox_config(tmp_path))
            fake.refusals["ListContainers"] = (grpc.StatusCode.UNKNOWN, "not today")
            listener = Listener(runtime.changes(), clock)
            hearing = asyncio.ensure_future(listener.hear(STEP_SECONDS))
            while fake.calls.count("ListContainers") < 3:
                await asyncio.sleep(0)
            fake.refusals.clear()
            assert await hearing == POD.uid

    asyncio.run(main())


def test_a_second_listener_hears_of_everything_too(tmp_path: Path) -> None:
    async def main() -> None:
        clock, fake = FakeClock(), FakeCRI(events=False)
        async with opened(fake, clock=clock) as runtime:
            await runtime.run_sandbox(sandbox_config(tmp_path))
            assert await Listener(runtime.changes(), clock).hear() == POD.uid
            assert await Listener(runtime.changes(), clock).hear() == POD.uid

    asyncio.run(main())
