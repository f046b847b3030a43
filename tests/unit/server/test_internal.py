from __future__ import annotations

import pytest

from dray.api.core import ConfigMap
from dray.api.meta import Object, ObjectMeta
from dray.api.wire import replace
from dray.errors import AlreadyExists, Conflict, InternalError, Invalid, NotFound
from dray.server.internal import Internal
from tests.unit.server.harness import CONFIG_MAPS, Api, config_map, refusal, served

PATH = f"{CONFIG_MAPS}/a"


def wanted(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


@served()
async def test_the_server_creates_as_clients_do(api: Api) -> None:
    internal = Internal(api.server.services)
    await internal.create(wanted(x="1"))
    made = (await api.get(PATH)).json
    assert made["data"] == {"x": "1"}
    assert made["metadata"]["uid"]
    assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["dray"]
    assert isinstance(await refusal(internal.create(wanted())), AlreadyExists)


@served()
async def test_the_server_keeps_the_rules(api: Api) -> None:
    error = await refusal(Internal(api.server.services).create(wanted("Not A Name")))
    assert isinstance(error, Invalid)


@served()
async def test_the_server_replaces_what_it_read(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    services = api.server.services
    read = services.state.get(ConfigMap, "a", "default")
    assert read is not None
    internal = Internal(services)
    await internal.update(replace(read, data={"x": "2"}))
    assert (await api.get(PATH)).json["data"] == {"x": "2"}
    error = await refusal(internal.update(replace(read, data={"x": "3"})))
    assert isinstance(error, Conflict)


@served()
async def test_what_is_gone_is_not_replaced(api: Api) -> None:
    error = await refusal(Internal(api.server.services).update(wanted()))
    assert isinstance(error, NotFound)


@served()
async def test_the_server_removes_what_is_there(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    internal = Internal(api.server.services)
    await internal.delete(wanted())
    assert (await api.get(PATH)).status == 404
    await internal.delete(wanted())


class Unheard(Object):
    """No kind of any server."""


@served()
async def test_a_kind_that_is_not_served_is_a_mistake_of_ours(api: Api) -> None:
    with pytest.raises(InternalError, match="Unheard is not served"):
        await Internal(api.server.services).create(Unheard())
