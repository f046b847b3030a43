"""Shared views: one for each question, all kept up to date together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dray.api.core import ConfigMap, Node, Pod
from dray.client import Client, Informer, Informers
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

from .transports import Faulty


class Views:
    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.cluster = cluster
        self.transport = Faulty(cluster.transport())
        client = Client(self.transport, clock=clock)
        self.informers = Informers(client, clock=clock, entropy=SeededEntropy(3))


@asynccontextmanager
async def viewing() -> AsyncIterator[Views]:
    clock = FakeClock()
    async with Cluster(clock=clock) as cluster:
        yield Views(cluster, clock)


async def told(informer: Informer[Node]) -> None:
    """Return with the next change."""
    changed = asyncio.Event()
    informer.listen(lambda _old, _new: changed.set())
    changed.clear()
    await changed.wait()


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def test_the_same_question_has_the_same_view_and_is_asked_once() -> None:
    async def main() -> None:
        async with viewing() as views:
            nodes = views.informers.of(Node)
            assert views.informers.of(Node) is nodes
            assert views.informers.of(Node, label_selector="a=b") is not nodes
            task = asyncio.create_task(views.informers.run())
            await views.informers.synced()
            lists = [
                call.query for call in views.transport.calls if "watch" not in dict(call.query)
            ]
            assert len(lists) == 2
            await stop(task)

    asyncio.run(main())


def test_a_question_is_one_of_kind_namespace_and_both_selectors() -> None:
    async def main() -> None:
        async with viewing() as views:
            of = views.informers.of
            found: list[object] = [
                of(Pod),
                of(ConfigMap),
                of(Pod, namespace="default"),
                of(Pod, label_selector="a"),
                of(Pod, field_selector="spec.nodeName=a"),
            ]
            assert len({id(each) for each in found}) == len(found)

    asyncio.run(main())


def test_views_that_are_asked_for_later_are_kept_up_to_date_too() -> None:
    async def main() -> None:
        async with viewing() as views:
            await views.cluster.add_node("n1")
            task = asyncio.create_task(views.informers.run())
            await views.informers.synced()
            nodes = views.informers.of(Node)
            assert not nodes.is_synced
            await views.informers.synced()
            assert nodes.get("n1") is not None
            change = asyncio.create_task(told(nodes))
            await asyncio.sleep(0)
            await views.cluster.add_node("n2")
            await change
            assert nodes.get("n2") is not None
            await stop(task)

    asyncio.run(main())


def test_a_run_that_ended_is_taken_up_by_the_next() -> None:
    async def main() -> None:
        async with viewing() as views:
            nodes = views.informers.of(Node)
            task = asyncio.create_task(views.informers.run())
            await views.informers.synced()
            await stop(task)
            await views.cluster.add_node("n1")
            assert nodes.get("n1") is None
            task = asyncio.create_task(views.informers.run())
            await told(nodes)
            assert nodes.get("n1") is not None
            await stop(task)

    asyncio.run(main())


def test_who_waits_and_is_cancelled_leaves_the_views_alone() -> None:
    async def main() -> None:
        async with viewing() as views:
            nodes = views.informers.of(Node)
            waiting = asyncio.create_task(views.informers.synced())
            await asyncio.sleep(0)
            await stop(waiting)
            task = asyncio.create_task(views.informers.run())
            await nodes.synced()
            await stop(task)

    asyncio.run(main())
