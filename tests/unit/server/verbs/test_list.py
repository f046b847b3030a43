from __future__ import annotations

import pytest

from tests.unit.server.harness import CONFIG_MAPS, NAMESPACES, Api, config_map, served

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@served()
async def test_a_list_names_its_kind_and_its_items_do_not(api: Api) -> None:
    await api.made(LEASES, {"metadata": {"name": "l"}})
    reply = await api.get(LEASES)
    assert (reply.json["kind"], reply.json["apiVersion"]) == ("LeaseList", "coordination.k8s.io/v1")
    assert reply.revision == api.store.revision
    (item,) = reply.json["items"]
    assert {"kind", "apiVersion"}.isdisjoint(item)
    assert item["metadata"]["name"] == "l"


@served()
async def test_an_empty_list_has_items_all_the_same(api: Api) -> None:
    reply = await api.get(f"{NAMESPACES}/nowhere/configmaps")
    assert (reply.status, reply.json["items"]) == (200, [])


@served()
async def test_a_list_is_in_order_of_namespace_and_name(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    await api.made(f"{NAMESPACES}/zoo/configmaps", config_map("a"))
    for name in ("b", "a-b", "a"):
        await api.made(CONFIG_MAPS, config_map(name))
    assert (await api.get(CONFIG_MAPS)).names == ["a", "a-b", "b", "kube-root-ca.crt"]
    everywhere = (await api.get("/api/v1/configmaps")).json["items"]
    places = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in everywhere]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "query", ["limit=x", "labelSelector=%3D", "fieldSelector=data.x%3D1", "resourceVersion=x"]
)
@served()
async def test_a_list_that_makes_no_sense_is_refused(api: Api, query: str) -> None:
    assert (await api.get(f"{CONFIG_MAPS}?{query}")).status == 400
