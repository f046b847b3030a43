"""Controllers side by side: what fails is tried again, and stops nobody else."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from dray.api.core import Event, Node
from dray.api.meta import ObjectMeta
from dray.controllers import controllers as module
from dray.controllers.controllers import CONTROLLERS, CRASH_SECONDS
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import Conflict
from tests.unit.controllers.stage import Stage


class Scripted(Reconciler):
    """Does with each look at a node what the test says, then nothing."""

    name = "scripted-controller"
    workers = 1
    script: ClassVar[list[Exception | Result]] = []
    looks: ClassVar[list[str]] = []

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        context.informers.of(Node).listen(self._hear)

    def _hear(self, old: Node | None, new: Node | None) -> None:
        if new is not None and old is None:
            self.queue.add(Key.of(new))

    async def reconcile(self, key: Key) -> Result:
        self.looks.append(key.name)
        self.context.events.record(
            Node(metadata=ObjectMeta(name=key.name)), "Normal", "Looked", "at a node"
        )
        step = self.script.pop(0) if self.script else DONE
        if isinstance(step, Exception):
            raise step
        return step


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> type[Scripted]:
    monkeypatch.setattr(module, "CONTROLLERS", {Scripted.name: Scripted})
    monkeypatch.setattr(Scripted, "script", [])
    monkeypatch.setattr(Scripted, "looks", [])
    return Scripted


def test_every_controller_is_known_by_its_own_name() -> None:
    assert all(kind.name == name for name, kind in CONTROLLERS.items())


def test_what_failed_for_the_moment_is_tried_again(scripted: type[Scripted]) -> None:
    async def scenario() -> None:
        async with Stage(scripted.name) as stage:
            await stage.cluster.add_node("node-1")
            await stage.pass_time(1)
            assert scripted.looks == ["node-1", "node-1"]

    scripted.script = [Conflict("somebody else wrote first")]
    asyncio.run(scenario())


def test_a_mistake_of_one_is_not_the_end_of_it(scripted: type[Scripted]) -> None:
    async def scenario() -> None:
        async with Stage(scripted.name) as stage:
            await stage.cluster.add_node("node-1")
            await stage.pass_time(CRASH_SECONDS + 1)
            assert scripted.looks == ["node-1", "node-1"]

    scripted.script = [KeyError("a mistake")]
    asyncio.run(scenario())


def test_what_is_to_be_looked_at_later_is(scripted: type[Scripted]) -> None:
    async def scenario() -> None:
        async with Stage(scripted.name) as stage:
            await stage.cluster.add_node("node-1")
            await stage.pass_time(9)
            assert len(scripted.looks) == 1
            await stage.pass_time(2)
            assert len(scripted.looks) == 2

    scripted.script = [Result(10)]
    asyncio.run(scenario())


def test_events_say_which_controller_speaks(scripted: type[Scripted]) -> None:
    async def scenario() -> None:
        async with Stage(scripted.name) as stage:
            await stage.cluster.add_node("node-1")
            await stage.pass_time(1)
            (event,) = (await stage.client.list(Event)).items
            assert event.source.component == scripted.name

    asyncio.run(scenario())


def test_queues_are_counted(scripted: type[Scripted]) -> None:
    async def scenario() -> None:
        async with Stage(scripted.name) as stage:
            await stage.cluster.add_node("node-1")
            await stage.settle()
            text = stage.controllers.metrics().decode()
            assert f'workqueue_adds_total{{name="{scripted.name}"}} 1' in text
            assert f'workqueue_depth{{name="{scripted.name}"}} 0' in text
            assert f'workqueue_queue_duration_seconds_count{{name="{scripted.name}"}} 1' in text
            assert f'workqueue_work_duration_seconds_count{{name="{scripted.name}"}} 1' in text

    asyncio.run(scenario())
