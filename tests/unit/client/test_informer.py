"""Informers: a view that equals what is stored, whatever happens to the watch."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from dray.api.core import ConfigMap
from dray.api.meta import ObjectMeta
from dray.api.resource import ResourcePoolStatusRequest
from dray.api.wire import replace
from dray.client import Client, Informer, Reply
from dray.client._answers import TURN_OBJECTS
from dray.entropy import SeededEntropy
from dray.errors import NotFound
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

from .transports import Chunks, Faulty, Scripted


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}\n'
)


class View:
    """An informer of config maps in one namespace, and what it told a listener."""

    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.clock = clock
        self.cluster = cluster
        self.client = cluster.client
        self.transport = Faulty(cluster.transport())
        self.informer = Informer(
            Client(self.transport, clock=clock),
            ConfigMap,
            clock=clock,
            entropy=SeededEntropy(7),
            namespace="default",
            field_selector="metadata.name!=kube-root-ca.crt",
        )
        self.told: list[tuple[str, str]] = []
        self._changes = asyncio.Event()
        self.informer.listen(self._hear)

    def _hear(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        obj = new or old
        assert obj is not None
        change = "added" if old is None else "deleted" if new is None else "changed"
        self.told.append((change, obj.metadata.name))
        self._changes.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changes.clear()
            await self._changes.wait()


@asynccontextmanager
async def viewed() -> AsyncIterator[View]:
    clock = FakeClock()
    async with Cluster(clock=clock) as cluster:
        view = View(cluster, clock)
        task = asyncio.create_task(view.informer.run())
        try:
            yield view
        finally:
            task.cancel()
            await asyncio.wait([task])


async def streaming(view: View) -> None:
    """The informer has a watch, however long it waits before it asks for one."""
    while not view.transport.streaming.is_set():
        view.clock.advance(1)
        await asyncio.sleep(0)


def test_it_shows_what_is_there_and_what_happens_then() -> None:
    async def main() -> None:
        async with viewed() as view:
            await view.informer.synced()
            assert view.informer.is_synced
            created = await view.client.create(config_map("a", x="1"))
            await view.until(lambda: view.informer.get("a", "default") is not None)
            await view.client.update(replace(created, data={"x": "2"}))
            await view.until(lambda: ("changed", "a") in view.told)
            found = view.informer.get("a", "default")
            assert found is not None
            assert found.data == {"x": "2"}
            await view.client.delete(ConfigMap, "a", namespace="default")
            await view.until(lambda: view.informer.get("a", "default") is None)
            assert view.told == [("added", "a"), ("changed", "a"), ("deleted", "a")]

    asyncio.run(main())


def test_who_listens_late_hears_of_what_is_there() -> None:
    async def main() -> None:
        async with viewed() as view:
            await view.client.create(config_map("a"))
            await view.until(lambda: view.informer.get("a", "default") is not None)
            heard: list[tuple[object, object]] = []
            view.informer.listen(lambda old, new: heard.append((old, new)))
            assert heard == [(None, view.informer.get("a", "default"))]

    asyncio.run(main())


def test_a_dropped_watch_goes_on_where_it_ended() -> None:
    async def main() -> None:
        async with viewed() as view:
            await view.informer.synced()
            await streaming(view)
            view.transport.drop_streams()
            await view.client.create(config_map("a"))
            await streaming(view)
            await view.until(lambda: view.informer.get("a", "default") is not None)
            lists = [c for c in view.transport.calls if ("watch", "true") not in c.query]
            assert len(lists) == 1

    asyncio.run(main())


def test_after_expiry_everything_is_listed_and_deletions_are_told() -> None:
    async def main() -> None:
        async with viewed() as view:
            await view.client.create(config_map("gone"))
            await view.client.create(config_map("kept"))
            await view.until(lambda: len(view.informer.values()) == 2)
            await streaming(view)
            view.transport.fail = lambda _call: True
            view.transport.drop_streams()
            await view.client.delete(ConfigMap, "gone", namespace="default")
            await view.client.create(config_map("new"))
            view.transport.fail = lambda _call: False
            view.transport.next_streams.append(Chunks(200, {}, [EXPIRED]))
            view.told.clear()
            await streaming(view)
            await view.until(lambda: view.informer.get("new", "default") is not None)
            assert sorted(view.told) == [("added", "new"), ("deleted", "gone")]

    asyncio.run(main())


def test_a_server_that_has_never_been_so_far_is_listed_again() -> None:
    async def main() -> None:
        async with viewed() as view:
            await view.informer.synced()
            await streaming(view)
            cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            status = {"kind": "Status", "code": 504, "reason": "Timeout"}
            refusal = json.dumps({**status, "details": {"causes": [cause]}}).encode()
            view.transport.next_streams.append(Chunks(504, {}, [refusal]))
            view.transport.drop_streams()
            await streaming(view)
            lists = [c for c in view.transport.calls if ("watch", "true") not in c.query]
            assert len(lists) == 2

    asyncio.run(main())


def test_an_object_made_anew_is_told_as_a_deletion_and_an_addition() -> None:
    async def main() -> None:
        async with viewed() as view:
            await view.client.create(config_map("a"))
            await view.until(lambda: view.informer.get("a", "default") is not None)
            view.told.clear()
            known = view.informer.get("a", "default")
            assert known is not None
            metadata = replace(known.metadata, uid="another", resource_version="9")
            view.informer._put(("default", "a"), replace(known, metadata=metadata))
            assert view.told == [("deleted", "a"), ("added", "a")]

    asyncio.run(main())


def test_failures_are_waited_out_ever_longer_up_to_half_a_minute() -> None:
    async def main() -> None:
        clock = FakeClock()
        slept: list[float] = []

        class Noting(FakeClock):
            async def sleep(self, seconds: float) -> None:
                slept.append(seconds)
                if len(slept) == 12:
                    raise asyncio.CancelledError
                await asyncio.sleep(0)

        async with Cluster(clock=clock) as cluster:
            transport = Faulty(cluster.transport())
            transport.fail = lambda _call: True
            informer = Informer(
                Client(transport, clock=clock),
                ConfigMap,
                clock=Noting(),
                entropy=SeededEntropy(3),
            )
            with pytest.raises(asyncio.CancelledError):
                await informer.run()
            assert not informer.is_synced
        assert 0.8 <= slept[0] <= 1.6
        assert 1.6 <= slept[1] <= 3.2
        assert all(15 <= seconds <= 30 for seconds in slept[5:])

    asyncio.run(main())


def test_a_watch_that_ends_at_once_and_says_nothing_is_not_repeated_at_once() -> None:
    async def main() -> None:
        async with viewed() as view:
            await view.informer.synced()
            await view.transport.streaming.wait()
            count = len(view.transport.calls)
            view.cluster.server.lanes.finish_all("", "configmaps")
            for _turn in range(20):
                await asyncio.sleep(0)
            assert len(view.transport.calls) == count

    asyncio.run(main())


def by_data(obj: ConfigMap) -> list[str]:
    return [*obj.data.values()]


def names(found: Sequence[ConfigMap]) -> list[str]:
    return sorted(obj.metadata.name for obj in found)


def unwatched() -> Informer[ConfigMap]:
    """An informer that the test itself puts objects into."""
    client = Client(Scripted(), clock=FakeClock())
    return Informer(client, ConfigMap, clock=FakeClock(), entropy=SeededEntropy(7))


def put(informer: Informer[ConfigMap], name: str, uid: str = "u", **data: str) -> None:
    metadata = ObjectMeta(name=name, namespace="default", uid=uid)
    informer._put(("default", name), ConfigMap(metadata=metadata, data=data))


def test_an_index_finds_what_is_there_and_what_comes_and_changes() -> None:
    informer = unwatched()
    put(informer, "a", x="1")
    informer.add_index("data", by_data)
    informer.add_index("data", by_data)
    put(informer, "b", x="1", y="2", z="2")
    assert names(informer.by_index("data", "1")) == ["a", "b"]
    assert names(informer.by_index("data", "2")) == ["b"]
    put(informer, "b", x="2")
    assert names(informer.by_index("data", "1")) == ["a"]
    informer._put(("default", "b"), None)
    assert names(informer.by_index("data", "2")) == []
    put(informer, "a", "another", x="3")
    assert list(informer._indexes["data"].found) == ["3"]


def test_an_index_shows_an_object_as_it_is_now() -> None:
    informer = unwatched()
    informer.add_index("name", lambda obj: [obj.metadata.name])
    put(informer, "a", x="1")
    put(informer, "a", x="2")
    (found,) = informer.by_index("name", "a")
    assert found is informer.get("a", "default")


def test_an_index_is_up_to_date_when_listeners_are_told() -> None:
    informer = unwatched()
    informer.add_index("data", by_data)
    seen: list[list[str]] = []
    informer.listen(lambda _old, _new: seen.append(names(informer.by_index("data", "1"))))
    put(informer, "a", x="1")
    put(informer, "a", x="2")
    assert seen == [["a"], []]


@pytest.mark.parametrize("bad", ["raises", "unhashable"])
def test_an_index_whose_function_raises_leaves_everything_as_it_was(bad: str) -> None:
    def moody(obj: ConfigMap) -> list[Any]:
        if "bad" in obj.data and bad == "raises":
            raise ZeroDivisionError
        return [[] if "bad" in obj.data else obj.metadata.name]

    informer = unwatched()
    informer.add_index("data", by_data)
    informer.add_index("moody", moody)
    put(informer, "a", x="1")
    told: list[object] = []
    informer.listen(lambda old, new: told.append((old, new)))
    told.clear()
    for uid in ("u", "another"):
        with pytest.raises((ZeroDivisionError, TypeError)):
            put(informer, "a", uid, x="2", bad="2")
    assert told == []
    assert [obj.data for obj in informer.values()] == [{"x": "1"}]
    assert [obj.data for obj in informer.by_index("moody", "a")] == [{"x": "1"}]
    assert (names(informer.by_index("data", "1")), informer.by_index("data", "2")) == (["a"], ())
    put(informer, "a", x="3")
    assert names(informer.by_index("data", "3")) == ["a"]


def test_an_index_that_cannot_be_built_is_not_there() -> None:
    informer = unwatched()
    put(informer, "a", x="1")
    with pytest.raises(ZeroDivisionError):
        informer.add_index("bad", lambda _obj: [1 // 0])
    put(informer, "b", x="1")
    assert names(informer.values()) == ["a", "b"]
    with pytest.raises(KeyError):
        informer.by_index("bad", 0)


def test_what_a_function_says_later_does_not_keep_an_object_where_it_was_put() -> None:
    informer = unwatched()
    answers = iter(("1", "2"))
    informer.add_index("fickle", lambda _obj: [next(answers)])
    put(informer, "a")
    informer._put(("default", "a"), None)
    assert informer.by_index("fickle", "1") == ()


def test_others_may_run_while_a_long_list_is_told() -> None:
    async def main() -> None:
        items = [
            {"metadata": {"name": f"c{number}", "namespace": "default", "resourceVersion": "1"}}
            for number in range(3 * TURN_OBJECTS)
        ]
        body = json.dumps({"metadata": {"resourceVersion": "5"}, "items": items}).encode()
        client = Client(Scripted(Reply(200, {}, body)), clock=FakeClock())
        informer = Informer(client, ConfigMap, clock=FakeClock(), entropy=SeededEntropy(7))
        seen: set[int] = set()

        async def look() -> None:
            while True:
                seen.add(len(informer.values()))
                await asyncio.sleep(0)

        other = asyncio.create_task(look())
        await informer._list()
        other.cancel()
        assert {0, TURN_OBJECTS, 2 * TURN_OBJECTS} <= seen
        assert len(informer.values()) == 3 * TURN_OBJECTS
        assert informer.is_synced

    asyncio.run(main())


def test_who_raises_when_told_ends_the_run_and_is_told_again_by_the_next() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            await cluster.client.create(config_map("a"))
            informer = Informer(
                cluster.client,
                ConfigMap,
                clock=clock,
                entropy=SeededEntropy(7),
                namespace="default",
                field_selector="metadata.name=a",
            )
            told = 0
            heard = asyncio.Event()

            def hear(_old: ConfigMap | None, new: ConfigMap | None) -> None:
                nonlocal told
                told += 1
                if new is not None and new.data and told == 2:
                    raise ZeroDivisionError
                if told == 3:
                    heard.set()

            informer.listen(hear)
            task = asyncio.create_task(informer.run())
            await informer.synced()
            await cluster.client.apply(config_map("a", x="1"))
            with pytest.raises(ZeroDivisionError):
                await task
            task = asyncio.create_task(informer.run())
            await heard.wait()
            task.cancel()
            await asyncio.wait([task])

    asyncio.run(main())


@pytest.mark.parametrize("seed", range(8))
def test_the_view_equals_the_store_after_any_churn(seed: int) -> None:
    chance = random.Random(seed)

    async def main() -> None:
        async with viewed() as view:
            view.informer.add_index("name", lambda obj: [obj.metadata.name])
            await view.informer.synced()
            for _step in range(60):
                name = f"c{chance.randrange(6)}"
                match chance.randrange(7):
                    case 0 | 1:
                        await churn(view, name, str(chance.random()))
                    case 2:
                        with suppress(NotFound):
                            await view.client.delete(ConfigMap, name, namespace="default")
                    case 3:
                        view.transport.drop_streams()
                    case 4:
                        failing = chance.random() < 0.5
                        view.transport.fail = lambda _call, failing=failing: failing  # type: ignore[misc]  # bound now
                    case 5:
                        broken = chance.choice([EXPIRED, EXPIRED[:40], b"<html>\n", b""])
                        view.transport.next_streams.append(Chunks(200, {}, [broken]))
                    case _:
                        view.clock.advance(chance.uniform(0, 3))
                        await asyncio.sleep(0)
            view.transport.fail = lambda _call: False
            await view.client.create(config_map("last"))
            while view.informer.get("last", "default") is None:
                view.clock.advance(1)
                await asyncio.sleep(0)
            listing = await view.client.list(
                ConfigMap, namespace="default", field_selector="metadata.name!=kube-root-ca.crt"
            )
            by_name = {obj.metadata.name: obj for obj in view.informer.values()}
            assert by_name == {obj.metadata.name: obj for obj in listing.items}
            standing: set[str] = set()
            for change, name in view.told:
                if change == "deleted":
                    standing.remove(name)
                else:
                    assert (name in standing) is (change == "changed")
                    standing.add(name)
            assert standing == set(by_name)
            assert view.informer._indexes["name"].found == {
                name: {("default", name): obj} for name, obj in by_name.items()
            }

    async def churn(view: View, name: str, value: str) -> None:
        await view.client.apply(config_map(name, x=value))

    asyncio.run(main())


def test_a_kind_that_the_server_does_not_have_is_one_of_which_there_is_none() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        # The gate behind it is off, so that it is not served.
        async with Cluster(clock=clock) as cluster:
            informer = Informer(
                cluster.client, ResourcePoolStatusRequest, clock=clock, entropy=SeededEntropy(7)
            )
            running = asyncio.create_task(informer.run())
            await asyncio.wait_for(informer.synced(), 5)
            assert not informer.values()
            running.cancel()

    asyncio.run(scenario())
