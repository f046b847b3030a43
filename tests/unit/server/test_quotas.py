from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.server.harness import CONFIG_MAPS, NAMESPACES, PODS, Api, config_map, pod, served

QUOTAS = f"{NAMESPACES}/default/resourcequotas"
COUNT = "count/configmaps"


async def quota(api: Api, name: str = "q", hard: Any = None, used: Any = None) -> None:
    hard = hard or {COUNT: "3"}
    used = used or {COUNT: "1"}
    await api.made(QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard}})
    reply = await api.patch(f"{QUOTAS}/{name}/status", {"status": {"hard": hard, "used": used}})
    assert reply.status == 200, reply.text


async def used(api: Api, name: str = "q") -> Any:
    return (await api.get(f"{QUOTAS}/{name}")).json["status"]["used"]


@served()
async def test_an_object_is_paid_for_before_it_is_stored(api: Api) -> None:
    await quota(api)
    before = api.store.revision
    await api.made(CONFIG_MAPS, config_map("a"))
    assert await used(api) == {COUNT: "2"}
    keys = [event.key for event in api.events_after(before)]
    assert keys == ["core/resourcequotas/default/q", "core/configmaps/default/a"]


@served()
async def test_what_a_quota_cannot_afford_is_forbidden(api: Api) -> None:
    await quota(api)
    for name in ("a", "b"):
        await api.made(CONFIG_MAPS, config_map(name))
    reply = await api.post(CONFIG_MAPS, config_map("c"))
    assert (reply.status, reply.json["reason"]) == (403, "Forbidden")
    assert "exceeded quota: q" in reply.message
    assert await used(api) == {COUNT: "3"}


@served()
async def test_many_at_once_never_overdraw(api: Api) -> None:
    await quota(api, hard={COUNT: "5"})
    replies = await asyncio.gather(
        *(api.post(CONFIG_MAPS, config_map(f"c{number}")) for number in range(8))
    )
    assert sorted(reply.status for reply in replies) == [201] * 4 + [403] * 4
    assert await used(api) == {COUNT: "5"}


@served()
async def test_a_dry_run_is_free_but_not_beyond_the_quota(api: Api) -> None:
    await quota(api, hard={COUNT: "2"})
    assert (await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a"))).status == 201
    assert await used(api) == {COUNT: "1"}
    await api.made(CONFIG_MAPS, config_map("a"))
    assert (await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("b"))).status == 403


@pytest.mark.parametrize("body", [config_map("kube-root-ca.crt"), config_map("A B")])
@served()
async def test_what_is_refused_costs_nothing(api: Api, body: Any) -> None:
    await quota(api)
    assert (await api.post(CONFIG_MAPS, body)).status in (409, 422)
    assert await used(api) == {COUNT: "1"}


@served()
async def test_every_quota_that_counts_an_object_is_charged(api: Api) -> None:
    await quota(api)
    await quota(api, "r", {COUNT: "9"}, {COUNT: "4"})
    await api.made(CONFIG_MAPS, config_map("a"))
    assert (await used(api), await used(api, "r")) == ({COUNT: "2"}, {COUNT: "5"})


@served()
async def test_one_quota_that_says_no_leaves_the_others_unpaid(api: Api) -> None:
    await quota(api)
    await quota(api, "r", {COUNT: "4"}, {COUNT: "4"})
    assert (await api.post(CONFIG_MAPS, config_map("a"))).status == 403
    assert await used(api) == {COUNT: "1"}


@served()
async def test_a_change_is_charged_by_its_difference(api: Api) -> None:
    resources = {"requests": {"cpu": "1"}}
    containers = [{"name": "a", "image": "i:1", "resources": resources}]
    await quota(api, hard={"requests.cpu": "4"}, used={"requests.cpu": "0"})
    await api.made(PODS, pod("p", containers=containers))
    assert await used(api) == {"requests.cpu": "1"}
    await api.patch(f"{PODS}/p", {"metadata": {"labels": {"x": "y"}}})
    assert await used(api) == {"requests.cpu": "1"}


@served()
async def test_other_objects_cost_nothing(api: Api) -> None:
    await quota(api)
    before = api.store.revision
    await api.made(f"{NAMESPACES}/default/secrets", config_map("s"))
    assert len(api.events_after(before)) == 1
