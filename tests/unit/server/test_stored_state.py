from __future__ import annotations

import asyncio

import pytest

from dray.api.core import ConfigMap, Namespace, Pod
from dray.api.meta import Object
from dray.api.resource import ResourceClaim
from dray.errors import InternalError
from dray.server.registry import Registry
from dray.server.stored_state import StoredState
from dray.store.memory import MemoryStore
from tests.unit.server.harness import CONFIG_MAPS, NAMESPACES, Api, config_map, served


@served()
async def test_objects_are_read_typed_and_current(api: Api) -> None:
    state = api.server.services.state
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    found = state.get(ConfigMap, "a", "default")
    assert found is not None
    assert found.data == {"x": "1"}
    patched = await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "2"}})
    again = state.get(ConfigMap, "a", "default")
    assert again is not None
    assert (again.data, again.metadata.resource_version) == ({"x": "2"}, str(patched.revision))


@served()
async def test_an_object_that_did_not_change_is_decoded_once(api: Api) -> None:
    state = api.server.services.state
    assert state.get(Namespace, "default") is state.get(Namespace, "default")


@served()
async def test_what_is_gone_is_not_found(api: Api) -> None:
    state = api.server.services.state
    await api.made(CONFIG_MAPS, config_map("a"))
    assert state.get(ConfigMap, "a", "default") is not None
    await api.delete(f"{CONFIG_MAPS}/a")
    assert state.get(ConfigMap, "a", "default") is None


@served()
async def test_a_list_is_of_one_namespace_or_of_all(api: Api) -> None:
    state = api.server.services.state
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    everywhere = {each.metadata.namespace for each in state.list(ConfigMap)}
    assert everywhere == {"default", "kube-node-lease", "kube-public", "kube-system", "zoo"}
    assert {each.metadata.namespace for each in state.list(ConfigMap, "zoo")} == {"zoo"}


@served()
async def test_a_change_to_a_kind_changes_its_number_alone(api: Api) -> None:
    state = api.server.services.state
    before = (state.revision(ConfigMap), state.revision(Pod))
    await api.made(CONFIG_MAPS, config_map("a"))
    assert state.revision(ConfigMap) > before[0]
    assert state.revision(Pod) == before[1]


@served(versions=lambda _group, _version: True)
async def test_an_object_written_at_an_old_version_is_read_at_its_newest(api: Api) -> None:
    path = "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims"
    requests = [{"name": "r", "deviceClassName": "gpu"}]
    await api.made(path, {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}})
    claim = api.server.services.state.get(ResourceClaim, "c", "default")
    assert claim is not None
    (request,) = claim.spec.devices.requests or ()
    exactly = request.exactly
    assert exactly is not None
    assert exactly.device_class_name == "gpu"


class Unheard(Object):
    """No kind of any server."""


def test_a_kind_that_is_not_served_is_a_mistake_of_ours() -> None:
    state = StoredState(MemoryStore(), Registry())
    with pytest.raises(InternalError, match="Unheard is not served"):
        state.get(Unheard, "x")


def test_a_closed_state_hears_no_more() -> None:
    async def main() -> None:
        store = MemoryStore()
        state = StoredState(store, Registry())
        state.close()
        await store.put("core/configmaps/default/a", b"{}")
        assert state.revision(ConfigMap) == 0

    asyncio.run(main())
