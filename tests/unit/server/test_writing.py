from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from dray.api.core import ConfigMap
from dray.api.wire import replace
from dray.errors import Conflict, NotFound, StoreUnavailable, Unavailable
from dray.server.options import WriteOptions
from dray.server.writing import create_object, replace_object
from dray.store.memory import MemoryStore
from dray.store.store import Record
from tests.unit.server.harness import (
    CONFIG_MAPS,
    NAMESPACES,
    Api,
    config_map,
    refusal,
    served,
)

PATH = f"{CONFIG_MAPS}/a"
OPTIONS = WriteOptions(manager="test")


class Failing(MemoryStore):
    """A store whose disk can fill up, and whose keys others may write in between."""

    def __init__(self) -> None:
        super().__init__()
        self.full_for = ""

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        if self.full_for and key.startswith(self.full_for):
            raise StoreUnavailable("the disk is full")
        return await super().put(key, value, expected=expected)


def having(**data: str) -> Any:
    def change(old: ConfigMap) -> ConfigMap:
        return replace(old, data={**old.data, **data})

    return change


async def stored(api: Api, name: str) -> Record:
    record = api.store.head(f"core/configmaps/default/{name}")
    assert record is not None
    return record


@served()
async def test_a_write_answers_with_what_it_stored(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    call = api.call("PUT", PATH)
    record = await stored(api, "a")
    written = await replace_object(call, record, having(y="2"), OPTIONS, call.now())
    assert written.object.data == {"x": "1", "y": "2"}
    assert (written.revision, written.created) == (api.store.revision, False)
    assert (await stored(api, "a")).value == written.value


@served()
async def test_only_the_passing_of_time_is_no_change(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    before = api.store.revision
    api.clock.advance(3600)
    call = api.call("PUT", PATH)
    record = await stored(api, "a")
    written = await replace_object(call, record, lambda old: old, OPTIONS, call.now())
    assert (written.revision, api.store.revision) == (before, before)


@served()
async def test_another_writer_is_a_conflict_only_to_those_who_named_a_revision(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    call = api.call("PUT", PATH)
    stale = await stored(api, "a")
    await api.patch(PATH, {"data": {"other": "1"}})

    def blind(old: ConfigMap) -> ConfigMap:
        metadata = replace(old.metadata, resource_version="")
        return replace(old, metadata=metadata, data={**old.data, "y": "2"})

    written = await replace_object(call, stale, blind, OPTIONS, call.now())
    assert written.object.data == {"x": "1", "other": "1", "y": "2"}

    def insists(old: ConfigMap) -> ConfigMap:
        metadata = replace(old.metadata, resource_version=str(stale.revision))
        return replace(old, metadata=metadata, data={"z": "3"})

    error = await refusal(replace_object(call, stale, insists, OPTIONS, call.now()))
    assert isinstance(error, Conflict)


@served()
async def test_an_object_that_goes_in_between_is_not_found(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    call = api.call("PUT", PATH)
    stale = await stored(api, "a")
    await api.delete(PATH)
    error = await refusal(replace_object(call, stale, having(y="2"), OPTIONS, call.now()))
    assert isinstance(error, NotFound)


@served(store=Failing)
async def test_a_full_disk_is_said_to_be_no_ones_fault(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    assert isinstance(api.store, Failing)
    api.store.full_for = "core/configmaps/"
    created = await api.post(CONFIG_MAPS, config_map("b"))
    assert (created.status, created.json["reason"]) == (503, "ServiceUnavailable")
    updated = await api.patch(PATH, {"data": {"x": "1"}})
    assert updated.status == 503


QUOTAS = f"{NAMESPACES}/default/resourcequotas"


async def used(api: Api) -> Any:
    return (await api.get(f"{QUOTAS}/q")).json["status"]["used"]["count/configmaps"]


async def with_quota(api: Api) -> None:
    await api.made(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "5"}}})
    status = {"hard": {"count/configmaps": "5"}, "used": {"count/configmaps": "1"}}
    await api.patch(f"{QUOTAS}/q/status", {"status": status})


@served(store=Failing)
async def test_what_was_not_stored_is_not_paid_for(api: Api) -> None:
    await with_quota(api)
    assert isinstance(api.store, Failing)
    api.store.full_for = "core/configmaps/"
    assert (await api.post(CONFIG_MAPS, config_map("b"))).status == 503
    assert await used(api) == "1"


class Waiting(MemoryStore):
    """A store that keeps writers of some keys waiting, until it is told to go on, or to refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.slow_for = "-"
        self.go = asyncio.Event()
        self.full = False

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        if key.startswith(self.slow_for):
            # As on disk: what was accepted goes on, whoever waits for it.
            return await asyncio.shield(asyncio.ensure_future(self._late(key, value, expected)))
        return await super().put(key, value, expected=expected)

    async def _late(self, key: str, value: bytes, expected: int | None) -> Record:
        await self.go.wait()
        if self.full:
            raise StoreUnavailable("the disk is full")
        return await super().put(key, value, expected=expected)


@pytest.mark.parametrize(
    ("slow_for", "full", "paid", "status"),
    [
        ("core/resourcequotas/", False, "1", 404),  # given back
        ("core/resourcequotas/", True, "1", 404),  # never paid
        ("core/configmaps/", False, "2", 200),  # on its way, and paid for
        ("core/configmaps/", True, "1", 404),  # given back
    ],
)
@served(store=Waiting)
async def test_a_client_without_time_pays_for_what_is_stored_only(
    api: Api, slow_for: str, full: bool, paid: str, status: int
) -> None:
    await with_quota(api)
    assert isinstance(api.store, Waiting)
    api.store.slow_for = slow_for
    unheard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, said: unheard.append(said))
    call = api.call("POST", CONFIG_MAPS)
    obj = ConfigMap(metadata=replace(ConfigMap().metadata, name="b", namespace="default"))
    creating = asyncio.create_task(create_object(call, obj, OPTIONS, call.now()))
    await api.settle()
    creating.cancel()
    await asyncio.gather(creating, return_exceptions=True)
    assert creating.cancelled()
    api.store.full = full
    api.store.go.set()
    await api.settle()
    assert await used(api) == paid
    assert (await api.get(f"{CONFIG_MAPS}/b")).status == status
    del creating
    gc.collect()
    assert unheard == []


@served()
async def test_of_two_who_create_one_name_one_pays(api: Api) -> None:
    await with_quota(api)
    replies = await asyncio.gather(
        *(api.post(CONFIG_MAPS, config_map("b", {"x": str(n)})) for n in range(3))
    )
    assert sorted(reply.status for reply in replies) == [201, 409, 409]
    assert await used(api) == "2"


@served()
async def test_what_else_is_due_for_a_new_object_is_done_before_its_answer(api: Api) -> None:
    seen: list[str] = []

    async def note(obj: ConfigMap) -> None:
        seen.append(obj.metadata.name)

    api.server.services.after_create[ConfigMap] = note
    await api.made(CONFIG_MAPS, config_map("a"))
    await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("b"))
    assert seen == ["a"]


@served()
async def test_an_object_that_comes_with_its_owners_keeps_them(api: Api) -> None:
    call = api.call("POST", CONFIG_MAPS)
    obj = ConfigMap(metadata=replace(ConfigMap().metadata, name="a", namespace="default"))
    written = await create_object(call, obj, OPTIONS, call.now(), tracked=False)
    assert written.created
    assert written.object.metadata.managed_fields == ()


@served()
async def test_more_rules_may_be_asked_for(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    call = api.call("PUT", PATH)

    def refuses(new: ConfigMap, old: ConfigMap) -> Any:
        raise Unavailable(f"{new.data} {old.data}")

    error = await refusal(
        replace_object(
            call, await stored(api, "a"), having(x="1"), OPTIONS, call.now(), check=refuses
        )
    )
    assert str(error) == "{'x': '1'} {}"


@pytest.mark.parametrize("verb", ["POST", "PUT"])
@served()
async def test_two_writes_at_once_are_both_kept(api: Api, verb: str) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    if verb == "POST":
        writes = [api.post(CONFIG_MAPS, config_map(name)) for name in ("b", "c")]
    else:
        writes = [api.patch(PATH, {"data": {name: "1"}}) for name in ("b", "c")]
    replies = await asyncio.gather(*writes)
    assert {reply.status for reply in replies} == {201 if verb == "POST" else 200}
    assert len({reply.revision for reply in replies}) == 2
    if verb == "PUT":
        assert (await api.get(PATH)).json["data"] == {"b": "1", "c": "1"}
