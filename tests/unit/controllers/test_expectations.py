"""A controller looks again only once its view shows what it wrote."""

from __future__ import annotations

import asyncio

from dray.api.core import Pod
from dray.api.meta import ObjectMeta
from dray.client import Client, Informer
from dray.controllers.expectations import LAPSE_SECONDS, Expectations
from dray.controllers.reconciler import Key
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

KEY = Key("default", "web")


class Behind:
    """A view that shows things when it is told to."""

    def __init__(self, cluster: Cluster) -> None:
        self.clock = FakeClock()
        self.client = cluster.client
        self.view = Informer(
            Client(cluster.transport(), clock=self.clock),
            Pod,
            clock=self.clock,
            entropy=SeededEntropy(1),
        )
        self.expectations = Expectations(self.view, self.clock)

    async def catch_up(self) -> None:
        await self.view._list()


async def scenario(*, lapse: bool = False) -> list[bool]:
    async with Cluster() as cluster:
        behind = Behind(cluster)
        expectations = behind.expectations
        met = [expectations.met(KEY)]
        pod = await cluster.add_pod("one")
        expectations.created(KEY, pod)
        met.append(expectations.met(KEY))
        if lapse:
            behind.clock.advance(LAPSE_SECONDS)
        else:
            await behind.catch_up()
        met.append(expectations.met(KEY))
        return met


def test_what_was_made_is_waited_for_until_it_is_seen() -> None:
    assert asyncio.run(scenario()) == [True, False, True]


def test_what_is_never_seen_is_not_waited_for_for_ever() -> None:
    assert asyncio.run(scenario(lapse=True)) == [True, False, True]


def test_an_owner_does_not_wait_for_what_others_wrote() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            behind = Behind(cluster)
            behind.expectations.created(KEY, await cluster.add_pod("one"))
            assert behind.expectations.met(Key("default", "other"))
            behind.expectations.forget(KEY)
            assert behind.expectations.met(KEY)

    asyncio.run(run())


def test_what_was_seen_before_the_answer_came_is_not_waited_for() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            behind = Behind(cluster)
            pod = await cluster.add_pod("one")
            await cluster.add_pod("two")
            await cluster.client.delete(Pod, "one", namespace="default")
            await behind.catch_up()
            behind.expectations.created(KEY, pod)
            assert behind.expectations.met(KEY)

    asyncio.run(run())


def test_what_came_and_went_unseen_is_not_waited_for() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            behind = Behind(cluster)
            behind.expectations.created(KEY, await cluster.add_pod("one"))
            await cluster.client.delete(Pod, "one", namespace="default")
            assert not behind.expectations.met(KEY)
            await behind.catch_up()
            assert behind.expectations.met(KEY)

    asyncio.run(run())


def test_a_list_that_is_not_through_yet_is_waited_for() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            behind = Behind(cluster)
            behind.expectations.created(KEY, await cluster.add_pod("one"))
            met: list[bool] = []
            behind.view.listen(lambda _old, _new: met.append(behind.expectations.met(KEY)))
            await behind.catch_up()
            assert met == [False], "there may be more that is older"
            assert behind.expectations.met(KEY)

    asyncio.run(run())


def test_a_change_is_waited_for_until_the_object_has_it_or_is_gone() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            behind = Behind(cluster)
            for gone in (False, True):
                pod = await cluster.add_pod("one")
                await behind.catch_up()
                patch = {"metadata": {"labels": {"a": "b"}}}
                changed = await cluster.client.patch(Pod, "one", patch, namespace="default")
                behind.expectations.changed(KEY, changed)
                await cluster.add_pod(f"other-{gone}".lower())
                assert not behind.expectations.met(KEY)
                if gone:
                    await cluster.client.delete(Pod, "one", namespace="default")
                await behind.catch_up()
                assert behind.expectations.met(KEY)
                if not gone:
                    await cluster.client.delete(
                        Pod, "one", namespace="default", uid=pod.metadata.uid
                    )

    asyncio.run(run())


def test_a_deletion_is_waited_for_until_the_object_says_so_or_is_gone() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            behind = Behind(cluster)
            await cluster.add_pod("one")
            held = Pod(
                metadata=ObjectMeta(
                    name="two", namespace="default", finalizers=("example.com/hold",)
                ),
                spec=(await cluster.add_pod("three")).spec,
            )
            await cluster.client.create(held)
            await behind.catch_up()
            for name in ("one", "two"):
                pod = behind.view.get(name, "default")
                assert pod is not None
                await cluster.client.delete(Pod, name, namespace="default")
                behind.expectations.deleted(KEY, pod)
                assert not behind.expectations.met(KEY)
                await behind.catch_up()
                assert behind.expectations.met(KEY)

    asyncio.run(run())
