"""Bringing statuses to the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dray.agent.pods.status_writer import PASSING_SECONDS, WRITES_MAX, StatusWriter
from dray.api.codec import decode, encode
from dray.api.core import ContainerStatus, Pod, PodStatus, ResourceHealth, ResourceStatus
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.entropy import SeededEntropy
from dray.errors import Conflict, FieldError, FieldErrorType, Invalid, NotFound, TransportError
from dray.testing import FakeClock


class FakeAPI:
    """Applies the plain members of patches; waits or fails when told to."""

    def __init__(self) -> None:
        self.patches: list[dict[str, Any]] = []
        self.failures: list[Exception] = []
        self.gate: asyncio.Event | None = None
        self.at_once = 0
        self.at_once_max = 0
        self.revision = 100
        self.stored: Pod | Exception | None = None

    async def patch(self, kind: type[Any], name: str, patch: Any, **options: Any) -> Any:
        self.at_once += 1
        self.at_once_max = max(self.at_once_max, self.at_once)
        try:
            if self.gate is not None:
                await self.gate.wait()
            if self.failures:
                raise self.failures.pop(0)
        finally:
            self.at_once -= 1
        self.patches.append(patch)
        self.revision += 1
        status = decode(encode(patch["status"]), PodStatus)
        return replace(pod(name, version=str(self.revision)), status=status)

    async def get(self, kind: type[Any], name: str, **options: Any) -> Any:
        assert self.stored is not None, f"nobody asks for {name}"
        if isinstance(self.stored, Exception):
            raise self.stored
        return self.stored

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nobody needs {name}")


def pod(name: str = "web", *, version: str = "1", **status: Any) -> Pod:
    metadata = ObjectMeta(
        name=name, namespace="default", uid=f"uid-{name}", resource_version=version
    )
    return Pod(metadata=metadata, status=PodStatus(**status))


def play(scenario: Callable[[StatusWriter, FakeAPI, FakeClock], Awaitable[None]]) -> None:
    async def run() -> None:
        api, clock = FakeAPI(), FakeClock()
        writer = StatusWriter(api, clock=clock, entropy=SeededEntropy(1))
        task = asyncio.ensure_future(writer.run())
        await scenario(writer, api, clock)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_status_that_is_stored_already_is_not_written() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        writer.put(pod(phase="Running"), PodStatus(phase="Running"))
        await settle()
        await writer.written("uid-web")
        assert api.patches == []

    play(scenario)


def test_a_patch_names_the_pod_it_is_for_by_its_uid() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        writer.put(pod(), PodStatus(phase="Running"))
        await writer.written("uid-web")
        assert api.patches == [{"metadata": {"uid": "uid-web"}, "status": {"phase": "Running"}}]

    play(scenario)


def test_of_many_changes_only_the_newest_is_written_and_never_out_of_order() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        api.gate = asyncio.Event()
        writer.put(pod(), PodStatus(phase="Pending"))
        await settle()
        for n in range(50):
            writer.put(pod(), PodStatus(phase="Running", message=str(n)))
            await asyncio.sleep(0)
        api.gate.set()
        await writer.written("uid-web")
        assert [patch["status"].get("message") for patch in api.patches] == [None, "49"]

    play(scenario)


def test_few_are_written_at_once() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        api.gate = asyncio.Event()
        for n in range(100):
            writer.put(pod(f"pod-{n}"), PodStatus(phase="Running"))
        await settle()
        assert api.at_once_max == WRITES_MAX
        api.gate.set()
        for n in range(100):
            await writer.written(f"uid-pod-{n}")
        assert (api.at_once_max, len(api.patches)) == (WRITES_MAX, 100)

    play(scenario)


def test_an_outage_is_waited_for_and_what_holds_then_is_written() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        api.failures = [TransportError("away"), TransportError("away")]
        writer.put(pod(), PodStatus(phase="Pending"))
        await settle()
        clock.advance(1)
        await settle()
        writer.put(pod(), PodStatus(phase="Running"))
        clock.advance(2)
        await writer.written("uid-web")
        assert [patch["status"] for patch in api.patches] == [{"phase": "Running"}]

    play(scenario)


def test_a_pod_that_is_gone_is_left_alone() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        api.failures = [NotFound("gone")]
        for phase in ("Running", "Failed"):
            writer.put(pod(), PodStatus(phase=phase))
            await writer.written("uid-web")
        assert api.patches == []

    play(scenario)


@pytest.mark.parametrize("found", [NotFound("gone"), pod("another")], ids=["gone", "another"])
def test_a_conflict_with_another_pod_of_the_name_is_the_end(found: Pod | Exception) -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        api.failures, api.stored = [Conflict("another UID")], found
        for phase in ("Running", "Failed"):
            writer.put(pod(), PodStatus(phase=phase))
            await settle()
            clock.advance(1)
            await writer.written("uid-web")
        assert api.patches == []

    play(scenario)


@pytest.mark.parametrize(
    "found", [pod(version="7", phase="Pending"), TransportError("away")], ids=["read", "unread"]
)
def test_a_conflict_with_other_writers_is_tried_again(found: Pod | Exception) -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        api.failures, api.stored = [Conflict("others were faster")], found
        writer.put(pod(), PodStatus(phase="Running"))
        await settle()
        assert api.patches == []
        clock.advance(1)
        await writer.written("uid-web")
        assert [patch["status"] for patch in api.patches] == [{"phase": "Running"}]

    play(scenario)


def test_health_that_is_refused_does_not_take_the_rest_with_it() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        refusal = FieldError(FieldErrorType.DUPLICATE, "status.containerStatuses[0]", "0")
        api.failures = [Invalid("", "Pod", "web", [refusal])]
        health = (ResourceStatus(name="claim:a", resources=(ResourceHealth(resource_id="0"),)),)
        container = ContainerStatus(name="main", allocated_resources_status=health)
        writer.put(pod(), PodStatus(phase="Running", container_statuses=(container,)))
        await writer.written("uid-web")
        assert len(api.patches) == 1
        assert b"allocatedResourcesStatus" not in encode(api.patches[0])

    play(scenario)


def test_what_a_server_keeps_back_is_not_sent_for_ever() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        async def stubborn(kind: type[Pod], name: str, patch: Any, **options: Any) -> Pod:
            api.patches.append(patch)
            return pod(version=str(len(api.patches) + 1))

        api.patch = stubborn  # type: ignore[method-assign] # takes nothing
        writer.put(pod(), PodStatus(phase="Running"))
        await writer.written("uid-web")
        assert len(api.patches) == 1

    play(scenario)


def test_an_older_pod_from_a_watch_does_not_bring_back_what_was_written_since() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        writer.put(pod(version="1"), PodStatus(phase="Running"))
        await writer.written("uid-web")
        assert writer.know(pod(version="2")).status.phase == "Running"
        assert writer.know(pod(version="200", phase="Failed")).status.phase == "Failed"

    play(scenario)


def test_what_waits_for_its_turn_is_written_as_it_is_by_then() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        api.gate = asyncio.Event()
        for number in range(WRITES_MAX):
            writer.put(pod(f"busy-{number}"), PodStatus(phase="Running"))
        await asyncio.sleep(0)
        late = pod("late")
        for phase in ("Pending", "Running", "Failed"):
            writer.put(late, PodStatus(phase=phase))
            await asyncio.sleep(0)
        api.gate.set()
        await writer.written("uid-late")
        sent = [
            one["status"]["phase"] for one in api.patches if one["metadata"]["uid"] == "uid-late"
        ]
        assert sent == ["Failed"]

    play(scenario)


# Steps of a pod that starts ----------------------------------------------------------------------

PENDING = PodStatus(phase="Pending")
ADDRESSED = PodStatus(phase="Pending", pod_ip="10.0.0.1")
RUNNING = PodStatus(phase="Running", pod_ip="10.0.0.1")


def test_a_step_that_is_overtaken_is_not_written_by_itself() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        starting = pod(phase="Pending")
        writer.put(starting, ADDRESSED)
        await settle()
        assert api.patches == []
        writer.put(starting, RUNNING)
        await settle()
        assert [patch["status"] for patch in api.patches] == [
            {"phase": "Running", "podIP": "10.0.0.1"}
        ]
        await writer.written(starting.metadata.uid)

    play(scenario)


def test_a_step_that_is_not_overtaken_is_written_after_a_while() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        starting = pod(phase="Pending")
        writer.put(starting, ADDRESSED)
        await settle()
        written = asyncio.ensure_future(writer.written(starting.metadata.uid))
        await settle()
        assert not written.done()
        clock.advance(PASSING_SECONDS)
        await written
        assert [patch["status"] for patch in api.patches] == [{"podIP": "10.0.0.1"}]

    play(scenario)


def test_a_step_that_is_taken_back_or_whose_pod_is_gone_is_not_written() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        starting = pod(phase="Pending")
        ends: list[Callable[[], None]] = [
            lambda: writer.put(starting, PENDING),
            lambda: writer.forget("uid-web"),
        ]
        for end in ends:
            writer.put(starting, ADDRESSED)
            await settle()
            end()
            await settle()
            clock.advance(PASSING_SECONDS)
            await settle()
        assert api.patches == []

    play(scenario)


def test_a_step_that_comes_while_another_status_is_written_waits_too() -> None:
    async def scenario(writer: StatusWriter, api: FakeAPI, clock: FakeClock) -> None:
        new = pod()
        api.gate = asyncio.Event()
        writer.put(new, PENDING)
        await settle()
        writer.put(new, ADDRESSED)
        api.gate.set()
        await settle()
        assert len(api.patches) == 1
        writer.put(new, RUNNING)
        await settle()
        assert [patch["status"].get("phase") for patch in api.patches] == ["Pending", "Running"]

    play(scenario)
