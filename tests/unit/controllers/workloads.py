"""What tests of workload controllers share: a stage around each, templates, playing the node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from dray.api.core import Container, Event, Pod, PodSpec, PodTemplateSpec
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.wire import Time
from dray.client import Call, StreamedReply
from dray.testing import FakeClock
from tests.unit.controllers.stage import Stage

__all__ = [
    "NAMESPACE",
    "LateStage",
    "events_of",
    "finish",
    "make_ready",
    "make_template",
    "on_stage",
    "pods_of",
    "select",
    "set_status",
]

NAMESPACE = "default"

Act = Callable[[Stage], Awaitable[None]]


class LateStage(Stage):
    """A stage where controllers hear of everything late, and of some kinds later than of others."""

    def start(self, work: Any) -> None:
        if not self._tasks:  # nobody watches yet
            late = partial(self._late, self.traffic.stream)
            self.traffic.stream = late  # type: ignore[method-assign]
        super().start(work)

    async def _late(self, stream: Callable[[Call], Awaitable[StreamedReply]], call: Call) -> Any:
        seconds = self.seconds_late(call.path.rstrip("/").rpartition("/")[2])
        return _Late(await stream(call), self.clock, seconds)

    def seconds_late(self, plural: str) -> float:
        """How late controllers hear of objects of a kind."""
        return 3.0 if plural == "pods" else 1.0


class _Late:
    def __init__(self, reply: StreamedReply, clock: FakeClock, seconds: float) -> None:
        self._reply = reply
        self._clock = clock
        self._seconds = seconds
        self.status = reply.status
        self.headers = reply.headers

    async def read(self) -> bytes:
        chunk = await self._reply.read()
        await self._clock.sleep(self._seconds)
        return chunk

    def close(self) -> None:
        self._reply.close()


def on_stage(
    *names: str, kind: Callable[..., Stage] = Stage
) -> Callable[[Act], Callable[[], None]]:
    """A test with these controllers at work."""

    def wrap(act: Act) -> Callable[[], None]:
        async def play() -> None:
            async with kind(*names) as stage:
                await act(stage)

        def test() -> None:
            asyncio.run(play())

        test.__doc__ = act.__doc__
        return test

    return wrap


def make_template(
    labels: Mapping[str, str],
    *,
    image: str = "registry.example/main:1",
    restart_policy: str = "",
    **spec: Any,
) -> PodTemplateSpec:
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=dict(labels)),
        spec=PodSpec(
            containers=(Container(name="main", image=image),),
            restart_policy=restart_policy,
            **spec,
        ),
    )


def select(labels: Mapping[str, str]) -> LabelSelector:
    return LabelSelector(match_labels=dict(labels))


async def pods_of(stage: Stage, label_selector: str = "") -> Sequence[Pod]:
    """All pods, the oldest first."""
    await stage.settle()
    found = (await stage.client.list(Pod, label_selector=label_selector)).items
    return sorted(found, key=lambda pod: int(pod.metadata.resource_version))


async def events_of(stage: Stage, name: str) -> list[tuple[str, str]]:
    """What was said of an object: reasons and messages, the first said first."""
    await stage.settle()
    found = (await stage.client.list(Event, namespace=NAMESPACE)).items
    about = [event for event in found if event.involved_object.name == name]
    about.sort(key=lambda event: event.metadata.name)
    return [(event.reason, event.message) for event in about]


async def set_status(stage: Stage, pod: Pod, **status: Any) -> None:
    """Say as the node does what became of a pod."""
    await stage.client.patch(
        Pod,
        pod.metadata.name,
        {"status": status},
        namespace=pod.metadata.namespace,
        subresource="status",
    )


async def make_ready(stage: Stage, *pods: Pod) -> None:
    now = str(Time(stage.clock.now()))
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
    for pod in pods:
        await set_status(stage, pod, phase="Running", conditions=[ready])
    await stage.settle()


async def finish(stage: Stage, *pods: Pod, exit_code: int = 0, **status: Any) -> None:
    """The pods' containers end, and so do the pods."""
    now = str(Time(stage.clock.now()))
    ended = {"exitCode": exit_code, "startedAt": now, "finishedAt": now}
    for pod in pods:
        container = {
            "name": "main",
            "image": "registry.example/main:1",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": ended},
        }
        phase = "Failed" if exit_code else "Succeeded"
        await set_status(stage, pod, phase=phase, containerStatuses=[container], **status)
    await stage.settle()
