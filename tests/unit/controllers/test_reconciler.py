"""What every controller is given, and what names an object."""

from __future__ import annotations

import asyncio

from dray.api.core import Node, Pod
from dray.api.meta import ObjectMeta
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from tests.unit.controllers.stage import Stage


class Idle(Reconciler):
    name = "idle-controller"

    async def reconcile(self, key: Key) -> Result:
        return DONE if key.name else Result(1.0)


def test_a_key_is_written_as_people_write_it() -> None:
    assert str(Key.of(Pod(metadata=ObjectMeta(name="a", namespace="ns")))) == "ns/a"
    assert str(Key.of(Node(metadata=ObjectMeta(name="n")))) == "n"


def test_a_reconciler_has_a_queue_and_nothing_else_to_do_unless_it_says_so() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            context: Context = stage.controllers.context
            idle = Idle(context)
            await idle.run()
            assert not idle.families()
            idle.queue.add(Key("ns", "a"))
            assert await idle.reconcile(await idle.queue.get()) == DONE

    asyncio.run(scenario())
