from __future__ import annotations

import asyncio

import pytest

from dray.server.revisions import WAIT_SECONDS
from tests.unit.server.harness import CONFIG_MAPS, Api, config_map, served

PATH = f"{CONFIG_MAPS}/a"


@pytest.mark.parametrize("query", ["", "?resourceVersion=0", "?resourceVersion=1", "?watch=1"])
@served()
async def test_an_object_is_shown_as_it_is(api: Api, query: str) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    reply = await api.get(PATH + query)
    assert (reply.status, reply.json) == (200, made)


@served()
async def test_what_is_not_there_is_not_found(api: Api) -> None:
    reply = await api.get(PATH)
    assert (reply.status, reply.message) == (404, 'configmaps "a" not found')
    assert reply.json["details"] == {"name": "a", "kind": "configmaps"}


@served()
async def test_a_revision_to_come_is_waited_for(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    wait = asyncio.create_task(api.get(f"{PATH}?resourceVersion={api.store.revision + 1}"))
    await api.settle()
    assert not wait.done()
    changed = await api.patch(PATH, {"data": {"x": "2"}})
    assert (await wait).json == changed.json


@served()
async def test_a_revision_that_does_not_come_is_a_timeout(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    wait = asyncio.create_task(api.get(f"{PATH}?resourceVersion=99999"))
    await api.settle()
    api.clock.advance(WAIT_SECONDS)
    reply = await wait
    assert (reply.status, reply.json["reason"]) == (504, "Timeout")
    assert reply.header("retry-after") == "1"


@served()
async def test_a_revision_is_a_number(api: Api) -> None:
    assert (await api.get(f"{PATH}?resourceVersion=new")).status == 400
