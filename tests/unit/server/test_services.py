from __future__ import annotations

from dray.api.core import ConfigMap
from dray.server.services import Services
from tests.unit.server.harness import CONFIG_MAPS, Api, config_map, served, start


@served()
async def test_every_server_has_parts_of_its_own(api: Api) -> None:
    other = await start()
    mine, theirs = api.server.services, other.server.services
    for part in ("store", "registry", "state", "after_create", "quota_turns", "aside"):
        assert getattr(mine, part) is not getattr(theirs, part), part
    await api.made(CONFIG_MAPS, config_map("a"))
    assert theirs.state.get(ConfigMap, "a", "default") is None
    await other.server.stop()


@served()
async def test_verbs_work_with_the_parts_they_are_handed(api: Api) -> None:
    services = api.server.services
    assert isinstance(services, Services)
    assert services.clock is api.clock
    assert services.store.revision == api.store.revision
